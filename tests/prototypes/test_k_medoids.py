"""k-medoids against brute force, on data small enough for it."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin_min

from protorynet.prototypes import faster_pam, k_medoids


def all_distances(points: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.linalg.norm(points[:, None] - points, axis=2).astype(np.float32)


def objective(distances: NDArray[np.float32], medoids: NDArray[np.int64]) -> float:
    return float(distances[:, medoids].min(axis=1).sum())


def best_objective(distances: NDArray[np.float32], k: int) -> float:
    choices = itertools.combinations(range(len(distances)), k)
    return min(objective(distances, np.array(choice)) for choice in choices)


def instance(seed: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return distances of up to nine random points and one to three starting medoids."""
    random = np.random.default_rng(seed)
    n = int(random.integers(4, 10))
    k = int(random.integers(1, 4))
    points = random.normal(size=(n, int(random.integers(1, 4)))).astype(np.float32)
    return all_distances(points), random.choice(n, k, replace=False)


def clustered(n: int) -> NDArray[np.float32]:
    random = np.random.default_rng(0)
    centres = random.normal(size=(12, 6)) * 3
    return (centres[random.integers(12, size=n)] + random.normal(size=(n, 6))).astype(np.float32)


def test_no_swap_improves_the_result_which_is_mostly_the_brute_force_optimum():
    ratios = []
    for seed in range(100):
        distances, start = instance(seed)
        given_start = start.copy()
        medoids = faster_pam(distances, start)
        assert start.tolist() == given_start.tolist()
        reached = objective(distances, medoids)
        for medoid, point in itertools.product(range(len(medoids)), range(len(distances))):
            swapped = medoids.copy()
            swapped[medoid] = point
            assert objective(distances, swapped) >= reached - 1e-5, f"seed {seed}"
        ratios.append(reached / best_objective(distances, len(start)))
    assert min(ratios) > 1 - 1e-5
    assert np.mean(np.array(ratios) < 1 + 1e-5) > 0.8
    assert np.mean(ratios) < 1.03


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 12), st.integers(1, 5))
def test_medoids_are_distinct_rows(seed, n, k, values):
    # Few different values, so that many points are copies of each other.
    vectors = np.random.default_rng(seed).integers(values, size=(n, 2)).astype(np.float32)
    k = min(k, n)
    medoids = k_medoids(vectors, k, seed=seed)
    assert len(set(medoids.tolist())) == k
    assert ((medoids >= 0) & (medoids < n)).all()


@pytest.mark.parametrize("memory_mb", [1, 64])
def test_medoids_among_some_rows_are_those_of_these_rows_alone(memory_mb):
    vectors = clustered(900)
    among = np.flatnonzero(np.arange(900) % 3)
    alone = k_medoids(vectors[among], 6, seed=1, memory_mb=memory_mb)
    chosen = k_medoids(vectors, 6, seed=1, memory_mb=memory_mb, among=among)
    np.testing.assert_array_equal(chosen, among[alone])
    # A sample within little memory is nearly as good as all points.
    whole = k_medoids(vectors, 6, seed=1, among=among)
    best = pairwise_distances_argmin_min(vectors[among], vectors[whole])[1].mean()
    reached = pairwise_distances_argmin_min(vectors[among], vectors[chosen])[1].mean()
    assert reached < 1.1 * best
