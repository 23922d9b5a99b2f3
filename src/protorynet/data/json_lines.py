"""JSON-lines tables: every line is parsed once, and a column gets the type that holds all of it."""

import json
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from functools import partial, reduce
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from protorynet.data.table_files import (
    BLOCK_BYTES,
    MOST_COLUMNS,
    READ_ERRORS,
    ROW_BYTES,
    BatchReader,
    list_names,
    not_utf8,
    one_line,
    open_bytes,
    read_once,
    read_start,
)
from protorynet.errors import TableError

_LINES_PER_BATCH = 2_048
_BYTES_IN_MEMORY = 64 * 2**20  # of typed rows; more go to a temporary file
_MOST_LEVELS = 60  # of lists and objects in each other; Arrow writes few more

_WRITTEN = pa.large_string()  # of values kept as JSON, which no column of JSON lines has

# The number of the first line of a batch, and the objects of its lines.
_Lines = tuple[int, list[dict[str, Any]]]
# The type of each column; None where no one type holds its values.
_Kinds = dict[str, pa.DataType | None]


class _Column(NamedTuple):
    """Some values with the type that holds them; both are None where there is no such type.

    Whole numbers among fractions are kept as written: if words follow, 1 becomes "1", not "1.0".
    """

    kind: pa.DataType | None
    values: pa.Array | None


def open_json_lines(path: Path) -> BatchReader:
    """Open a file of objects, one per line; all lines are parsed here, and kept typed."""
    name = str(path)
    spool = _Spool()
    found: dict[str, dict[pa.DataType | None, None]] = {}  # in the order of their lines
    read_start(path)
    with open_bytes(path) as file:
        for _, records in _parse_lines(file, name):
            columns = _type_columns(records)
            spool.add(columns, len(records))
            for column, typed in columns.items():
                found.setdefault(column, {})[typed.kind] = None
    kinds = {column: reduce(_merge, its) for column, its in found.items()}
    for column, its in found.items():
        others = its.keys() - {kinds[column], pa.null()}
        # The type of 1.5 and of 2**53 + 1 is that of 1.5, which does not hold both.
        if others and kinds[column] is not None and not spool.can_convert(column, kinds[column]):
            kinds[column] = pa.string() if all(map(is_scalar, others)) else None
    schema = _schema(kinds)
    return BatchReader(name, schema, partial(spool.batches, schema), _mixed(kinds))


def stream_json_lines(file: BinaryIO, name: str) -> BatchReader:
    """Open a stream of objects, one per line; its first lines say which types its columns have."""
    parsed = _parse_lines(file, name)
    first: _Lines = next(parsed, (1, []))
    known = {column: typed.kind for column, typed in _type_columns(first[1]).items()}
    batches = _stream_batches(chain([first], parsed), known, name)
    return read_once(name, _schema(known), batches, _mixed(known))


def _stream_batches(parsed: Iterator[_Lines], known: _Kinds, name: str) -> Iterator[pa.RecordBatch]:
    schema = _schema(known)
    for first, records in parsed:
        columns = _type_columns(records)
        if wrong := [n for n, column in columns.items() if not _has_room(known, n, column)]:
            raise TableError(
                f"the lines {first} to {first + len(records) - 1} of {name} bring values in "
                f"{list_names(wrong)} that the first lines gave no room for. Save them as a file "
                "first: a file is read through beforehand."
            )
        values = {column: typed.values for column, typed in columns.items()}
        yield _convert_columns(values, len(records), schema)


def _has_room(known: _Kinds, name: str, column: _Column) -> bool:
    if name not in known or _merge(known[name], column.kind) != known[name]:
        return False
    try:
        return known[name] is None or _convert(column.values, known[name]) is not None
    except (pa.ArrowException, OverflowError):
        return False


def _parse_lines(file: BinaryIO, name: str) -> Iterator[_Lines]:
    records: list[dict[str, Any]] = []
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


def _parse_record(line: bytes, name: str, number: int) -> dict[str, Any]:
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


class _Spool:
    """Typed rows in their order, in memory or in a temporary file, each batch with its own types.

    So no line is parsed again, although the types that hold all rows are known only at the end.
    """

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=_BYTES_IN_MEMORY)  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._sizes: list[tuple[int, int]] = []  # rows and bytes of each batch

    def add(self, columns: dict[str, _Column], n_rows: int) -> None:
        kept = {name: typed.values for name, typed in columns.items() if typed.values is not None}
        batch = pa.RecordBatch.from_pydict(kept)
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
            writer.write_batch(batch)
        self._sizes.append((n_rows, self._file.write(sink.getvalue())))

    def batches(self, schema: pa.Schema, skip: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows after the first `skip`, as the columns of a schema."""
        begin = 0
        for n_rows, n_bytes in self._sizes:
            if skip < n_rows:
                self._file.seek(begin)
                stored = pa.ipc.open_stream(self._file.read(n_bytes)).read_next_batch()
                values = dict(zip(stored.schema.names, stored.columns, strict=True))
                batch = _convert_columns(values, n_rows, schema)
                yield batch.slice(skip) if skip else batch
            skip = max(0, skip - n_rows)
            begin += n_bytes

    def can_convert(self, name: str, kind: pa.DataType | None) -> bool:
        """Say whether a type holds every value of a column."""
        try:
            for _ in self.batches(_schema({name: kind}), 0):
                pass
        except (pa.ArrowException, OverflowError):
            return False
        return True


def _schema(kinds: _Kinds) -> pa.Schema:
    return pa.schema([(name, kind) for name, kind in kinds.items() if kind is not None])


def _mixed(kinds: _Kinds) -> tuple[str, ...]:
    return tuple(name for name, kind in kinds.items() if kind is None)


def _convert_columns(values: dict[str, pa.Array], n_rows: int, schema: pa.Schema) -> pa.RecordBatch:
    arrays = [
        _convert(values[f.name], f.type) if f.name in values else pa.nulls(n_rows, f.type)
        for f in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _convert(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if values.type == kind:
        return values
    items = values.to_pylist()
    if values.type == _WRITTEN:
        items = [item and json.loads(item) for item in items]
    return _as_words(items) if kind == pa.string() else pa.array(items, kind, from_pandas=True)


def _type_columns(records: list[dict[str, Any]]) -> dict[str, _Column]:
    columns = {}
    for name in dict.fromkeys(key for record in records for key in record):
        values = [record.get(name) for record in records]
        array = infer_column(name, values)
        kind = None if array is None else array.type
        if kind == pa.float64() and any(isinstance(value, int) for value in values):
            array = pa.array([v if v is None else json.dumps(v) for v in values], _WRITTEN)
        columns[name] = _Column(kind, array)
    return columns


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
