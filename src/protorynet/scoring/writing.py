"""Writing tables batch by batch: CSV, TSV, JSON lines and Parquet."""

from __future__ import annotations

import base64
import io
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, Protocol

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

__all__ = ["ENDINGS", "BatchWriter", "writer_for"]

ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet")

_ROW_GROUP_BYTES = 32 * 2**20


class BatchWriter(Protocol):
    """Takes the rows of a table, batch by batch."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""
        ...


@contextmanager
def writer_for(file: BinaryIO, ending: str) -> Iterator[BatchWriter]:
    """Give what writes a table to an open file; the table is complete when the block ends.

    Nothing is written before the first batch is.

    Parameters
    ----------
    file
        Where the bytes go; it stays open.
    ending
        One of `ENDINGS`, which says the format.

    Examples
    --------
    >>> batch = pa.record_batch({"n": [1, 2]})
    >>> file = io.BytesIO()
    >>> with writer_for(file, ".jsonl") as writer:
    ...     writer.write(batch)
    >>> file.getvalue().splitlines()
    [b'{"n": 1}', b'{"n": 2}']
    """
    if ending == ".jsonl":
        yield _JsonLinesWriter(file)
    elif ending == ".parquet":
        writer = _ParquetWriter(file)
        yield writer
        writer.finish()
    else:
        yield _DelimitedWriter(file, "\t" if ending == ".tsv" else ",")


class _JsonLinesWriter:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, batch: pa.RecordBatch) -> None:
        names = batch.schema.names
        rows = zip(*(_values(column) for column in batch.columns), strict=True)
        lines = (_json(dict(zip(names, row, strict=True))) for row in rows)
        self._file.write("".join(f"{line}\n" for line in lines).encode())


class _DelimitedWriter:
    def __init__(self, file: BinaryIO, delimiter: str) -> None:
        self._file = file
        self._options = pyarrow.csv.WriteOptions(include_header=True, delimiter=delimiter)

    def write(self, batch: pa.RecordBatch) -> None:
        # By way of memory, because Arrow would make other errors of those that the file raises.
        content = io.BytesIO()
        pyarrow.csv.write_csv(_flat(batch), content, self._options)
        self._options.include_header = False
        self._file.write(content.getvalue())


class _ParquetWriter:
    """Gathers batches into row groups of a size that is quick to read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[pa.RecordBatch] = []

    def write(self, batch: pa.RecordBatch) -> None:
        self._waiting.append(batch)
        if sum(waiting.nbytes for waiting in self._waiting) >= _ROW_GROUP_BYTES:
            self._write_group()

    def finish(self) -> None:
        if self._waiting:
            self._write_group()
        if self._writer is not None:
            self._writer.close()

    def _write_group(self) -> None:
        table = pa.Table.from_batches(self._waiting)
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._file, table.schema)
        self._writer.write_table(table, row_group_size=max(1, table.num_rows))
        self._waiting = []


def _flat(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Write as text what a cell of a CSV file does not hold: lists, bytes and the like."""
    return pa.RecordBatch.from_arrays([_cells(c) for c in batch.columns], names=batch.schema.names)


def _cells(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _cells(column.dictionary_decode())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind):
        return column
    if pa.types.is_decimal(kind) or pa.types.is_primitive(kind):
        return column
    cells = [None if value is None else _text(value) for value in column.to_pylist()]
    return pa.array(cells, pa.large_string())


def _values(column: pa.Array) -> list[Any]:
    try:
        values: list[Any] = column.to_pylist()
    except (ValueError, OverflowError):
        # Times that Python's own types do not hold, such as nanoseconds.
        values = column.cast(pa.string()).to_pylist()
    return values


def _text(value: Any) -> str:
    """Return a value as text: lists as JSON, and bytes that are no text in base64."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return base64.b64encode(value).decode()
    return _json(value) if isinstance(value, list | dict) else str(value)


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=_text, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=False, default=_text)


def _finite(value: Any) -> Any:
    """Replace numbers that JSON does not know, NaN and the infinities, by null."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
