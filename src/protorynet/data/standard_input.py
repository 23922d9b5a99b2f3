"""A table that comes in a stream of bytes, which can be read but once."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import BinaryIO, cast

import pyarrow as pa

from protorynet.data.blocks import BLOCK_BYTES, after
from protorynet.data.delimited import check_width
from protorynet.data.json_batches import JsonLinesTable
from protorynet.data.quoting import one_line
from protorynet.data.record_batches import BatchedTable, delimited_batches, text_schema
from protorynet.data.sources import DELIMITERS, check_names
from protorynet.errors import TableError

__all__ = ["STANDARD_INPUT", "ReadOnce", "open_standard_input"]

STANDARD_INPUT = "standard input"

# What may stand before the first brace: blanks, and the mark of UTF-8.
_BEFORE = b"\xef\xbb\xbf \t\r\n"


def open_standard_input(file: BinaryIO, kind: str | None) -> BatchedTable:
    """Return the table that comes in a stream of bytes, which can be read but once.

    Parameters
    ----------
    file
        The stream.
    kind
        ``"csv"``, ``"tsv"`` or ``"jsonl"``; by default JSON lines where the first character is an
        opening brace, and CSV otherwise.
    """
    buffered = io.BufferedReader(cast(io.RawIOBase, file))
    head = buffered.peek(4)
    if kind == "parquet" or head[:4] == b"PAR1":
        raise TableError(
            f"Parquet cannot be read from {STANDARD_INPUT}, because it is read from its end; "
            "give the name of the file."
        )
    if head[:2] == b"\x1f\x8b":
        raise TableError(f"{STANDARD_INPUT} is gzip-compressed; unpack it, as with: zcat FILE |")
    if not head:
        raise TableError(f"{STANDARD_INPUT} is empty; expected one row per document.")
    if kind == "jsonl" or (kind is None and head.lstrip(_BEFORE)[:1] == b"{"):
        return JsonLinesTable.of_stream(buffered, STANDARD_INPUT)
    return _DelimitedStream(buffered, DELIMITERS[f".{kind or 'csv'}"])


class ReadOnce:
    """A table that keeps its first batch, so that a look at it loses nothing."""

    def __init__(self, table: BatchedTable) -> None:
        self.name, self.schema, self.mixed = table.name, table.schema, table.mixed
        self._rest = table.batches()
        self._seen: list[pa.RecordBatch] | None = None

    def batches(
        self, columns: Sequence[str] | None = None, *, skip: int = 0
    ) -> Iterator[pa.RecordBatch]:
        """Yield the first batch, when asked for the first time; then all of them."""
        if self._seen is None:
            self._seen = [batch for batch in [next(self._rest, None)] if batch is not None]
            return iter(self._seen)
        return chain(self._seen, self._rest)


class _DelimitedStream:
    name = STANDARD_INPUT
    mixed: tuple[str, ...] = ()

    def __init__(self, file: BinaryIO, delimiter: str) -> None:
        self._file = file
        self._delimiter = delimiter
        lines = (line.decode("utf-8-sig") for line in iter(lambda: file.readline(BLOCK_BYTES), b""))
        try:
            self._header = next((row for row in csv.reader(lines, delimiter=delimiter) if row), [])
        except (UnicodeDecodeError, csv.Error) as error:
            raise TableError(
                f"the header of {STANDARD_INPUT} cannot be read: {one_line(error)}."
            ) from None
        check_width(self._header, self.name, delimiter)
        check_names(self._header, self.name)
        self.schema = text_schema(self._header)

    def batches(
        self, columns: Sequence[str] | None = None, *, skip: int = 0
    ) -> Iterator[pa.RecordBatch]:
        read = delimited_batches(
            self._file, self.name, self._delimiter, self._header, columns, has_header=False
        )
        return after(skip, read)
