"""Texts as sequences of words: what is said twice, whatever its case and punctuation."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "FORMULA",
    "PASSAGE",
    "WordSequences",
    "copied_texts",
    "in_documents",
    "read_words",
    "shingles",
]

# People write formulas of eight words ("one of the worst films I have ever seen"), seldom of
# twelve: of film reviews one sentence in a thousand, of management replies one in five.
FORMULA = 8
"""How many words in a row, shared by three documents, are a formula at least."""
PASSAGE = 12
"""How many words in a row, shared by three documents, are more than a formula."""

# Scripts written without spaces: every character counts as a word.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(f"[{_UNSPACED}]|[^\\W_{_UNSPACED}]+")
_MIN_COPIES = 3
_BUCKET_BITS = 24
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class WordSequences:
    """The words of a list of texts, one after another.

    Parameters
    ----------
    words
        A number for every word; equal words have equal numbers.
    lengths
        Number of words of each text.
    n_words
        How many different words there are.
    """

    words: NDArray[np.int64]
    lengths: NDArray[np.int64]
    n_words: int

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each text starts among the words; one more than there are texts."""
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)

    @property
    def owners(self) -> NDArray[np.int64]:
        """The text that each word belongs to."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def keys(self) -> list[bytes]:
        """Return a key per text; texts of the same words, and only these, share one."""
        packed = self.words.tobytes()
        ends = (8 * self.offsets).tolist()
        return [packed[a:b] for a, b in itertools.pairwise(ends)]

    def joined(self, lengths: NDArray[np.int64]) -> WordSequences:
        """Return longer texts, each made of so many of these."""
        starts = np.concatenate([[0], np.cumsum(lengths)])
        return WordSequences(self.words, np.diff(self.offsets[starts]), self.n_words)


def read_words(texts: Sequence[str]) -> WordSequences:
    """Read the words of texts, without case, punctuation and spacing.

    Examples
    --------
    >>> found = read_words(["Thank you!", "thank YOU, Sam."])
    >>> found.words.tolist(), found.lengths.tolist()
    ([0, 1, 0, 1, 2], [2, 3])
    """
    number: dict[str, int] = {}
    read: dict[str, NDArray[np.int64]] = {}
    for text in texts:
        if text not in read:
            found = _WORD.findall(text.casefold())
            numbers = [number.setdefault(word, len(number)) for word in found]
            read[text] = np.array(numbers, np.int64)
    pieces = [read[text] for text in texts]
    words = np.concatenate(pieces) if pieces else np.zeros(0, np.int64)
    return WordSequences(words, np.array([len(p) for p in pieces], np.int64), len(number))


def shingles(texts: WordSequences, size: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return a hash of every run of so many words within a text, and where each run starts.

    Examples
    --------
    >>> hashes, starts = shingles(read_words(["a b c", "b c", "d"]), 2)
    >>> starts.tolist(), bool(hashes[1] == hashes[2])
    ([0, 1, 3], True)
    """
    count = len(texts.words) - size + 1
    if count <= 0:
        return np.zeros(0, np.uint64), np.zeros(0, np.int64)
    random = np.random.default_rng(0)
    values = random.integers(0, 2**63, texts.n_words, dtype=np.uint64)[texts.words]
    hashes = np.zeros(count, np.uint64)
    for place in range(size):
        hashes = hashes * _MULTIPLIER + values[place : place + count]
    owners = texts.owners
    starts = np.flatnonzero(owners[:count] == owners[size - 1 :])
    return hashes[starts], starts


def in_documents(
    hashes: NDArray[np.uint64], documents: NDArray[np.int64], least: int
) -> NDArray[np.bool_]:
    """Say which hashes occur in at least so many documents, whose numbers never decrease.

    Examples
    --------
    >>> hashes = np.array([7, 7, 9, 7], np.uint64)
    >>> in_documents(hashes, np.array([0, 0, 1, 1]), 2).tolist()
    [True, True, False, True]
    """
    # Sorting is slow, so what is alone in its bucket is left out before.
    buckets = (hashes >> np.uint64(64 - _BUCKET_BITS)).astype(np.int64)
    full = np.bincount(buckets, minlength=2**_BUCKET_BITS) >= least
    chosen = np.flatnonzero(full[buckets])
    found = np.zeros(len(hashes), np.bool_)
    if not len(chosen):
        return found
    order = chosen[np.argsort(hashes[chosen], kind="stable")]
    ordered, owners = hashes[order], documents[order]
    is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    is_new = is_first | np.concatenate([[True], owners[1:] != owners[:-1]])
    group = np.cumsum(is_first) - 1
    found[order] = (np.bincount(group, weights=is_new) >= least)[group]
    return found


def copied_texts(
    texts: WordSequences, lengths: NDArray[np.int64], counted: NDArray[np.bool_], size: int
) -> NDArray[np.bool_]:
    """Say which texts lie, for the greater part, in passages of three documents or more.

    Parameters
    ----------
    texts
        The texts.
    lengths
        How many of them make each document.
    counted
        Which documents count.
    size
        How many words in a row make a passage; it may go on from text to text.
    """
    documents = texts.joined(lengths)
    hashes, starts = shingles(documents, size)
    owners = documents.owners[starts]
    kept = counted[owners]
    hashes, starts, owners = hashes[kept], starts[kept], owners[kept]
    copied = starts[in_documents(hashes, owners, _MIN_COPIES)]
    edges = np.bincount(copied, minlength=len(texts.words) + 1)
    edges -= np.bincount(copied + size, minlength=len(edges))
    is_covered = np.cumsum(edges)[: len(texts.words)] > 0
    covered = np.bincount(texts.owners, weights=is_covered, minlength=len(texts.lengths))
    most: NDArray[np.bool_] = (2 * covered >= texts.lengths) & (texts.lengths > 0)
    return most
