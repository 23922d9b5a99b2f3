"""Cutting tables into parts that workers can score on their own, each named by its place."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from protorynet.errors import TableError
from protorynet.inference.ray_places import filesystem_of, shown

__all__ = ["Part", "TableFile", "cut_parts", "inspect_files", "read_part", "rows_per_part"]

_MOST_ROWS = 8_192
_MOST_BYTES = 64 * 2**20
_FEWEST_ROWS = 256
# Several for each worker, so that all end at about the same time.
_PARTS_PER_WORKER = 4
# A file's description is a few kilobytes, but far away it takes a while to come.
_INSPECTED_AT_ONCE = 16


@dataclass(frozen=True)
class TableFile:
    """A Parquet file of the input.

    Parameters
    ----------
    place
        Its path or address.
    rows, size
        Its rows, and the bytes of their values before compression.
    changed
        When it was last written, in nanoseconds.
    schema
        Its columns.
    """

    place: str
    rows: int
    size: int
    changed: int
    schema: pa.Schema


@dataclass(frozen=True)
class Part:
    """The rows `start` to `stop` of a file, and the part's place in the output."""

    number: int
    place: str
    start: int
    stop: int


def inspect_files(places: Sequence[str]) -> list[TableFile]:
    """Return what the files say of themselves, and refuse those whose columns differ."""
    with ThreadPoolExecutor(_INSPECTED_AT_ONCE) as pool:
        files = list(pool.map(_inspect, places))
    first = files[0]
    for other in files[1:]:
        if not other.schema.equals(first.schema):
            raise TableError(
                f"{shown(other.place)} has other columns ({_described(other.schema)}) than "
                f"{shown(first.place)} ({_described(first.schema)}); score them apart."
            )
    if not any(file.rows for file in files):
        raise TableError(f"{shown(first.place)} holds no rows; expected one row per document.")
    return files


def rows_per_part(files: Sequence[TableFile], n_workers: int) -> int:
    """Return how many rows make a part: few enough for every worker to have several."""
    rows = sum(file.rows for file in files)
    bytes_per_row = max(1.0, sum(file.size for file in files) / rows)
    fair = math.ceil(rows / (n_workers * _PARTS_PER_WORKER))
    return max(1, min(_MOST_ROWS, int(_MOST_BYTES / bytes_per_row), max(_FEWEST_ROWS, fair)))


def cut_parts(files: Sequence[TableFile], rows: int) -> list[Part]:
    """Return the parts of all files, in order.

    Examples
    --------
    >>> files = [TableFile("a.parquet", 5, 40, 0, None), TableFile("b.parquet", 2, 16, 0, None)]
    >>> [(part.place, part.start, part.stop) for part in cut_parts(files, rows=3)]
    [('a.parquet', 0, 3), ('a.parquet', 3, 5), ('b.parquet', 0, 2)]
    """
    pieces = [
        (file.place, start, min(start + rows, file.rows))
        for file in files
        for start in range(0, file.rows, rows)
    ]
    return [Part(number, *piece) for number, piece in enumerate(pieces)]


def read_part(part: Part) -> pa.Table:
    """Read the rows of a part, and of its file no more than the row groups they lie in."""
    system, path = filesystem_of(part.place)
    with _opened(part.place), pq.ParquetFile(system.open_input_file(path)) as file:
        ends = _row_group_ends(file.metadata)
        touched = [
            group
            for group, end in enumerate(ends)
            if end > part.start and end - file.metadata.row_group(group).num_rows < part.stop
        ]
        at = ends[touched[0]] - file.metadata.row_group(touched[0]).num_rows
        batches = []
        for batch in file.iter_batches(row_groups=touched):
            first, last = max(part.start - at, 0), min(part.stop - at, len(batch))
            at += len(batch)
            if first < last:
                batches.append(batch.slice(first, last - first))
            if at >= part.stop:
                break
        return pa.Table.from_batches(batches, file.schema_arrow).combine_chunks()


def _row_group_ends(metadata: pq.FileMetaData) -> list[int]:
    ends, end = [], 0
    for group in range(metadata.num_row_groups):
        end += metadata.row_group(group).num_rows
        ends.append(end)
    return ends


def _inspect(place: str) -> TableFile:
    system, path = filesystem_of(place)
    with _opened(place), pq.ParquetFile(system.open_input_file(path)) as file:
        described = file.metadata
        groups = (described.row_group(number) for number in range(described.num_row_groups))
        size = sum(group.total_byte_size for group in groups)
        changed = system.get_file_info(path).mtime_ns or 0
        return TableFile(place, described.num_rows, size, changed, file.schema_arrow)


@contextmanager
def _opened(place: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        raise TableError(shown(f"{place} cannot be read as Parquet: {reason}")) from None


def _described(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in schema)
