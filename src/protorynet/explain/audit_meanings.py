"""Findings about what the prototypes stand for, by the sentences matched to them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from protorynet.explain.audit_corpus import AuditCorpus
from protorynet.explain.audit_evidence import WordEvidence
from protorynet.explain.audit_prototypes import (
    ENOUGH_SENTENCES,
    class_rates,
    listed_ids,
    prototype_evidence,
)
from protorynet.explain.findings import Finding, counted, quoted, share_of

__all__ = ["meaning_findings"]

# The nearer half of its sentences show what a prototype stands for.
_MIN_FORMULA_SHARE, _MIN_PASSAGE_SHARE = 0.05, 0.025
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
    columns = corpus.trajectory.columns
    shares: dict[int, tuple[float, float]] = {}
    near_half: dict[int, NDArray[np.int64]] = {}
    for column in range(len(corpus.model.prototypes)):
        near = _nearest(corpus, column, int((columns == column).sum() + 1) // 2)
        if len(near) >= ENOUGH_SENTENCES:
            near_half[column] = near
            shares[column] = (
                float(corpus.formulas[near].mean()),
                float(corpus.passages[near].mean()),
            )
    if not shares:
        return []
    usual = np.median(list(shares.values()), axis=0)
    least = np.maximum((_MIN_FORMULA_SHARE, _MIN_PASSAGE_SHARE), 3 * usual)
    found = [column for column, pair in shares.items() if (np.array(pair) >= least).all()]
    if not found:
        return []
    found.sort(key=lambda column: -shares[column][1])
    taken = np.isin(columns, found).mean()
    one = len(found) == 1
    message = (
        f"{counted(len(found), 'prototype')} "
        f"({listed_ids(corpus, found)}) {'stands' if one else 'stand'} for boilerplate: text that "
        "is repeated word for word in many documents, such as replies, signatures, forms or "
        f"templates. {'It takes' if one else 'Together they take'} {share_of(taken, 1)} of all "
        "sentences, so much of each decision may rest on it. If the authors did not write it, or "
        "if it will not be there when the model is used, remove it from the documents and train "
        "again."
    )
    examples = [
        {
            **prototype_evidence(corpus, column),
            "share_of_formulas": shares[column][0],
            "share_of_copied_passages": shares[column][1],
            "repeated": _repeated(corpus, near_half[column]),
        }
        for column in found
    ]
    evidence = {"share_of_sentences": float(taken), "examples": examples}
    return [Finding("boilerplate_prototypes", "warning", message, evidence)]


def _one_text(corpus: AuditCorpus) -> list[Finding]:
    """Look for prototypes most of whose sentences are one and the same text."""
    findings = []
    for column in range(len(corpus.model.prototypes)):
        places = np.flatnonzero(corpus.trajectory.columns == column)
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
            f'"{quoted(text, 60)}". What is shown is not what it means to the model. '
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
    places = np.flatnonzero(corpus.trajectory.columns == column)
    order = np.argsort(-corpus.trajectory.similarities[places], kind="stable")
    return places[order[:count]]


def _repeated(corpus: AuditCorpus, places: NDArray[np.int64]) -> list[str]:
    """Return the most repeated of the copied sentences among some."""
    places = places[corpus.formulas[places]]
    _, first, counts = np.unique(
        corpus.same_sentence[places], return_index=True, return_counts=True
    )
    most = np.argsort(-counts, kind="stable")[:3]
    return [quoted(corpus.sentences[places[first[place]]]) for place in most]
