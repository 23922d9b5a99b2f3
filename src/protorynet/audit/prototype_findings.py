"""Findings about prototypes and members: what they stand for, how they are used and scored."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.audit.audit_corpus import PASSAGE_WORDS, AuditCorpus, read_words
from protorynet.audit.findings import Finding, Severity, describe, quote, share_of
from protorynet.audit.leftovers import WordEvidence

_ENOUGH_SENTENCES = 20  # fewer say too little of a prototype
_LEAST_COPIED, _MORE_THAN_USUAL = 0.05, 2.0
_SAME_TEXT = 0.3
_PURE, _PURER_THAN_USUAL = 0.9, 0.3
_SAYS_NOTHING = 1.2  # times the usual rate of a class: words of a rare one raise it by little
_NEAREST_SENTENCES = 50
_ONE_TAKES, _TWO_TAKE = 0.5, 0.75
_POOR_CALIBRATION, _CALIBRATED_PROTOTYPES = 0.5, 5
_MEMBERS_SENTENCES, _MEMBERS_SHOWN = 5, 50  # fewer sentences say too little of a member
_MOST_OF_THEM, _ONE_SOURCE, _NOTABLE_SHARE = 0.5, 0.8, 0.01
_TELLING = "gives the answer away"
_REASONS = {
    _TELLING: "{} for a text that gives the answer away",
    "copied": "{} for passages copied from text to text",
    "one source": "{} for the sentences of one document",
    "in test": "{} in the test data word for word",
}


def meaning_findings(corpus: AuditCorpus, evidence: WordEvidence) -> list[Finding]:
    """Look at what the sentences matched to each prototype say; needs texts."""
    return [*_boilerplate(corpus), *_one_text(corpus), *_pure(corpus, evidence), *_foreign(corpus)]


def _boilerplate(corpus: AuditCorpus) -> list[Finding]:
    """Look for prototypes near which many more words are copied than elsewhere."""
    matched = corpus.reading.prototypes
    # The nearer half of its sentences show what a prototype stands for.
    near = {
        position: _nearest(corpus, position, int((matched == position).sum() + 1) // 2)
        for position in range(len(corpus.model.prototypes))
    }
    usual = _copied_shares(corpus, np.arange(len(matched)))
    least = np.maximum(_LEAST_COPIED, _MORE_THAN_USUAL * usual)
    shares = {
        position: found
        for position, sentences in near.items()
        if len(sentences) >= _ENOUGH_SENTENCES
        and ((found := _copied_shares(corpus, sentences)) >= least).all()
    }
    if not shares:
        return []
    ordered = sorted(shares, key=lambda position: -shares[position][1])
    examples = [
        {
            **prototype_evidence(corpus, position),
            "share_of_formulas": float(shares[position][0]),
            "share_of_copied_passages": float(shares[position][1]),
            "repeated": _most_copied(corpus, near[position][corpus.formulas[near[position]]], 3),
        }
        for position in ordered
    ]
    evidence = {
        "share_of_sentences": float(np.isin(matched, ordered).mean()),
        "usual_share_of_formulas": float(usual[0]),
        "usual_share_of_copied_passages": float(usual[1]),
        "examples": examples,
    }
    formulas = [example["share_of_formulas"] for example in examples]
    low, high = share_of(min(formulas), 1), share_of(max(formulas), 1)
    facts = {"n": len(ordered), "ids": corpus.list_ids(ordered), "low": low, "high": high}
    return [describe("boilerplate_prototypes", "warning", evidence, **facts)]


def _copied_shares(corpus: AuditCorpus, sentences: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the shares of words that lie in copied formulas and in copied passages."""
    # Counted by words, so that the numbers of a list do not weigh like sentences.
    words = corpus.words.lengths[sentences]
    copied = np.stack([corpus.formulas[sentences], corpus.passages[sentences]])
    return np.asarray((copied * words).sum(axis=1) / max(int(words.sum()), 1))


