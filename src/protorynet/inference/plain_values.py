"""Columns of every kind as what CSV and JSON hold; every value has some form there."""

from __future__ import annotations

import base64
import json
from typing import Any

import pyarrow as pa

from protorynet.records import finite

__all__ = ["as_json", "cells", "values"]


def cells(column: pa.Array) -> pa.Array:
    """Return a column as a CSV file holds it: lists, bytes and the like written as text.

    Examples
    --------
    >>> cells(pa.array([[1, 2], None])).to_pylist()
    ['[1, 2]', None]
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        return cells(column.dictionary_decode())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind):
        return column
    if pa.types.is_decimal(kind) or pa.types.is_primitive(kind):
        return _in_known_zone(column)
    written = [None if value is None else _text(value) for value in values(column)]
    return pa.array(written, pa.large_string())


def values(column: pa.Array) -> list[Any]:
    """Return the values of a column, as text where Python's own types do not hold them.

    Examples
    --------
    >>> values(pa.array([[10**7]], pa.list_(pa.date32())))
    [['29349-01-26']]
    """
    try:
        found: list[Any] = column.to_pylist()
    except (ValueError, OverflowError, KeyError, pa.ArrowException):
        # Nanoseconds, years beyond 9999, zones that nobody knows, two fields of one name.
        found = _written_out(column)
    return found


def as_json(value: Any) -> str:
    """Return a value as JSON.

    Examples
    --------
    >>> as_json({"a": [b"text", float("nan")]})
    '{"a": ["text", null]}'
    """
    try:
        return json.dumps(value, ensure_ascii=False, default=_text, allow_nan=False)
    except ValueError:
        return json.dumps(finite(value), ensure_ascii=False, default=_text)


def _written_out(column: pa.Array) -> list[Any]:
    kind = column.type
    if isinstance(column, pa.ExtensionArray):
        return values(column.storage)
    if pa.types.is_dictionary(kind):
        return values(column.dictionary_decode())
    if pa.types.is_struct(kind):
        names = [kind.field(number).name for number in range(kind.num_fields)]
        rows = zip(*(values(part) for part in column.flatten()), strict=True)
        # As pairs, as a map is, where a name comes twice.
        together = dict if len(set(names)) == len(names) else list
        records = [together(zip(names, row, strict=True)) for row in rows]
        there = column.is_valid().to_pylist()
        return [record if is_one else None for record, is_one in zip(records, there, strict=True)]
    if pa.types.is_nested(kind):
        return [values(entry.values) if entry.is_valid else None for entry in column]
    texts = _in_known_zone(column).cast(pa.string()).cast(pa.binary()).to_pylist()
    return [None if text is None else text.decode(errors="replace") for text in texts]


def _in_known_zone(column: pa.Array) -> pa.Array:
    """Return times as they are, or in UTC where nobody knows their zone."""
    kind = column.type
    if not pa.types.is_timestamp(kind):
        return column
    try:
        pa.array([0], kind).cast(pa.string())
    except pa.ArrowException:
        return column.cast(pa.timestamp(kind.unit, "UTC"))
    return column


def _text(value: Any) -> str:
    """Return a value as text: lists as JSON, and bytes that are no text in base64."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return base64.b64encode(value).decode()
    return as_json(value) if isinstance(value, list | dict) else str(value)
