"""All trajectories in one tree, and the beginnings that give a class away."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from protorynet.reading import Reading

__all__ = ["PrefixTree", "grow_tree", "pure_prefixes"]


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

    def judged(self, members: NDArray[np.bool_], lengths: NDArray[np.int64]) -> PrefixTree:
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


def grow_tree(trajectory: Reading, members: NDArray[np.bool_]) -> PrefixTree:
    """Put documents into a tree, a sentence of all documents at a time.

    Parameters
    ----------
    trajectory
        The documents.
    members
        Which of them the model gives the class.

    Examples
    --------
    >>> from protorynet.reading import Reading
    >>> columns, ones = np.array([7, 4, 7, 5]), np.ones(4, np.float32)
    >>> two = Reading(columns, ones, columns, ones, np.array([2, 2]))
    >>> tree = grow_tree(two, np.array([True, False]))
    >>> [tree.prefix(node) for node in range(len(tree))]
    [(), (7,), (7, 4), (7, 5)]
    >>> tree.members.tolist()
    [1, 1, 1, 0]
    """
    lengths, offsets = trajectory.lengths, trajectory.offsets
    width = int(trajectory.columns.max(initial=0)) + 1
    ends, places = np.zeros(len(lengths), np.int64), np.zeros_like(trajectory.columns)
    parts = [tuple(np.array([value]) for value in (-1, -1, len(lengths), members.sum()))]
    levels = [0, 1]
    for depth in range(int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > depth)
        here = offsets[longer] + depth
        steps = ends[longer] * width + trajectory.columns[here]
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

    Parameters
    ----------
    tree
        The trajectories.
    purity
        Least share of the class among the documents that begin so.
    support
        Least number of these documents.
    """
    pure = (tree.members >= purity * tree.documents) & (tree.documents >= support)
    pure[0] = False
    below = np.zeros(len(tree), np.bool_)
    for start, stop in zip(tree.levels[1:-1], tree.levels[2:], strict=True):
        parents = tree.parents[start:stop]
        below[start:stop] = below[parents] | pure[parents]
    found = np.flatnonzero(pure & ~below).tolist()
    return sorted(found, key=lambda node: (-int(tree.documents[node]), tree.prefix(node)))
