"""Tables that clients send: read within bounds, and described column by column."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from protorynet.data import read_columns, read_table
from protorynet.errors import InputError, TableError
from protorynet.server.workbench.times import looks_like_time

__all__ = ["ENDINGS", "MOST_ROWS", "ending_of", "plain_values", "preview", "read_upload"]

ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
MOST_ROWS = 200_000
_MOST_COLUMNS = 500
_MOST_BYTES = 512 * 2**20
_LONGEST_HEADER = 2**20
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_LOOKED_AT, _EXAMPLES, _EXAMPLE_LENGTH = 200, 3, 120
_MOST_GROUPS, _REPEATED = 50, 0.6
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?")


def ending_of(filename: str) -> str:
    """Return the ending of a file's name, or refuse it.

    Examples
    --------
    >>> ending_of("My Complaints.CSV")
    '.csv'
    >>> ending_of("complaints.xlsx")
    Traceback (most recent call last):
    ...
    protorynet.errors.InputError: the file should end in .csv, .tsv, .jsonl, .ndjson or .parquet...
    """
    ending = Path(filename).suffix.lower()
    if ending not in ENDINGS:
        raise InputError(
            f"the file should end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}, and not be "
            "compressed. Save it so, and send it again."
        )
    return ending


def read_upload(path: Path) -> pa.Table:
    """Read a file of unknown origin; errors call it "the file"."""
    try:
        table = _read_parquet(path) if path.suffix == ".parquet" else _read_text(path)
    except TableError as error:
        raise TableError(str(error).replace(str(path), "the file")) from None
    except (pa.ArrowException, OSError, MemoryError, OverflowError):
        raise TableError("the file cannot be read; it may be damaged.") from None
    _check_size(table.num_rows, table.num_columns)
    if not table.num_rows:
        raise TableError("the file holds no rows.")
    return table


def preview(table: pa.Table) -> dict[str, Any]:
    """Describe the columns of a table, and guess what they are for."""
    columns = [_described(table, name) for name in table.column_names]
    text = _text_column(table)
    times = [each["name"] for each in columns if each["kind"] == "time"]
    named = (n for n in times if re.search(r"date|time|day|created|when", n, re.IGNORECASE))
    time = next(named, times[0] if times else None)
    groups = (n for n in table.column_names if n not in (text, time) and _may_group(table, n))
    return {
        "n_rows": table.num_rows,
        "columns": columns,
        "guess": {"text": text, "group": next(groups, None), "time": time},
    }


def plain_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return the values of a column; as texts where Python has no values for them.

    Examples
    --------
    >>> plain_values(pa.array([1, None]))
    [1, None]
    >>> plain_values(pa.array([2**60], pa.timestamp("s")))[0] is not None
    True
    """
    try:
        values: list[Any] = column.to_pylist()
    except (pa.ArrowException, OverflowError, ValueError):
        try:
            values = column.cast(pa.string()).to_pylist()
        except (pa.ArrowException, ValueError):
            values = [None] * len(column)
    return values


def _read_parquet(path: Path) -> pa.Table:
    """Read piece by piece, for a small file may unfold into more than memory holds."""
    with pq.ParquetFile(path) as file:
        found = file.metadata
        _check_size(found.num_rows, found.num_columns)
        chunks = [
            found.row_group(group).column(column).total_uncompressed_size
            for group in range(found.num_row_groups)
            for column in range(found.num_columns)
        ]
        if sum(chunks) > _MOST_BYTES:
            raise _too_large()
        # One value may be as large as its chunk, and stand in every row.
        at_once = max(1, min(4_096, _MOST_BYTES // (4 * max([1, *chunks]))))
        batches, size = [], 0
        for batch in file.iter_batches(batch_size=at_once):
            size += batch.nbytes
            if size > _MOST_BYTES:
                raise _too_large()
            batches.append(batch)
        table = pa.Table.from_batches(batches, file.schema_arrow)
    if len(set(table.column_names)) < table.num_columns:
        raise TableError("the file has two columns of the same name; rename one.")
    return table


def _read_text(path: Path) -> pa.Table:
    """Read a file of lines, after a look at it: a column takes kilobytes, a mark makes one more."""
    if path.suffix in _DELIMITERS:
        _check_header(path, _DELIMITERS[path.suffix])
    else:
        _check_records(path)
    return read_columns(path)[0]


def _check_header(path: Path, delimiter: str) -> None:
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        head = io.StringIO(file.read(_LONGEST_HEADER), newline="")
    try:
        header = next((row for row in csv.reader(head, delimiter=delimiter) if row), [])
    except csv.Error:
        return  # which the reader tells better
    _check_size(0, len(header))
    if head.tell() == _LONGEST_HEADER:
        raise TableError("the file's first line is too long; it should hold the columns' names.")


def _check_records(path: Path) -> None:
    names: set[str] = set()
    with path.open("rb") as file:
        _check_size(sum(not line.isspace() for line in file), 0)
        file.seek(0)
        for line in file:
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue  # which the reader tells better
            names.update(record if isinstance(record, dict) else ())
            _check_size(0, len(names))


def _check_size(rows: int, columns: int) -> None:
    if rows > MOST_ROWS:
        raise TableError(
            f"the file has {rows:,} rows; at most {MOST_ROWS:,} are allowed. Send it in parts, or "
            "use `protorynet predict`."
        )
    if columns > _MOST_COLUMNS:
        raise TableError(
            f"the file has more than the {_MOST_COLUMNS} columns allowed. Leave out those that are "
            "not needed."
        )


def _too_large() -> TableError:
    return TableError(
        f"the file unfolds to more than {_MOST_BYTES // 2**20} MiB. Send it in parts, or use "
        "`protorynet predict`."
    )


def _described(table: pa.Table, name: str) -> dict[str, Any]:
    values = [value for value in _some(table, name) if value not in (None, "")]
    kind = table.schema.field(name).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
        found = "time"
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        found = "number"
    elif all(isinstance(value, str) for value in values):
        found = _kind_of_texts([str(value).strip() for value in values])
    else:
        found = "other"
    shown = [str(value)[:_EXAMPLE_LENGTH] for value in dict.fromkeys(map(str, values))]
    return {"name": name, "kind": found, "examples": shown[:_EXAMPLES]}


def _kind_of_texts(values: list[str]) -> str:
    if values and all(_NUMBER.fullmatch(value[:50]) for value in values):
        return "number"
    return "time" if values and all(looks_like_time(value) for value in values) else "text"


def _some(table: pa.Table, name: str) -> list[Any]:
    return plain_values(table.column(name).slice(0, _LOOKED_AT))


def _text_column(table: pa.Table) -> str | None:
    try:
        return read_table(table, labelled=False, skip_empty=True).text_column
    except TableError:
        return None


def _may_group(table: pa.Table, name: str) -> bool:
    column = table.column(name)
    if pa.types.is_nested(column.type) or pa.types.is_null(column.type):
        return False
    try:
        distinct = int(pc.count_distinct(column).as_py())
    except pa.ArrowException:
        return False
    return 2 <= distinct <= min(_MOST_GROUPS, int(table.num_rows * _REPEATED))
