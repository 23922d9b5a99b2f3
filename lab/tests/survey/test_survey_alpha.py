"""Krippendorff's alpha against published examples and against its definition."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, strategies as st

from protorynet_lab.survey import krippendorff_alpha

# K. Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, sections A to E.
MEG_AND_OWEN = list(
    zip([0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0], strict=True)
)
BEN_AND_GERRY = list(zip("aabbdcccedda", "babbbcccedddd"[:12], strict=True))
FOUR_OBSERVERS = [
    [1, 1, 1],
    [2, 2, 3, 2],
    [3, 3, 3, 3],
    [3, 3, 3, 3],
    [2, 2, 2, 2],
    [1, 2, 3, 4],
    [4, 4, 4, 4],
    [1, 1, 2, 1],
    [2, 2, 2, 2],
    [5, 5, 5],
    [1, 1],
    [3],
]

values = st.lists(st.lists(st.integers(1, 5), max_size=6), max_size=8)


def test_two_observers_and_two_values_give_the_published_figure() -> None:
    assert krippendorff_alpha(MEG_AND_OWEN) == pytest.approx(0.095, abs=5e-4)


def test_two_observers_and_five_categories_give_the_published_figure() -> None:
    assert krippendorff_alpha(BEN_AND_GERRY) == pytest.approx(0.692, abs=5e-4)


def test_four_observers_with_gaps_give_the_published_nominal_figure() -> None:
    assert krippendorff_alpha(FOUR_OBSERVERS) == pytest.approx(0.743, abs=5e-4)


def test_four_observers_with_gaps_give_the_published_interval_figure() -> None:
    assert krippendorff_alpha(FOUR_OBSERVERS, "interval") == pytest.approx(0.849, abs=5e-4)


def test_nothing_to_compare_has_no_alpha() -> None:
    assert krippendorff_alpha([["a"], []]) is None


def test_a_single_value_everywhere_has_no_alpha() -> None:
    assert krippendorff_alpha([[1, 1], [1, 1]]) is None


@given(values, st.sampled_from(["nominal", "interval"]))
def test_alpha_is_one_less_observed_over_expected_disagreement(units, level) -> None:
    def distance(a: int, b: int) -> float:
        return float(a != b) if level == "nominal" else float((a - b) ** 2)

    compared = [unit for unit in units if len(unit) >= 2]
    everything = [value for unit in compared for value in unit]
    observed = sum(
        sum(distance(a, b) for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in compared
    )
    expected = sum(distance(a, b) for a, b in permutations(everything, 2))
    alpha = krippendorff_alpha(units, level)
    if expected == 0:
        assert alpha is None
    else:
        assert alpha == pytest.approx(1 - (len(everything) - 1) * observed / expected)


@given(values)
def test_the_names_of_nominal_values_do_not_matter(units) -> None:
    renamed = [[f"option {value}" for value in unit] for unit in units]
    assert krippendorff_alpha(units) == krippendorff_alpha(renamed)


@given(values, st.integers(-50, 50), st.integers(1, 9))
def test_the_unit_and_zero_of_an_interval_do_not_matter(units, zero, unit) -> None:
    moved = [[zero + unit * value for value in each] for each in units]
    before, after = (krippendorff_alpha(each, "interval") for each in (units, moved))
    assert before == pytest.approx(after)


@given(st.lists(st.integers(1, 5), min_size=2, max_size=6).filter(lambda v: len(set(v)) > 1))
def test_perfect_agreement_is_one(values) -> None:
    assert krippendorff_alpha([[value, value, value] for value in values]) == pytest.approx(1)
