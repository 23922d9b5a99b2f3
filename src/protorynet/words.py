"""What words and pairs of words tell of the label: weights that a model carries with it."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.threads import map_in_processes

_WORD = re.compile(r"\w+")
_TEXTS_PER_BLOCK = 16_384
_LARGEST = 2**15 - 1  # weights are kept as whole numbers of 16 bits


def find_ngrams(text: str) -> list[str]:
    """Return the words of a text, in lower case, and the pairs of neighbours.

    Examples
    --------
    >>> find_ngrams("Not good!")
    ['not', 'good', 'not good']
    """
    words = _WORD.findall(text.lower())
    return words + [f"{first} {second}" for first, second in pairwise(words)]


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
    def _numbers(self) -> dict[str, int]:
        return {ngram: number for number, ngram in enumerate(self.ngrams)}

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
        rows, columns, values = count_ngrams(texts, self._numbers)
        for label, steps in enumerate(self.steps.T):
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
        if not isinstance(unit, float) or not 0 < unit < 1e6:
            raise ValueError(f"unit {unit!r}")
        weights = np.array(values["weights"])
        if weights.shape != (len(ngrams), n_classes) or weights.dtype.kind != "i":
            raise ValueError(f"weights of shape {weights.shape} and type {weights.dtype}")
        if (weights != weights.astype(np.int16)).any():
            raise ValueError("a weight has more than 16 bits")
        return cls(tuple(ngrams), weights.astype(np.int16), unit)


def count_ngrams(
    texts: Sequence[str], numbers: dict[str, int], *, grow: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the n-grams of texts as rows, columns and values of a sparse matrix, row by row.

    An n-gram that occurs n times has the value 1 + log n. With `grow`, those that `numbers` does
    not know get the next ones.
    """
    found, ends = array("q"), np.empty(len(texts), np.int64)
    for row, text in enumerate(texts):
        ngrams = find_ngrams(text)
        if grow:
            found.extend([numbers.setdefault(ngram, len(numbers)) for ngram in ngrams])
        else:
            found.extend([numbers[ngram] for ngram in ngrams if ngram in numbers])
        ends[row] = len(found)
    columns, lengths = np.asarray(found, np.int64), np.diff(ends, prepend=0)
    width = max(1, len(numbers))
    codes = np.repeat(np.arange(len(texts)), lengths) * width + columns
    distinct, counts = np.unique(codes, return_counts=True)
    return distinct // width, distinct % width, 1 + np.log(counts)
