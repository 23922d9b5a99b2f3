"""What words and pairs of words tell of the label: weights that a model carries with it."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.threads import map_in_processes

_WORD = re.compile(r"\w+")
_TEXTS_PER_BLOCK = 16_384
_LARGEST = 2**15 - 1  # weights are kept as whole numbers of 16 bits
_UNKNOWN = -1  # the number of a word that is not known

Counts = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


class _Growing(dict[str, int]):
    """Words and their numbers; a word that is not there gets the next one."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number


class _Known(dict[str, int]):
    """Words and their numbers; a word that is not there has none."""

    def __missing__(self, word: str) -> int:
        return _UNKNOWN


@dataclass(frozen=True, eq=False)
class Ngrams:
    """Words, in lower case, and pairs of neighbours; all are numbered, the pairs after the words.

    Examples
    --------
    >>> ngrams, counts = Ngrams.of(["Not good!", "Good."])
    >>> ngrams.names(range(3))
    ['not', 'good', 'not good']
    >>> list(zip(*(part.tolist() for part in counts[:2])))
    [(0, 0), (0, 1), (0, 2), (1, 1)]
    """

    words: Mapping[str, int]
    pairs: NDArray[np.int64]  # the number of the first word times that of words, plus the second's

    @classmethod
    def of(cls, texts: Sequence[str]) -> tuple[Ngrams, Counts]:
        """Return all n-grams of texts, and how often each text has each, as `count` does."""
        words = _Growing()
        found, rows = _read_words(texts, words)
        pairs, numbers = np.unique(_pair(found, rows, len(words))[0], return_inverse=True)
        ngrams = cls(_Known(words), pairs)
        return ngrams, ngrams._count(found, rows, numbers)

    @classmethod
    def named(cls, names: Iterable[str]) -> Ngrams:
        """Return n-grams by their names; words that occur in pairs alone are among them too."""
        parts = [name.split(" ") for name in names]
        words = _Growing()
        for name in parts:
            for word in name:
                words[word]
        pairs = [words[name[0]] * len(words) + words[name[1]] for name in parts if len(name) == 2]
        return cls(_Known(words), np.unique(np.array(pairs, np.int64)))

    def __len__(self) -> int:
        return len(self.words) + len(self.pairs)

    def names(self, numbers: Iterable[int]) -> list[str]:
        """Return the words and pairs that have some numbers."""
        words, n_words = list(self.words), len(self.words)
        named = []
        for number in numbers:
            if number < n_words:
                named.append(words[number])
            else:
                first, second = divmod(int(self.pairs[number - n_words]), n_words)
                named.append(f"{words[first]} {words[second]}")
        return named

    def number(self, name: str) -> int:
        """Return the number of a word or pair."""
        first, *second = (self.words[word] for word in name.split(" "))
        if not second:
            return first
        code = first * len(self.words) + second[0]
        return len(self.words) + int(np.searchsorted(self.pairs, code))

    def count(self, texts: Sequence[str]) -> Counts:
        """Return the n-grams of texts as rows, columns and values of a sparse matrix, row by row.

        An n-gram that occurs n times has the value 1 + log n.
        """
        found, rows = _read_words(texts, self.words)
        codes, _ = _pair(found, rows, len(self.words))
        numbers = np.full(len(codes), _UNKNOWN, np.int64)
        if len(self.pairs):
            place = np.searchsorted(self.pairs, codes).clip(max=len(self.pairs) - 1)
            numbers = np.where(self.pairs[place] == codes, place, _UNKNOWN)
        return self._count(found, rows, numbers)

    def _count(
        self, words: NDArray[np.int64], rows: NDArray[np.int64], pairs: NDArray[np.int64]
    ) -> Counts:
        where = _pair(words, rows, len(self.words))[1]
        columns = np.concatenate([words, np.where(pairs < 0, pairs, pairs + len(self.words))])
        known = columns >= 0
        codes = np.concatenate([rows, rows[where]])[known] * len(self) + columns[known]
        distinct, counts = np.unique(codes, return_counts=True)
        width = max(1, len(self))
        return distinct // width, distinct % width, 1 + np.log(counts)


