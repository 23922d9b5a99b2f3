"""k-medoids clustering of any number of points, by FasterPAM (Schubert and Rousseeuw, 2021).

On large data a sample small enough for a distance matrix gives the first medoids. Then all points
are assigned to them, and those nearest to the middle of each cluster may take a medoid's place,
judged on a larger sample. No matrix exceeds a limit, and time grows in proportion to the points.
"""

import numpy as np
from numpy.typing import NDArray

from protorynet.errors import InputError

_JUDGES = 32_768  # points on which swaps are judged where there are too many for all of them
_ROUNDS = 3
_CENTRAL_POINTS = 16  # points of each cluster that are tried as medoids in a round
_POINTS_PER_BLOCK = 16_384  # points assigned to medoids at once
_LEAST_GAIN = 1e-5  # a smaller gain is a rounding error of single precision


def k_medoids(
    vectors: NDArray[np.float32],
    k: int,
    *,
    seed: int,
    memory_mb: int = 64,
    among: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Choose `k` distinct ones of `vectors` (n, d) that lie close to all others (Euclidean).

    At most so many megabytes of distances are held. Where only those `among` are clustered, no
    copy of them is made.
    """
    random = np.random.default_rng(seed)
    among = np.arange(len(vectors)) if among is None else among
    most = memory_mb * 2**20 // 4
    size = min(len(among), int(most**0.5))
    if k > size:
        raise InputError(
            f"{k} medoids need a distance matrix larger than {memory_mb} MB; ask for fewer "
            "prototypes or raise kmedoids_memory_mb."
        )
    sample = among
    if size < len(among):
        sample = among[np.sort(random.choice(len(among), size, replace=False))]
    points = vectors[sample]
    distances = _distances(points, points)
    medoids = sample[faster_pam(distances, _spread_start(distances, k, random))]
    if size == len(among) or k == 1:
        return medoids
    del points, distances
    n_judges = min(len(among), _JUDGES, most // k)
    judges = vectors[among[np.sort(random.choice(len(among), n_judges, replace=False))]]
    for _ in range(_ROUNDS):
        candidates = _central_points(
            vectors, among, medoids, block=min(_POINTS_PER_BLOCK, most // k)
        )
        better = _swap_in(vectors, medoids, candidates, judges, block=max(1, most // n_judges))
        if np.array_equal(better, medoids):
            break
        medoids = better
    return medoids


def faster_pam(
    distances: NDArray[np.float32], medoids: NDArray[np.int64], *, max_passes: int = 50
) -> NDArray[np.int64]:
    """Improve medoids until no swap of one with a point lowers the sum of distances (n, n)."""
    n, k = len(distances), len(medoids)
    if k == 1:
        return np.array([distances.sum(axis=1).argmin()])
    medoids = medoids.copy()
    state = _Assignment(distances[:, medoids])
    is_medoid = np.zeros(n, dtype=bool)
    is_medoid[medoids] = True
    since_swap = 0
    for step in range(max_passes * n):
        candidate = step % n
        since_swap += 1
        if not is_medoid[candidate]:
            change, worst = state.best_swap(distances[candidate])
            if change < -_LEAST_GAIN:
                is_medoid[[medoids[worst], candidate]] = [False, True]
                medoids[worst] = candidate
                state.swap(worst, distances[candidate])
                since_swap = 0
        if since_swap >= n:
            break
    return medoids


class _Assignment:
    """Each point's two nearest medoids, kept up through swaps; distances change in place."""

    def __init__(self, to_medoids: NDArray[np.float32]) -> None:
        self._to_medoids = to_medoids
        everyone = np.arange(len(to_medoids))
        self._nearest, self._near, self._other, self._second = self._two_nearest(everyone)
        # How much the objective rises when each medoid is taken away.
        self._removal = self._by_medoid(self._nearest, self._second - self._near)

    def best_swap(self, to_candidate: NDArray[np.float32]) -> tuple[float, int]:
        """Return the best swap with a candidate: the objective's change, and the medoid to go."""
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
        self._removal = self._by_medoid(self._nearest, self._second - self._near)

    def _two_nearest(
        self, points: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64], NDArray[np.float32]]:
        to_medoids = self._to_medoids[points]
        each = np.arange(len(points))
        nearest = to_medoids.argmin(axis=1)
        near = to_medoids[each, nearest]
        to_medoids[each, nearest] = np.inf
        other = to_medoids.argmin(axis=1)
        return nearest, near, other, to_medoids[each, other]

    def _by_medoid(
        self, nearest: NDArray[np.int64], values: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        sums = np.bincount(nearest, weights=values, minlength=self._to_medoids.shape[1])
        return np.asarray(sums, dtype=np.float64)


def _central_points(
    vectors: NDArray[np.float32],
    among: NDArray[np.int64],
    medoids: NDArray[np.int64],
    *,
    block: int,
) -> NDArray[np.int64]:
    """Assign all points to medoids; return the nearest few to each cluster's mean, best first."""
    from scipy.sparse import csr_array

    n, k = len(among), len(medoids)
    centres = vectors[medoids]
    nearest = np.empty(n, dtype=np.int64)
    sums = np.zeros((k, vectors.shape[1]))
    for part in _parts(n, block):
        points = vectors[among[part]]
        nearest[part] = _distances(points, centres).argmin(axis=1)
        ones, ends = np.ones(len(points), np.float32), np.arange(len(points) + 1)
        sums += csr_array((ones, nearest[part], ends), shape=(len(points), k)).T @ points
    counts = np.bincount(nearest, minlength=k)
    means = (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)
    squared = np.empty(n, dtype=np.float32)
    for part in _parts(n, block):
        apart = vectors[among[part]] - means[nearest[part]]
        squared[part] = np.einsum("ij,ij->i", apart, apart)
    order = np.lexsort((squared, nearest))
    rank = np.arange(n) - (np.cumsum(counts) - counts)[nearest[order]]
    few = np.flatnonzero(rank < _CENTRAL_POINTS)
    return among[order[few[np.argsort(rank[few], kind="stable")]]]


def _swap_in(
    vectors: NDArray[np.float32],
    medoids: NDArray[np.int64],
    candidates: NDArray[np.int64],
    judges: NDArray[np.float32],
    *,
    block: int,
) -> NDArray[np.int64]:
    """Let each candidate take a medoid's place if that brings the judges closer to a medoid."""
    medoids = medoids.copy()
    state = _Assignment(_distances(judges, vectors[medoids]))
    present = set(medoids.tolist())
    for part in _parts(len(candidates), block):
        some = candidates[part]
        for one, to_candidate in zip(some.tolist(), _distances(vectors[some], judges), strict=True):
            if one in present:
                continue
            change, worst = state.best_swap(to_candidate)
            if change < -_LEAST_GAIN:
                present ^= {int(medoids[worst]), one}
                medoids[worst] = one
                state.swap(worst, to_candidate)
    return medoids


def _parts(n: int, block: int) -> list[slice]:
    return [slice(start, start + block) for start in range(0, n, block)]


def _distances(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    # In place, for one of these matrices may be as large as memory allows.
    squared: NDArray[np.float32] = (a * a).sum(1)[:, None] + (b * b).sum(1)
    products = a @ b.T
    products *= 2
    squared -= products
    np.maximum(squared, 0, out=squared)
    return np.sqrt(squared, out=squared)


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
