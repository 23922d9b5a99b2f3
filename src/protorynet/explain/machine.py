"""A table of transitions on its way to becoming an automaton."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from protorynet.automaton import State
from protorynet.explain.prefix_tree import PrefixTree
from protorynet.explain.quotient import Quotient

__all__ = ["Machine"]


@dataclass(frozen=True)
class Machine:
    """States and how they follow each other.

    Parameters
    ----------
    table
        The next state, by state and column.
    start
        The state before the first sentence.
    accepting, belief
        Whether each state accepts, and the belief in the class there.
    """

    table: NDArray[np.int64]
    start: int
    accepting: NDArray[np.bool_]
    belief: NDArray[np.float64]

    @classmethod
    def of(cls, quotient: Quotient, table: NDArray[np.int64]) -> Self:
        """Return the machine of a quotient, without states that nothing leads to."""
        reached = np.zeros(len(table), np.bool_)
        reached[quotient.start] = True
        while not reached[table[reached]].all():
            reached[table[reached]] = True
        whole = cls(table, quotient.start, quotient.accepting, quotient.outlook[:, 0])
        return whole.kept(np.flatnonzero(reached))

    def kept(self, order: NDArray[np.int64]) -> Self:
        """Return the machine with these states only, which lead to no others, in this order."""
        number = np.full(len(self.table), -1)
        number[order] = np.arange(len(order))
        return replace(
            self,
            table=number[self.table[order]],
            start=int(number[self.start]),
            accepting=self.accepting[order],
            belief=self.belief[order],
        )

    def mirrored(self) -> Self:
        """Return the machine that says no where this one says yes, by rising belief as well."""
        last = len(self.table) - 1
        return replace(
            self,
            table=last - self.table[::-1],
            start=last - self.start,
            accepting=~self.accepting[::-1],
            belief=1 - self.belief[::-1],
        )

    def by_belief(self, tree: PrefixTree, running: NDArray[np.float32]) -> Self:
        """Return the machine with the model's own mean beliefs, its states in their order.

        Parameters
        ----------
        tree
            The documents.
        running
            The model's belief after each of their sentences.
        """
        states = tree.states(self.table, self.start)[tree.places]
        counts = np.bincount(states, minlength=len(self.table))
        sums = np.bincount(states, running, len(self.table))
        # Rounding may lead a mean of ones beyond one.
        means = np.clip(sums / np.maximum(counts, 1), 0, 1)
        belief = np.where(counts > 0, means, self.belief)
        return replace(self, belief=belief).kept(np.argsort(belief, kind="stable"))

    def states(self, tree: PrefixTree) -> tuple[State, ...]:
        """Describe the states, and how often the documents are in each."""
        nodes = tree.states(self.table, self.start)
        visits = np.bincount(nodes, tree.documents, len(self.table))
        return tuple(
            State(number, float(belief), bool(accepting), int(count))
            for number, (belief, accepting, count) in enumerate(
                zip(self.belief, self.accepting, visits, strict=True)
            )
        )

    def traffic(self, tree: PrefixTree) -> NDArray[np.int64]:
        """Return how many sentences of the documents went each way."""
        nodes = tree.states(self.table, self.start)
        traffic = np.zeros_like(self.table)
        np.add.at(traffic, (nodes[tree.parents[1:]], tree.columns[1:]), tree.documents[1:])
        return traffic