def _one_text(corpus: AuditCorpus) -> Iterator[Finding]:
    """Look for prototypes most of whose sentences are one and the same text."""
    for position in range(len(corpus.model.prototypes)):
        sentences = np.flatnonzero(corpus.reading.prototypes == position)
        if len(sentences) < _ENOUGH_SENTENCES:
            continue
        _, first, counts = np.unique(
            corpus.same_sentence[sentences], return_index=True, return_counts=True
        )
        most = int(counts.argmax())
        if counts[most] < max(_ENOUGH_SENTENCES, _SAME_TEXT * len(sentences)):
            continue
        text = corpus.sentences[sentences[first[most]]]
        one, other = read_words([text, corpus.model.prototypes[position].sentence]).keys()
        evidence = {
            "text": quote(text),
            "n_sentences": int(counts[most]),
            "share_of_its_sentences": float(counts[most] / len(sentences)),
            "examples": [prototype_evidence(corpus, position)],
        }
        facts = {"n_all": len(sentences), "misleads": one != other}
        yield describe("repeated_text_prototype", "warning", evidence, **facts)


def _pure(corpus: AuditCorpus, evidence: WordEvidence) -> Iterator[Finding]:
    base = corpus.truth.mean(axis=0)
    for position, rates in _class_rates(corpus).items():
        label = int((rates - base).argmax())
        if rates[label] < _PURE or rates[label] - base[label] < _PURER_THAN_USUAL:
            continue
        # A model may know by heart what it learned from; what gives labels away does so anywhere.
        unseen = corpus.documents[(corpus.reading.prototypes == position) & corpus.in_test]
        if len(unseen) and corpus.truth[unseen, label].mean() < _PURE:
            continue
        near = _nearest(corpus, position, _NEAREST_SENTENCES)
        expected = float(evidence.rates(label, near).mean())
        if expected >= _SAYS_NOTHING * base[label]:
            continue
        sentences = [quote(corpus.sentences[sentence]) for sentence in near[:5]]
        figures = {
            "class": corpus.model.labels.names[label],
            "class_rate": float(rates[label]),
            "usual_class_rate": float(base[label]),
            "class_rate_expected_from_its_words": expected,
            "examples": [{**prototype_evidence(corpus, position), "sentences": sentences}],
        }
        yield describe("pure_prototype", "warning", figures)


def _foreign(corpus: AuditCorpus) -> list[Finding]:
    """Check that the prototypes stand in the training documents given."""
    known = set(corpus.train_sentences)
    items, members = corpus.model.prototypes, corpus.model.prototypes.members
    foreign = sum(member.sentence not in known for member in members)
    # Prototypes may have been edited by hand; not most of them.
    if 2 * foreign <= len(members):
        return []
    missing = [position for position, item in enumerate(items) if item.sentence not in known]
    evidence = {"examples": [prototype_evidence(corpus, position) for position in missing[:5]]}
    facts = {"n": foreign, "n_members": len(members), "has_families": len(members) > len(items)}
    return [describe("other_training_data", "serious", evidence, **facts)]


def _nearest(corpus: AuditCorpus, position: int, count: int) -> NDArray[np.int64]:
    """Return the sentences most like a prototype among those matched to it."""
    sentences = np.flatnonzero(corpus.reading.prototypes == position)
    order = np.argsort(-corpus.reading.similarities[sentences], kind="stable")
    return sentences[order[:count]]


def usage_findings(corpus: AuditCorpus) -> list[Finding]:
    """Look at how the prototypes are used and scored."""
    return [
        *_classes_without_prototype(corpus),
        *_few_prototypes(corpus),
        *_unused_prototypes(corpus),
        *_score_calibration(corpus),
    ]


