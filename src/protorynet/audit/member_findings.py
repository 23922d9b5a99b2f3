"""Findings about single members: sentences that should not stand for others."""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from protorynet.audit.audit_corpus import PASSAGE_WORDS, AuditCorpus
from protorynet.audit.findings import Finding, Severity, counted, quote, share_of

_ENOUGH_SENTENCES = 5  # matched to a member; fewer say too little of it
_MOST_OF_THEM = 0.5
_ONE_SOURCE = 0.8
_NOTABLE_SHARE = 0.01
_SHOWN = 50
_TELLING = "gives the answer away"
_REASONS = {
    _TELLING: "{} for a text that gives the answer away",
    "copied": "{} for passages copied from text to text",
    "one source": "{} for the sentences of one document",
    "in test": "{} in the test data word for word",
}


def member_findings(corpus: AuditCorpus, telling: set[int]) -> list[Finding]:
    """Look for members that should not stand for others; `telling` sentences give a class away."""
    prototypes = corpus.model.prototypes
    if len(prototypes.members) == len(prototypes):
        return []  # the findings about prototypes say the same
    reasons = _find_reasons(corpus, telling)
    if not reasons:
        return []
    owners = np.repeat(np.arange(len(prototypes)), prototypes.sizes)
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
    message = (
        f"{counted(len(reasons), 'member')} of {counted(len(families), 'prototype')} "
        f"({corpus.list_ids(families)}) should not stand for other sentences: {listed}. "
        f"{share_of(share, 1)} of all sentences are matched to them. Clean the texts and train "
        "again, or drop the members (protorynet edit MODEL --drop-member ID)."
    )
    examples = [
        {
            "prototype": prototypes[owners[at]].id,
            "member": prototypes.members[at].id,
            "text": quote(prototypes.members[at].sentence),
            "reason": reasons[at],
            "times": int(uses[at]),
            "repeated": _most_frequent(corpus, at) if reasons[at] == _TELLING else [],
        }
        for at in ordered[:_SHOWN]
    ]
    severity: Severity = "warning" if share >= _NOTABLE_SHARE else "note"
    evidence = {"n_members": dict(counts), "share_of_sentences": share, "examples": examples}
    return [Finding("artefact_members", severity, message, evidence)]


def _find_reasons(corpus: AuditCorpus, telling: set[int]) -> dict[int, str]:
    """Return the first reason against each member that has one, by its position."""
    matched, count = corpus.reading.members, len(corpus.model.prototypes.members)
    uses = np.bincount(matched, minlength=count)
    enough = uses >= _ENOUGH_SENTENCES

    def share(sentences: NDArray[np.bool_]) -> NDArray[np.float64]:
        return np.bincount(matched[sentences], minlength=count) / np.maximum(uses, 1)

    own = _locate(corpus)
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


def _most_frequent(corpus: AuditCorpus, member: int) -> list[str]:
    """Return the sentence that a member stands for most often."""
    sentences = np.flatnonzero(corpus.reading.members == member)
    return [quote(corpus.sentences[at]) for at, _ in corpus.most_copied(sentences, 1)]


def _locate(corpus: AuditCorpus) -> NDArray[np.int64]:
    """Return where each member's sentence stands among the training sentences; −1 for nowhere."""
    n_train = int((~corpus.in_test).sum())
    places = {text: at for at, text in enumerate(corpus.sentences[:n_train])}
    members = corpus.model.prototypes.members
    return np.array([places.get(member.sentence, -1) for member in members], np.int64)


def _largest_source(corpus: AuditCorpus, count: int) -> NDArray[np.int64]:
    """Return how many sentences of each member are of the one document that has most of them."""
    documents = corpus.same_document[corpus.documents]
    pairs, times = np.unique(
        corpus.reading.members * np.int64(len(corpus.texts)) + documents, return_counts=True
    )
    largest = np.zeros(count, np.int64)
    np.maximum.at(largest, pairs // len(corpus.texts), times)
    return largest
