"""Progress goes to standard error and never to standard output."""

import io
import sys

import pytest

from protorynet.progress import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("total", "enabled"), [(3, False), (0, True)])
def test_a_bar_that_is_off_or_without_work_says_nothing(capsys, total, enabled):
    with progress_bar("Reading", total, enabled=enabled) as advance:
        advance(total)
    assert capsys.readouterr() == ("", "")


def test_away_from_a_terminal_one_line_says_how_long_it_took(capsys):
    with progress_bar("Reading", 3) as advance:
        advance(3)
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("Reading: done in ")


def test_in_a_terminal_a_bar_counts_the_steps(monkeypatch, capsys):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar("Reading", 3) as advance:
        advance(1)
        advance(2)
    assert "Reading" in terminal.getvalue()
    assert "3 of 3" in terminal.getvalue()
    assert capsys.readouterr().out == ""
