"""Which class is shown, and how numbers and texts are written."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from protorynet.report import clean, printable, shorten
from protorynet.report.conventions import (
    break_lines,
    count_columns,
    format_measure,
    format_percent,
    format_points,
    format_signed,
    scale_of_explanation,
)


def test_two_classes_share_one_axis_with_the_last_class_on_top(good_review):
    scale = scale_of_explanation(good_review)
    assert scale.pole == "positive"
    assert [scale.reading("positive", value).hue for value in (0.49, 0.5)] == [1, 0]


@pytest.mark.parametrize("name", ["person", "several_labels"])
def test_classes_that_are_no_two_ends_have_no_axis(name, request):
    scale = scale_of_explanation(request.getfixturevalue(name))
    assert scale.pole is None
    assert scale.shown({"Person": 0.2, "Animal": 0.7}).label == "Animal"


@pytest.mark.parametrize(
    ("write", "value", "written"),
    [
        (format_percent, 0.934, "93%"),
        (format_percent, 0.9991, ">99%"),
        (format_percent, 0.0004, "<1%"),
        (format_percent, 1.0, "100%"),
        (format_signed, 0.314, "+0.31"),
        (format_signed, -0.0042, "-0.004"),
        (format_points, 0.123, "+12"),
        (format_points, -0.001, "0"),
        (format_measure, 0.91372, "0.914"),
        (format_measure, 9.8123, "9.8"),
        (format_measure, None, "n/a"),
    ],
)
def test_numbers_are_written_for_reading(write, value, written):
    assert write(value) == written


@given(st.text(st.characters()))
def test_any_text_can_be_written_and_printed_on_one_line_without_escape_codes(text):
    clean(text).encode("utf-8")
    assert not set(printable(text)) & set("\n\r\x1b\x9b\u202e")


@given(st.text(), st.integers(2, 30), st.integers(1, 5))
def test_shortened_and_broken_texts_keep_their_limits(text, limit, most):
    assert count_columns(shorten(text, limit)) <= limit
    broken = break_lines(text, limit, most)
    assert len(broken) <= most
    assert all(count_columns(line) <= limit for line in broken)
