"""The one reader of tables: CSV, TSV, JSON lines, Parquet, Excel; a batch of rows at a time."""

import codecs
import csv
import io
import warnings
import zipfile
from collections.abc import Iterator
from functools import partial
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from protorynet.data.json_lines import infer_table, is_text, open_json_lines, stream_json_lines
from protorynet.data.table_files import (
    BLOCK_BYTES,
    MOST_COLUMNS,
    READ_ERRORS,
    ROW_BYTES,
    STANDARD_INPUT,
    BatchReader,
    check_is_text,
    check_names,
    not_utf8,
    one_line,
    open_bytes,
    read_once,
    read_start,
    rows_after,
    table_ending,
)
from protorynet.errors import TableError, import_extra

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_HEADER_BYTES = 2**20
_BEFORE_A_BRACE = b"\xef\xbb\xbf \t\r\n"  # blanks, and the mark of UTF-8
_PARQUET_BUFFER = 2**20
_PLAIN_BYTES = 8


def open_table(path: Path) -> BatchReader:
    """Open the table in a file, whose ending says of what kind it is."""
    ending = table_ending(path)
    if ending == ".parquet":
        return _open_parquet(path)
    if ending == ".xlsx":
        return open_excel(path)
    if ending not in _DELIMITERS:
        return open_json_lines(path)
    delimiter = _DELIMITERS[ending]
    header = _read_header(read_start(path, _HEADER_BYTES), str(path), delimiter)
    batches = partial(_file_batches, path, delimiter, header)
    return BatchReader(str(path), _text_schema(header), batches, is_untyped=True)


def open_standard_input(file: BinaryIO, kind: str | None) -> BatchReader:
    """Open a table that comes in a stream: JSON lines if it opens with a brace, else CSV."""
    buffered = io.BufferedReader(cast("io.RawIOBase", file))
    start = buffered.peek(4)
    if kind == "parquet" or start[:4] == b"PAR1":
        raise TableError(
            f"Parquet cannot be read from {STANDARD_INPUT}, because it is read from its end; "
            "give the name of the file."
        )
    if start[:2] == b"\x1f\x8b":
        raise TableError(f"{STANDARD_INPUT} is gzip-compressed; unpack it, as with: zcat FILE |")
    if kind == "jsonl" or (kind is None and start.lstrip(_BEFORE_A_BRACE)[:1] == b"{"):
        return stream_json_lines(buffered, STANDARD_INPUT)
    delimiter = _DELIMITERS[f".{kind or 'csv'}"]
    start = buffered.read(_HEADER_BYTES)
    check_is_text(start, STANDARD_INPUT)
    header = _read_header(start, STANDARD_INPUT, delimiter)
    whole = _Rejoined(start, buffered)
    batches = _parse_delimited(whole, STANDARD_INPUT, delimiter, header, BLOCK_BYTES)
    return read_once(STANDARD_INPUT, _text_schema(header), batches, is_untyped=True)


class _Rejoined(io.RawIOBase):
    """A stream with what has been read of it put back."""

    def __init__(self, start: bytes, rest: BinaryIO) -> None:
        self._start = start
        self._rest = rest

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        start, self._start = self._start, b""
        return start or self._rest.read(size)


class _RowTooLongError(TableError):
    pass


def _read_header(start: bytes, name: str, delimiter: str) -> list[str]:
    is_all = len(start) < _HEADER_BYTES
    try:
        # Whatever follows the header may be cut within a character.
        words = codecs.getincrementaldecoder("utf-8-sig")().decode(start, final=is_all)
        lines = io.StringIO(words, newline="")
        header = next((row for row in csv.reader(lines, delimiter=delimiter) if row), None)
    except UnicodeDecodeError:
        raise not_utf8(name) from None
    except csv.Error as error:
        raise TableError(f"the header of {name} cannot be read: {one_line(error)}.") from None
    if not is_all and not lines.read(1):
        raise TableError(
            f"the header of {name} does not end within {_HEADER_BYTES / 2**20:g} MB; "
            "expected a line with the names of the columns."
        )
    if header is None:
        raise TableError(f"{name} is empty; expected a header and one row per document.")
    if len(header) == 1 and (other := set(header[0]) & {",", ";", "\t"}):
        raise TableError(
            f"{name} has the single column {header[0]!r}, which holds {min(other)!r}; values "
            f"should be separated by {delimiter!r}. Save it so, or mend its ending."
        )
    if len(header) > MOST_COLUMNS:
        raise TableError(
            f"{name} has {len(header):,} columns; at most {MOST_COLUMNS:,} are read. Leave out "
            "those that are not needed, or save it as Parquet."
        )
    check_names(header, name)
    return header