def _classes_without_prototype(corpus: AuditCorpus) -> list[Finding]:
    scores = corpus.model.prototypes.scores
    if corpus.model.labels.task == "multilabel":
        # A rare class may have no score above one half, yet prototypes that speak for it.
        spoken = (scores > 2 * corpus.truth.mean(axis=0)).any(axis=0) | (scores >= 0.5).any(axis=0)
    else:
        spoken = np.isin(np.arange(scores.shape[1]), scores.argmax(axis=1))
    names = [name for name, has in zip(corpus.model.labels.names, spoken, strict=True) if not has]
    if not names:
        return []
    listed = ", ".join(f'"{quote(name, 40)}"' for name in names[:10])
    return [describe("class_without_prototype", "warning", {"classes": names}, listed=listed)]


def _few_prototypes(corpus: AuditCorpus) -> list[Finding]:
    counts = np.bincount(corpus.reading.prototypes, minlength=len(corpus.model.prototypes))
    order = np.argsort(-counts, kind="stable")
    shares = counts[order] / counts.sum()
    first = order[: 1 if shares[0] >= _ONE_TAKES else 2].tolist()
    taken = float(shares[: len(first)].sum())
    if len(shares) < 3 or (len(first) == 2 and taken < _TWO_TAKE):
        return []
    evidence = {
        "share_of_sentences": taken,
        "examples": [prototype_evidence(corpus, position) for position in first],
    }
    return [describe("few_prototypes_take_most", "warning", evidence, ids=corpus.list_ids(first))]


def _unused_prototypes(corpus: AuditCorpus) -> list[Finding]:
    used = corpus.reading.prototypes_used(len(corpus.model.prototypes))
    unused = np.flatnonzero(~used).tolist()
    if not unused:
        return []
    evidence = {"examples": [prototype_evidence(corpus, position) for position in unused[:20]]}
    facts = {"n": len(unused), "ids": corpus.list_ids(unused)}
    return [describe("unused_prototypes", "note", evidence, **facts)]


def _score_calibration(corpus: AuditCorpus) -> list[Finding]:
    rates = _class_rates(corpus)
    if len(rates) < _CALIBRATED_PROTOTYPES:
        return []
    positions = list(rates)
    observed = np.array(list(rates.values()))
    scores = corpus.model.prototypes.scores[positions]
    if scores.shape[1] == 2 and corpus.model.labels.task == "multiclass":
        observed, scores = observed[:, 1:], scores[:, 1:]
    if observed.std() == 0 or scores.std() == 0:
        return []
    correlation = float(np.corrcoef(observed.ravel(), scores.ravel())[0, 1])
    if correlation >= _POOR_CALIBRATION:
        return []
    worst = np.argsort(-np.abs(observed - scores).max(axis=1), kind="stable")[:5]
    evidence = {
        "correlation": correlation,
        "examples": [prototype_evidence(corpus, positions[at]) for at in worst],
    }
    return [describe("poor_score_calibration", "warning", evidence)]


def _class_rates(corpus: AuditCorpus) -> dict[int, NDArray[np.float64]]:
    """Return the class rates of the documents of each prototype with enough sentences."""
    counts, rates = corpus.reading.class_rates(corpus.truth, len(corpus.model.prototypes))
    enough = np.flatnonzero(counts >= _ENOUGH_SENTENCES).tolist()
    return {position: rates[position] for position in enough}


def prototype_evidence(corpus: AuditCorpus, position: int) -> dict[str, Any]:
    """Return a prototype with how it is used and scored."""
    item = corpus.model.prototypes[position]
    taken = corpus.reading.prototypes == position
    return {
        "prototype": item.id,
        "text": quote(item.sentence),
        "usage": float(taken.mean()),
        "scores": dict(item.scores),
        "class_rate": dict(item.class_rate),
    }


