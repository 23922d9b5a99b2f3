"""Labels of documents, from whatever a column holds."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from protorynet.data.columns import is_scalar, is_text, plain_column
from protorynet.data.quoting import listed_rows
from protorynet.data.sources import Loaded
from protorynet.data.tables import Label
from protorynet.errors import TableError

__all__ = ["read_labels"]

# "007" and numbers too long for 64 bits are names rather than quantities.
_WHOLE = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})?(\.[0-9]{0,30})?([eE][+-]?[0-9]{1,2})?")


def read_labels(loaded: Loaded, name: str, rows: NDArray[np.int64]) -> tuple[Label, ...]:
    """Return the labels of some rows; every one must be there."""
    column = plain_column(loaded, name)
    if loaded.is_untyped:
        # Types are told from the whole column, so that every split of a file gets the same.
        column = _typed(column)
    column = _readable(column, name, loaded)
    labels = column.take(pa.array(rows)).to_pylist()
    missing = [row for row, label in zip(rows.tolist(), labels, strict=True) if _is_missing(label)]
    if missing:
        raise TableError(
            f"{len(missing):,} of {len(rows):,} rows of {loaded.name} have no label in column "
            f"{name!r}: {listed_rows(missing)} (counted from 0). Remove or label them."
        )
    if pa.types.is_floating(column.type) and all(label.is_integer() for label in labels):
        return tuple(int(label) for label in labels)
    return tuple(tuple(label) if isinstance(label, list) else label for label in labels)


def _typed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    encoded = column.combine_chunks().dictionary_encode()
    words = encoded.dictionary.to_pylist()
    values = [None if not word or word.isspace() else word for word in words]
    return pa.chunked_array([pa.array(_parsed(values)).take(encoded.indices)])


def _parsed(words: list[str | None]) -> list[Any]:
    present = [word.strip() for word in words if word is not None]
    if all(word.lower() in ("true", "false") for word in present):
        return [None if word is None else word.strip().lower() == "true" for word in words]
    if all(_WHOLE.fullmatch(word) for word in present):
        return [None if word is None else int(word) for word in words]
    if all(_NUMBER.fullmatch(word) and any(map(str.isdigit, word)) for word in present):
        return [None if word is None else float(word) for word in words]
    return list(words)


def _readable(column: pa.ChunkedArray, name: str, loaded: Loaded) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_decimal(kind):
        return pc.cast(column, pa.float64())
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        inner = kind.value_type
        if pa.types.is_dictionary(inner) or pa.types.is_integer(inner) or is_text(inner):
            return pc.cast(column, pa.large_list(pa.large_string()))
        # A column of empty lists only says nothing of its type.
        if pa.types.is_null(inner):
            return column
    elif is_scalar(kind) or pa.types.is_null(kind):
        return column
    raise TableError(
        f"column {name!r} of {loaded.name} holds {kind}; expected labels that are text, numbers, "
        "true/false, or lists of text. Convert it, or choose another with --label COLUMN (label=…)."
    )


def _is_missing(label: object) -> bool:
    if isinstance(label, str):
        return not label or label.isspace()
    if isinstance(label, list):
        return None in label
    return label is None or (isinstance(label, float) and math.isnan(label))
