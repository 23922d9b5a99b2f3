"""The files of tables, read a batch of rows at a time, however large they are."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol

import pyarrow as pa
import pyarrow.csv

from protorynet.data.blocks import BLOCK_BYTES, after
from protorynet.data.delimited import read_header
from protorynet.data.files import opened
from protorynet.data.json_batches import JsonLinesTable
from protorynet.data.parquet_batches import ParquetTable
from protorynet.data.quoting import one_line
from protorynet.data.sources import (
    DELIMITERS,
    JSON_LINES,
    KNOWN_ENDINGS,
    check_is_file,
    check_names,
)
from protorynet.errors import TableError

__all__ = ["BatchedTable", "delimited_batches", "open_file", "text_schema"]


class BatchedTable(Protocol):
    """A table that is read from its beginning as often as one likes, standard input but once."""

    @property
    def name(self) -> str:
        """What messages call it."""
        ...

    @property
    def schema(self) -> pa.Schema:
        """Its columns, known before they are read."""
        ...

    @property
    def mixed(self) -> tuple[str, ...]:
        """Columns left out because no one type holds their values."""
        ...

    def batches(
        self, columns: Sequence[str] | None = None, *, skip: int = 0
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows after the first `skip`, all columns or some of them."""
        ...


def open_file(path: Path) -> BatchedTable:
    """Return the table in a file, whose ending says of what kind it is."""
    check_is_file(path)
    name = path.name.lower()
    suffix = Path(name.removesuffix(".gz")).suffix
    if suffix in DELIMITERS:
        return _DelimitedTable(path, DELIMITERS[suffix])
    if suffix in JSON_LINES:
        return JsonLinesTable.of_file(path)
    if name.endswith(".parquet"):
        return ParquetTable(path)
    raise TableError(f"{path} has an ending that is not known; known are {KNOWN_ENDINGS}.")


class _DelimitedTable:
    mixed: tuple[str, ...] = ()

    def __init__(self, path: Path, delimiter: str) -> None:
        self.name = str(path)
        self._path = path
        self._delimiter = delimiter
        self._header = read_header(path, delimiter)
        check_names(self._header, self.name)
        self.schema = text_schema(self._header)

    def batches(
        self, columns: Sequence[str] | None = None, *, skip: int = 0
    ) -> Iterator[pa.RecordBatch]:
        with opened(self._path) as file:
            read = delimited_batches(
                file, self.name, self._delimiter, self._header, columns, has_header=True
            )
            yield from after(skip, read)


def text_schema(names: list[str]) -> pa.Schema:
    """Return columns that all hold text."""
    return pa.schema([(name, pa.large_string()) for name in names])


def delimited_batches(
    file: BinaryIO,
    name: str,
    delimiter: str,
    header: list[str],
    columns: Sequence[str] | None,
    *,
    has_header: bool,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of separated values as text; the header may have been read already."""
    try:
        yield from pyarrow.csv.open_csv(
            file,
            # Serial reading costs little and lets errors name the row.
            read_options=pyarrow.csv.ReadOptions(
                use_threads=False,
                block_size=BLOCK_BYTES,
                column_names=None if has_header else header,
            ),
            parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(header, pa.large_string()), include_columns=columns
            ),
        )
    except (pa.ArrowException, OSError, EOFError, zlib.error) as error:
        if "Empty CSV file" in str(error):
            return
        if "invalid UTF8 data" in str(error):
            raise TableError(
                f"{name} is not UTF-8 text. Convert it first, for example with: "
                "iconv -f WINDOWS-1252 -t UTF-8 FILE > UTF8_FILE"
            ) from None
        if "straddl" in str(error):
            raise TableError(
                f"{name} has a row of over {BLOCK_BYTES // 2**20} MB, most often because a double "
                "quote is never closed; mend it, or save so long a row as JSON lines."
            ) from None
        raise TableError(
            f"{name} cannot be read ({one_line(error)}). Values that hold the separator, a quote "
            "or a newline must stand in double quotes, and quotes inside them be doubled."
        ) from None
