"""Test documents that are almost a training document: copies of it, or the same form filled in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protorynet.audit.words import PASSAGE, WordSequences, in_documents, shingles

__all__ = ["NearCopy", "near_copies"]

_RUN = 5
# As many runs as a passage holds: less may be a formula that people write by themselves.
_LEAST_RUNS = PASSAGE - _RUN + 1
_MIN_LIKENESS = 0.6
# With 16 bands of two, 999 of 1,000 pairs of that likeness and length are found.
_BANDS = 16


class NearCopy(NamedTuple):
    """A test document and the training document that it is like.

    Parameters
    ----------
    test, train
        The documents.
    likeness
        How many of the shorter one's runs of five words the other holds, as a share.
    is_form
        Whether other documents hold the same passages, so that both follow a form.
    """

    test: int
    train: int
    likeness: float
    is_form: bool


def near_copies(
    documents: WordSequences, is_test: NDArray[np.bool_], counted: NDArray[np.bool_]
) -> list[NearCopy]:
    """Find, for test documents, a training document that holds most of its runs of five words.

    The work grows with the number of words: documents are compared that share a passage with
    no third, and each test document with the first training document of each group that its
    MinHash falls into.

    Parameters
    ----------
    documents
        The documents.
    is_test
        Which are of the test data.
    counted
        Which to look at; exact copies of others are better left out.

    Returns
    -------
    One pair per test document that has any, copies before forms and the likest first.

    Examples
    --------
    >>> from protorynet.audit.words import read_words
    >>> letters = "a b c d e f g h i j k l m n"
    >>> texts = read_words([letters, "q r s t u v w", letters + " o p"])
    >>> near_copies(texts, np.array([False, False, True]), np.ones(3, bool))
    [NearCopy(test=2, train=0, likeness=1.0, is_form=False)]
    """
    hashes, starts = shingles(documents, _RUN)
    owners = documents.owners[starts]
    hashes, owners = hashes[counted[owners]], owners[counted[owners]]
    if not len(hashes):
        return []
    own = _own_passages(hashes, owners, is_test)
    runs = _Runs(hashes, owners)
    best: dict[int, NearCopy] = {}
    for test, train in sorted(own.keys() | runs.alike(is_test)):
        common, likeness = runs.common(test, train)
        if common < _LEAST_RUNS or likeness < _MIN_LIKENESS:
            continue
        pair = NearCopy(test, train, likeness, is_form=(test, train) not in own)
        best[test] = min(best.get(test, pair), pair, key=_order)
    return sorted(best.values(), key=_order)


def _order(pair: NearCopy) -> tuple[bool, float, int]:
    return pair.is_form, -pair.likeness, pair.test


def _own_passages(
    hashes: NDArray[np.uint64], owners: NDArray[np.int64], is_test: NDArray[np.bool_]
) -> dict[tuple[int, int], int]:
    """Return the pairs of test and training document with a passage that no third one holds."""
    shared = in_documents(hashes, owners, 2)
    hashes, owners = hashes[shared], owners[shared]
    order = np.lexsort((owners, hashes))
    hashes, owners = hashes[order], owners[order]
    is_new = np.ones(len(hashes), np.bool_)
    is_new[1:] = (hashes[1:] != hashes[:-1]) | (owners[1:] != owners[:-1])
    hashes, owners = hashes[is_new], owners[is_new]
    _, first, counts = np.unique(hashes, return_index=True, return_counts=True)
    first = first[counts == 2]
    pairs = np.stack([owners[first], owners[first + 1]], axis=1)
    pairs = pairs[is_test[pairs[:, 0]] != is_test[pairs[:, 1]]]
    if not len(pairs):
        return {}
    pairs = np.where(is_test[pairs[:, :1]], pairs, pairs[:, ::-1])
    found, times = np.unique(pairs, axis=0, return_counts=True)
    enough = times >= _LEAST_RUNS
    return {
        (test, train): count
        for (test, train), count in zip(found[enough].tolist(), times[enough].tolist(), strict=True)
    }


class _Runs:
    """The runs of five words of each document; documents without any are left out."""

    def __init__(self, hashes: NDArray[np.uint64], owners: NDArray[np.int64]) -> None:
        self._hashes = hashes
        self._present, self._begins = np.unique(owners, return_index=True)
        self._ends = np.append(self._begins[1:], len(hashes))
        self._sets: dict[int, NDArray[np.uint64]] = {}

    def common(self, one: int, other: int) -> tuple[int, float]:
        """Return how many runs two documents share, and which share of the shorter's that is."""
        a, b = self._of(one), self._of(other)
        common = len(np.intersect1d(a, b, assume_unique=True))
        return common, common / min(len(a), len(b))

    def alike(self, is_test: NDArray[np.bool_]) -> set[tuple[int, int]]:
        """Pair test documents with training documents of the same MinHash."""
        random = np.random.default_rng(0)
        pairs: set[tuple[int, int]] = set()
        for _ in range(_BANDS):
            first, second = (
                np.minimum.reduceat(self._hashes * odd, self._begins)
                for odd in random.integers(0, 2**62, 2, dtype=np.uint64) * np.uint64(2)
                + np.uint64(1)
            )
            pairs |= self._same_band(first * np.uint64(31) ^ second, is_test[self._present])
        return pairs

    def _same_band(
        self, keys: NDArray[np.uint64], is_test: NDArray[np.bool_]
    ) -> set[tuple[int, int]]:
        """Pair each test document with the first training document of the same key."""
        train, test = np.flatnonzero(~is_test), np.flatnonzero(is_test)
        known, first = np.unique(keys[train], return_index=True)
        if not len(known) or not len(test):
            return set()
        place = np.minimum(np.searchsorted(known, keys[test]), len(known) - 1)
        hit = known[place] == keys[test]
        tests, trains = self._present[test[hit]], self._present[train[first[place[hit]]]]
        return set(zip(tests.tolist(), trains.tolist(), strict=True))

    def _of(self, document: int) -> NDArray[np.uint64]:
        if document not in self._sets:
            place = int(np.searchsorted(self._present, document))
            runs = self._hashes[self._begins[place] : self._ends[place]]
            self._sets[document] = np.unique(runs)
        return self._sets[document]
