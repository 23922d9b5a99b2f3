"""Means, tests, agreement and figures against numbers worked out by hand or published."""

import csv
import io
import math
from dataclasses import replace
from itertools import permutations
from xml.etree import ElementTree

import pytest
from hypothesis import given, strategies as st
from survey_scene import EVIL

from protorynet_lab.survey import (
    Response,
    analyse,
    analysis_charts,
    krippendorff_alpha,
    responses_csv,
    write_analysis,
)

# K. Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, sections A to E.
MEG_AND_OWEN = list(zip("0100000010", "1110010000", strict=True))
BEN_AND_GERRY = list(zip("aabbdcccedda", "babbbcccedddd"[:12], strict=True))
FOUR_OBSERVERS = [
    [int(value) for value in unit]
    for unit in (
        ["111", "2232", "3333", "3333", "2222", "1234", "4444", "1121", "2222", "555", "11", "3"]
    )
]
UNITS = st.lists(st.lists(st.integers(1, 5), max_size=6), max_size=8)


@pytest.mark.parametrize(
    ("units", "level", "published"),
    [
        (MEG_AND_OWEN, "nominal", 0.095),
        (BEN_AND_GERRY, "nominal", 0.692),
        (FOUR_OBSERVERS, "nominal", 0.743),
        (FOUR_OBSERVERS, "interval", 0.849),
    ],
)
def test_alpha_gives_the_published_figures(units, level, published):
    assert krippendorff_alpha(units, level) == pytest.approx(published, abs=5e-4)


