"""Many trajectories at once: all their beginnings in a tree, and all their ends in an automaton."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from protorynet.reading import Reading


@dataclass(frozen=True)
class PrefixTree:
    """Every beginning of every trajectory once: node 0 is the empty one.

    Parameters
    ----------
    parents, columns
        The node one sentence shorter, and the column of that last sentence's prototype; -1 for
        node 0. A parent always comes before its children.
    documents, members
        How many documents begin so, and how many of these the model gives the class.
    ends, places
        The node of each document as a whole, and of each document up to each of its sentences.
    levels
        Where the nodes of each length start among the nodes; one more than there are lengths.
    """

    parents: NDArray[np.int64]
    columns: NDArray[np.int64]
    documents: NDArray[np.int64]
    members: NDArray[np.int64]
    ends: NDArray[np.int64]
    places: NDArray[np.int64]
    levels: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.parents)

    def states(self, table: NDArray[np.int64], start: int) -> NDArray[np.int64]:
        """Return the state that an automaton is in at each node."""
        states = np.full(len(self), start, np.int64)
        for first, stop in zip(self.levels[1:-1], self.levels[2:], strict=True):
            level = slice(first, stop)
            states[level] = table[states[self.parents[level]], self.columns[level]]
        return states

    def for_class(self, members: NDArray[np.bool_], lengths: NDArray[np.int64]) -> PrefixTree:
        """Return the tree for another class, which these documents of these lengths have."""
        inside = np.bincount(self.places[np.repeat(members, lengths)], minlength=len(self))
        inside[0] = members.sum()
        return replace(self, members=inside.astype(np.int64))

    def prefix(self, node: int) -> tuple[int, ...]:
        """Return the columns that lead to a node."""
        columns = []
        while node:
            columns.append(int(self.columns[node]))
            node = int(self.parents[node])
        return tuple(reversed(columns))


def grow_tree(reading: Reading, members: NDArray[np.bool_]) -> PrefixTree:
    """Put documents, some of which have a class, into a tree, one sentence of each at a time."""
    lengths, offsets = reading.lengths, reading.offsets
    width = int(reading.columns.max(initial=0)) + 1
    ends, places = np.zeros(len(lengths), np.int64), np.zeros_like(reading.columns)
    parts = [tuple(np.array([value]) for value in (-1, -1, len(lengths), members.sum()))]
    levels = [0, 1]
    for depth in range(int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > depth)
        here = offsets[longer] + depth
        steps = ends[longer] * width + reading.columns[here]
        distinct, place = np.unique(steps, return_inverse=True)
        counts = np.bincount(place, minlength=len(distinct))
        chosen = np.bincount(place[members[longer]], minlength=len(distinct))
        parts.append((distinct // width, distinct % width, counts, chosen))
        ends[longer] = places[here] = levels[-1] + place
        levels.append(levels[-1] + len(distinct))
    parents, columns, documents, inside = (
        np.concatenate(values).astype(np.int64) for values in zip(*parts, strict=True)
    )
    return PrefixTree(parents, columns, documents, inside, ends, places, tuple(levels))


def pure_prefixes(tree: PrefixTree, *, purity: float, support: int) -> list[int]:
    """Return the nodes of the shortest beginnings that give the class away, most frequent first.

    At least this share of so many documents that begin so have the class.
    """
    pure = (tree.members >= purity * tree.documents) & (tree.documents >= support)
    pure[0] = False
    below = np.zeros(len(tree), np.bool_)
    for start, stop in zip(tree.levels[1:-1], tree.levels[2:], strict=True):
        parents = tree.parents[start:stop]
        below[start:stop] = below[parents] | pure[parents]
    found = np.flatnonzero(pure & ~below).tolist()
    return sorted(found, key=lambda node: (-int(tree.documents[node]), tree.prefix(node)))


class Walk:
    """Documents, some of which have a class, laid out so that an automaton reads all at once.

    Documents of the same prototypes are read once.
    """

    def __init__(self, reading: Reading, members: NDArray[np.bool_]) -> None:
        paths = [reading.columns[a:b].tobytes() for a, b in pairwise(reading.offsets)]
        numbers: dict[bytes, int] = {}
        number = np.array([numbers.setdefault(path, len(numbers)) for path in paths], np.int64)
        first = np.unique(number, return_index=True)[1]
        longest_first = np.argsort(-reading.lengths[first], kind="stable")
        # The place of each document among the distinct ones, the longest of these first.
        self._places = np.argsort(longest_first, kind="stable")[number]
        lengths = reading.lengths[first][longest_first]
        starts = reading.offsets[first][longest_first]
        self._steps = []
        for depth in range(int(lengths.max(initial=0))):
            longer = int(np.searchsorted(-lengths, -depth))
            self._steps.append(reading.columns[starts[:longer] + depth])
        self._count(members)

    def for_class(self, members: NDArray[np.bool_]) -> Walk:
        """Return the same documents for another class, which these of them have."""
        other = copy.copy(self)
        other._count(members)
        return other

    def fidelity(self, table: NDArray[np.int64], start: int, accepting: NDArray[np.bool_]) -> float:
        """Return the share of documents accepted if, and only if, they have the class."""
        # A state is given by where its row starts, so that a step is one sum and one look-up.
        width = table.shape[1]
        flat = (table * width).ravel()
        states = np.full(len(self._with), start * width, np.int64)
        for columns in self._steps:
            part = states[: len(columns)]
            np.take(flat, part + columns, out=part, mode="clip")
        accepted = accepting[states // width]
        return float(np.where(accepted, self._with, self._without).sum() / len(self._places))

    def _count(self, members: NDArray[np.bool_]) -> None:
        """Count the documents with and without the class that are the same sequence."""
        distinct = int(self._places.max(initial=-1)) + 1
        self._with = np.bincount(self._places[members], minlength=distinct)
        self._without = np.bincount(self._places[~members], minlength=distinct)
