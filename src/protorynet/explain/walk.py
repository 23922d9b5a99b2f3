"""How an automaton reads many documents at once."""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray

from protorynet.reading import Reading

__all__ = ["Walk"]


class Walk:
    """Documents laid out so that an automaton reads all of them at once, equal ones once.

    Parameters
    ----------
    trajectory
        The documents.
    members
        Which of them have the class.
    """

    def __init__(self, trajectory: Reading, members: NDArray[np.bool_]) -> None:
        first, number = _distinct(trajectory)
        longest_first = np.argsort(-trajectory.lengths[first], kind="stable")
        # The place of each document among the distinct ones, the longest of these first.
        self._places = np.argsort(longest_first, kind="stable")[number]
        lengths = trajectory.lengths[first][longest_first]
        starts = trajectory.offsets[first][longest_first]
        self._steps = []
        for depth in range(int(lengths.max(initial=0))):
            longer = int(np.searchsorted(-lengths, -depth))
            self._steps.append(trajectory.columns[starts[:longer] + depth])
        self._count(members)

    def judged(self, members: NDArray[np.bool_]) -> Walk:
        """Return the same documents for another class, which these of them have."""
        other = copy.copy(self)
        other._count(members)
        return other

    def ends(self, table: NDArray[np.int64], start: int) -> NDArray[np.int64]:
        """Return the state in which each document ends."""
        return self._ends(table, start)[self._places]

    def fidelity(self, table: NDArray[np.int64], start: int, accepting: NDArray[np.bool_]) -> float:
        """Return the share of documents accepted if, and only if, they have the class."""
        accepted = accepting[self._ends(table, start)]
        return float(np.where(accepted, self._with, self._without).sum() / len(self._places))

    def _count(self, members: NDArray[np.bool_]) -> None:
        """Count the documents with and without the class that are the same sequence."""
        distinct = int(self._places.max(initial=-1)) + 1
        self._with = np.bincount(self._places[members], minlength=distinct)
        self._without = np.bincount(self._places[~members], minlength=distinct)

    def _ends(self, table: NDArray[np.int64], start: int) -> NDArray[np.int64]:
        # A state is told by where its row starts, so that a step is one sum and one look-up.
        width = table.shape[1]
        flat = (table * width).ravel()
        states = np.full(len(self._with), start * width, np.int64)
        for columns in self._steps:
            part = states[: len(columns)]
            np.take(flat, part + columns, out=part, mode="clip")
        return np.asarray(states // width)


def _distinct(trajectory: Reading) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a document of each distinct sequence, and the number of every document's sequence."""
    offsets, columns = trajectory.offsets, np.ascontiguousarray(trajectory.columns)
    numbers: dict[bytes, int] = {}
    number = np.empty(len(trajectory.lengths), np.int64)
    first: list[int] = []
    for document in range(len(number)):
        sequence = columns[offsets[document] : offsets[document + 1]].tobytes()
        number[document] = numbers.setdefault(sequence, len(numbers))
        if len(numbers) > len(first):
            first.append(document)
    return np.array(first, np.int64), number
