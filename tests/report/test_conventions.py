"""How numbers and texts are written."""

import pytest
from hypothesis import example, given, strategies as st
from rich.cells import cell_len

from protorynet.report import clean, printable, shorten
from protorynet.report.conventions import (
    break_lines,
    format_measure,
    format_percent,
    format_points,
    format_signed,
)


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


@example("0000 \x1b", 2, 1)
@given(st.text(), st.integers(2, 30), st.integers(1, 5))
def test_shortened_and_broken_texts_keep_their_limits(text, limit, most):
    assert cell_len(shorten(text, limit)) <= limit
    broken = break_lines(text, limit, most)
    assert len(broken) <= most
    assert all(cell_len(line) <= limit for line in broken)
