"""The files of tables, read a batch of rows at a time, however large they are."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from protorynet.errors import TableError
from protorynet.text.delimited import read_header
from protorynet.text.files import opened
from protorynet.text.json_batches import JsonLinesTable
from protorynet.text.quoting import one_line
from protorynet.text.sources import DELIMITERS, JSON_LINES, KNOWN_ENDINGS, check_names

__all__ = [
    "BLOCK_BYTES",
    "BatchedTable",
    "after",
    "delimited_batches",
    "open_file",
    "text_schema",
]

# A row of a CSV file must fit into a block.
BLOCK_BYTES = 8 * 2**20
_ROWS = 2_048
_PARQUET_BUFFER = 2**20


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
    if path.is_dir():
        raise TableError(f"{path} is a directory; expected one file ({KNOWN_ENDINGS}).")
    if not path.exists():
        raise TableError(f"there is no file {path}; check the path.")
    name = path.name.lower()
    suffix = Path(name.removesuffix(".gz")).suffix
    if suffix in DELIMITERS:
        return _DelimitedTable(path, DELIMITERS[suffix])
    if suffix in JSON_LINES:
        return JsonLinesTable.of_file(path)
    if name.endswith(".parquet"):
        return _ParquetTable(path)
    raise TableError(f"{path} has an ending that is not known; known are {KNOWN_ENDINGS}.")


class _ParquetTable:
    mixed: tuple[str, ...] = ()

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path
        try:
            metadata = pq.read_metadata(path)
            self.schema = metadata.schema.to_arrow_schema()
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from None
        check_names(self.schema.names, self.name)
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        self._group_rows = [group.num_rows for group in groups]
        self.n_rows: int = metadata.num_rows
        # Batches of rows that are megabytes long must be short ones.
        width = sum(group.total_byte_size for group in groups) // max(1, self.n_rows)
        self._batch_rows = max(1, min(_ROWS, BLOCK_BYTES // max(1, width)))

    def batches(
        self, columns: Sequence[str] | None = None, *, skip: int = 0
    ) -> Iterator[pa.RecordBatch]:
        groups = list(range(len(self._group_rows)))
        while groups and skip >= self._group_rows[groups[0]]:
            skip -= self._group_rows[groups.pop(0)]
        if not groups:
            return
        try:
            # With a buffer, a row group of any size is read page by page.
            with pq.ParquetFile(self._path, buffer_size=_PARQUET_BUFFER) as file:
                yield from after(
                    skip,
                    file.iter_batches(
                        self._batch_rows, row_groups=groups, columns=columns, use_threads=False
                    ),
                )
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from None

    def _damaged(self, error: Exception) -> TableError:
        return TableError(
            f"{self._path} cannot be read as Parquet; it may be cut short or of another kind, so "
            f"write it again or mend its ending ({one_line(error)})."
        )


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


def after(skip: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows after the first `skip`."""
    for batch in batches:
        if skip < batch.num_rows:
            yield batch.slice(skip) if skip else batch
        skip = max(0, skip - batch.num_rows)
