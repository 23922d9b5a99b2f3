"""Explanations, prototypes and evaluations as text."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from protorynet.explain import Rationale, WordEffect
from protorynet.report import (
    print_evaluation,
    print_explanation,
    print_prototypes,
    print_rationale,
)

WIDTHS = [60, 80, 120]


def printed(show, thing, *, width=80, encoding="utf-8", **options) -> str:
    raw = io.BytesIO()
    console = Console(
        file=io.TextIOWrapper(raw, encoding=encoding, newline=""), width=width, **options
    )
    show(thing, console)
    console.file.flush()
    return raw.getvalue().decode(encoding)


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["good_review", "person", "hostile_review", "several_labels"])
def test_no_line_of_an_explanation_is_wider_than_the_console(name, width, request):
    text = printed(print_explanation, request.getfixturevalue(name), width=width)
    assert max(cell_len(line) for line in text.splitlines()) <= width


@pytest.mark.parametrize("width", WIDTHS)
def test_every_sentence_and_its_prototype_are_printed_in_full(good_review, width):
    text = flat(printed(print_explanation, good_review, width=width))
    for sentence in good_review.sentences:
        assert sentence.text in text
        assert f"like prototype {sentence.prototype}: {sentence.prototype_sentence}" in text


def test_each_sentence_has_its_score_running_probability_and_effect(good_review):
    text = printed(print_explanation, good_review)
    assert re.search(r"score 0\.21 ·+█+│·+  so far  24%  effect -22", text)


def test_bars_of_two_classes_grow_from_the_middle_to_either_side(bad_review):
    bars = re.findall(r"score \d\S+ (\S+)", printed(print_explanation, bad_review))
    assert ["│█" in bar for bar in bars] == [True, True, False, False]
    assert ["█│" in bar for bar in bars] == [False, False, True, True]


def test_the_verdict_comes_last(bad_review):
    assert printed(print_explanation, bad_review).splitlines()[-1] == "Verdict: negative 94%"


def test_similarity_and_runner_up_are_told(good_review):
    text = flat(printed(print_explanation, good_review))
    assert "(similarity 0.71; next: prototype 30, 0.63)" in text


def test_classes_of_the_same_probability_are_told(tied):
    last = printed(print_explanation, tied).splitlines()[-1]
    assert last == "Verdict: negative 50%, level with positive: nothing tips the scale"


def test_an_explanation_prints_itself(good_review):
    assert str(good_review).splitlines() == [
        line.rstrip() for line in printed(print_explanation, good_review, width=100).splitlines()
    ]


RATIONALE = Rationale(
    "A  [b]great\nfilm[/b]!",
    7,
    "What a \x1bfilm.",
    0.8,
    (WordEffect("great", 6, 11, 0.25), WordEffect("film", 12, 16, 0.1), WordEffect("A", 0, 1, -1)),
    (WordEffect("film", 8, 12, 0.004),),
)


def test_a_rationale_names_the_words_that_matter():
    assert printed(print_rationale, RATIONALE).splitlines() == [
        "A [b]great film[/b]!",
        "like prototype 7: What a �film. (similarity 0.80)",
        "words: great +0.25, film +0.10; in the prototype: none stands out",
    ]


def test_a_terminal_marks_the_words_that_matter():
    text = printed(print_rationale, RATIONALE, force_terminal=True, color_system="truecolor")
    assert "\x1b[1;4mgreat\x1b[0m" in text


def test_words_are_printed_below_their_sentence(good_review):
    step = replace(good_review.sentences[0], words=RATIONALE.words)
    text = flat(printed(print_explanation, replace(good_review, sentences=(step,))))
    assert "words: great +0.25, film +0.10; in the prototype: none stands out score 0.48" in text
    assert "The words named are those" in text


def test_several_classes_show_the_strongest_class_and_the_running_leader(person):
    text = flat(printed(print_explanation, person))
    assert re.search(r"Animal 0\.92 █+·+ so far Person 55%", text)


def test_the_labels_of_a_multi_label_model_are_told_together(several_labels):
    text = printed(print_explanation, several_labels)
    assert "Verdict: Person, Animal\n" in text


def test_a_document_without_any_label_says_so(several_labels):
    unlabelled = type(several_labels)("x", "", several_labels.probabilities, ())
    assert "Verdict: none of the classes" in printed(print_explanation, unlabelled)


def test_rich_markup_and_emoji_codes_show_literally(hostile_review):
    text = printed(print_explanation, hostile_review)
    assert "[bold]not bold[/bold] [link=x]y[/link] :smile:" in text


def test_escape_codes_in_sentences_do_not_reach_the_terminal(hostile_review):
    assert "\x1b[31m" not in printed(print_explanation, hostile_review)


def test_a_pipe_gets_no_colour_codes(good_review):
    assert "\x1b" not in printed(print_explanation, good_review)


def test_a_terminal_gets_colours(good_review):
    text = printed(print_explanation, good_review, force_terminal=True, color_system="truecolor")
    assert "\x1b[" in text


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_console_without_unicode_gets_plain_bars(hostile_review, encoding):
    assert "|####" in printed(print_explanation, hostile_review, encoding=encoding)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["movie_prototypes", "place_prototypes"])
def test_no_line_of_the_prototypes_is_wider_than_the_console(name, width, request):
    text = printed(print_prototypes, request.getfixturevalue(name), width=width)
    assert max(cell_len(line) for line in text.splitlines()) <= width


def test_prototypes_are_listed_by_falling_score(movie_prototypes):
    text = printed(print_prototypes, movie_prototypes)
    scores = [float(found) for found in re.findall(r"[·█] (\d\.\d\d)", text)]
    assert len(scores) == 12
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("width", WIDTHS)
def test_prototypes_show_usage_and_observed_rate(movie_prototypes, width):
    text = printed(print_prototypes, movie_prototypes, width=width)
    assert "21%" in text
    assert "53%" in text


def test_prototypes_of_several_classes_name_their_strongest_class(place_prototypes):
    assert "NaturalPlace" in printed(print_prototypes, place_prototypes)


def test_an_evaluation_prints_every_measure_with_its_meaning(evaluation):
    text = flat(printed(print_evaluation, evaluation))
    assert "Accuracy 88.7% Macro F1 0.886" in text
    for measure in evaluation.measures:
        assert measure.meaning in text


def test_a_measure_that_cannot_be_computed_is_not_a_number(evaluation):
    assert "n/a  Score calibration" in printed(print_evaluation, evaluation)
