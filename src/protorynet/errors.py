"""Every error the package raises on purpose.

Each message says what was given, what was expected and what to do next::

    ProtoryNetError
    ├── InputError            the user's data or arguments are unusable (also a ValueError)
    │   ├── TableError        a table cannot be read, or lacks a column
    │   ├── SettingsError     a hyper-parameter is out of range or unknown
    │   └── EmptyDocumentError  a document holds no sentence
    ├── EncoderError          an encoder is missing, broken, or not the one the model was made with
    │   └── UnknownEncoderError  there is no encoder of that name
    ├── ModelFormatError      a model directory is incomplete, edited or from a newer version
    ├── CheckpointError       a checkpoint does not belong to this run
    └── MissingExtraError     an optional part is not installed (also an ImportError)

`protorynet.NotFittedError` lives with the classifier, so that this module stays free of
scikit-learn and commands start fast.

`InputError`, `EncoderError`, `ModelFormatError`, `CheckpointError` and `MissingExtraError` end a
command with exit code 2 (mend the input and try again); anything else ends it with 1.
"""

import difflib
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any


def list_names(names: Sequence[object], most: int = 20) -> str:
    """Return names in quotes, or numbers, the first few of many."""
    return ", ".join(map(repr, names[:most])) + (", …" if len(names) > most else "")


def list_nearest(given: object, known: Iterable[object], most: int = 5) -> str:
    """Return what is known, in quotes, what is most like the given name first.

    Examples
    --------
    >>> list_nearest("Alhpa", ["gamma", "alpha", "epochs"], most=2)
    "'alpha', 'gamma', …"
    """
    names = {str(name).lower(): name for name in known}
    near = difflib.get_close_matches(str(given).strip().lower()[:100], names, n=most, cutoff=0.0)
    listed = ", ".join(repr(names[name]) for name in near) or "none"
    return listed + (", …" if len(names) > most else "")


def sheet_row(row: int) -> int:
    """Return the number that a spreadsheet gives to a position in a table: headings are row 1."""
    return row + 2


HEADINGS = "(the headings are row 1)"
"""What a message adds to numbers of rows."""


def name_rows(rows: Sequence[int], most: int = 5) -> str:
    """Return positions in a table, from 0, as a spreadsheet numbers them under its headings.

    Examples
    --------
    >>> name_rows([4]), name_rows([0, 1, 7], most=2)
    ('row 6', 'rows 2, 3, …')
    """
    return f"row{'s' * (len(rows) > 1)} {list_names([*map(sheet_row, rows)], most)}"


class ProtoryNetError(Exception):
    """Base of all errors raised on purpose."""


class InputError(ProtoryNetError, ValueError):
    """The data or the arguments given cannot be used."""


class TableError(InputError):
    """A table cannot be read, or a column is missing."""


class SettingsError(InputError):
    """A hyper-parameter is unknown or out of its range."""


class EmptyDocumentError(InputError):
    """Documents hold no sentence; `rows` are their positions (`in_table`), counted from 0."""

    def __init__(self, rows: list[int], *, in_table: bool = False) -> None:
        self.rows = rows
        shown = f"row {list_names(rows, 5)} (counted from 0)"
        where = f"{name_rows(rows)} {HEADINGS}" if in_table else shown
        super().__init__(
            f"{len(rows)} document(s) hold no sentence: {where}. "
            "Remove them, or skip them with on_empty='skip' (--skip-empty)."
        )


class EncoderError(ProtoryNetError):
    """An encoder cannot be found, is damaged, or is not the one expected."""


class UnknownEncoderError(EncoderError):
    """There is no encoder of that name, which may be misspelt."""


class ModelFormatError(ProtoryNetError):
    """A model directory is incomplete, was edited by hand, or is from a newer version."""


class CheckpointError(ProtoryNetError):
    """A checkpoint does not belong to the run that wants to resume it."""


class MissingExtraError(ProtoryNetError, ImportError):
    """An optional part of the package is not installed; the message says how to install it."""

    def __init__(self, what: str, package: str, *, extra: str) -> None:
        super().__init__(
            f"{what} needs the package {package!r}. "
            f"Install it with: pip install 'protorynet[{extra}]'"
        )


def import_extra(what: str, package: str, *, extra: str) -> Any:
    """Return a package that only some of the work needs, or say how to install it."""
    try:
        return import_module(package)
    except ImportError:
        raise MissingExtraError(what, package, extra=extra) from None