@given(UNITS, st.sampled_from(["nominal", "interval"]))
def test_alpha_is_one_less_observed_over_expected_disagreement(units, level):
    def distance(a: int, b: int) -> float:
        return float(a != b) if level == "nominal" else float((a - b) ** 2)

    compared = [unit for unit in units if len(unit) >= 2]
    everything = [value for unit in compared for value in unit]
    observed = sum(
        sum(distance(a, b) for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in compared
    )
    expected = sum(distance(a, b) for a, b in permutations(everything, 2))
    alpha = krippendorff_alpha(units, level)
    if expected == 0:  # nothing to compare, or a single value everywhere
        assert alpha is None
    else:
        assert alpha == pytest.approx(1 - (len(everything) - 1) * observed / expected)


def responses(
    participant: int,
    model: str,
    choices: str,
    *,
    kind: str = "technical",
    task: str = "match",
    judge: str | None = None,
    seconds: float | None = 20.0,
    **more,
) -> list[Response]:
    """Return a participant's answers to as many questions, of each of which "1" is expected."""
    asked = [(f"{model}/{task}/{number}", choice) for number, choice in enumerate(choices, 1)]
    return [
        Response(
            *(participant, kind, judge, model, task, question, choice, "1", 4),
            seconds=seconds,
            **more,
        )
        for question, choice in asked
    ]


@pytest.fixture
def given_answers() -> list[Response]:
    """Four technical people about each of two models, and one who is not."""
    shares = {"a": ["1111", "1110", "1100", "1110"], "b": ["1000", "1100", "1000", "0000"]}
    made = []
    for offset, (model, people) in enumerate(shares.items()):
        for number, choices in enumerate(people):
            made += responses(10 * offset + number, model, choices, ease=4 - offset)
    return made + responses(99, "a", "1111", kind="non-technical", ease=5, seconds=30.0)


def test_a_mean_is_of_the_participants_own_means_with_its_error_and_chance(given_answers):
    found = analyse(given_answers).mean("agreement", "a", "technical")
    assert (found.n, found.mean, found.chance) == (4, 0.75, 0.25)
    # Means 1, .75, .5, .75: squares about .75 add up to .125; (.125 / 3 / 4) ** .5.
    assert found.error == pytest.approx(math.sqrt(0.125 / 3 / 4))


def test_welchs_test_gives_the_figures_of_its_formula(given_answers):
    tests = {(c.measure, c.within): c for c in analyse(given_answers).comparisons}
    test, variance = tests["agreement", "technical"], 0.125 / 3 / 4
    assert test.difference == 0.5
    assert test.t == pytest.approx(0.5 / math.sqrt(2 * variance))
    assert test.df == pytest.approx((2 * variance) ** 2 / (2 * variance**2 / 3))
    assert test.p == pytest.approx(0.0134, abs=5e-4)
    assert tests["agreement", "a"].p is None  # a single person
    assert (tests["ease", "technical"].difference, tests["ease", "technical"].p) == (1.0, None)


@pytest.mark.parametrize(
    ("more", "left_out"),
    [
        ({"is_finished": False}, "unfinished"),
        ({"seconds": 0.5}, "too quick"),
        ({"seconds": None}, "too quick"),
    ],
    ids=["unfinished", "quick", "never shown"],
)
def test_some_people_are_left_out_and_counted(given_answers, more, left_out):
    found = analyse([*given_answers, *responses(50, "a", "2", **more)])
    assert (found.n_people, found.n_analysed, found.left_out[left_out]) == (10, 9, 1)
    assert found.means == analyse(given_answers).means
    extra = responses(50, "a", "2", is_finished=False)
    assert analyse([*given_answers, *extra], with_unfinished=True).n_analysed == 10
    quick = responses(50, "a", "2", seconds=0.5)
    assert analyse([*given_answers, *quick], least_seconds=0).n_analysed == 10


def test_automatic_participants_are_never_people(given_answers):
    machine = responses(50, "a", "2222", kind="automatic", judge="minilm")
    people = analyse(given_answers)
    assert analyse([*given_answers, *machine]) == people
    found = analyse([*given_answers, *machine], with_automatic=True)
    own = found.mean("agreement", "a", "automatic")
    assert own.mean == 0
    without = tuple(mean for mean in found.means if mean.group != "automatic")
    assert replace(found, n_automatic=0, means=without) == people


def test_the_figures_of_the_paper_are_drawn_and_always_the_same(given_answers):
    everything = [
        *given_answers,
        *responses(1, "a", "11", task="diagnosis"),
        *responses(11, "b", "12", task="diagnosis"),
        *responses(1, "a", "1211", task="trajectory"),
        *responses(11, "b", "1121", task="trajectory"),
    ]
    charts = analysis_charts(analyse(everything))
    assert analysis_charts(analyse([])) == {}
    assert set(charts) == {"agreement.svg", "ease.svg", "diagnosis.svg", "trajectories.svg"}
    assert charts == analysis_charts(analyse(everything))
    for words in (">75%<", ">25%<", "p = .013", "n=4", "chance"):
        assert words in charts["agreement.svg"]


@pytest.mark.parametrize("name", [EVIL, "_under", "$a$ \\frac", "中文🙂", "\x00\ud800"])
def test_any_name_of_a_model_stays_harmless_and_is_shown(given_answers, tmp_path, name):
    named = [replace(each, model=name, question=f"{name}/1") for each in given_answers]
    for chart in analysis_charts(analyse(named)).values():
        words = "".join(ElementTree.fromstring(chart).itertext())
        assert name[:9] in words or not name.isprintable()
    if name == EVIL:
        write_analysis(analyse(named), tmp_path, title=name)
        page = (tmp_path / "index.html").read_text()
        assert "<script" not in page
        assert "<img" not in page


def test_the_table_marks_automatic_answers_and_holds_no_formulas(given_answers):
    machine = responses(50, "=cmd()", "1", kind="automatic", judge="minilm")
    rows = list(csv.DictReader(io.StringIO(responses_csv([*given_answers, *machine]))))
    assert {row["automatic"] for row in rows[:-1]} == {""}
    assert (rows[-1]["group"], rows[-1]["automatic"]) == ("automatic", "minilm")
    assert rows[-1]["model"] == "'=cmd()"
