"""JSON-lines tables: a column gets the type that holds all of its values."""

import json
from collections.abc import Iterator, Mapping
from functools import partial, reduce
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from protorynet.data.table_files import (
    BLOCK_BYTES,
    MOST_COLUMNS,
    READ_ERRORS,
    ROW_BYTES,
    BatchReader,
    not_utf8,
    one_line,
    open_bytes,
    read_once,
    read_start,
    rows_after,
)
from protorynet.errors import TableError, list_names

_LINES_PER_BATCH = 2_048
_MOST_LEVELS = 60  # of lists and objects in each other; Arrow writes few more

_Record = dict[str, Any]
# The number of the first line of a batch, and the objects of its lines.
_Lines = tuple[int, list[_Record]]
# The type of each column; None where no one type holds its values.
_Kinds = dict[str, pa.DataType | None]


def open_json_lines(path: Path) -> BatchReader:
    """Open a file of objects, one per line; it is read through here for the types of its columns.

    Numbers among words are words as they are written: 1 becomes "1", not "1.0".
    """
    read_start(path)
    found: dict[str, dict[pa.DataType | None, None]] = {}  # in the order of their lines
    for records in _read_records(path):
        for column, kind in _infer_kinds(records).items():
            found.setdefault(column, {})[kind] = None
    kinds = {column: reduce(_merge, its) for column, its in found.items()}
    for column, its in found.items():
        others = its.keys() - {kinds[column], pa.null()}
        # The type of 1.5 and of 2**53 + 1 is that of 1.5, which does not hold both.
        if others and kinds[column] is not None:
            values = ([record.get(column) for record in some] for some in _read_records(path))
            if not all(_can_hold(kinds[column], each) for each in values):
                kinds[column] = pa.string() if all(map(is_scalar, others)) else None
    schema = _schema(kinds)
    batches = partial(_file_batches, path, schema)
    return BatchReader(str(path), schema, batches, _mixed(kinds))


def _read_records(path: Path) -> Iterator[list[_Record]]:
    with open_bytes(path) as file:
        for _, records in _parse_lines(file, str(path)):
            yield records


def _file_batches(path: Path, schema: pa.Schema, skip: int) -> Iterator[pa.RecordBatch]:
    try:
        yield from rows_after(skip, (_to_batch(records, schema) for records in _read_records(path)))
    except (pa.ArrowException, OverflowError) as error:
        raise TableError(
            f"{path} was changed while it was read ({one_line(error)}). Run the command again when "
            "it is complete."
        ) from None


def stream_json_lines(file: BinaryIO, name: str) -> BatchReader:
    """Open a stream of objects, one per line; its first lines say which types its columns have."""
    parsed = _parse_lines(file, name)
    first: _Lines = next(parsed, (1, []))
    known = _infer_kinds(first[1])
    batches = _stream_batches(chain([first], parsed), known, name)
    return read_once(name, _schema(known), batches, _mixed(known))


def _stream_batches(parsed: Iterator[_Lines], known: _Kinds, name: str) -> Iterator[pa.RecordBatch]:
    schema = _schema(known)
    for first, records in parsed:
        columns = dict.fromkeys(key for record in records for key in record)
        if wrong := [column for column in columns if not _has_room(known, column, records)]:
            raise TableError(
                f"the lines {first} to {first + len(records) - 1} of {name} bring values in "
                f"{list_names(wrong)} that the first lines gave no room for. Save them as a file "
                "first: a file is read through beforehand."
            )
        yield _to_batch(records, schema)


def _has_room(known: _Kinds, column: str, records: list[_Record]) -> bool:
    if column not in known:
        return False
    values = [record.get(column) for record in records]
    kind = _kind_of(column, values)
    if _merge(known[column], kind) != known[column]:
        return False
    return known[column] is None or _can_hold(known[column], values)


def _parse_lines(file: BinaryIO, name: str) -> Iterator[_Lines]:
    records: list[_Record] = []
    names: set[str] = set()
    size = first = number = 0
    while line := _read_line(file, name, number := number + 1):
        if not line.strip():
            continue
        first = first or number
        records.append(record := _parse_record(line, name, number))
        names.update(record)
        if len(names) > MOST_COLUMNS:
            raise TableError(
                f"line {number} of {name} brings column {MOST_COLUMNS + 1:,}; keys that differ "
                "from line to line are no columns, so put such values under one key."
            )
        size += len(line)
        if len(records) == _LINES_PER_BATCH or size >= BLOCK_BYTES:
            yield first, records
            records, size, first = [], 0, 0
    if records:
        yield first, records


