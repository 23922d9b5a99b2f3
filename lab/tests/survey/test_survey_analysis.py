"""Means, tests and figures against numbers worked out by hand."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from survey_scene import EVIL

from protorynet_lab.survey import Response, analyse, analysis_charts, responses_csv, write_analysis


def responses(
    participant: int,
    model: str,
    *choices: str,
    kind: str = "technical",
    task: str = "match",
    judge: str | None = None,
    **more,
) -> list[Response]:
    """Return a participant's answers to as many questions, of each of which "1" is expected."""
    return [
        Response(
            participant,
            kind,
            judge,
            model,
            task,
            f"{model}/{task}/{number}",
            choice,
            "1",
            4,
            **more,
        )
        for number, choice in enumerate(choices, 1)
    ]


@pytest.fixture
def told() -> list[Response]:
    """Four technical people about each of two models, and one who is not."""
    shares = {"a": ["1111", "1110", "1100", "1110"], "b": ["1000", "1100", "1000", "0000"]}
    made = []
    for offset, (model, people) in enumerate(shares.items()):
        for place, choices in enumerate(people):
            made += responses(10 * offset + place, model, *choices, ease=4 - offset, seconds=20.0)
    return made + responses(99, "a", *"1111", kind="non-technical", ease=5, seconds=30.0)


def test_agreement_is_the_mean_of_the_participants_own_means(told) -> None:
    found = analyse(told).mean("agreement", "a", "technical")
    assert found is not None
    assert (found.n, found.mean) == (4, 0.75)


def test_the_error_is_the_deviation_over_the_root_of_n(told) -> None:
    found = analyse(told).mean("agreement", "a", "technical")
    assert found is not None
    # Means 1, .75, .5, .75: squares about .75 add up to .125; (.125 / 3 / 4) ** .5.
    assert found.error == pytest.approx(math.sqrt(0.125 / 3 / 4))


def test_chance_is_one_in_as_many_options(told) -> None:
    found = analyse(told).mean("agreement", "a", "technical")
    assert found is not None
    assert found.chance == 0.25


def test_welchs_test_gives_the_figures_of_its_formula(told) -> None:
    test = next(
        each
        for each in analyse(told).comparisons
        if (each.measure, each.within) == ("agreement", "technical")
    )
    first, second = 0.125 / 3 / 4, 0.125 / 3 / 4
    assert test.difference == 0.5
    assert test.t == pytest.approx(0.5 / math.sqrt(first + second))
    assert test.df == pytest.approx((first + second) ** 2 / (first**2 / 3 + second**2 / 3))
    assert test.p == pytest.approx(0.0134, abs=5e-4)


def test_a_single_person_is_not_tested(told) -> None:
    test = next(
        each
        for each in analyse(told).comparisons
        if (each.measure, each.within, each.right) == ("agreement", "a", "non-technical")
    )
    assert test.p is None


def test_equal_answers_are_not_tested(told) -> None:
    test = next(each for each in analyse(told).comparisons if each.measure == "ease")
    assert (test.difference, test.p) == (1.0, None)


def test_people_who_did_not_finish_are_left_out_and_counted(told) -> None:
    found = analyse([*told, *responses(50, "a", "2", is_finished=False)])
    assert found.left_out["unfinished"] == 1
    assert found.n_analysed == 9


def test_people_who_did_not_finish_are_analysed_if_asked(told) -> None:
    extra = responses(50, "a", "2", is_finished=False)
    assert analyse([*told, *extra], with_unfinished=True).n_analysed == 10


def test_answers_to_pages_that_were_never_shown_are_too_quick(told) -> None:
    found = analyse([*told, *responses(50, "a", "2", seconds=None)], least_seconds=15)
    assert found.left_out["too quick"] == 1


def test_people_who_were_too_quick_are_left_out_and_counted(told) -> None:
    found = analyse([*told, *responses(50, "a", "2", seconds=3.0)], least_seconds=15)
    assert found.left_out["too quick"] == 1
    mean = found.mean("agreement", "a", "technical")
    assert mean is not None
    assert mean.mean == 0.75


def test_automatic_participants_are_left_out(told) -> None:
    machine = responses(50, "a", *"2222", kind="automatic", judge="minilm")
    assert analyse([*told, *machine]).to_dict() == analyse(told).to_dict()


def test_automatic_participants_are_a_group_of_their_own_if_asked(told) -> None:
    machine = responses(50, "a", *"2222", kind="automatic", judge="minilm")
    found = analyse([*told, *machine], with_automatic=True)
    people = analyse(told)
    for group in ("technical", "non-technical", "everyone"):
        assert found.mean("agreement", "a", group) == people.mean("agreement", "a", group)
    own = found.mean("agreement", "a", "automatic")
    assert own is not None
    assert own.mean == 0
    assert (found.alphas, found.questions, found.comparisons) == (
        people.alphas,
        people.questions,
        people.comparisons,
    )


def test_a_question_tells_on_which_answer_people_agree(told) -> None:
    last = next(each for each in analyse(told).questions if each.question == "b/match/4")
    assert (last.agreement, last.consensus, last.is_consensus_expected) == (0.0, "0", False)


def test_questions_are_sorted_by_their_numbers() -> None:
    found = analyse(responses(1, "a", *("1" * 11)))
    assert [each.question for each in found.questions][-2:] == ["a/match/10", "a/match/11"]


def test_models_keep_the_order_given(told) -> None:
    assert analyse(told, models=["b", "a"]).models == ("b", "a")


def test_no_answers_at_all_are_no_error() -> None:
    found = analyse([])
    assert found.means == ()
    assert analysis_charts(found) == {}


@pytest.fixture
def everything(told) -> list[Response]:
    return [
        *told,
        *responses(1, "a", *"11", task="diagnosis"),
        *responses(11, "b", *"12", task="diagnosis"),
        *responses(1, "a", *"1211", task="trajectory"),
        *responses(11, "b", *"1121", task="trajectory"),
    ]


def test_the_figures_of_the_paper_are_drawn(everything) -> None:
    charts = analysis_charts(analyse(everything))
    assert set(charts) == {"agreement.svg", "ease.svg", "diagnosis.svg", "trajectories.svg"}
    for chart in charts.values():
        ElementTree.fromstring(chart)


def test_a_figure_shows_means_errors_and_the_p_value(everything) -> None:
    chart = analysis_charts(analyse(everything))["agreement.svg"]
    for words in (">75%<", ">25%<", "p = .013", "n=4", "chance"):
        assert words in chart


def test_markup_in_names_of_models_stays_harmless(told, tmp_path) -> None:
    evil = [replace(each, model=EVIL, question=f"{EVIL}/1") for each in told]
    write_analysis(analyse(evil), tmp_path, title=EVIL)
    page = (tmp_path / "index.html").read_text()
    assert "<script" not in page
    assert "<img" not in page


def test_the_table_marks_automatic_answers(told) -> None:
    machine = responses(50, "a", "1", kind="automatic", judge="minilm")
    rows = list(csv.DictReader(io.StringIO(responses_csv([*told, *machine]))))
    assert {row["automatic"] for row in rows[:-1]} == {""}
    assert (rows[-1]["group"], rows[-1]["automatic"]) == ("automatic", "minilm")


def test_the_table_holds_no_formulas() -> None:
    table = responses_csv(responses(1, "=cmd()", "1"))
    assert ",'=cmd()," in table
