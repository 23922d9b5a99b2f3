"""The choice of how many prototypes to keep."""

from __future__ import annotations

import itertools

from hypothesis import given, strategies as st

from protorynet.prototypes import PruningPoint, choose_size, sizes_to_try

_CURVES = st.lists(
    st.tuples(st.integers(1, 40), st.floats(0, 1)), min_size=1, unique_by=lambda point: point[0]
).map(
    lambda points: [
        PruningPoint(size, 0.01, accuracy) for size, accuracy in sorted(points, reverse=True)
    ]
)


@given(st.integers(1, 500), st.integers(2, 100))
def test_sizes_to_try_fall_from_the_most_allowed(live: int, most: int) -> None:
    sizes = sizes_to_try(live, most)
    assert sizes[0] == min(live, most)
    assert all(more > fewer for more, fewer in itertools.pairwise(sizes))
    assert sizes[-1] == min(2, live)


@given(_CURVES, st.integers(2, 40), st.floats(0, 0.2))
def test_the_fewest_prototypes_within_the_tolerance_are_chosen(
    curve: list[PruningPoint], least: int, tolerance: float
) -> None:
    chosen = choose_size(curve, least=least, tolerance=tolerance)
    allowed = {p.n_prototypes: p.accuracy for p in curve if p.n_prototypes >= least}
    if not allowed:
        assert chosen == curve[0].n_prototypes
        return
    best = max(allowed.values())
    assert allowed[chosen] >= best - tolerance
    assert all(accuracy < best - tolerance for size, accuracy in allowed.items() if size < chosen)
