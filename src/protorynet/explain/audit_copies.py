"""Findings about texts that stand in the data more than once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.explain.audit_corpus import AuditCorpus
from protorynet.explain.audit_words import WordSequences, shingles
from protorynet.explain.findings import Finding, counted, quoted, share_of

__all__ = ["copy_findings", "near_copies"]

_MOST_EXAMPLES = 50
_SERIOUS_SHARE = 0.01
_MANY_DUPLICATES = 0.05
_SHINGLE = 5
_MIN_LIKENESS = 0.6
# With 16 bands of two, 999 of 1,000 pairs of that likeness are found.
_BANDS = 16


def copy_findings(corpus: AuditCorpus) -> list[Finding]:
    """Look for texts in both splits, duplicates, and equal texts with different labels."""
    shared = _shared(corpus)
    return [
        *_shared_texts(corpus, shared),
        *_near_shared_texts(corpus, shared),
        *_duplicates(corpus, is_test=False),
        *_duplicates(corpus, is_test=True),
        *_conflicting_labels(corpus),
    ]


def near_copies(
    documents: WordSequences, is_test: NDArray[np.bool_]
) -> list[tuple[int, int, float]]:
    """Find, for test documents, a training document that shares most of its runs of five words.

    The work grows with the number of words: a test document is compared only with the first
    training document of each group that its MinHash falls into.

    Returns
    -------
    Triples of test document, training document and likeness (Jaccard), likest first.

    Examples
    --------
    >>> from protorynet.explain.audit_words import read_words
    >>> texts = read_words(["a b c d e f g h i j", "q r s t u v w", "a b c d e f g h i k"])
    >>> [(test, train) for test, train, _ in near_copies(texts, np.array([False, False, True]))]
    [(2, 0)]
    """
    hashes, starts = shingles(documents, _SHINGLE)
    if not len(hashes):
        return []
    owners = documents.owners[starts]
    present, begins = np.unique(owners, return_index=True)
    ends = np.append(begins[1:], len(hashes))
    random = np.random.default_rng(0)
    pairs: set[tuple[int, int]] = set()
    for _ in range(_BANDS):
        first, second = (
            np.minimum.reduceat(hashes * odd, begins)
            for odd in random.integers(0, 2**62, 2, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        )
        pairs |= _same_band(first * np.uint64(31) ^ second, is_test[present])
    sets = {
        place: np.unique(hashes[begins[place] : ends[place]])
        for place in {place for pair in pairs for place in pair}
    }
    found: dict[int, tuple[float, int]] = {}
    for test, train in sorted(pairs):
        common = len(np.intersect1d(sets[test], sets[train], assume_unique=True))
        likeness = common / (len(sets[test]) + len(sets[train]) - common)
        if likeness >= _MIN_LIKENESS and likeness > found.get(test, (0.0, 0))[0]:
            found[test] = (likeness, train)
    return sorted(
        ((int(present[a]), int(present[b]), likeness) for a, (likeness, b) in found.items()),
        key=lambda pair: (-pair[2], pair[0]),
    )


def _same_band(keys: NDArray[np.uint64], is_test: NDArray[np.bool_]) -> set[tuple[int, int]]:
    """Pair each test document with the first training document of the same key."""
    train = np.flatnonzero(~is_test)
    known, first = np.unique(keys[train], return_index=True)
    test = np.flatnonzero(is_test)
    if not len(known) or not len(test):
        return set()
    place = np.minimum(np.searchsorted(known, keys[test]), len(known) - 1)
    hit = known[place] == keys[test]
    return set(zip(test[hit].tolist(), train[first[place[hit]]].tolist(), strict=True))


def _shared(corpus: AuditCorpus) -> NDArray[np.bool_]:
    """Say which test documents also stand in training."""
    trained = np.unique(corpus.same_document[~corpus.is_test])
    return corpus.is_test & np.isin(corpus.same_document, trained)


def _shared_texts(corpus: AuditCorpus, shared: NDArray[np.bool_]) -> list[Finding]:
    count, whole = int(shared.sum()), int(corpus.is_test.sum())
    if not count:
        return []
    others = corpus.is_test & ~shared
    evidence: dict[str, Any] = {
        "n_test_documents": count,
        "share_of_test": count / whole,
        "accuracy_on_these": float(corpus.right[shared].mean()),
        "accuracy_on_the_others": float(corpus.right[others].mean()) if others.any() else None,
        "examples": [
            _copies(corpus, number)
            for number in dict.fromkeys(corpus.same_document[shared].tolist())
        ][:_MOST_EXAMPLES],
    }
    message = (
        f"{counted(count, 'test text')} ({share_of(count, whole)} of the test data) also "
        f"{'stand' if count > 1 else 'stands'} in the training data, so the model has seen "
        f"{'them' if count > 1 else 'it'} with the answer. Remove "
        f"{'them' if count > 1 else 'it'} from one of the two before quoting any accuracy."
    )
    serious = count / whole >= _SERIOUS_SHARE
    return [Finding("shared_texts", "serious" if serious else "warning", message, evidence)]


def _near_shared_texts(corpus: AuditCorpus, shared: NDArray[np.bool_]) -> list[Finding]:
    pairs = near_copies(corpus.document_words, corpus.is_test)
    pairs = [pair for pair in pairs if not shared[pair[0]]]
    if not pairs:
        return []
    whole = int(corpus.is_test.sum())
    message = (
        f"{counted(len(pairs), 'test text')} ({share_of(len(pairs), whole)} of the test data) "
        f"{'are' if len(pairs) > 1 else 'is'} almost the same as a training text. "
        "Look at the pairs; where they are copies, remove one before quoting any accuracy."
    )
    examples = [
        {
            **corpus.example(test),
            "likeness": likeness,
            "train_row": int(corpus.rows[train]),
            "train_text": quoted(corpus.texts[train]),
        }
        for test, train, likeness in pairs[:_MOST_EXAMPLES]
    ]
    evidence = {"n_test_documents": len(pairs), "examples": examples}
    return [Finding("near_shared_texts", "warning", message, evidence)]


def _duplicates(corpus: AuditCorpus, *, is_test: bool) -> list[Finding]:
    chosen = corpus.is_test == is_test
    numbers, counts = np.unique(corpus.same_document[chosen], return_counts=True)
    surplus, whole = int((counts - 1).sum()), int(chosen.sum())
    if not surplus:
        return []
    split = "test" if is_test else "training"
    harm = (
        "Each counts several times in every figure."
        if is_test
        else "The model learns them by heart, and its validation accuracy looks better than it is."
    )
    message = (
        f"{counted(surplus, f'{split} text')} ({share_of(surplus, whole)}) "
        f"{'repeat' if surplus > 1 else 'repeats'} another text of the same split. {harm} "
        "Keep one of each."
    )
    most = numbers[np.argsort(-counts, kind="stable")][: min(10, int((counts > 1).sum()))]
    evidence = {
        "split": "test" if is_test else "train",
        "n_surplus": surplus,
        "examples": [_copies(corpus, int(number)) for number in most],
    }
    many = surplus / whole >= _MANY_DUPLICATES
    return [Finding("duplicates", "warning" if many else "note", message, evidence)]


def _conflicting_labels(corpus: AuditCorpus) -> list[Finding]:
    labels = np.unique(corpus.truth, axis=0, return_inverse=True)[1].reshape(-1)
    pairs = np.unique(np.stack([corpus.same_document, labels]), axis=1)
    numbers, counts = np.unique(pairs[0], return_counts=True)
    conflicting = numbers[counts > 1]
    if not len(conflicting):
        return []
    message = (
        f"{counted(len(conflicting), 'text')} "
        f"{'stand' if len(conflicting) > 1 else 'stands'} in the data several times with different "
        "labels, so at least one label is wrong. Decide which, or drop the text."
    )
    examples = [_copies(corpus, int(number)) for number in conflicting[:_MOST_EXAMPLES]]
    evidence = {"n_texts": len(conflicting), "examples": examples}
    serious = len(conflicting) / len(corpus.texts) >= _SERIOUS_SHARE
    return [Finding("conflicting_labels", "serious" if serious else "warning", message, evidence)]


def _copies(corpus: AuditCorpus, number: int) -> dict[str, Any]:
    """Return a text with all its rows and labels."""
    places = np.flatnonzero(corpus.same_document == number)
    return {
        "text": quoted(corpus.texts[places[0]]),
        "train_rows": corpus.rows[places[~corpus.is_test[places]]].tolist(),
        "test_rows": corpus.rows[places[corpus.is_test[places]]].tolist(),
        "labels": sorted({corpus.label(int(place)) for place in places}),
    }
