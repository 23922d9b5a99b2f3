"""Every kind of table as one kind: columns of Arrow arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from protorynet.data.delimited import read_delimited
from protorynet.data.jsonlines import read_records
from protorynet.data.quoting import listed, one_line
from protorynet.errors import TableError

__all__ = [
    "DELIMITERS",
    "JSON_LINES",
    "KNOWN_ENDINGS",
    "Loaded",
    "check_is_file",
    "check_names",
    "check_values",
    "column_of",
    "damaged_parquet",
    "is_missing",
    "load",
]

DELIMITERS = {".csv": ",", ".tsv": "\t"}
JSON_LINES = (".jsonl", ".ndjson")
_MOST_LEVELS = 60
KNOWN_ENDINGS = ".csv, .tsv, .jsonl, .ndjson (each also with .gz) and .parquet"


@dataclass(frozen=True)
class Loaded:
    """A table as it was found.

    Parameters
    ----------
    name
        What messages call it.
    table
        Its columns.
    mixed
        Columns left out because no one type holds their values.
    is_untyped
        Whether numbers are still written as text, as in CSV files.
    is_split
        Whether it is already the one split that was asked for.
    """

    name: str
    table: pa.Table
    mixed: tuple[str, ...] = ()
    is_untyped: bool = False
    is_split: bool = False


def load(source: object, split: str | None) -> Loaded:
    """Read a file, or take the columns of a DataFrame, an Arrow table or a dataset."""
    if isinstance(source, str | Path):
        loaded = _load_file(Path(source))
    elif isinstance(source, pa.Table):
        check_names(source.column_names, "the pyarrow Table")
        loaded = Loaded("the pyarrow Table", source)
    elif _comes_from(source, "pandas") and hasattr(source, "columns"):
        loaded = _load_frame(source)
    elif _comes_from(source, "datasets"):
        loaded = _load_dataset(source, split)
    else:
        raise TableError(
            f"cannot read a table from a {type(source).__name__}; expected the path of a file, "
            "a pandas DataFrame, a pyarrow Table or a Hugging Face Dataset."
        )
    if loaded.table.num_rows == 0:
        raise TableError(f"{loaded.name} holds no rows; expected one row per document.")
    return loaded


def _comes_from(source: object, library: str) -> bool:
    return any(kind.__module__.partition(".")[0] == library for kind in type(source).__mro__)


def _load_file(path: Path) -> Loaded:
    check_is_file(path)
    name = path.name.lower()
    suffix = Path(name.removesuffix(".gz")).suffix
    if suffix in DELIMITERS:
        table = read_delimited(path, DELIMITERS[suffix])
        check_names(table.column_names, str(path))
        return Loaded(str(path), table, is_untyped=True)
    if suffix in JSON_LINES:
        records = read_records(path)
        names = list(dict.fromkeys(key for record in records for key in record))
        return _from_columns(str(path), ((n, [r.get(n) for r in records]) for n in names))
    if name.endswith(".parquet"):
        return _load_parquet(path)
    raise TableError(f"{path} has an ending that is not known; known are {KNOWN_ENDINGS}.")


def _load_parquet(path: Path) -> Loaded:
    try:
        # Arrow opens no file whose name is not UTF-8; Python does.
        with path.open("rb") as opened, pq.ParquetFile(opened) as file:
            table = file.read()
        check_names(table.column_names, str(path))
        check_values(table, str(path))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise damaged_parquet(path, error) from None
    return Loaded(str(path), table)


def damaged_parquet(path: Path, error: Exception) -> TableError:
    """Return the error for a file that should be Parquet and cannot be read."""
    return TableError(
        f"{path} cannot be read as Parquet; it may be cut short or of another kind, so write "
        f"it again or mend its ending ({one_line(error)})."
    )


def check_values(rows: pa.Table | pa.RecordBatch, where: str) -> None:
    """Refuse values that are not what their type says, which Arrow reads as they come."""
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            raise TableError(
                f"column {name!r} of {where} holds what is not {column.type} ({one_line(error)}); "
                "mend it, or leave it out."
            ) from None


def _load_frame(frame: Any) -> Loaded:
    names = [str(name) for name in frame.columns]
    check_names(names, "the DataFrame")
    columns = ((name, frame.iloc[:, number]) for number, name in enumerate(names))
    return _from_columns("the DataFrame", columns)


def _load_dataset(source: Any, split: str | None) -> Loaded:
    kind = type(source).__name__
    if kind.startswith("Iterable"):
        raise TableError(f"cannot read a streamed {kind}; load it with streaming=False.")
    if isinstance(source, dict):
        splits = [str(name) for name in source]
        if split is None:
            likely = "train" if "train" in splits or not splits else splits[0]
            raise TableError(
                f"expected a Dataset but got a {kind} of {listed(splits)}; "
                f"did you mean dataset[{likely!r}]? (Or choose with split=.)"
            )
        if split not in splits:
            raise TableError(f"the {kind} has no split {split!r}; it has {listed(splits)}.")
        loaded = _load_dataset(source[split], None)
        return Loaded(f"split {split!r} of the {kind}", loaded.table, is_split=True)
    # With this format, rows chosen by select(), filter() or shuffle() are respected.
    return Loaded("the Dataset", source.with_format("arrow")[:])


def check_is_file(path: Path) -> None:
    """Refuse what is not there, and what cannot be read again and again: folders, pipes."""
    if path.is_dir():
        raise TableError(f"{path} is a directory; expected one file ({KNOWN_ENDINGS}).")
    if not path.exists():
        raise TableError(f"there is no file {path}; check the path.")
    if not path.is_file():
        raise TableError(f"{path} is a pipe or a device; save what comes from it as a file.")


def check_names(names: Sequence[str], where: str) -> None:
    """Refuse a table without columns, or with two of one name."""
    if not names:
        raise TableError(f"{where} has no columns; expected one of texts and one of labels.")
    if repeated := [name for name, count in Counter(names).items() if count > 1]:
        raise TableError(
            f"{where} has more than one column named {listed(repeated)}; rename all but one."
        )


def _from_columns(where: str, columns: Iterable[tuple[str, Any]]) -> Loaded:
    arrays: dict[str, pa.Array] = {}
    mixed = []
    for name, values in columns:
        array = column_of(name, values)
        if array is None:
            mixed.append(name)
        else:
            arrays[name] = array
    return Loaded(where, pa.table(arrays), mixed=tuple(mixed))


def column_of(name: str, values: Any) -> pa.Array | None:
    """Return values as a column; None where no one type can hold them."""
    try:
        name.encode()
        array = pa.array(values, from_pandas=True)
        return None if _is_deep(array.type) else array
    except UnicodeEncodeError as error:
        raise TableError(
            f"column {name!a} holds half a Unicode character in {one_line(repr(error.object))}. "
            "Repair it with text.encode('utf-8', 'replace').decode()."
        ) from None
    except (pa.ArrowException, OverflowError):
        # Numbers among words are read as words, as they would be in a CSV file.
        if all(isinstance(value, str | int | float | None) for value in values):
            return pa.array([None if is_missing(value) else str(value) for value in values])
        return None


def _is_deep(kind: pa.DataType, levels: int = _MOST_LEVELS) -> bool:
    """Say whether lists and records stand in each other more deeply than Arrow writes them."""
    if not pa.types.is_nested(kind):
        return False
    if not levels:
        return True
    return any(_is_deep(kind.field(n).type, levels - 1) for n in range(kind.num_fields))


def is_missing(value: object) -> bool:
    """Whether a cell is empty: None, or not a number."""
    return value is None or value != value
