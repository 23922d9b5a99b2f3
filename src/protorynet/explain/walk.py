"""How an automaton reads many documents at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from protorynet.network import Trajectory

__all__ = ["Walk"]


class Walk:
    """Documents laid out so that an automaton reads all of them at once.

    Parameters
    ----------
    trajectory
        The documents.
    members
        Which of them have the class.
    """

    def __init__(self, trajectory: Trajectory, members: NDArray[np.bool_]) -> None:
        self._order = np.argsort(-trajectory.lengths, kind="stable")
        lengths = trajectory.lengths[self._order]
        starts = trajectory.offsets[self._order]
        self._members = members[self._order]
        self._steps = []
        for depth in range(int(lengths.max(initial=0))):
            longer = int(np.searchsorted(-lengths, -depth))
            self._steps.append(trajectory.columns[starts[:longer] + depth])

    def ends(self, table: NDArray[np.int64], start: int) -> NDArray[np.int64]:
        """Return the state in which each document ends."""
        ends = np.empty(len(self._order), np.int64)
        ends[self._order] = self._ends(table, start)
        return ends

    def fidelity(self, table: NDArray[np.int64], start: int, accepting: NDArray[np.bool_]) -> float:
        """Return the share of documents accepted if, and only if, they have the class."""
        return float((accepting[self._ends(table, start)] == self._members).mean())

    def _ends(self, table: NDArray[np.int64], start: int) -> NDArray[np.int64]:
        flat, width = np.ascontiguousarray(table).ravel(), table.shape[1]
        states = np.full(len(self._members), start, np.int64)
        for columns in self._steps:
            part = states[: len(columns)]
            part[:] = flat[part * width + columns]
        return states
