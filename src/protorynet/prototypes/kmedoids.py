"""k-medoids clustering: FasterPAM (Schubert and Rousseeuw, 2021) in NumPy.

On large data the clustering runs on samples small enough for a distance matrix, and the medoids
that serve a larger common sample best are kept, so memory stays below a limit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from protorynet.errors import InputError

__all__ = ["faster_pam", "k_medoids", "mean_distance_to_nearest"]

_JUDGES = 20_000  # points on which the medoids of several samples are compared
_SAMPLES = 3
_LEAST_GAIN = 1e-5  # a smaller gain is a rounding error of single precision


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
    state = _Assignment(distances, medoids.copy())
    is_medoid = np.zeros(n, dtype=bool)
    is_medoid[medoids] = True
    since_swap = 0
    for step in range(max_passes * n):
        candidate = step % n
        since_swap += 1
        if not is_medoid[candidate]:
            change, worst = state.best_swap(candidate)
            if change < -_LEAST_GAIN:
                is_medoid[[state.medoids[worst], candidate]] = [False, True]
                state.swap(worst, candidate)
                since_swap = 0
        if since_swap >= n:
            break
    return state.medoids


class _Assignment:
    """Each point's nearest and second-nearest medoid, kept up to date through swaps."""

    def __init__(self, distances: NDArray[np.float32], medoids: NDArray[np.int64]) -> None:
        self.distances = distances
        self.medoids = medoids
        points = np.arange(len(distances))
        self.nearest, self.near, self.other, self.second = self._two_nearest(points)
        self.removal = self._removal_loss()

    def best_swap(self, candidate: int) -> tuple[float, int]:
        """Return the best swap with a point: the objective's change, and the medoid to go."""
        to_candidate = self.distances[candidate]
        change = np.minimum(to_candidate - self.second, 0)
        closer = np.flatnonzero(to_candidate < self.near)
        # Points that prefer the candidate leave their cluster whichever medoid goes.
        gain = float((to_candidate[closer] - self.near[closer]).sum())
        change[closer] = self.near[closer] - self.second[closer]
        loss = self.removal + np.bincount(self.nearest, weights=change, minlength=len(self.medoids))
        worst = int(loss.argmin())
        return float(loss[worst]) + gain, worst

    def swap(self, position: int, candidate: int) -> None:
        """Put a point in the place of a medoid."""
        self.medoids[position] = candidate
        to_candidate = self.distances[candidate]
        lost = (self.nearest == position) | (self.other == position)
        first = ~lost & (to_candidate < self.near)
        self.other[first], self.second[first] = self.nearest[first], self.near[first]
        self.nearest[first], self.near[first] = position, to_candidate[first]
        second = ~lost & ~first & (to_candidate < self.second)
        self.other[second], self.second[second] = position, to_candidate[second]
        again = np.flatnonzero(lost)
        self.nearest[again], self.near[again], self.other[again], self.second[again] = (
            self._two_nearest(again)
        )
        self.removal = self._removal_loss()

    def _two_nearest(
        self, points: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64], NDArray[np.float32]]:
        to_medoids = self.distances[np.ix_(points, self.medoids)]
        rows = np.arange(len(points))
        nearest = to_medoids.argmin(axis=1)
        near = to_medoids[rows, nearest]
        to_medoids[rows, nearest] = np.inf
        other = to_medoids.argmin(axis=1)
        return nearest, near, other, to_medoids[rows, other]

    def _removal_loss(self) -> NDArray[np.float64]:
        """Return, for each medoid, how much the objective rises when it is taken away."""
        rise = np.bincount(
            self.nearest, weights=self.second - self.near, minlength=len(self.medoids)
        )
        return np.asarray(rise, dtype=np.float64)


def k_medoids(
    vectors: NDArray[np.float32],
    k: int,
    *,
    seed: int,
    memory_mb: int = 64,
) -> NDArray[np.int64]:
    """Choose `k` distinct rows of `vectors` that lie close to all others (Euclidean).

    Parameters
    ----------
    vectors
        Points, (n, d); k is cut to the number of distinct ones by the caller.
    k
        Number of medoids.
    seed
        Seed of the sampling.
    memory_mb
        Largest distance matrix to hold, in megabytes.
    """
    random = np.random.default_rng(seed)
    size = min(len(vectors), int((memory_mb * 2**20 / 4) ** 0.5))
    if k > size:
        raise InputError(
            f"{k} medoids need a distance matrix larger than {memory_mb} MB; ask for fewer "
            "prototypes or raise kmedoids_memory_mb."
        )
    if size == len(vectors):
        distances = _distances(vectors, vectors)
        return faster_pam(distances, _spread_start(distances, k, random))
    judges = vectors[random.choice(len(vectors), min(len(vectors), _JUDGES), replace=False)]
    best: NDArray[np.int64] | None = None
    best_cost = np.inf
    for _ in range(_SAMPLES):
        sample = np.sort(random.choice(len(vectors), size, replace=False))
        distances = _distances(vectors[sample], vectors[sample])
        medoids = sample[faster_pam(distances, _spread_start(distances, k, random))]
        cost = mean_distance_to_nearest(judges, vectors[medoids])
        if cost < best_cost:
            best, best_cost = medoids, cost
    assert best is not None
    return best


def mean_distance_to_nearest(
    points: NDArray[np.float32], medoids: NDArray[np.float32], *, block: int = 8192
) -> float:
    """Return the k-medoids objective per point, computed in blocks."""
    total = sum(
        float(_distances(points[start : start + block], medoids).min(axis=1).sum())
        for start in range(0, len(points), block)
    )
    return total / len(points)


def _distances(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    squared = (a * a).sum(1)[:, None] + (b * b).sum(1) - 2 * (a @ b.T)
    distances: NDArray[np.float32] = np.sqrt(np.maximum(squared, 0)).astype(np.float32)
    return distances


def _spread_start(
    distances: NDArray[np.float32], k: int, random: np.random.Generator
) -> NDArray[np.int64]:
    """Draw distinct starting medoids, each with probability by distance to those before."""
    medoids = [int(random.integers(len(distances)))]
    nearest = distances[medoids[0]].astype(np.float64)
    for _ in range(1, k):
        weights = nearest.copy()
        weights[medoids] = 0
        total = weights.sum()
        if total > 0:
            chosen = int(random.choice(len(distances), p=weights / total))
        else:  # only copies of the medoids are left
            chosen = int(np.setdiff1d(np.arange(len(distances)), medoids)[0])
        medoids.append(chosen)
        nearest = np.minimum(nearest, distances[chosen])
    return np.array(medoids, dtype=np.int64)
