"""Excel workbooks: the first sheet as a table."""

import warnings
import zipfile
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from protorynet.data.json_lines import infer_table
from protorynet.data.table_files import MOST_COLUMNS, BatchReader, check_names, one_line
from protorynet.errors import MissingExtraError, TableError

_LARGEST = 512 * 2**20  # bytes of a workbook when unpacked
_MOST_UNPACKED, _SMALL = 100, 2**20  # times its size, as real ones never are; or so many bytes
_MOST_ROWS = 2**20  # as in Excel
_MOST_CELLS = 20_000_000  # empty ones included: a few bytes can stand for a thousand of those
_ROWS_AT_ONCE, _ROWS_LOOKED_AT = 4_096, 256


def load_openpyxl() -> Any:
    """Return the library that reads and writes workbooks, or say what to install."""
    try:
        import openpyxl
    except ImportError:
        raise MissingExtraError("An Excel file", "openpyxl", extra="excel") from None
    return openpyxl


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
    n_rows = n_cells = 0  # rows without the empty ones at the end
    while some := list(islice(rows, _ROWS_LOOKED_AT)):
        n_cells += sum(map(len, some))
        if len(values) + len(some) > _MOST_ROWS or n_cells > _MOST_CELLS:
            raise TableError(
                f"{name} has more than {_MOST_ROWS:,} rows or {_MOST_CELLS:,} cells; save it as "
                "CSV."
            )
        if any(some):  # else a gap, which may be long
            some = list(map(_strip, some))
        for number, row in enumerate(some if any(some) else (), len(values) + 1):
            if len(row) > len(names):
                raise TableError(
                    f"row {number + 1} of {name} has more cells than the {len(names)} columns that "
                    "the first row names."
                )
            n_rows = number if row else n_rows
        values += some
    columns = list(zip_longest(*values[:n_rows])) if n_rows else []
    return names, columns + [(None,) * n_rows] * (len(names) - len(columns))


def _strip(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a row without the empty cells at its end."""
    if not row or row[-1] is not None:
        return row
    return row[: max((n for n, cell in enumerate(row, 1) if cell is not None), default=0)]
