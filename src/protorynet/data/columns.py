"""Which columns and rows of a table are read."""

from __future__ import annotations

import difflib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from protorynet.data.quoting import listed, listed_rows
from protorynet.data.sources import Loaded
from protorynet.errors import TableError

__all__ = [
    "choose_columns",
    "is_scalar",
    "is_text",
    "keep_split",
    "kept_texts",
    "plain_column",
    "split_column",
]

# fmt: off
_TEXT_NAMES = (
    "text", "review", "document", "content", "body", "comment", "sentence", "message",
    "description", "narrative", "review_text", "reviewtext", "review_body", "full_text", "post",
    "tweet", "abstract", "article", "utterance",
)
_LABEL_NAMES = (
    "label", "labels", "class", "target", "category", "sentiment", "stars", "rating", "product",
    "y", "class_label", "class_name", "categories", "polarity", "score", "topic", "intent",
)
# fmt: on
_MOST_CLASSES = 50


def choose_columns(
    loaded: Loaded, text: str | None, label: str | None, labelled: bool, notes: list[str]
) -> tuple[str, str | None]:
    """Return the names of the text and the label column, and note which were guessed."""
    if text is not None:
        _check_column(loaded, text, "--text")
    if labelled and label is not None:
        _check_column(loaded, label, "--label")
    text_column = text if text is not None else _guess_text(loaded, label, notes)
    if not labelled:
        return text_column, None
    if label == text_column:
        raise TableError(f"column {label!r} cannot be both the text and the label; name two.")
    return text_column, label if label is not None else _guess_label(loaded, text_column, notes)


def keep_split(
    loaded: Loaded, split: str | None, preferred: str | None, notes: list[str]
) -> NDArray[np.int64]:
    """Return the positions of the rows to read: all, or those of one split."""
    every_row = np.arange(loaded.table.num_rows, dtype=np.int64)
    column = split_column(loaded)
    if split is None and preferred is None:
        return every_row
    if column is None:
        if split is None:
            return every_row
        raise TableError(
            f"{loaded.name} has no column 'split' that names splits, so {split!r} cannot be "
            f"chosen; its columns are {listed(loaded.table.column_names)}."
        )
    values = pc.cast(plain_column(loaded, column), pa.large_string())
    if split is None:
        values = pc.utf8_lower(values)  # by custom, not by name: "Train" is one as well
    wanted = split if split is not None else preferred
    rows = np.flatnonzero(pc.fill_null(pc.equal(values, wanted), False).to_numpy())
    if not len(rows):
        there = [value for value in pc.unique(values).to_pylist() if value is not None]
        if split is None:
            if there:
                notes.append(
                    f"column {column!r} has no {wanted!r} but {listed(there)}, so all "
                    f"{len(values):,} rows are used; choose with --split"
                )
            return every_row
        raise TableError(f"{loaded.name} has no split {split!r}; it has {listed(there)}.")
    choose = "" if split is not None else "; choose with --split"
    notes.append(f"using the {len(rows):,} rows with split {wanted!r} of {len(values):,}{choose}")
    return rows.astype(np.int64)


def kept_texts(
    loaded: Loaded, name: str, rows: NDArray[np.int64], skip_empty: bool, notes: list[str]
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the texts of some rows and the rows themselves, those without text left out."""
    column = plain_column(loaded, name)
    if not (is_text(column.type) or pa.types.is_null(column.type)):
        raise TableError(
            f"column {name!r} of {loaded.name} holds {column.type}, not text; "
            "choose the column of texts with --text COLUMN (text=…)."
        )
    texts = column.take(pa.array(rows)).to_pylist()
    is_empty = np.array([not text or text.isspace() for text in texts], dtype=bool)
    if is_empty.any():
        empty = rows[is_empty].tolist()
        if not skip_empty:
            raise TableError(
                f"{len(empty):,} of {len(rows):,} rows of {loaded.name} have no text in column "
                f"{name!r}: {listed_rows(empty)} (counted from 0). Remove them, or skip them with "
                "skip_empty=True (--skip-empty)."
            )
        if is_empty.all():
            raise TableError(f"no row of {loaded.name} has text in column {name!r}.")
        notes.append(f"skipped {len(empty):,} of {len(rows):,} rows without text")
        texts = [text for text in texts if text and not text.isspace()]
    return tuple(texts), rows[~is_empty]


def plain_column(loaded: Loaded, name: str) -> pa.ChunkedArray:
    """Return a column, with categories written out as the values they stand for."""
    column = loaded.table.column(name)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    # Many functions of Arrow do not know the newer views of text.
    return column.cast(pa.large_string() if pa.types.is_string_view(kind) else kind)


def is_text(kind: pa.DataType) -> bool:
    """Say whether a type is one of Arrow's types of text."""
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def is_scalar(kind: pa.DataType) -> bool:
    """Say whether values of a type can be classes: text, true/false or numbers."""
    return bool(
        is_text(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
    )


def _check_column(loaded: Loaded, name: str, option: str) -> None:
    names = loaded.table.column_names
    if name in names:
        return
    if name in loaded.mixed:
        raise TableError(
            f"column {name!r} of {loaded.name} mixes values of several kinds; make them all text."
        )
    by_lower = {known.strip().lower(): known for known in names}
    near = difflib.get_close_matches(str(name).strip().lower(), by_lower, n=1)
    hint = f" Did you mean {by_lower[near[0]]!r}?" if near else f" Choose one with {option}."
    raise TableError(f"{loaded.name} has no column {name!r}; it has {listed(names)}.{hint}")


def split_column(loaded: Loaded) -> str | None:
    """Return the column that says which split a row belongs to, if there is one."""
    names: list[str] = loaded.table.column_names
    for name in names:
        if name.lower() == "split" and is_scalar(plain_column(loaded, name).type):
            return name
    return None


def _known(names: list[str], well_known: tuple[str, ...]) -> str | None:
    by_lower = {name.strip().lower(): name for name in reversed(names)}
    return next((by_lower[name] for name in well_known if name in by_lower), None)


def _guess_text(loaded: Loaded, label: str | None, notes: list[str]) -> str:
    columns = {
        name: plain_column(loaded, name)
        for name in loaded.table.column_names
        if name not in (label, split_column(loaded))
    }
    lengths = {
        name: pc.mean(pc.utf8_length(pc.cast(column, pa.large_string()))).as_py() or 0.0
        for name, column in columns.items()
        if is_text(column.type)
    }
    if not lengths:
        raise TableError(
            f"{loaded.name} has no column of texts; its columns are "
            f"{listed(loaded.table.column_names)}."
        )
    guess = _known(list(lengths), _TEXT_NAMES) or max(lengths, key=lambda name: lengths[name])
    notes.append(f"text column: {guess!r} (guessed; choose with --text)")
    return guess


def _guess_label(loaded: Loaded, text_column: str, notes: list[str]) -> str:
    others = [
        name
        for name in loaded.table.column_names
        if name not in (text_column, split_column(loaded))
    ]
    guess = _known(others, _LABEL_NAMES)
    if guess is None:
        likely = [name for name in others if _may_be_label(plain_column(loaded, name))]
        if len(likely) != 1:
            raise TableError(
                f"cannot tell which column of {loaded.name} holds the labels; its columns are "
                f"{listed(loaded.table.column_names)}. Use --label COLUMN (label=…)."
            )
        guess = likely[0]
    notes.append(f"label column: {guess!r} (guessed; choose with --label)")
    return guess


def _may_be_label(column: pa.ChunkedArray) -> bool:
    return is_scalar(column.type) and 2 <= pc.count_distinct(column).as_py() <= _MOST_CLASSES
