"""Writing tables batch by batch: CSV, TSV, JSON lines, Parquet and Excel."""

import base64
import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from protorynet.data import load_openpyxl, one_line
from protorynet.errors import InputError
from protorynet.records import finite

ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx")

_ROW_GROUP_BYTES = 32 * 2**20
_EXCEL_ROWS, _EXCEL_CHARACTERS = 1_048_576, 32_767  # of a sheet, of a cell


@contextmanager
def writer_for(file: BinaryIO, ending: str) -> Iterator["BatchWriter"]:
    """Give what writes a table to an open file, which stays open, in the format of an ending.

    Nothing is written before the first batch is; the table is complete when the block ends.
    """
    if ending == ".jsonl":
        yield _JsonLinesWriter(file)
    elif ending in (".parquet", ".xlsx"):
        writer = _ParquetWriter(file) if ending == ".parquet" else _ExcelWriter(file)
        yield writer
        writer.finish()
    else:
        yield _DelimitedWriter(file, "\t" if ending == ".tsv" else ",")


def check_columns(schema: pa.Schema, ending: str) -> None:
    """Refuse columns that a format does not hold, before there are rows to lose."""
    for field in schema:
        alone = pa.RecordBatch.from_arrays([pa.nulls(0, field.type)], schema=pa.schema([field]))
        try:
            # Parts of the output are kept in Arrow's own format.
            with pa.ipc.new_stream(io.BytesIO(), alone.schema) as parts:
                parts.write_batch(alone)
            with writer_for(io.BytesIO(), ending) as writer:
                writer.write(alone)
        except pa.ArrowException as error:
            raise InputError(
                f"column {field.name!r} holds {field.type}, which {ending} does not hold "
                f"({one_line(error)}). Choose another format for the output, or leave the column "
                "out of the table."
            ) from None


class _JsonLinesWriter:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, batch: pa.RecordBatch) -> None:
        names = batch.schema.names
        rows = zip(*(values(column) for column in batch.columns), strict=True)
        lines = (as_json(dict(zip(names, row, strict=True))) for row in rows)
        self._file.write("".join(f"{line}\n" for line in lines).encode())


class _DelimitedWriter:
    def __init__(self, file: BinaryIO, delimiter: str) -> None:
        self._file = file
        self._options = pyarrow.csv.WriteOptions(include_header=True, delimiter=delimiter)

    def write(self, batch: pa.RecordBatch) -> None:
        # By way of memory, because Arrow would make other errors of those that the file raises.
        content = io.BytesIO()
        columns = [_flatten(column) for column in batch.columns]
        flat = pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
        pyarrow.csv.write_csv(flat, content, self._options)
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


class _ExcelWriter:
    """Writes one sheet; text stays text, whatever it looks like to Excel."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._cells = load_openpyxl().cell
        self._book = load_openpyxl().Workbook(write_only=True)
        self._sheet = self._book.create_sheet("predictions")
        self._n_rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        if not self._n_rows:
            self._append(batch.schema.names)
        for row in zip(*(values(_flatten(column)) for column in batch.columns), strict=True):
            self._append(row)

    def finish(self) -> None:
        self._book.save(self._file)

    def _append(self, row: Sequence[Any]) -> None:
        self._n_rows += 1
        if self._n_rows > _EXCEL_ROWS:
            raise InputError(
                f"an Excel file holds {_EXCEL_ROWS:,} rows at most; write a .csv or .parquet file."
            )
        self._sheet.append([self._cell(value) for value in row])

    def _cell(self, value: Any) -> Any:
        value = finite(value)
        if getattr(value, "tzinfo", None) is not None:
            value = str(value)  # which Excel's times do not know
        if not isinstance(value, str):
            return value
        text = self._cells.cell.ILLEGAL_CHARACTERS_RE.sub("\ufffd", value)
        if len(text) > _EXCEL_CHARACTERS:
            text = text[: _EXCEL_CHARACTERS - 1] + "…"
        cell = self._cells.WriteOnlyCell(self._sheet, text)
        cell.data_type = "s"  # what begins with = is no formula
        return cell


BatchWriter = _JsonLinesWriter | _DelimitedWriter | _ParquetWriter | _ExcelWriter


def _flatten(column: pa.Array) -> pa.Array:
    """Return a column as a CSV file holds it: lists, bytes and the like written as text."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _flatten(column.dictionary_decode())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind):
        return column
    if pa.types.is_decimal(kind) or pa.types.is_primitive(kind):
        return column
    written = [None if value is None else _text(value) for value in values(column)]
    return pa.array(written, pa.large_string())


def values(column: pa.Array) -> list[Any]:
    """Return the values of a column, as text where Python's own types do not hold them."""
    try:
        found: list[Any] = column.to_pylist()
    except (ValueError, OverflowError):  # nanoseconds, or years beyond 9999
        kind = column.type
        if pa.types.is_struct(kind):
            parts = {kind.field(n).name: values(p) for n, p in enumerate(column.flatten())}
            return [dict(zip(parts, row, strict=True)) for row in zip(*parts.values(), strict=True)]
        if pa.types.is_nested(kind):
            return [values(entry.values) if entry.is_valid else None for entry in column]
        found = column.cast(pa.string()).to_pylist()
    return found


def as_json(value: Any) -> str:
    """Return a value as JSON."""
    try:
        return json.dumps(value, ensure_ascii=False, default=_text, allow_nan=False)
    except ValueError:
        return json.dumps(finite(value), ensure_ascii=False, default=_text)


def _text(value: Any) -> str:
    """Return a value as text: lists as JSON, and bytes that are no text in base64."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return base64.b64encode(value).decode()
    return as_json(value) if isinstance(value, list | dict) else str(value)
