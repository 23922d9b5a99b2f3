"""Explanations, prototypes and evaluations as text."""

import io
import re
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from protorynet.figures import ClassFigures
from protorynet.report import print_evaluation, print_explanation, print_prototypes

WIDTHS = [60, 80, 120]
EXPLANATIONS = ["good_review", "person", "hostile_review", "several_labels"]
VIEWS = [(print_explanation, name) for name in EXPLANATIONS]
VIEWS += [(print_explanation, "strange_review"), (print_prototypes, "movie_families")]
VIEWS += [(print_prototypes, name) for name in ("movie_prototypes", "place_prototypes")]
TERMINAL = {"force_terminal": True, "color_system": "truecolor"}


def printed(show, thing, *, width=80, encoding="utf-8", **options) -> str:
    raw = io.BytesIO()
    page = io.TextIOWrapper(raw, encoding=encoding, newline="")
    show(thing, Console(file=page, width=width, **options))
    page.flush()
    return raw.getvalue().decode(encoding)


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("show", "name"), VIEWS)
def test_no_line_is_wider_than_the_console(show, name, width, request):
    text = printed(show, request.getfixturevalue(name), width=width)
    assert max(cell_len(line) for line in text.splitlines()) <= width


@pytest.mark.parametrize("width", WIDTHS)
def test_every_sentence_and_its_prototype_are_printed_in_full(good_review, width):
    text = flat(printed(print_explanation, good_review, width=width))
    for sentence in good_review.sentences:
        assert sentence.text in text
        assert f"like prototype {sentence.prototype}: {sentence.prototype_sentence}" in text
    assert "(similarity 0.71; next: prototype 30, 0.63)" in text


def test_the_verdict_comes_last_in_what_an_explanation_prints(bad_review, tied):
    assert printed(print_explanation, bad_review).endswith("\nVerdict: negative 94%\n")
    level = "\nVerdict: negative 50%, level with positive: nothing tips the scale\n"
    assert printed(print_explanation, tied).endswith(level)
    lines = printed(print_explanation, tied, width=100).splitlines()
    assert str(tied).splitlines() == [line.rstrip() for line in lines]


def test_the_words_that_matter_are_named_and_marked(worded):
    text = flat(printed(print_explanation, worded))
    assert "words: finest +0.20, films +0.07; in the prototype: best" in text
    assert "The words named are those" in text
    assert "\x1b[1;4mfinest\x1b[0m" in printed(print_explanation, worded, **TERMINAL)


def test_several_classes_show_the_strongest_and_labels_stand_together(person, several_labels):
    text = flat(printed(print_explanation, person))
    assert re.search(r"Animal 0\.92 █+·+ so far Person 55%", text)
    assert "Verdict: Person, Animal\n" in printed(print_explanation, several_labels)
    unlabelled = replace(several_labels, label="", sentences=())
    assert "Verdict: none of the classes" in printed(print_explanation, unlabelled)


def test_hostile_sentences_show_literally_and_do_not_steer_the_terminal(hostile_review):
    text = printed(print_explanation, hostile_review)
    assert "[bold]not bold[/bold] [link=x]y[/link] :smile:" in text
    assert "\x1b" not in text
    assert "\x1b[31m" not in printed(print_explanation, hostile_review, **TERMINAL)
    for encoding in ("ascii", "cp1252"):
        assert "|####" in printed(print_explanation, hostile_review, encoding=encoding)


@pytest.mark.parametrize("width", WIDTHS)
def test_prototypes_are_listed_by_class_and_falling_score(
    movie_prototypes, place_prototypes, width
):
    several = printed(print_prototypes, place_prototypes, width=width)
    assert re.findall(r"^ +(\d) ", several, re.MULTILINE) == list("124569")
    assert "NaturalPlace" in several
    text = printed(print_prototypes, movie_prototypes, width=width)
    scores = [float(found) for found in re.findall(r"[·█] (\d\.\d\d)", text)]
    assert len(scores) == 12
    assert scores == sorted(scores, reverse=True)
    assert "21%" in text
    assert "53%" in text


