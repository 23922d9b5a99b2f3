"""Findings about what the prototypes stand for, by the sentences matched to them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.audit.corpus import AuditCorpus
from protorynet.audit.evidence import WordEvidence
from protorynet.audit.findings import Finding, counted, quoted, share_of
from protorynet.audit.prototypes import (
    ENOUGH_SENTENCES,
    class_rates,
    listed_ids,
    prototype_evidence,
)
from protorynet.audit.words import read_words

__all__ = ["meaning_findings"]

_MIN_COPIED, _MORE_THAN_USUAL = 0.05, 2.0
_SAME_TEXT = 0.3
_PURE, _PURER_THAN_USUAL, _SAYS_NOTHING = 0.9, 0.3, 0.1
_NEAREST = 50


def meaning_findings(corpus: AuditCorpus, evidence: WordEvidence) -> list[Finding]:
    """Look at what the sentences matched to each prototype say; needs texts."""
    return [
        *_boilerplate(corpus),
        *_one_text(corpus),
        *_pure(corpus, evidence),
        *_foreign(corpus),
    ]


def _boilerplate(corpus: AuditCorpus) -> list[Finding]:
    """Look for prototypes near which many more words are copied than elsewhere."""
    columns = corpus.reading.columns
    # The nearer half of its sentences show what a prototype stands for.
    near = {
        column: _nearest(corpus, column, int((columns == column).sum() + 1) // 2)
        for column in range(len(corpus.model.prototypes))
    }
    usual = _copied_shares(corpus, np.arange(len(columns)))
    least = np.maximum(_MIN_COPIED, _MORE_THAN_USUAL * usual)
    shares = {
        column: found
        for column, places in near.items()
        if len(places) >= ENOUGH_SENTENCES
        and ((found := _copied_shares(corpus, places)) >= least).all()
    }
    if not shares:
        return []
    ordered = sorted(shares, key=lambda column: -shares[column][1])
    taken = float(np.isin(columns, ordered).mean())
    examples = [
        {
            **prototype_evidence(corpus, column),
            "share_of_formulas": float(shares[column][0]),
            "share_of_copied_passages": float(shares[column][1]),
            "repeated": _repeated(corpus, near[column]),
        }
        for column in ordered
    ]
    evidence = {
        "share_of_sentences": taken,
        "usual_share_of_formulas": float(usual[0]),
        "usual_share_of_copied_passages": float(usual[1]),
        "examples": examples,
    }
    message = _boilerplate_message(corpus, ordered, evidence)
    return [Finding("boilerplate_prototypes", "warning", message, evidence)]


def _boilerplate_message(corpus: AuditCorpus, columns: list[int], evidence: dict[str, Any]) -> str:
    shares = [example["share_of_formulas"] for example in evidence["examples"]]
    low, high = share_of(min(shares), 1), share_of(max(shares), 1)
    copied = low if low == high else f"{low} to {high}"
    usual = share_of(evidence["usual_share_of_formulas"], 1)
    taken = share_of(evidence["share_of_sentences"], 1)
    one = len(columns) == 1
    return (
        f"{counted(len(columns), 'prototype')} ({listed_ids(corpus, columns)}) "
        f"{'gathers' if one else 'gather'} boilerplate: {copied} of the words of the sentences "
        f"most like {'it' if one else 'them'} stand word for word in three documents or more, "
        f"against {usual} of all words. Such are replies, signatures, forms and templates. "
        f"{'It takes' if one else 'Together they take'} {taken} of all sentences. If the authors "
        "did not write it, or if it will not be there when the model is used, remove it from the "
        "documents and train again."
    )


def _copied_shares(corpus: AuditCorpus, places: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the shares of words that lie in copied formulas and in copied passages."""
    # Counted by words, so that the numbers of a list do not weigh like sentences.
    words = corpus.words.lengths[places]
    copied = np.stack([corpus.formulas[places], corpus.passages[places]])
    shares: NDArray[np.float64] = (copied * words).sum(axis=1) / max(int(words.sum()), 1)
    return shares


