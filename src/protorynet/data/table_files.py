"""Finding and opening the files of tables, the limits of reading, and the words for messages."""

import glob
import gzip
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa

from protorynet.errors import TableError, list_names

BLOCK_BYTES = 8 * 2**20  # of rows that are held at once
# A longer row of a text file comes of a mistake. The objects of a JSON line take 35 times its room.
ROW_BYTES = 32 * 2**20
MOST_COLUMNS = 2_000  # of a text file; more come of a mistake, and every one costs every row
STANDARD_INPUT = "standard input"
READ_ERRORS = (OSError, EOFError, zlib.error)

_WHOLE = (".parquet", ".xlsx")  # these are not compressed once more
_ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", *_WHOLE)
_KNOWN_ENDINGS = ".csv, .tsv, .jsonl, .ndjson (each also with .gz), .parquet and .xlsx"
_SIGNATURES = {
    b"PAR1": "a Parquet file; give it the ending .parquet",
    b"PK\x03\x04": "a zip or Excel file; unpack it, or give it the ending .xlsx",
    b"\xd0\xcf\x11\xe0": "an Excel file; save it as CSV",
    b"\x1f\x8b": "gzip-compressed; give it the ending .gz",
    b"\xff\xfe": "UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "UTF-16 text; save it as UTF-8",
}


@dataclass(frozen=True)
class BatchReader:
    """A table that is read a batch of rows at a time.

    `batches` yields the rows after the first so many, as often as one likes; of a table with a
    `head`, its first batch, once and from the first row on. Columns whose values no one type
    holds are left out as `mixed`. In CSV files numbers are still text: the table `is_untyped`.
    """

    name: str
    schema: pa.Schema
    batches: Callable[[int], Iterator[pa.RecordBatch]]
    mixed: tuple[str, ...] = ()
    is_untyped: bool = False
    head: tuple[pa.RecordBatch, ...] | None = None


def read_once(
    name: str,
    schema: pa.Schema,
    batches: Iterator[pa.RecordBatch],
    mixed: tuple[str, ...] = (),
    *,
    is_untyped: bool = False,
) -> BatchReader:
    """Return a table that comes in a stream, whose first batch is read here."""
    head = tuple(islice(batches, 1))
    return BatchReader(name, schema, lambda _: chain(head, batches), mixed, is_untyped, head)


def rows_after(skip: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches without the first `skip` rows."""
    for batch in batches:
        if skip < batch.num_rows:
            yield batch.slice(skip) if skip else batch
        skip = max(0, skip - batch.num_rows)


def find_files(inputs: Sequence[str]) -> list[Path]:
    """Return the files that names, folders of Parquet files and patterns stand for, in order."""
    files = [file for name in inputs for file in _expand(name)]
    # Under whatever name: its rows would be there twice.
    times = Counter(file.resolve() for file in files)
    if repeated := [str(file) for file in dict.fromkeys(files) if times[file.resolve()] > 1]:
        raise TableError(f"{list_names(repeated)} is given more than once; name every file once.")
    return files


def _expand(name: str) -> list[Path]:
    path = Path(name)
    if path.is_dir():
        found = sorted(p for p in path.glob("*.parquet") if not p.name.startswith((".", "_")))
        if not found:
            raise TableError(f"the folder {path} holds no .parquet files; name files instead.")
        return found
    if path.exists() or not set("*?[").intersection(name):
        return [path]
    # As in a shell, and other than with Path.glob, hidden files are not meant.
    names = map(Path, glob.glob(name, recursive=True))  # noqa: PTH207
    matching = sorted(found for found in names if found.is_file())
    if not matching:
        raise TableError(f"no file matches {name!r}; check the pattern.")
    return matching


def table_ending(path: Path) -> str:
    """Return what a file's ending says of its kind, without ``.gz``; refuse folders and pipes."""
    if path.is_dir():
        raise TableError(f"{path} is a directory; expected one file ({_KNOWN_ENDINGS}).")
    if not path.exists():
        raise TableError(f"there is no file {path}; check the path.")
    if not path.is_file():
        raise TableError(f"{path} is a pipe or a device; save what comes from it as a file.")
    name = path.name.lower()
    ending = Path(name.removesuffix(".gz")).suffix
    if ending not in _ENDINGS or (ending in _WHOLE and name.endswith(".gz")):
        raise TableError(f"{path} has an ending that is not known; known are {_KNOWN_ENDINGS}.")
    return ending


def open_bytes(path: Path) -> BinaryIO:
    """Open a file for reading bytes, unpacked if its ending is .gz."""
    if path.name.lower().endswith(".gz"):
        return cast(BinaryIO, gzip.open(path, "rb"))
    return path.open("rb")


def read_start(path: Path, n_bytes: int = 8_192) -> bytes:
    """Return the first bytes of a text file."""
    try:
        with open_bytes(path) as file:
            start = file.read(n_bytes)
    except READ_ERRORS as error:
        raise TableError(f"{path} cannot be read: {one_line(error)}.") from None
    check_is_text(start, str(path))
    return start


def check_is_text(start: bytes, name: str) -> None:
    """Raise an error if the first bytes show that a file is of another kind, or if it is empty."""
    if not start.strip():
        raise TableError(f"{name} is empty; expected one row per document.")
    for signature, kind in _SIGNATURES.items():
        if start.startswith(signature):
            raise TableError(f"{name} is {kind}.")
    if b"\0" in start[:8_192]:
        raise TableError(f"{name} is binary, not text; check its kind and mend its ending.")


def check_names(names: Sequence[str], where: str) -> None:
    """Refuse a table without columns, or with two of one name."""
    if not names:
        raise TableError(f"{where} has no columns; expected one of texts and one of labels.")
    if repeated := [name for name, count in Counter(names).items() if count > 1]:
        raise TableError(
            f"{where} has more than one column named {list_names(repeated)}; rename all but one."
        )


def not_utf8(name: str, line: int | None = None) -> TableError:
    """Return the error for a table in another encoding."""
    file = "FILE" if name == STANDARD_INPUT else Path(name).name
    return TableError(
        f"{name if line is None else f'line {line} of {name}'} is not UTF-8 text. Convert it "
        f"first, for example with: iconv -f WINDOWS-1252 -t UTF-8 {file} > utf8-{file}"
    )


def one_line(complaint: object) -> str:
    """Return a complaint on one line of at most 200 characters, without its full stop."""
    # Surrogates and control characters of a broken file must not reach a terminal.
    line = " ".join(str(complaint).encode("utf-8", "replace").decode().split())
    line = "".join(char if char.isprintable() else "\ufffd" for char in line)
    return (line if len(line) <= 200 else line[:199] + "…").rstrip(".")
