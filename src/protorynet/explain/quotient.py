"""Like beliefs taken together: a small automaton out of the reader's many states."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protorynet.explain.beliefs import BeliefReader, Beliefs
from protorynet.explain.clusters import cluster, squared_distances, typical_points
from protorynet.explain.prefix_tree import PrefixTree
from protorynet.explain.walk import Walk

__all__ = ["Quotient", "form_quotient", "merged_while_faithful", "retargeted"]

# A vote of the reader itself, which decides only where no document has voted.
_READER_VOTE = 1e-3
_NEAREST = 3  # states that are tried as partners of each in a merge
_LEAST_GAIN = 3  # documents that must be won for a transition to be changed
_LEAST_TRAFFIC = 20


@dataclass(frozen=True)
class Quotient:
    """Votes on how an automaton should move and accept.

    Parameters
    ----------
    moves
        Documents that went from a state by a column to a state, (n, K, n).
    ends
        Documents that ended in a state without and with the class, (n, 2).
    outlook
        What the reader believes in each state on average, (n, …).
    weight
        How many beginnings of documents that mean is over.
    start
        The state before the first sentence.
    """

    moves: NDArray[np.float64]
    ends: NDArray[np.float64]
    outlook: NDArray[np.float64]
    weight: NDArray[np.float64]
    start: int

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def table(self) -> NDArray[np.int64]:
        """The state that most documents went to, by state and column."""
        table: NDArray[np.int64] = self.moves.argmax(axis=2)
        return table

    @property
    def accepting(self) -> NDArray[np.bool_]:
        """Whether most documents that ended in a state have the class."""
        accepting: NDArray[np.bool_] = self.ends[:, 1] > self.ends[:, 0]
        return accepting

    def merged(self, first: int, second: int) -> Quotient:
        """Return the quotient with the second state counted into the first."""
        rest = np.arange(len(self)) != second
        moves = self.moves.copy()
        moves[first] += moves[second]
        moves[:, :, first] += moves[:, :, second]
        ends, weight, outlook = self.ends.copy(), self.weight.copy(), self.outlook.copy()
        ends[first] += ends[second]
        weight[first] += weight[second]
        share = self.weight[second] / max(weight[first], 1e-12)
        outlook[first] += share * (outlook[second] - outlook[first])
        start = first if self.start == second else self.start
        return Quotient(
            moves[rest][:, :, rest],
            ends[rest],
            outlook[rest],
            weight[rest],
            start - int(start > second),
        )


def form_quotient(
    tree: PrefixTree,
    members: NDArray[np.bool_],
    beliefs: Beliefs,
    reader: BeliefReader,
    *,
    most: int,
) -> Quotient:
    """Cluster the reader's states after all beginnings and count what documents do there.

    Where no document shows how to go on, or whether to accept, the reader itself is asked.

    Parameters
    ----------
    tree, members
        The trajectories, and which documents the model gives the class.
    beliefs, reader
        What the model's reader believes at each node of the tree, and the reader.
    most
        Most states.
    """
    states = cluster(beliefs.outlook, tree.documents, most)
    n, k = int(states.max()) + 1, reader.n_prototypes
    weight = np.bincount(states, tree.documents, n).astype(np.float64)
    outlook = np.zeros((n, beliefs.outlook.shape[1]))
    np.add.at(outlook, states, beliefs.outlook * tree.documents[:, None])
    outlook /= weight[:, None]
    moves, ends = np.zeros((n, k, n)), np.zeros((n, 2))
    inner = slice(1, None)
    np.add.at(
        moves,
        (states[tree.parents[inner]], tree.columns[inner], states[inner]),
        tree.documents[inner],
    )
    np.add.at(ends, (states[tree.ends], members.astype(np.int64)), 1)
    ends[np.arange(n), (outlook[:, 0] > 0.5).astype(np.int64)] += _READER_VOTE
    typical = typical_points(beliefs.outlook, outlook, states)
    source, column = np.divmod(np.arange(n * k), k)
    further = reader.after(beliefs, typical[source], column).astype(np.float64)
    nearest = squared_distances(further, outlook).argmin(axis=1)
    moves[source, column, nearest] += _READER_VOTE
    return Quotient(moves, ends, outlook, weight, int(states[0]))


def merged_while_faithful(
    quotient: Quotient, walk: Walk, *, most: int, tolerance: float
) -> Quotient:
    """Merge states that believe alike, and return the smallest automaton that is faithful enough.

    Of all merges of near states, the one after which most documents are read as the model reads
    them is made, until a single state is left; then the fewest states are taken whose fidelity
    falls short of the best, among those of allowed size, by at most the tolerance.
    """
    found = [(quotient, _fidelity(quotient, walk))]
    while len(quotient) > 1:
        tried = [quotient.merged(first, second) for first, second in _near_pairs(quotient)]
        kept = [_fidelity(candidate, walk) for candidate in tried]
        quotient = tried[int(np.argmax(kept))]
        found.append((quotient, max(kept)))
    allowed = [(candidate, value) for candidate, value in found if len(candidate) <= most]
    enough = max(value for _, value in allowed) - tolerance
    return [candidate for candidate, value in allowed if value >= enough][-1]


def retargeted(quotient: Quotient, walk: Walk, n_documents: int) -> NDArray[np.int64]:
    """Return the table, with transitions changed where that wins over several documents.

    The majority need not be the best choice: many small steps that each stay in a state may
    together lead out of it.
    """
    table, accepting = quotient.table, quotient.accepting
    best = walk.fidelity(table, quotient.start, accepting)
    traffic = quotient.moves.sum(axis=2)
    busiest = np.argsort(-traffic, axis=None, kind="stable")
    gain = (_LEAST_GAIN - 0.5) / n_documents
    improved = True
    while improved:
        improved = False
        for place in busiest[: int((traffic >= _LEAST_TRAFFIC).sum())]:
            state, column = divmod(int(place), table.shape[1])
            kept = int(table[state, column])
            values = []
            for target in range(len(quotient)):
                table[state, column] = target
                values.append(walk.fidelity(table, quotient.start, accepting))
            chosen = int(np.argmax(values))
            won = values[chosen] >= best + gain
            table[state, column] = chosen if won else kept
            best, improved = (values[chosen], True) if won else (best, improved)
    return table


def _fidelity(quotient: Quotient, walk: Walk) -> float:
    return walk.fidelity(quotient.table, quotient.start, quotient.accepting)


def _near_pairs(quotient: Quotient) -> Iterator[tuple[int, int]]:
    distances = squared_distances(quotient.outlook, quotient.outlook)
    np.fill_diagonal(distances, np.inf)
    near = np.argsort(distances, axis=1, kind="stable")[:, : min(_NEAREST, len(quotient) - 1)]
    pairs = {(min(a, b), max(a, b)) for a, row in enumerate(near.tolist()) for b in row}
    yield from sorted(pairs)
