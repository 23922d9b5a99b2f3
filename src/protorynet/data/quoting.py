"""How names, rows and other programs' complaints are put into messages."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["listed", "listed_rows", "one_line"]


def listed(names: Sequence[str], most: int = 20) -> str:
    """Return names in quotes, the first few of many.

    Examples
    --------
    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b', …"
    """
    return ", ".join(repr(name) for name in names[:most]) + (", …" if len(names) > most else "")


def listed_rows(rows: Sequence[int]) -> str:
    """Return the first of some row numbers.

    Examples
    --------
    >>> listed_rows([4])
    'row 4'
    >>> listed_rows(range(9))
    'rows 0, 1, 2, 3, 4, …'
    """
    shown = ", ".join(str(row) for row in rows[:5]) + (", …" if len(rows) > 5 else "")
    return f"row{'s' if len(rows) > 1 else ''} {shown}"


def one_line(complaint: object) -> str:
    """Return a complaint on one line of bearable length, without its full stop.

    Examples
    --------
    >>> one_line("line one" + chr(10) + "line two.")
    'line one line two'
    """
    # Surrogates and control characters of a broken file must not reach a terminal.
    line = " ".join(str(complaint).encode("utf-8", "replace").decode().split())
    line = "".join(char if char.isprintable() else "�" for char in line)
    return (line if len(line) <= 200 else line[:199] + "…").rstrip(".")