def _text_schema(names: list[str]) -> pa.Schema:
    # As text, because types guessed from the first block may not hold in the next.
    return pa.schema([(name, pa.large_string()) for name in names])


def _file_batches(
    path: Path, delimiter: str, header: list[str], skip: int
) -> Iterator[pa.RecordBatch]:
    # Arrow reads 32 blocks ahead, and a row must fit into a block: so blocks are long only where
    # a row needs it.
    for block_bytes in (BLOCK_BYTES, ROW_BYTES):
        try:
            with open_bytes(path) as file:
                batches = _parse_delimited(file, str(path), delimiter, header, block_bytes)
                for batch in rows_after(skip, batches):
                    yield batch
                    skip += batch.num_rows
            return
        except _RowTooLongError:
            if block_bytes == ROW_BYTES:
                raise


def _parse_delimited(
    file: BinaryIO | io.RawIOBase, name: str, delimiter: str, header: list[str], block_bytes: int
) -> Iterator[pa.RecordBatch]:
    try:
        yield from pyarrow.csv.open_csv(
            file,
            # Serial reading costs little and lets errors name the row.
            read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=block_bytes),
            parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(column_types=_text_schema(header)),
        )
    except (pa.ArrowException, *READ_ERRORS) as error:
        if "Empty CSV file" in str(error):
            return
        if "invalid UTF8 data" in str(error):
            raise not_utf8(name) from None
        if "straddl" in str(error):
            remedy = "a file" if name == STANDARD_INPUT else "JSON lines"
            raise _RowTooLongError(
                f"{name} has a row of over {block_bytes // 2**20} MB, most often because a double "
                f"quote is never closed; mend it, or save so long a row as {remedy}."
            ) from None
        raise TableError(
            f"{name} cannot be read ({one_line(error)}). Values that hold the separator, a quote "
            "or a newline must stand in double quotes, and quotes inside them be doubled."
        ) from None


