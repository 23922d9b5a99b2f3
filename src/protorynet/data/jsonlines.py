"""JSON-lines files: one object per line."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

from protorynet.data.files import MOST_COLUMNS, check_is_text, not_utf8, opened
from protorynet.data.quoting import one_line
from protorynet.errors import TableError

__all__ = ["note_columns", "parse_record", "read_records"]


def read_records(path: Path) -> list[dict[str, Any]]:
    """Read the objects of a file; blank lines are passed over."""
    check_is_text(path)
    try:
        with opened(path) as file:
            content = file.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise not_utf8(path) from None
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(f"{path} cannot be read: {one_line(error)}.") from None
    # Not splitlines(): U+2028 and its like may stand inside a JSON string.
    records = []
    columns: set[str] = set()
    for number, line in enumerate(content.split("\n"), start=1):
        if line and not line.isspace():
            records.append(record := parse_record(line, path, number))
            note_columns(columns, record, path, number)
    return records


def parse_record(line: str, path: Path, number: int) -> dict[str, Any]:
    """Return the object of one line; an error names the file and the line."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise TableError(
            f"line {number} of {path} is not valid JSON ({one_line(error)}); "
            'expected one object per line, such as {"text": "…", "label": "…"}.'
        ) from None
    if not isinstance(record, dict):
        raise TableError(
            f"line {number} of {path} holds a {type(record).__name__}; "
            'expected one object per line, such as {"text": "…", "label": "…"}.'
        )
    return record


def note_columns(columns: set[str], record: dict[str, Any], path: Path, number: int) -> None:
    """Add the keys of a line's object to the columns known; too many of them are an error."""
    columns.update(record)
    if len(columns) > MOST_COLUMNS:
        raise TableError(
            f"line {number} of {path} brings column {MOST_COLUMNS + 1:,}; keys that differ from "
            "line to line are no columns, so put such values under one key."
        )