def member_findings(corpus: AuditCorpus, telling: set[int]) -> list[Finding]:
    """Look for members that should not stand for others; `telling` sentences give a class away."""
    prototypes = corpus.model.prototypes
    if len(prototypes.members) == len(prototypes):
        return []  # the findings about prototypes say the same
    reasons = _find_reasons(corpus, telling)
    if not reasons:
        return []
    owners = prototypes.families
    uses = np.bincount(corpus.reading.members, minlength=len(owners))
    share = float(uses[list(reasons)].sum() / uses.sum())
    ordered = sorted(reasons, key=lambda at: (list(_REASONS).index(reasons[at]), -uses[at]))
    counts = Counter(reasons.values())
    listed = ", ".join(
        words.format(f"{counts[reason]:,} stand{'s' if counts[reason] == 1 else ''}")
        for reason, words in _REASONS.items()
        if counts[reason]
    )
    families = sorted({int(owners[at]) for at in reasons})
    examples = [
        {
            "prototype": prototypes[owners[at]].id,
            "member": prototypes.members[at].id,
            "text": quote(prototypes.members[at].sentence),
            "reason": reasons[at],
            "times": int(uses[at]),
            "repeated": _most_copied(corpus, np.flatnonzero(corpus.reading.members == at), 1)
            if reasons[at] == _TELLING
            else [],
        }
        for at in ordered[:_MEMBERS_SHOWN]
    ]
    severity: Severity = "warning" if share >= _NOTABLE_SHARE else "note"
    evidence = {"n_members": dict(counts), "share_of_sentences": share, "examples": examples}
    facts = {"n": len(reasons), "n_families": len(families), "listed": listed}
    facts["ids"] = corpus.list_ids(families)
    return [describe("artefact_members", severity, evidence, **facts)]


def _find_reasons(corpus: AuditCorpus, telling: set[int]) -> dict[int, str]:
    """Return the first reason against each member that has one, by its position."""
    matched, count = corpus.reading.members, len(corpus.model.prototypes.members)
    uses = np.bincount(matched, minlength=count)
    enough = uses >= _MEMBERS_SENTENCES

    def share(sentences: NDArray[np.bool_]) -> NDArray[np.float64]:
        return np.bincount(matched[sentences], minlength=count) / np.maximum(uses, 1)

    # Where each member's sentence stands among the training sentences; −1 for nowhere.
    places = {text: at for at, text in enumerate(corpus.train_sentences)}
    own = np.array([places.get(member.sentence, -1) for member in corpus.model.prototypes.members])
    is_known = own >= 0
    # Shorter sentences, and formulas, may be written twice by chance.
    unique = (corpus.words.lengths >= PASSAGE_WORDS) & ~corpus.formulas
    tested = np.unique(corpus.same_sentence[corpus.in_test])
    found = {
        _TELLING: enough & (share(np.isin(corpus.same_sentence, list(telling))) >= _MOST_OF_THEM),
        "copied": (is_known & corpus.passages[own])
        | (enough & (share(corpus.passages) >= _MOST_OF_THEM)),
        "one source": enough & (_largest_source(corpus, count) >= _ONE_SOURCE * uses),
        "in test": is_known & (unique & np.isin(corpus.same_sentence, tested))[own],
    }
    reasons: dict[int, str] = {}
    for reason, members in found.items():
        for at in np.flatnonzero(members).tolist():
            reasons.setdefault(at, reason)
    return reasons


def _most_copied(corpus: AuditCorpus, sentences: NDArray[np.int64], most: int) -> list[str]:
    """Return those of some sentences that make the most text together."""
    return [quote(corpus.sentences[at]) for at, _ in corpus.most_copied(sentences, most)]


def _largest_source(corpus: AuditCorpus, count: int) -> NDArray[np.int64]:
    """Return how many sentences of each member are of the one document that has most of them."""
    documents = corpus.same_document[corpus.documents]
    pairs, times = np.unique(
        corpus.reading.members * np.int64(len(corpus.texts)) + documents, return_counts=True
    )
    largest = np.zeros(count, np.int64)
    np.maximum.at(largest, pairs // len(corpus.texts), times)
    return largest
