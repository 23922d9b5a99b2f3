"""Whether a difference is more than chance, against known values and slow versions."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binomtest, chi2

from protorynet.errors import InputError
from protorynet_lab.bench.significance import (
    Comparison,
    compare,
    corrected,
    holm,
    mcnemar,
    pack_flags,
    unpack_flags,
)


def discordant(only_ours: int, only_theirs: int, both: int = 50) -> tuple[np.ndarray, np.ndarray]:
    """Return flags of two models that differ on so many documents."""
    ours = [True] * both + [True] * only_ours + [False] * only_theirs
    theirs = [True] * both + [False] * only_ours + [True] * only_theirs
    return np.array(ours), np.array(theirs)


@given(st.integers(0, 12), st.integers(0, 12))
def test_few_discordant_documents_are_tested_by_the_binomial(ours: int, theirs: int) -> None:
    expected = binomtest(ours, ours + theirs).pvalue if ours + theirs else 1.0
    assert mcnemar(*discordant(ours, theirs)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("ours", "theirs"), [(15, 10), (60, 20), (30, 30), (500, 450)])
def test_many_discordant_documents_are_tested_by_chi_square(ours: int, theirs: int) -> None:
    statistic = max(abs(ours - theirs) - 1, 0) ** 2 / (ours + theirs)
    assert mcnemar(*discordant(ours, theirs)) == pytest.approx(chi2.sf(statistic, 1))


def test_a_known_value_is_found() -> None:
    # The textbook's table of 121 and 59: chi-square 20.67 with continuity correction.
    assert mcnemar(*discordant(121, 59)) == pytest.approx(5.45e-6, rel=0.01)


def test_models_that_agree_everywhere_are_equal() -> None:
    flags = np.array([True, False, True])
    told = compare(flags, flags)
    assert (told.difference, told.low, told.high, told.p_value, told.n) == (0, 0, 0, 1, 3)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=8))
def test_several_seeds_are_tested_by_every_change_of_signs(rows: list[tuple[int, int]]) -> None:
    ours = np.array([[place < count for count, _ in rows] for place in range(3)])
    theirs = np.array([[place < count for _, count in rows] for place in range(2)])
    differences = [2 * first - 3 * second for first, second in rows]
    reached = [
        abs(sum(sign * each for sign, each in zip(signs, differences, strict=True)))
        >= abs(sum(differences))
        for signs in itertools.product((1, -1), repeat=len(rows))
    ]
    assert mcnemar(ours, theirs) == pytest.approx(np.mean(reached))


@given(st.integers(0, 40), st.integers(0, 40))
def test_repeating_a_seed_changes_nothing(only_ours: int, only_theirs: int) -> None:
    ours, theirs = discordant(only_ours, only_theirs)
    again = mcnemar(np.stack([ours, ours, ours]), np.stack([theirs, theirs]))
    assert again == mcnemar(ours, theirs)


def test_the_interval_is_that_of_drawing_documents_one_by_one() -> None:
    ours, theirs = discordant(40, 15, both=145)
    told = compare(ours, theirs)
    draw = np.random.default_rng(1)
    differences = ours.astype(float) - theirs.astype(float)
    slow = [draw.choice(differences, len(differences)).mean() for _ in range(4_000)]
    assert np.allclose([told.low, told.high], np.quantile(slow, [0.025, 0.975]), atol=0.01)


def test_seeds_are_averaged_before_documents_are_drawn() -> None:
    ours = np.array([[True, True, False, True] * 25, [True, False, False, True] * 25])
    told = compare(ours, np.array([True, False, False, False] * 25))
    assert told.difference == pytest.approx(0.375)
    assert told.n == 100


def test_the_same_seed_gives_the_same_interval() -> None:
    flags = discordant(300, 200, both=2_000)
    assert compare(*flags, seed=4) == compare(*flags, seed=4)
    assert len({compare(*flags, seed=seed) for seed in range(8)}) > 1


def test_swapping_the_models_turns_the_sign() -> None:
    ours, theirs = discordant(9, 3)
    there, back = compare(ours, theirs), compare(theirs, ours)
    assert there.difference == -back.difference > 0
    assert there.p_value == back.p_value


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
def test_a_cell_tells_points_spread_and_stars(p_value: float, difference: float, cell: str) -> None:
    told = Comparison(difference, difference - 0.005, difference + 0.005, p_value, 100)
    assert told.cell == cell


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_is_the_step_down_rule(p_values: list[float]) -> None:
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    slow, highest = dict.fromkeys(order, 0.0), 0.0
    for rank, place in enumerate(order):
        highest = max(highest, (len(p_values) - rank) * p_values[place])
        slow[place] = min(1.0, highest)
    assert holm(p_values) == pytest.approx([slow[place] for place in range(len(p_values))])


def test_corrected_comparisons_change_only_their_p_values() -> None:
    both = [Comparison(0.1, 0.0, 0.2, p, 50) for p in (0.5, 0.02)]
    assert corrected(both) == [
        Comparison(0.1, 0.0, 0.2, 0.5, 50),
        Comparison(0.1, 0.0, 0.2, 0.04, 50),
    ]


@pytest.mark.parametrize("p_values", [[1.5], [float("nan")], [-0.1]])
def test_p_values_out_of_range_are_refused(p_values: list[float]) -> None:
    with pytest.raises(InputError, match="from 0 to 1"):
        holm(p_values)


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        ([True], [True, False], "1 and 2 documents"),
        ([], [], "no documents"),
        ([1, 0], [True, False], "should be true or false"),
        (np.ones((2, 2, 2), bool), [True, True], "one value per document"),
        (True, True, "one value per document"),
    ],
)
def test_flags_that_cannot_be_compared_are_refused(ours: Any, theirs: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        compare(ours, theirs)


@given(st.lists(st.booleans(), max_size=200))
def test_packed_flags_come_back(flags: list[bool]) -> None:
    assert unpack_flags(pack_flags(flags), len(flags)).tolist() == flags


@given(st.text(max_size=12), st.integers(0, 70))
def test_a_text_is_unpacked_only_if_it_is_what_packing_gives(text: str, n: int) -> None:
    try:
        flags = unpack_flags(text, n)
    except InputError:
        return
    assert pack_flags(flags) == text


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("oA==", 100),
        ("oB==", 3),  # base64 of the same byte, written another way
        ("sA==", 3),  # a flag beyond the last
        ("????", 3),
        ("oA=ü", 3),
        (None, 3),
        (b"oA==", 3),
        ("", -1),
        ("", True),
        ("", 10**12),
        ("oA==", 3.0),
    ],
)
def test_packed_flags_that_are_not_are_refused(text: Any, n: Any) -> None:
    with pytest.raises(InputError):
        unpack_flags(text, n)


def test_only_flags_are_packed() -> None:
    with pytest.raises(InputError, match="true or false"):
        pack_flags([0.5])
