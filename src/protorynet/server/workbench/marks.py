"""Marks that people put on documents whose label they doubt."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protorynet.server.failures import ApiError
from protorynet.server.workbench.versions import moment

__all__ = ["Mark", "Marks", "text_key"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS marks (
    text TEXT PRIMARY KEY, row INTEGER NOT NULL, wrong_label INTEGER NOT NULL,
    note TEXT NOT NULL, "when" TEXT NOT NULL
)
"""


@dataclass(frozen=True)
class Mark:
    """What somebody said of a document's label.

    Parameters
    ----------
    wrong_label
        Whether the label, not the model, is wrong.
    note
        A remark.
    when
        When it was said, in UTC.
    """

    wrong_label: bool
    note: str
    when: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return dict(vars(self))


class Marks:
    """The marks of one model in an SQLite file; each is on disk before it is confirmed.

    A mark belongs to a text, not to a row, so that it stays right when the table changes.

    Parameters
    ----------
    path
        The file; made when the first mark is.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def put(self, text: str, row: int, *, wrong_label: bool, note: str) -> Mark | None:
        """Mark a text; without a doubt and a note, its mark is taken away."""
        if not wrong_label and not note and not self._path.exists():
            return None
        mark = Mark(wrong_label, note, moment())
        with self._connected() as connection:
            if wrong_label or note:
                connection.execute(
                    "INSERT OR REPLACE INTO marks VALUES (?, ?, ?, ?, ?)",
                    (text_key(text), row, wrong_label, note, mark.when),
                )
                return mark
            connection.execute("DELETE FROM marks WHERE text = ?", (text_key(text),))
        return None

    def all(self) -> dict[str, Mark]:
        """Return all marks by the keys of their texts."""
        if not self._path.exists():
            return {}
        with self._connected() as connection:
            rows = connection.execute('SELECT text, wrong_label, note, "when" FROM marks')
            return {key: Mark(bool(wrong), note, when) for key, wrong, note, when in rows}

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with closing(sqlite3.connect(self._path, timeout=10)) as connection:
                connection.execute("PRAGMA synchronous = FULL")
                with connection:  # one transaction, written when the block ends
                    connection.execute(_SCHEMA)
                    yield connection
        except sqlite3.Error:
            raise ApiError(
                507,
                "marks_unusable",
                f"{self._path.name} cannot be read or written; it may be damaged, or the disk "
                "full. Whoever runs the server should look at it, or move it away.",
            ) from None


def text_key(text: str) -> str:
    """Return what a text is known by.

    Examples
    --------
    >>> text_key("The room was cold.") == text_key("The room was cold.")
    True
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
