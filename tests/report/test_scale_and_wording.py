"""Which class is shown, and how numbers and texts are written."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from protorynet.report import clean, printable, shorten, spread
from protorynet.report.scale import ranked, scale_of_explanation, scale_of_prototypes
from protorynet.report.wording import columns, percent, points


def test_two_classes_share_one_axis_with_the_last_class_on_top(good_review):
    assert scale_of_explanation(good_review).pole == "positive"


def test_four_classes_have_no_axis(person):
    assert scale_of_explanation(person).pole is None


def test_two_labels_that_do_not_exclude_each_other_have_no_axis(several_labels):
    both = {"a": 0.9, "b": 0.8}
    steps = tuple(
        type(step)(**{**vars(step), "scores": both, "running": both})
        for step in several_labels.sentences
    )
    explanation = type(several_labels)("x", "a, b", both, steps)
    assert scale_of_explanation(explanation).pole is None


def test_prototypes_of_two_classes_are_ranked_by_falling_score(movie_prototypes):
    order = ranked(movie_prototypes, scale_of_prototypes(movie_prototypes))
    scores = [item.scores["positive"] for item in order]
    assert scores == sorted(scores, reverse=True)


def test_prototypes_of_several_classes_are_ranked_class_after_class(place_prototypes):
    order = ranked(place_prototypes, scale_of_prototypes(place_prototypes))
    assert [item.id for item in order] == [1, 2, 4, 5, 6, 9]


def test_the_hue_tells_the_side_of_one_half(good_review):
    scale = scale_of_explanation(good_review)
    assert [scale.reading("positive", value).hue for value in (0.49, 0.5)] == [1, 0]


@pytest.mark.parametrize("value", [0.001, 0.999])
def test_an_uncertain_probability_is_never_written_as_certain(value):
    assert percent(value) not in {"0%", "100%"}


@given(st.floats(-1, 1))
def test_points_never_show_a_signed_zero(effect):
    assert points(effect) not in {"+0", "-0"}


@given(st.text(st.characters()))
def test_cleaned_text_can_be_written(text):
    clean(text).encode("utf-8")


@given(st.text(st.characters()))
def test_printable_text_stays_on_one_line_without_escape_codes(text):
    line = printable(text)
    assert not set(line) & set("\n\r\x1b\x9b\u202e")


@given(st.text(), st.integers(1, 30))
def test_shortened_text_keeps_its_limit(text, limit):
    assert columns(shorten(text, limit)) <= limit


@given(st.lists(st.floats(0, 100), min_size=1, max_size=8))
def test_labels_moved_apart_keep_their_distance_and_bounds(places):
    moved = sorted(spread(places, gap=12, low=0, high=100))
    gaps = [after - before for before, after in pairwise(moved)]
    assert all(gap >= 12 - 1e-6 for gap in gaps)
    assert moved[0] >= -1e-6
    assert moved[-1] <= 100