@pytest.mark.parametrize("width", WIDTHS)
def test_a_family_is_shown_by_headline_or_name_words_and_members(movie_families, width):
    text = flat(printed(print_prototypes, movie_families, width=width))
    assert "5 sentences that differ words: best, <i>film</i> · A masterpiece." in text
    assert "· What a joy!" in text
    assert "Simply the best." not in text
    assert "3 sentences that differ" in text
    assert " 19 warnings " in text
    assert "· A complete waste of time and money; avoid it at" in text
    assert "· It's funny" not in text
    everything = {"show": lambda *given: print_prototypes(*given, members=True)}
    text = flat(printed(thing=movie_families, width=width, **everything))
    assert "304 100% Simply the best." in text
    assert "1901 0% Dreadful." in text


def test_a_member_comes_before_its_prototype_and_unfamiliar_sentences_are_named(strange_review):
    text = printed(print_explanation, strange_review, width=100)
    assert text.startswith("Warning: 4 of the 7 sentences are unlike anything in the training data")
    text = flat(text)
    assert "like: My aunt <b>took</b> me. (similarity 0.71; next: prototype 30, 0.63)" in text
    assert "0.63) prototype 17: How I came to see it score 0.48" in text
    assert text.count("in the training data nearest prototype ") == 4
    few = replace(strange_review, sentences=strange_review.sentences[:5])
    assert "Warning" not in printed(print_explanation, few)


def test_a_text_half_of_which_is_unfamiliar_is_warned_of(strange_review):
    by_kind = sorted(strange_review.sentences, key=lambda step: step.unfamiliar)
    half = replace(strange_review, sentences=(*by_kind[:2], *by_kind[-2:]))
    assert printed(print_explanation, half).startswith("Warning: 2 of the 4 sentences are unlike")


def test_an_evaluation_prints_figures_and_a_verdict_and_if_asked_every_measure(evaluation):
    text = printed(print_evaluation, evaluation)
    assert text.startswith("Accuracy 88.7% (95% interval 87.4–89.9%)\nMajority")
    shown = flat(text)
    assert "Majority baseline 50.0% Bag of words 90.1% Balanced accuracy 88.7%" in shown
    assert "on 2,500 documents with 12 prototypes Warning: A bag of words is better" in shown
    assert "negative 1,250 86% 90% 0.88 1081 169 positive 1,250 91% 87% 0.89 114 1136" in shown
    assert "matches carry the decision: yes (Ids only accuracy 0.883)" in shown
    assert "Score calibration" not in shown
    everything = {"show": lambda *given: print_evaluation(*given, verbose=True)}
    text = printed(thing=evaluation, **everything)
    assert "\n  n/a  Score calibration\n" in text
    for measure in evaluation.measures:
        assert measure.meaning in flat(text)


def test_of_many_classes_those_are_shown_that_are_found_least(evaluation):
    names = [f"class {number}" for number in range(30)]
    classes = tuple(ClassFigures(name, 10, 10, 9 - n % 9) for n, name in enumerate(names))
    confusion = [
        [each.n_both if n == m else 0 for m in range(30)] for n, each in enumerate(classes)
    ]
    confusion[8][3], confusion[2][1] = 8, 1
    many = replace(evaluation, classes=classes, confusion=confusion)
    text = flat(printed(print_evaluation, many))
    assert "class 8 10 10% 10% 0.10" in text
    assert "class 0 10" not in text
    assert "8 of 30 classes with the lowest recall" in text
    assert "8 class 8 taken for class 3 1 class 2 taken for class 1" in text
    page = flat(many._repr_html_().split("</style>")[1])
    assert "The 12 classes of the lowest recall" in page
    assert "All 30 classes" in page
