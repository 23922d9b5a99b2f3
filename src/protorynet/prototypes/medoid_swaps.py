"""FasterPAM (Schubert and Rousseeuw, 2021) in NumPy: k-medoids on a matrix of distances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEAST_GAIN", "Assignment", "faster_pam"]

LEAST_GAIN = 1e-5  # a smaller gain is a rounding error of single precision


def faster_pam(
    distances: NDArray[np.float32], medoids: NDArray[np.int64], *, max_passes: int = 50
) -> NDArray[np.int64]:
    """Improve medoids by swaps until no swap of a medoid with a point lowers the objective.

    Parameters
    ----------
    distances
        Symmetric matrix of distances, (n, n).
    medoids
        Distinct starting medoids.
    max_passes
        Most passes over all points.

    Returns
    -------
    Indices of the medoids.

    Examples
    --------
    >>> points = np.array([0.0, 0.1, 5.0, 5.1, 5.2])
    >>> faster_pam(np.abs(points[:, None] - points), np.array([0, 1])).tolist()
    [0, 3]
    """
    n, k = len(distances), len(medoids)
    if k == 1:
        return np.array([distances.sum(axis=1).argmin()])
    medoids = medoids.copy()
    state = Assignment(distances[:, medoids])
    is_medoid = np.zeros(n, dtype=bool)
    is_medoid[medoids] = True
    since_swap = 0
    for step in range(max_passes * n):
        candidate = step % n
        since_swap += 1
        if not is_medoid[candidate]:
            change, worst = state.best_swap(distances[candidate])
            if change < -LEAST_GAIN:
                is_medoid[[medoids[worst], candidate]] = [False, True]
                medoids[worst] = candidate
                state.swap(worst, distances[candidate])
                since_swap = 0
        if since_swap >= n:
            break
    return medoids


class Assignment:
    """Each point's nearest and second-nearest medoid, kept up to date through swaps.

    Parameters
    ----------
    to_medoids
        Distances of the points to at least two medoids, (n, k); they are changed in place.
    """

    def __init__(self, to_medoids: NDArray[np.float32]) -> None:
        self._to_medoids = to_medoids
        everyone = np.arange(len(to_medoids))
        self._nearest, self._near, self._other, self._second = self._two_nearest(everyone)
        self._removal = self._removal_loss()

    def best_swap(self, to_candidate: NDArray[np.float32]) -> tuple[float, int]:
        """Return the best swap with a candidate: the objective's change, and the medoid to go.

        Parameters
        ----------
        to_candidate
            Distances of the points to the candidate, (n,).
        """
        touched = np.flatnonzero(to_candidate < self._second)
        distances, near = to_candidate[touched], self._near[touched]
        # Points that prefer the candidate leave their cluster whichever medoid goes.
        closer = distances < near
        gain = float((distances[closer] - near[closer]).sum())
        change = np.where(closer, near, distances) - self._second[touched]
        loss = self._removal + self._by_medoid(self._nearest[touched], change)
        worst = int(loss.argmin())
        return float(loss[worst]) + gain, worst

    def swap(self, position: int, to_candidate: NDArray[np.float32]) -> None:
        """Put a candidate in the place of a medoid."""
        self._to_medoids[:, position] = to_candidate
        lost = (self._nearest == position) | (self._other == position)
        first = ~lost & (to_candidate < self._near)
        self._other[first], self._second[first] = self._nearest[first], self._near[first]
        self._nearest[first], self._near[first] = position, to_candidate[first]
        second = ~lost & ~first & (to_candidate < self._second)
        self._other[second], self._second[second] = position, to_candidate[second]
        again = np.flatnonzero(lost)
        self._nearest[again], self._near[again], self._other[again], self._second[again] = (
            self._two_nearest(again)
        )
        self._removal = self._removal_loss()

    def _two_nearest(
        self, points: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64], NDArray[np.float32]]:
        to_medoids = self._to_medoids[points]
        rows = np.arange(len(points))
        nearest = to_medoids.argmin(axis=1)
        near = to_medoids[rows, nearest]
        to_medoids[rows, nearest] = np.inf
        other = to_medoids.argmin(axis=1)
        return nearest, near, other, to_medoids[rows, other]

    def _removal_loss(self) -> NDArray[np.float64]:
        """Return, for each medoid, how much the objective rises when it is taken away."""
        return self._by_medoid(self._nearest, self._second - self._near)

    def _by_medoid(
        self, nearest: NDArray[np.int64], values: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        sums = np.bincount(nearest, weights=values, minlength=self._to_medoids.shape[1])
        return np.asarray(sums, dtype=np.float64)
