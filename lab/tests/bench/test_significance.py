"""Whether a difference is more than chance, against known values and slow versions."""

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binomtest, chi2

from protorynet.errors import InputError
from protorynet_lab.bench.bench_significance import (
    Comparison,
    compare,
    correct_p_values,
    mcnemar,
    pack_flags,
    unpack_flags,
)


def discordant(only_ours: int, only_theirs: int, both: int = 50) -> tuple[np.ndarray, np.ndarray]:
    """Return flags of two models that differ on so many documents."""
    ours = [True] * both + [True] * only_ours + [False] * only_theirs
    theirs = [True] * both + [False] * only_ours + [True] * only_theirs
    return np.array([ours]), np.array([theirs])


@given(st.integers(0, 12), st.integers(0, 12))
def test_few_discordant_documents_are_tested_by_the_binomial(ours, theirs):
    expected = binomtest(ours, ours + theirs).pvalue if ours + theirs else 1.0
    assert mcnemar(*discordant(ours, theirs)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("ours", "theirs"), [(15, 10), (60, 20), (30, 30), (121, 59), (500, 450)])
def test_many_discordant_documents_are_tested_by_chi_square(ours, theirs):
    statistic = max(abs(ours - theirs) - 1, 0) ** 2 / (ours + theirs)
    assert mcnemar(*discordant(ours, theirs)) == pytest.approx(chi2.sf(statistic, 1))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=8))
def test_several_seeds_are_tested_by_every_change_of_signs(rows):
    ours = np.array([[number < count for count, _ in rows] for number in range(3)])
    theirs = np.array([[number < count for _, count in rows] for number in range(2)])
    differences = [2 * first - 3 * second for first, second in rows]
    reached = [
        abs(sum(sign * each for sign, each in zip(signs, differences, strict=True)))
        >= abs(sum(differences))
        for signs in itertools.product((1, -1), repeat=len(rows))
    ]
    assert mcnemar(ours, theirs) == pytest.approx(np.mean(reached))


def test_the_interval_is_that_of_drawing_documents_one_by_one():
    ours, theirs = discordant(40, 15, both=145)
    found = compare(ours, theirs)
    draw = np.random.default_rng(1)
    differences = (ours.astype(float) - theirs.astype(float))[0]
    slow = [draw.choice(differences, len(differences)).mean() for _ in range(4_000)]
    assert np.allclose([found.low, found.high], np.quantile(slow, [0.025, 0.975]), atol=0.01)
    assert compare(ours, theirs) == found


@pytest.mark.parametrize(
    ("p_value", "difference", "cell"),
    [
        (0.2, 0.012, "+1.2 ±0.5"),
        (0.04, 0.012, "+1.2 ±0.5 *"),
        (0.009, -0.0349, "−3.5 ±0.5 **"),
        (0.0009, 0.012, "+1.2 ±0.5 ***"),
        (0.9, -0.0001, "0.0 ±0.5"),
    ],
)
def test_a_cell_tells_points_spread_and_stars(p_value, difference, cell):
    found = Comparison(difference, difference - 0.005, difference + 0.005, p_value)
    assert found.cell == cell


@given(st.lists(st.floats(0, 1), max_size=8))
def test_p_values_are_corrected_by_holms_step_down_rule(p_values):
    order = sorted(range(len(p_values)), key=lambda number: p_values[number])
    slow, highest = dict.fromkeys(order, 0.0), 0.0
    for rank, number in enumerate(order):
        highest = max(highest, (len(p_values) - rank) * p_values[number])
        slow[number] = min(1.0, highest)
    found = correct_p_values([Comparison(0.1, 0.0, 0.2, p) for p in p_values])
    assert [each.p_value for each in found] == pytest.approx(
        [slow[number] for number in range(len(p_values))]
    )


@given(st.lists(st.booleans(), max_size=200))
def test_packed_flags_come_back(flags):
    assert unpack_flags(pack_flags(flags), len(flags)).tolist() == flags
    with pytest.raises(InputError, match="not 999"):
        unpack_flags(pack_flags(flags), 999)
