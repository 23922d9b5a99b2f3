"""Progress goes to standard error and never to standard output."""

from __future__ import annotations

import io
import sys

import pytest

from protorynet.progress import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_that_is_off_says_nothing(capsys) -> None:
    with progress_bar("Reading", 3, enabled=False) as advance:
        advance(3)
    assert capsys.readouterr() == ("", "")


def test_no_work_needs_no_bar(capsys) -> None:
    with progress_bar("Reading", 0) as advance:
        advance(0)
    assert capsys.readouterr() == ("", "")


def test_away_from_a_terminal_one_line_says_how_long_it_took(capsys) -> None:
    with progress_bar("Reading", 3) as advance:
        advance(3)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Reading: done in ")
    assert err.count("\n") == 1


def test_failed_work_is_not_called_done(capsys) -> None:
    with pytest.raises(ZeroDivisionError), progress_bar("Reading", 3):
        raise ZeroDivisionError
    assert "done" not in capsys.readouterr().err


def test_in_a_terminal_a_bar_counts_the_steps(monkeypatch, capsys) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar("Reading", 3) as advance:
        advance(1)
        advance(2)
    assert "Reading" in terminal.getvalue()
    assert "3/3" in terminal.getvalue()
    assert capsys.readouterr().out == ""
