"""Tables for spreadsheets, in which no cell is taken for a formula."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

__all__ = ["csv_lines", "safe_cell"]

_FORMULA = frozenset("=+-@＝＋－＠")  # East Asian spreadsheets take the wide ones too
_BREAKS = ("\t", "\r", "\n")


def csv_lines(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    r"""Yield the lines of a CSV file.

    Examples
    --------
    >>> list(csv_lines(["row", "text"], [(3, "=1+1")]))
    ['row,text\r\n', "3,'=1+1\r\n"]
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    for cells in chain([header], rows):
        writer.writerow([safe_cell(cell) for cell in cells])
        yield _taken(buffer)


def safe_cell(value: Any) -> Any:
    r"""Return a cell as it may stand in a spreadsheet: a text that looks like a formula is quoted.

    Examples
    --------
    >>> safe_cell("=HYPERLINK(A1)"), safe_cell(" @sum"), safe_cell(-0.5), safe_cell("a-b")
    ("'=HYPERLINK(A1)", "' @sum", -0.5, 'a-b')
    >>> safe_cell("\ufeff=1+1").startswith("'")
    True
    """
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | dict):
        value = json.dumps(value, ensure_ascii=False, default=str)
    text = str(value)
    # Spreadsheets pass over spaces and what cannot be seen, such as a byte-order mark.
    seen = next((char for char in text if char.isprintable() and not char.isspace()), "")
    return f"'{text}" if seen in _FORMULA or text.startswith(_BREAKS) else text


def _taken(buffer: io.StringIO) -> str:
    line = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return line
