"""Findings about texts that stand in the data more than once, exactly or nearly."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protorynet.audit.audit_corpus import (
    PASSAGE_WORDS,
    AuditCorpus,
    WordSequences,
    holders,
    shingles,
)
from protorynet.audit.findings import Finding, Severity, describe, quote

_EXAMPLES = 50
_SERIOUS_SHARE, _MANY_DUPLICATES = 0.01, 0.05
_RUN_WORDS = 5
# As many runs as a passage holds: less may be a formula that people write by themselves.
_LEAST_RUNS = PASSAGE_WORDS - _RUN_WORDS + 1
_LEAST_LIKENESS = 0.6
# With 16 bands of two, 999 of 1,000 pairs of that likeness and length are found.
_MINHASH_BANDS = 16


def copy_findings(corpus: AuditCorpus) -> list[Finding]:
    """Look for texts in both splits, duplicates, and equal texts with different labels."""
    near = near_copies(corpus.document_words, corpus.is_test, corpus.is_first)
    return [
        *_shared_texts(corpus),
        *_near_shared_texts(corpus, [pair for pair in near if not pair.is_form]),
        # Test texts that differ from several others by what was filled in.
        *_near_shared_texts(corpus, [pair for pair in near if pair.is_form]),
        *_duplicates(corpus, is_test=False),
        *_duplicates(corpus, is_test=True),
        *_conflicting_labels(corpus),
    ]


def _shared_texts(corpus: AuditCorpus) -> list[Finding]:
    trained = np.unique(corpus.same_document[~corpus.is_test])
    shared = corpus.is_test & np.isin(corpus.same_document, trained)
    count, whole = int(shared.sum()), int(corpus.is_test.sum())
    if not count:
        return []
    evidence: dict[str, Any] = {
        **_compare_accuracy(corpus, shared),
        "examples": [
            _describe_copies(corpus, number)
            for number in dict.fromkeys(corpus.same_document[shared].tolist())
        ][:_EXAMPLES],
    }
    severity: Severity = "serious" if count / whole >= _SERIOUS_SHARE else "warning"
    return [describe("shared_texts", severity, evidence, whole=whole)]


def _near_shared_texts(corpus: AuditCorpus, pairs: list[NearCopy]) -> list[Finding]:
    if not pairs:
        return []
    chosen = np.zeros(len(corpus.texts), np.bool_)
    chosen[[pair.test for pair in pairs]] = True
    examples = [
        {
            **corpus.example(pair.test),
            "likeness": pair.likeness,
            "train_row": int(corpus.rows[pair.train]),
            "train_text": quote(corpus.texts[pair.train]),
        }
        for pair in pairs[:_EXAMPLES]
    ]
    evidence = {**_compare_accuracy(corpus, chosen), "examples": examples}
    whole = int(corpus.is_test.sum())
    if pairs[0].is_form:
        return [describe("shared_forms", "note", evidence, whole=whole)]
    severity: Severity = "warning" if len(pairs) / whole >= _SERIOUS_SHARE else "note"
    return [describe("near_shared_texts", severity, evidence, whole=whole)]


def _compare_accuracy(corpus: AuditCorpus, chosen: NDArray[np.bool_]) -> dict[str, Any]:
    """Return how many test documents are chosen, and the accuracy on these and on the others."""
    others = corpus.is_test & ~chosen
    return {
        "n_test_documents": int(chosen.sum()),
        "share_of_test": float(chosen.sum() / corpus.is_test.sum()),
        "accuracy_on_these": float(corpus.right[chosen].mean()),
        "accuracy_on_the_others": float(corpus.right[others].mean()) if others.any() else None,
    }


def _duplicates(corpus: AuditCorpus, *, is_test: bool) -> list[Finding]:
    chosen = corpus.is_test == is_test
    numbers, counts = np.unique(corpus.same_document[chosen], return_counts=True)
    surplus, whole = int((counts - 1).sum()), int(chosen.sum())
    if not surplus:
        return []
    most = numbers[np.argsort(-counts, kind="stable")][: min(10, int((counts > 1).sum()))]
    evidence = {
        "split": "test" if is_test else "train",
        "n_surplus": surplus,
        "examples": [_describe_copies(corpus, int(number)) for number in most],
    }
    severity: Severity = "warning" if surplus / whole >= _MANY_DUPLICATES else "note"
    return [describe("duplicates", severity, evidence, whole=whole)]


def _conflicting_labels(corpus: AuditCorpus) -> list[Finding]:
    labels = np.unique(corpus.truth, axis=0, return_inverse=True)[1].reshape(-1)
    pairs = np.unique(np.stack([corpus.same_document, labels]), axis=1)
    numbers, counts = np.unique(pairs[0], return_counts=True)
    conflicting = numbers[counts > 1]
    if not len(conflicting):
        return []
    examples = [_describe_copies(corpus, int(number)) for number in conflicting[:_EXAMPLES]]
    evidence = {"n_texts": len(conflicting), "examples": examples}
    serious = len(conflicting) / len(corpus.texts) >= _SERIOUS_SHARE
    return [describe("conflicting_labels", "serious" if serious else "warning", evidence)]


def _describe_copies(corpus: AuditCorpus, number: int) -> dict[str, Any]:
    copies = np.flatnonzero(corpus.same_document == number)
    return {
        "text": quote(corpus.texts[copies[0]]),
        "train_rows": corpus.rows[copies[~corpus.is_test[copies]]].tolist(),
        "test_rows": corpus.rows[copies[corpus.is_test[copies]]].tolist(),
        "labels": sorted({corpus.label(int(copy)) for copy in copies}),
    }


class NearCopy(NamedTuple):
    """A test document and the training document that it is like.

    The likeness is the share of the shorter one's runs of five words that the other holds. Where
    other documents hold the same passages, both follow a form.
    """

    test: int
    train: int
    likeness: float
    is_form: bool


def near_copies(
    documents: WordSequences, is_test: NDArray[np.bool_], counted: NDArray[np.bool_]
) -> list[NearCopy]:
    """Find, for each test document, a training document that holds most of its runs of five words.

    Those of training come first. Compared are documents that share a passage with no third, and
    the first training document of each group that a test document's MinHash falls into, so the
    work grows with the words.
    """
    hashes, starts = shingles(documents, _RUN_WORDS)
    owners = documents.owners[starts]
    hashes, owners = hashes[counted[owners]], owners[counted[owners]]
    if not len(hashes):
        return []
    own = _pairs_of_two(hashes, owners, is_test)
    present, begins = np.unique(owners, return_index=True)
    runs = dict(zip(present.tolist(), np.split(hashes, begins[1:]), strict=True))
    best: dict[int, NearCopy] = {}
    for test, train in sorted(own | _pairs_by_minhash(hashes, begins, present, is_test)):
        a, b = np.unique(runs[test]), np.unique(runs[train])
        common = len(np.intersect1d(a, b, assume_unique=True))
        likeness = common / min(len(a), len(b))
        if common >= _LEAST_RUNS and likeness >= _LEAST_LIKENESS:
            pair = NearCopy(test, train, likeness, is_form=(test, train) not in own)
            best[test] = min(best.get(test, pair), pair, key=_order)
    return sorted(best.values(), key=_order)


def _order(pair: NearCopy) -> tuple[bool, float, int]:
    return pair.is_form, -pair.likeness, pair.test


def _pairs_of_two(
    hashes: NDArray[np.uint64], owners: NDArray[np.int64], is_test: NDArray[np.bool_]
) -> set[tuple[int, int]]:
    """Return the pairs of test and training document with a passage that no third one holds."""
    _, held, documents = holders(hashes, owners)
    two = np.flatnonzero(np.bincount(held)[held] == 2)
    pairs = documents[two[np.argsort(held[two], kind="stable")]].reshape(-1, 2)
    pairs = pairs[is_test[pairs[:, 0]] < is_test[pairs[:, 1]]][:, ::-1]
    found, times = np.unique(pairs, axis=0, return_counts=True)
    return {(test, train) for test, train in found[times >= _LEAST_RUNS].tolist()}


def _pairs_by_minhash(
    hashes: NDArray[np.uint64],
    begins: NDArray[np.int64],
    present: NDArray[np.int64],
    is_test: NDArray[np.bool_],
) -> set[tuple[int, int]]:
    """Pair each test document with the first training document of the same MinHash."""
    random = np.random.default_rng(0)
    tested = is_test[present].tolist()
    pairs: set[tuple[int, int]] = set()
    for _ in range(_MINHASH_BANDS):
        odd = random.integers(0, 2**62, 2, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        one, other = (np.minimum.reduceat(hashes * factor, begins) for factor in odd)
        keys = (one * np.uint64(31) ^ other).tolist()
        first: dict[int, int] = {}
        for key, document, is_tested in zip(keys, present.tolist(), tested, strict=True):
            if not is_tested:
                first.setdefault(key, document)
            elif key in first:
                pairs.add((document, first[key]))
    return pairs