def _read_words(
    texts: Sequence[str], numbers: Mapping[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of all words of texts, and which text each is of."""
    found, ends = array("q"), np.empty(len(texts), np.int64)
    for row, text in enumerate(texts):
        found.extend(map(numbers.__getitem__, _WORD.findall(text.lower())))
        ends[row] = len(found)
    rows = np.repeat(np.arange(len(texts)), np.diff(ends, prepend=0))
    return np.asarray(found, np.int64), rows


def _pair(
    words: NDArray[np.int64], rows: NDArray[np.int64], n_words: int
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Return the codes of neighbours in one text that are both known, and where they stand."""
    first, second = words[:-1], words[1:]
    at = np.flatnonzero((rows[:-1] == rows[1:]) & (first >= 0) & (second >= 0))
    return first[at] * n_words + second[at], at


@dataclass(frozen=True, eq=False)
class WordWeights:
    """A weight of each class for each word or pair of words."""

    ngrams: tuple[str, ...]  # in lower case
    steps: NDArray[np.int16]  # the weights as whole numbers, (n, C)
    unit: float  # what one step is worth

    @classmethod
    def of(cls, ngrams: Sequence[str], weights: NDArray[np.float32]) -> WordWeights:
        """Round weights so that they take little room."""
        unit = float(np.abs(weights).max(initial=0.0)) / _LARGEST or 1.0
        return cls(tuple(ngrams), np.round(weights / unit).astype(np.int16), unit)

    def times(self, factor: float) -> WordWeights:
        """Return the same with every weight multiplied."""
        return replace(self, unit=factor * self.unit)

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return int(self.steps.shape[1])

    @cached_property
    def _numbered(self) -> tuple[Ngrams, NDArray[np.int16]]:
        """The n-grams, and the weights in the order of their numbers."""
        found = Ngrams.named(self.ngrams)
        steps = np.zeros((len(found), self.n_classes), np.int16)
        steps[[found.number(ngram) for ngram in self.ngrams]] = self.steps
        return found, steps

    def read(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return what the words of each text tell of the label, as logits (n, C).

        Words that are not known count for nothing, and a word that is said again for less.
        """
        starts = range(0, len(texts), _TEXTS_PER_BLOCK)
        blocks = [texts[start : start + _TEXTS_PER_BLOCK] for start in starts]
        nothing = np.zeros((0, self.n_classes), np.float32)
        return np.concatenate([nothing, *map_in_processes(self._read_block, blocks)])

    def _read_block(self, texts: Sequence[str]) -> NDArray[np.float32]:
        result = np.zeros((len(texts), self.n_classes), np.float32)
        ngrams, weights = self._numbered
        rows, columns, values = ngrams.count(texts)
        for label, steps in enumerate(weights.T):
            sums = np.bincount(rows, values * steps[columns])
            result[: len(sums), label] = sums * self.unit
        return result

    def beside(self, vectors: NDArray[np.float32], texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors of texts (n, d) with what their words tell, (n, d + C)."""
        return np.hstack([vectors, self.read(texts)])

    def to_json(self) -> bytes:
        """Return the content of words.json."""
        values = {"unit": self.unit, "ngrams": self.ngrams, "weights": self.steps.tolist()}
        return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()

    @classmethod
    def from_dict(cls, values: dict[str, Any], n_classes: int) -> WordWeights:
        """Check the content of words.json; a ValueError where it is wrong."""
        ngrams, unit = values["ngrams"], values["unit"]
        if not all(isinstance(ngram, str) for ngram in ngrams) or len({*ngrams}) != len(ngrams):
            raise ValueError("ngrams should be different texts")
        if any(ngram.count(" ") > 1 for ngram in ngrams):
            raise ValueError("an n-gram has more than two words")
        if not isinstance(unit, float) or not 0 < unit < 1e6:
            raise ValueError(f"unit {unit!r}")
        weights = np.array(values["weights"])
        if weights.shape != (len(ngrams), n_classes) or weights.dtype.kind != "i":
            raise ValueError(f"weights of shape {weights.shape} and type {weights.dtype}")
        if (weights != weights.astype(np.int16)).any():
            raise ValueError("a weight has more than 16 bits")
        return cls(tuple(ngrams), weights.astype(np.int16), unit)