def _one_text(corpus: AuditCorpus) -> list[Finding]:
    """Look for prototypes most of whose sentences are one and the same text."""
    findings = []
    for column in range(len(corpus.model.prototypes)):
        places = np.flatnonzero(corpus.reading.columns == column)
        if len(places) < ENOUGH_SENTENCES:
            continue
        _, first, counts = np.unique(
            corpus.same_sentence[places], return_index=True, return_counts=True
        )
        most = int(counts.argmax())
        if counts[most] < max(ENOUGH_SENTENCES, _SAME_TEXT * len(places)):
            continue
        text = corpus.sentences[places[first[most]]]
        prototype = corpus.model.prototypes[column]
        message = (
            f'Prototype {prototype.id}, "{quoted(prototype.sentence, 60)}", stands above all for '
            f"one repeated text: {share_of(counts[most], len(places))} of its sentences read "
            f'"{quoted(text, 60)}". {_shown_otherwise(text, prototype.sentence)}'
            "If that text is a leftover, remove it from all documents and train again."
        )
        evidence = {
            "text": quoted(text),
            "n_sentences": int(counts[most]),
            "share_of_its_sentences": float(counts[most] / len(places)),
            "examples": [prototype_evidence(corpus, column)],
        }
        findings.append(Finding("repeated_text_prototype", "warning", message, evidence))
    return findings


def _shown_otherwise(text: str, sentence: str) -> str:
    one, other = read_words([text, sentence]).keys()
    return "" if one == other else "What is shown is not what it means to the model. "


def _pure(corpus: AuditCorpus, evidence: WordEvidence) -> list[Finding]:
    base = corpus.truth.mean(axis=0)
    findings = []
    for column, rates in class_rates(corpus).items():
        label = int((rates - base).argmax())
        if rates[label] < _PURE or rates[label] - base[label] < _PURER_THAN_USUAL:
            continue
        near = _nearest(corpus, column, _NEAREST)
        expected = float(evidence.rates(label, near).mean())
        if expected - base[label] >= _SAYS_NOTHING:
            continue
        prototype, name = corpus.model.prototypes[column], corpus.model.labels.names[label]
        message = (
            f'Prototype {prototype.id}, "{quoted(prototype.sentence, 60)}", is found almost only '
            f'in documents labelled "{name}" ({share_of(rates[label], 1)}), though its words say '
            "nothing about it. Something other than the content may give the label away: look at "
            "its sentences, and drop the prototype or clean the texts."
        )
        figures = {
            "class": name,
            "class_rate": float(rates[label]),
            "usual_class_rate": float(base[label]),
            "class_rate_expected_from_its_words": expected,
            "examples": [
                {
                    **prototype_evidence(corpus, column),
                    "sentences": [quoted(corpus.sentences[place]) for place in near[:5]],
                }
            ],
        }
        findings.append(Finding("pure_prototype", "warning", message, figures))
    return findings


def _foreign(corpus: AuditCorpus) -> list[Finding]:
    """Check that the prototypes stand in the training documents given."""
    known = {
        text
        for text, in_test in zip(corpus.sentences, corpus.in_test.tolist(), strict=True)
        if not in_test
    }
    items = corpus.model.prototypes
    missing = [column for column, item in enumerate(items) if item.sentence not in known]
    # Prototypes may have been edited by hand; not most of them.
    if 2 * len(missing) <= len(items):
        return []
    message = (
        f"{len(missing)} of the {counted(len(items), 'prototype')} are not sentences of the "
        "training documents given. These are not the documents that the model was made from, so "
        "what is said here of training does not hold: give the right ones."
    )
    evidence = {"examples": [prototype_evidence(corpus, column) for column in missing[:5]]}
    return [Finding("other_training_data", "serious", message, evidence)]


def _nearest(corpus: AuditCorpus, column: int, count: int) -> NDArray[np.int64]:
    """Return the sentences most like a prototype among those matched to it."""
    places = np.flatnonzero(corpus.reading.columns == column)
    order = np.argsort(-corpus.reading.similarities[places], kind="stable")
    return places[order[:count]]


def _repeated(corpus: AuditCorpus, places: NDArray[np.int64]) -> list[str]:
    """Return those of the copied sentences among some that make the most text."""
    copied = corpus.most_copied(places[corpus.formulas[places]], 3)
    return [quoted(corpus.sentences[place]) for place, _ in copied]
