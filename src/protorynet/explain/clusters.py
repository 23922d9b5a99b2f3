"""Points grouped by nearness, the same way every time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["cluster", "squared_distances", "typical_points"]

_ROUNDS = 50
_SAME = 1e-9  # squared distance below which two points differ by rounding only


def cluster(
    points: NDArray[np.float32], weights: NDArray[np.int64], most: int
) -> NDArray[np.int64]:
    """Group points into at most so many clusters by k-means, the same way every time.

    Examples
    --------
    >>> cluster(np.array([[0.0], [0.1], [5.0]]), np.array([1, 1, 1]), most=2).tolist()
    [0, 0, 1]
    """
    values = points.astype(np.float64)
    centres = _spread_centres(values, weights, most)
    nearest = squared_distances(values, centres).argmin(axis=1)
    for _ in range(_ROUNDS):
        mass = np.bincount(nearest, weights, len(centres))
        for place in np.flatnonzero(mass):
            inside = nearest == place
            centres[place] = weights[inside] @ values[inside] / mass[place]
        before, nearest = nearest, squared_distances(values, centres).argmin(axis=1)
        if (before == nearest).all():
            break
    _, places, numbers = np.unique(nearest, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(places))
    return np.asarray(rank[numbers], dtype=np.int64)


def typical_points(
    points: NDArray[np.float32], centres: NDArray[np.float64], states: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the point nearest to the centre of each state, among its own."""
    away = ((points - centres[states]) ** 2).sum(axis=1)
    order = np.lexsort((away, states))
    _, first = np.unique(states[order], return_index=True)
    return np.asarray(order[first], dtype=np.int64)


def squared_distances(
    points: NDArray[np.float64], centres: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the squared distance of every point to every centre."""
    squares = (points**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2 * points @ centres.T
    return np.asarray(np.maximum(squares, 0), dtype=np.float64)


def _spread_centres(
    values: NDArray[np.float64], weights: NDArray[np.int64], most: int
) -> NDArray[np.float64]:
    """Choose first centres far from each other, as k-means++ does; fewer where points repeat."""
    random = np.random.default_rng(0)
    centres = [values[0]]
    away = ((values - values[0]) ** 2).sum(axis=1)
    while len(centres) < most and away.max() > _SAME:
        mass = np.cumsum(np.where(away > _SAME, away, 0) * weights)
        chosen = int(np.searchsorted(mass, random.random() * mass[-1], side="right"))
        centres.append(values[min(chosen, len(values) - 1)])
        away = np.minimum(away, ((values - centres[-1]) ** 2).sum(axis=1))
    return np.array(centres)