def _read_line(file: BinaryIO, name: str, number: int) -> bytes:
    try:
        # Lines of bytes end at "\n" only: U+2028 and its like may stand inside a JSON string.
        line = file.readline(ROW_BYTES)
    except READ_ERRORS as error:
        raise TableError(f"{name} cannot be read: {one_line(error)}.") from None
    if len(line) == ROW_BYTES:
        raise TableError(
            f"line {number} of {name} is longer than {ROW_BYTES // 2**20} MB; expected one object "
            "per line."
        )
    return line


def _parse_record(line: bytes, name: str, number: int) -> _Record:
    try:
        record = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError:
        raise not_utf8(name, number) from None
    except (ValueError, RecursionError) as error:
        raise TableError(
            f"line {number} of {name} is not valid JSON ({one_line(error)}); "
            'expected one object per line, such as {"text": "…", "label": "…"}.'
        ) from None
    if not isinstance(record, dict):
        raise TableError(
            f"line {number} of {name} holds a {type(record).__name__}; "
            'expected one object per line, such as {"text": "…", "label": "…"}.'
        )
    return record


def _schema(kinds: _Kinds) -> pa.Schema:
    return pa.schema([(name, kind) for name, kind in kinds.items() if kind is not None])


def _mixed(kinds: _Kinds) -> tuple[str, ...]:
    return tuple(name for name, kind in kinds.items() if kind is None)


def _to_batch(records: list[_Record], schema: pa.Schema) -> pa.RecordBatch:
    arrays = [_convert([record.get(f.name) for record in records], f.type) for f in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _convert(values: list[Any], kind: pa.DataType) -> pa.Array:
    return _as_words(values) if kind == pa.string() else pa.array(values, kind, from_pandas=True)


def _can_hold(kind: pa.DataType, values: list[Any]) -> bool:
    try:
        _convert(values, kind)
    except (pa.ArrowException, OverflowError):
        return False
    return True


def _infer_kinds(records: list[_Record]) -> _Kinds:
    names = dict.fromkeys(key for record in records for key in record)
    return {name: _kind_of(name, [record.get(name) for record in records]) for name in names}


def _kind_of(name: str, values: list[Any]) -> pa.DataType | None:
    array = infer_column(name, values)
    return None if array is None else array.type


def _merge(one: pa.DataType | None, other: pa.DataType | None) -> pa.DataType | None:
    if one is None or other is None:
        return None
    if one == other:
        return one
    schemas = [pa.schema([("it", kind)]) for kind in (one, other)]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        # Numbers among words are read as words, as they would be in a CSV file.
        return pa.string() if is_scalar(one) and is_scalar(other) else None


def infer_table(columns: Mapping[str, Any]) -> tuple[pa.Table, tuple[str, ...]]:
    """Return columns of values as a table, and those left out, as no one type holds them."""
    arrays = {name: infer_column(name, values) for name, values in columns.items()}
    held = {name: array for name, array in arrays.items() if array is not None}
    return pa.table(held), tuple(name for name in arrays if name not in held)


def infer_column(name: str, values: Any) -> pa.Array | None:
    """Return values as a column; None where no one type holds them."""
    try:
        name.encode()
        try:
            array = pa.array(values, from_pandas=True)
        except (pa.ArrowException, OverflowError):
            # Numbers among words are read as words, as they would be in a CSV file.
            is_plain = all(isinstance(value, str | int | float | None) for value in values)
            return _as_words(values) if is_plain else None
    except UnicodeEncodeError as error:
        raise TableError(
            f"column {name!a} holds half a Unicode character in {one_line(repr(error.object))}. "
            "Repair it with text.encode('utf-8', 'replace').decode()."
        ) from None
    return None if _is_deep(array.type) else array


def _as_words(values: Any) -> pa.Array:
    # What is not a number is missing as well.
    return pa.array([None if v is None or v != v else str(v) for v in values], pa.string())


def _is_deep(kind: pa.DataType, levels: int = _MOST_LEVELS) -> bool:
    if not pa.types.is_nested(kind):
        return False
    return not levels or any(
        _is_deep(kind.field(number).type, levels - 1) for number in range(kind.num_fields)
    )


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