def _open_parquet(path: Path) -> BatchReader:
    try:
        # Arrow opens no file whose name is not UTF-8; Python does.
        with path.open("rb") as file:
            metadata = pq.read_metadata(file)
        schema = metadata.schema.to_arrow_schema()
        check_names(schema.names, str(path))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _damaged_parquet(path, error) from None
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    batches = partial(_parquet_batches, path, [group.num_rows for group in groups])
    # Batches of rows that are megabytes long must be short ones. In memory a row may take far more
    # than in the file, where a value that comes again and again stands once: the first rows tell.
    width = sum(group.total_byte_size for group in groups) // max(1, metadata.num_rows)
    for batch in islice(batches(_fitting_rows(width, most=32), 0), 1):
        in_memory = sum(int(row_bytes(column).sum()) for column in batch.columns)
        width = max(width, in_memory // batch.num_rows)
    return BatchReader(str(path), schema, partial(batches, _fitting_rows(width, most=512)))


def _fitting_rows(width: int, most: int) -> int:
    return max(1, min(most, BLOCK_BYTES // max(1, width)))


def _parquet_batches(
    path: Path, group_rows: list[int], length: int, skip: int
) -> Iterator[pa.RecordBatch]:
    groups = list(range(len(group_rows)))
    while groups and skip >= group_rows[groups[0]]:
        skip -= group_rows[groups.pop(0)]
    if not groups:
        return
    try:
        # With a buffer, a row group of any size is read page by page.
        with path.open("rb") as raw, pq.ParquetFile(raw, buffer_size=_PARQUET_BUFFER) as file:
            for batch in rows_after(
                skip, file.iter_batches(length, row_groups=groups, use_threads=False)
            ):
                _check_values(batch, str(path))
                yield batch
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _damaged_parquet(path, error) from None


def _check_values(batch: pa.RecordBatch, name: str) -> None:
    """Refuse values that are not what their type says, which Arrow reads as they come."""
    for column, values in zip(batch.schema.names, batch.columns, strict=True):
        try:
            values.validate(full=True)
        except pa.ArrowInvalid as error:
            raise TableError(
                f"column {column!r} of {name} holds what is not {values.type} ({one_line(error)}); "
                "mend it, or leave it out."
            ) from None


def _damaged_parquet(path: Path, error: Exception) -> TableError:
    return TableError(
        f"{path} cannot be read as Parquet; it may be cut short or of another kind, so write "
        f"it again or mend its ending ({one_line(error)})."
    )


def row_bytes(column: pa.Array) -> NDArray[np.int64]:
    """Return about how many bytes each value takes, whatever stands beside it."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        # Not decoded: a few long categories may stand for many rows.
        sizes = np.append(row_bytes(column.dictionary), 0)
        indices = pc.fill_null(column.indices.cast(pa.int64()), len(sizes) - 1)
        chosen: NDArray[np.int64] = sizes[indices.to_numpy(zero_copy_only=False)]
        return chosen
    if pa.types.is_string_view(kind):
        return row_bytes(column.cast(pa.large_binary()))
    if is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        lengths: NDArray[np.int64] = pc.fill_null(pc.binary_length(column), 0).to_numpy()
        return lengths.astype(np.int64)
    if pa.types.is_struct(kind):
        parts = [row_bytes(part) for part in column.flatten()]
        return np.sum(parts, axis=0, dtype=np.int64) if parts else np.zeros(len(column), np.int64)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        owners = pc.list_parent_indices(column).to_numpy()
        inner = row_bytes(pc.list_flatten(column))
        return np.bincount(owners, inner, len(column)).astype(np.int64)
    try:
        width = max(_PLAIN_BYTES, int(kind.bit_width) // 8)
    except ValueError:  # not of one width
        width = int(column.nbytes) // max(1, len(column))
    return np.full(len(column), width, np.int64)


_LARGEST = 512 * 2**20  # bytes of a workbook when unpacked
_MOST_UNPACKED, _SMALL = 100, 2**20  # times its size, as real ones never are; or so many bytes
_MOST_ROWS = 2**20  # as in Excel
_MOST_CELLS = 20_000_000  # empty ones included: a few bytes can stand for a thousand of those
_ROWS_AT_ONCE = 4_096


def load_openpyxl() -> Any:
    """Return the library that reads and writes workbooks, or say what to install."""
    return import_extra("An Excel file", "openpyxl", extra="excel")


def open_excel(path: Path) -> BatchReader:
    """Open the first sheet of a workbook; its first row names the columns."""
    openpyxl = load_openpyxl()
    try:
        # Opened here, because the library leaves a damaged file open.
        with path.open("rb") as file, warnings.catch_warnings():
            with zipfile.ZipFile(file) as packed:
                size = sum(part.file_size for part in packed.infolist())
            if size > min(_LARGEST, _SMALL + _MOST_UNPACKED * path.stat().st_size):
                raise TableError(f"{path} has {size / 1e6:,.0f} MB when unpacked; save it as CSV.")
            warnings.simplefilter("ignore")  # of styles and the like, which are not read
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            names, columns = _read_sheet(book.worksheets[0], str(path))
    except TableError:
        raise
    except Exception as error:  # whatever the library makes of a damaged file
        raise TableError(
            f"{path} cannot be read as an Excel file ({one_line(error)}); save it again, or as CSV."
        ) from None
    table, mixed = infer_table(dict(zip(names, columns, strict=True)))
    return BatchReader(
        str(path),
        table.schema,
        lambda skip: iter(table.slice(skip).to_batches(max_chunksize=_ROWS_AT_ONCE)),
        mixed,
    )


def _read_sheet(sheet: Any, name: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    sheet.reset_dimensions()  # which some programs write wrong
    rows = sheet.iter_rows(values_only=True)
    header = _strip(next(rows, ()))
    if len(header) > MOST_COLUMNS:
        raise TableError(f"{name} has {len(header):,} columns; at most {MOST_COLUMNS:,} are read.")
    if None in header:
        raise TableError(f"column {header.index(None) + 1} of {name} has no name in the first row.")
    names = [str(each) for each in header]
    check_names(names, name)
    values: list[tuple[Any, ...]] = []
    n_cells = 0
    for number, row in enumerate(rows, start=2):
        n_cells += len(row)
        if number > _MOST_ROWS + 1 or n_cells > _MOST_CELLS:
            raise TableError(
                f"{name} has more than {_MOST_ROWS:,} rows or {_MOST_CELLS:,} cells; save it as "
                "CSV."
            )
        values.append(_strip(row))
        if len(values[-1]) > len(names):
            raise TableError(
                f"row {number} of {name} has more cells than the {len(names)} columns that the "
                "first row names."
            )
    while values and not values[-1]:
        values.pop()
    columns = list(zip_longest(*values))
    return names, columns + [(None,) * len(values)] * (len(names) - len(columns))


def _strip(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a row without the empty cells at its end."""
    if not row or row[-1] is not None:
        return row
    return row[: max((n for n, cell in enumerate(row, 1) if cell is not None), default=0)]
