"""k-medoids against brute force, on data small enough for it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from protorynet.prototypes import faster_pam, k_medoids, kmedoids, mean_distance_to_nearest


def all_distances(points: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.linalg.norm(points[:, None] - points, axis=2).astype(np.float32)


def objective(distances: NDArray[np.float32], medoids: NDArray[np.int64]) -> float:
    return sum(
        min(float(distances[point, medoid]) for medoid in medoids)
        for point in range(len(distances))
    )


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


def test_no_swap_of_a_medoid_with_a_point_improves_the_result() -> None:
    for seed in range(200):
        distances, start = instance(seed)
        medoids = faster_pam(distances, start)
        reached = objective(distances, medoids)
        for place, point in itertools.product(range(len(medoids)), range(len(distances))):
            swapped = medoids.copy()
            swapped[place] = point
            assert objective(distances, swapped) >= reached - 1e-5, f"seed {seed}"


def test_the_result_is_mostly_the_brute_force_optimum_and_always_near_it() -> None:
    ratios = []
    for seed in range(200):
        distances, start = instance(seed)
        best = best_objective(distances, len(start))
        ratios.append(objective(distances, faster_pam(distances, start)) / best)
    assert min(ratios) > 1 - 1e-5
    assert np.mean(np.array(ratios) < 1 + 1e-5) > 0.8
    assert np.mean(ratios) < 1.03


def test_several_starts_reach_the_brute_force_optimum() -> None:
    for seed in range(30):
        distances, first = instance(seed)
        k = len(first)
        starts = itertools.combinations(range(len(distances)), k)
        reached = min(objective(distances, faster_pam(distances, np.array(s))) for s in starts)
        assert reached == pytest.approx(best_objective(distances, k), abs=1e-5)


def test_the_result_is_never_worse_than_the_start() -> None:
    for seed in range(50):
        distances, start = instance(seed)
        assert objective(distances, faster_pam(distances, start)) <= (
            objective(distances, start) + 1e-5
        )


def test_the_starting_medoids_are_not_changed() -> None:
    distances, start = instance(3)
    before = start.copy()
    faster_pam(distances, start)
    assert start.tolist() == before.tolist()


def test_a_medoid_per_point_costs_nothing() -> None:
    points = np.random.default_rng(0).normal(size=(6, 2)).astype(np.float32)
    distances = all_distances(points)
    assert sorted(faster_pam(distances, np.arange(6)).tolist()) == list(range(6))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 12), st.integers(1, 5))
def test_medoids_are_distinct_rows(seed: int, n: int, k: int, values: int) -> None:
    # Few different values, so that many points are copies of each other.
    vectors = np.random.default_rng(seed).integers(values, size=(n, 2)).astype(np.float32)
    k = min(k, n)
    medoids = k_medoids(vectors, k, seed=seed)
    assert len(set(medoids.tolist())) == k
    assert ((medoids >= 0) & (medoids < n)).all()


def test_with_enough_medoids_every_group_of_copies_has_one() -> None:
    vectors = np.repeat(np.eye(5, dtype=np.float32), 7, axis=0)
    medoids = k_medoids(vectors, 5, seed=0)
    assert sorted((medoids // 7).tolist()) == [0, 1, 2, 3, 4]


def test_all_points_alike_still_give_distinct_medoids() -> None:
    medoids = k_medoids(np.ones((9, 3), np.float32), 4, seed=0)
    assert len(set(medoids.tolist())) == 4


def clustered(n: int, *, seed: int = 0) -> NDArray[np.float32]:
    random = np.random.default_rng(seed)
    centres = random.normal(size=(12, 6)) * 3
    return (centres[random.integers(12, size=n)] + random.normal(size=(n, 6))).astype(np.float32)


def test_the_same_seed_gives_the_same_medoids() -> None:
    vectors = clustered(300)
    np.testing.assert_array_equal(k_medoids(vectors, 9, seed=4), k_medoids(vectors, 9, seed=4))


def test_a_sample_within_the_memory_limit_is_nearly_as_good_as_all_points(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vectors = clustered(3000)
    whole = k_medoids(vectors, 12, seed=0)
    sizes = []
    real = kmedoids._distances

    def watched(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
        sizes.append(len(a) * len(b))
        return real(a, b)

    monkeypatch.setattr(kmedoids, "_distances", watched)
    sampled = k_medoids(vectors, 12, seed=0, memory_mb=1)
    assert max(sizes) * 4 <= 2**20
    assert len(set(sampled.tolist())) == 12
    full_cost = mean_distance_to_nearest(vectors, vectors[whole])
    assert mean_distance_to_nearest(vectors, vectors[sampled]) < 1.05 * full_cost


def test_sampled_medoids_are_the_same_for_the_same_seed() -> None:
    vectors = clustered(1500)
    first, second = (k_medoids(vectors, 5, seed=2, memory_mb=1) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_mean_distance_to_nearest_does_not_depend_on_the_block() -> None:
    points, medoids = clustered(100), clustered(7, seed=1)
    expected = np.mean([min(np.linalg.norm(p - m) for m in medoids) for p in points])
    for block in (1, 9, 1000):
        assert mean_distance_to_nearest(points, medoids, block=block) == pytest.approx(
            float(expected), rel=1e-4
        )
