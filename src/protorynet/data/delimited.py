"""CSV and TSV files, every value read as text."""

from __future__ import annotations

import codecs
import csv
import io
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from protorynet.data.files import MOST_COLUMNS, check_is_text, not_utf8, opened
from protorynet.data.quoting import one_line
from protorynet.errors import TableError

__all__ = ["check_width", "read_delimited", "read_header"]

# A row must fit into a block, and rows of several megabytes exist.
_BLOCK_BYTES = 32 * 2**20
_HEADER_BYTES = 2**20


def read_delimited(path: Path, delimiter: str) -> pa.Table:
    """Read a file of separated values; all columns are text, and an empty value is ``""``."""
    header = read_header(path, delimiter)
    try:
        with opened(path) as file:
            return pyarrow.csv.read_csv(
                file,
                # Serial reading costs little and lets errors name the row.
                read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=delimiter, newlines_in_values=True
                ),
                # As text, because types guessed from the first block may not hold in the next.
                convert_options=pyarrow.csv.ConvertOptions(
                    column_types=dict.fromkeys(header, pa.large_string())
                ),
            )
    except (pa.ArrowException, OSError, EOFError, zlib.error) as error:
        if "invalid UTF8 data" in str(error):
            raise not_utf8(path) from None
        if "Empty CSV file" in str(error):
            raise TableError(f"{path} holds no rows; expected one row per document.") from None
        raise TableError(
            f"{path} cannot be read ({one_line(error)}). Values that hold the separator, a quote "
            "or a newline must stand in double quotes, and quotes inside them be doubled."
        ) from None


def read_header(path: Path, delimiter: str) -> list[str]:
    """Return the names of the columns of a file of separated values."""
    check_is_text(path)
    try:
        with opened(path) as file:
            start = file.read(_HEADER_BYTES)
        is_all = len(start) < _HEADER_BYTES
        # Whatever follows the header may be cut within a character.
        words = codecs.getincrementaldecoder("utf-8-sig")().decode(start, final=is_all)
        lines = io.StringIO(words, newline="")
        header = next((row for row in csv.reader(lines, delimiter=delimiter) if row), None)
        if not is_all and not lines.read(1):
            raise TableError(
                f"the header of {path} does not end within {_HEADER_BYTES / 2**20:g} MB; "
                "expected a line with the names of the columns."
            )
    except UnicodeDecodeError:
        raise not_utf8(path) from None
    except (csv.Error, OSError, EOFError, zlib.error) as error:
        raise TableError(f"the header of {path} cannot be read: {one_line(error)}.") from None
    if header is None:
        raise TableError(f"{path} is empty; expected a header and one row per document.")
    check_width(header, str(path), delimiter)
    return header


def check_width(header: list[str], name: str, delimiter: str) -> None:
    """Refuse a table of more columns than anyone means, or of one that is several."""
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
