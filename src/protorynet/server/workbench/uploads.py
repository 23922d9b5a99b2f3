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
from protorynet.inference import values

__all__ = ["UPLOAD_ENDINGS", "ending_of", "preview", "read_upload"]

UPLOAD_ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
_MOST_ROWS = 200_000
_MOST_COLUMNS = 500
_MOST_BYTES = 512 * 2**20
_LONGEST_HEADER = 2**20
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_ROWS_LOOKED_AT, _EXAMPLES, _EXAMPLE_LENGTH = 200, 3, 120
_MOST_GROUPS, _MOST_DISTINCT = 50, 0.6
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?")
_TIME = re.compile(r"\d{4}-\d{2}(-\d{2}.{0,25})?|\d{1,4}[./]\d{1,2}[./]\d{2,4}.{0,20}")


def ending_of(filename: str) -> str:
    """Return the ending of a file's name, or refuse it."""
    ending = Path(filename).suffix.lower()
    if ending not in UPLOAD_ENDINGS:
        raise InputError(
            f"the file should end in {', '.join(UPLOAD_ENDINGS[:-1])} or {UPLOAD_ENDINGS[-1]}, and "
            "not be compressed. Save it so, and send it again."
        )
    return ending


def read_upload(path: Path) -> pa.Table:
    """Read a file of unknown origin; errors call it "the file"."""
    try:
        if path.suffix == ".parquet":
            table = _read_parquet(path)
        else:
            # A column takes kilobytes, and a mark in a line makes one more: so first a look.
            _check_header(path) if path.suffix in _DELIMITERS else _check_records(path)
            table = read_columns(path)[0]
    except TableError as error:
        raise TableError(str(error).replace(str(path), "the file")) from None
    except (pa.ArrowException, OSError, MemoryError, OverflowError):
        raise TableError("the file cannot be read; it may be damaged.") from None
    _check_size(table.num_rows, table.num_columns)
    if not table.num_rows:
        raise TableError("the file holds no rows.")
    return table


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
        size, batches = sum(chunks), []
        if size <= _MOST_BYTES:
            # One value may be as large as its chunk, and stand in every row.
            at_once = max(1, min(4_096, _MOST_BYTES // (4 * max([1, *chunks]))))
            size = 0
            for batch in file.iter_batches(batch_size=at_once):
                batches.append(batch)
                size += batch.nbytes
                if size > _MOST_BYTES:
                    break
        if size > _MOST_BYTES:
            raise TableError(
                f"the file unfolds to more than {_MOST_BYTES // 2**20} MiB. Send it in parts, or "
                "use `protorynet predict`."
            )
        table = pa.Table.from_batches(batches, file.schema_arrow)
    if len(set(table.column_names)) < table.num_columns:
        raise TableError("the file has two columns of the same name; rename one.")
    return table


def _check_header(path: Path) -> None:
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        head = io.StringIO(file.read(_LONGEST_HEADER), newline="")
    try:
        lines = csv.reader(head, delimiter=_DELIMITERS[path.suffix])
        header = next((line for line in lines if line), [])
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


def _check_size(n_rows: int, n_columns: int) -> None:
    if n_rows > _MOST_ROWS:
        raise TableError(
            f"the file has {n_rows:,} rows; at most {_MOST_ROWS:,} are allowed. Send it in parts, "
            "or use `protorynet predict`."
        )
    if n_columns > _MOST_COLUMNS:
        raise TableError(
            f"the file has more than the {_MOST_COLUMNS} columns allowed. Leave out those that are "
            "not needed."
        )


def preview(table: pa.Table) -> dict[str, Any]:
    """Describe the columns of a table, and guess what they are for."""
    columns = [_describe_column(table, name) for name in table.column_names]
    try:
        text = read_table(table, labelled=False, skip_empty=True).text_column
    except TableError:
        text = None
    times = [each["name"] for each in columns if each["kind"] == "time"]
    named = (n for n in times if re.search(r"date|time|day|created|when", n, re.IGNORECASE))
    time = next(named, times[0] if times else None)
    groups = (n for n in table.column_names if n not in (text, time) and _may_group(table, n))
    return {
        "n_rows": table.num_rows,
        "columns": columns,
        "guess": {"text": text, "group": next(groups, None), "time": time},
    }


def _describe_column(table: pa.Table, name: str) -> dict[str, Any]:
    some = values(table.column(name).slice(0, _ROWS_LOOKED_AT).combine_chunks())
    given = [value for value in some if value not in (None, "")]
    shown = [text[:_EXAMPLE_LENGTH] for text in dict.fromkeys(map(str, given))]
    kind = _kind_of_column(table.schema.field(name).type, given)
    return {"name": name, "kind": kind, "examples": shown[:_EXAMPLES]}


def _kind_of_column(kind: pa.DataType, given: list[Any]) -> str:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
        return "time"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if not all(isinstance(value, str) for value in given):
        return "other"
    texts = [value.strip() for value in given]
    if texts and all(_NUMBER.fullmatch(text[:50]) for text in texts):
        return "number"
    return "time" if texts and all(_TIME.fullmatch(text) for text in texts) else "text"


def _may_group(table: pa.Table, name: str) -> bool:
    column = table.column(name)
    if pa.types.is_nested(column.type) or pa.types.is_null(column.type):
        return False
    try:
        distinct = int(pc.count_distinct(column).as_py())
    except pa.ArrowException:
        return False
    return 2 <= distinct <= min(_MOST_GROUPS, int(table.num_rows * _MOST_DISTINCT))
