"""k-medoids clustering: FasterPAM (Schubert and Rousseeuw, 2021) in NumPy.

On large data the clustering runs on samples small enough for a distance matrix, and the medoids
that serve a larger common sample best are kept, so memory stays below a limit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["faster_pam", "k_medoids", "mean_distance_to_nearest"]

_SAMPLE = 4096  # points clustered at once; more changes the objective by under one per cent
_JUDGES = 20_000  # points on which the medoids of several samples are compared
_SAMPLES = 3


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
        return distances.sum(axis=1).argmin(keepdims=True)
    medoids = medoids.copy()
    nearest, near, second = _nearest_two(distances, medoids)
    removal = _removal_loss(nearest, near, second, k)
    last_swap = candidate = steps = 0
    is_medoid = np.zeros(n, dtype=bool)
    is_medoid[medoids] = True
    while steps < max_passes * n:
        if not is_medoid[candidate]:
            to_candidate = distances[candidate]
            change = np.minimum(to_candidate, second) - second
            closer = to_candidate < near
            # Points that prefer the candidate leave their cluster whichever medoid goes.
            gain = float((to_candidate[closer] - near[closer]).sum())
            change[closer] = near[closer] - second[closer]
            loss = removal + np.bincount(nearest, weights=change, minlength=k)
            worst = int(loss.argmin())
            if loss[worst] + gain < -1e-6:
                is_medoid[[medoids[worst], candidate]] = [False, True]
                medoids[worst] = candidate
                nearest, near, second = _nearest_two(distances, medoids)
                removal = _removal_loss(nearest, near, second, k)
                last_swap = steps
        candidate = (candidate + 1) % n
        steps += 1
        if steps - last_swap > n:
            break
    return medoids


def k_medoids(
    vectors: NDArray[np.float32],
    k: int,
    *,
    seed: int,
    memory_mb: int = 1024,
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
    size = max(k, min(len(vectors), _SAMPLE, int((memory_mb * 2**20 / 4) ** 0.5)))
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


def _nearest_two(
    distances: NDArray[np.float32], medoids: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return each point's nearest medoid (as a position), and its two smallest distances."""
    to_medoids = distances[medoids].astype(np.float64)
    points = np.arange(len(distances))
    nearest = to_medoids.argmin(axis=0)
    near = to_medoids[nearest, points]
    to_medoids[nearest, points] = np.inf
    return nearest, near, to_medoids.min(axis=0)


def _removal_loss(
    nearest: NDArray[np.int64], near: NDArray[np.float64], second: NDArray[np.float64], k: int
) -> NDArray[np.float64]:
    """Return, for each medoid, how much the objective rises when it is taken away."""
    return np.bincount(nearest, weights=second - near, minlength=k)
