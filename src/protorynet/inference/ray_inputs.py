"""Parquet files for Ray's workers: found, inspected, and cut into slices that make a part each."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import accumulate
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from protorynet.data import find_files, one_line
from protorynet.errors import TableError
from protorynet.inference.addresses import hide_keys, is_address, open_filesystem

_ROWS_PER_PART = 8_192
_BYTES_PER_PART = 64 * 2**20
_FEWEST_ROWS_PER_PART = 256
# Several for each worker, so that all end at about the same time.
_PARTS_PER_WORKER = 4
# A file's description is a few kilobytes, but far away it takes a while to come.
_INSPECTED_AT_ONCE = 16


@dataclass(frozen=True)
class TableFile:
    """A Parquet file of the input, by its path or address."""

    source: str
    rows: int
    size: int  # bytes of the values before compression
    changed: int  # nanoseconds since 1970
    schema: pa.Schema


@dataclass(frozen=True)
class Slice:
    """The rows `start` to `stop` of a file, of which the first is row `first` of all files."""

    first: int
    source: str
    start: int
    stop: int


def inspect_files(sources: Sequence[str]) -> list[TableFile]:
    """Return what the files say of themselves, and refuse those whose columns differ."""
    with ThreadPoolExecutor(_INSPECTED_AT_ONCE) as pool:
        files = list(pool.map(_inspect, sources))
    first = files[0]
    for other in files[1:]:
        if not other.schema.equals(first.schema):
            raise TableError(
                f"{hide_keys(other.source)} has other columns ({_described(other.schema)}) than "
                f"{hide_keys(first.source)} ({_described(first.schema)}); score them apart."
            )
    if not any(file.rows for file in files):
        raise TableError(f"{hide_keys(first.source)} holds no rows; expected one row per document.")
    return files


def rows_per_part(files: Sequence[TableFile], n_workers: int) -> int:
    """Return how many rows make a part: few enough for every worker to have several."""
    rows = sum(file.rows for file in files)
    bytes_per_row = max(1.0, sum(file.size for file in files) / rows)
    fair = math.ceil(rows / (n_workers * _PARTS_PER_WORKER))
    fitting = int(_BYTES_PER_PART / bytes_per_row)
    return max(1, min(_ROWS_PER_PART, fitting, max(_FEWEST_ROWS_PER_PART, fair)))


def cut_slices(files: Sequence[TableFile], rows: int) -> list[Slice]:
    """Return the slices of all files that make a part each, in order."""
    slices, first = [], 0
    for file in files:
        for start in range(0, file.rows, rows):
            stop = min(start + rows, file.rows)
            slices.append(Slice(first, file.source, start, stop))
            first += stop - start
    return slices


def read_slice(part: Slice) -> pa.Table:
    """Read the rows of a slice, and of its file no more than the row groups they lie in."""
    system, path = open_filesystem(part.source)
    with _opened(part.source), pq.ParquetFile(system.open_input_file(path)) as file:
        groups = range(file.metadata.num_row_groups)
        sizes = [file.metadata.row_group(group).num_rows for group in groups]
        ends = list(accumulate(sizes))
        starts = [0, *ends]
        touched = [g for g in groups if ends[g] > part.start and starts[g] < part.stop]
        at = starts[touched[0]]
        batches = []
        for batch in file.iter_batches(row_groups=touched):
            first, last = max(part.start - at, 0), min(part.stop - at, len(batch))
            at += len(batch)
            if first < last:
                batches.append(batch.slice(first, last - first))
            if at >= part.stop:
                break
        return pa.Table.from_batches(batches, file.schema_arrow).combine_chunks()


def _inspect(source: str) -> TableFile:
    system, path = open_filesystem(source)
    with _opened(source), pq.ParquetFile(system.open_input_file(path)) as file:
        described = file.metadata
        groups = (described.row_group(number) for number in range(described.num_row_groups))
        size = sum(group.total_byte_size for group in groups)
        changed = system.get_file_info(path).mtime_ns or 0
        return TableFile(source, described.num_rows, size, changed, file.schema_arrow)


@contextmanager
def _opened(source: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise TableError(
            hide_keys(f"{source} cannot be read as Parquet: {one_line(error)}")
        ) from None


def _described(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in schema)


def find_parquet(inputs: Sequence[str | Path]) -> list[str]:
    """Return the Parquet files of paths, folders and patterns, as one machine would read them."""
    found = []
    for given in map(str, inputs):
        if is_address(given):
            found += _files_at(given)
        else:
            found += [str(path.absolute()) for path in find_files([given])]
    for source in found:
        if not _is_parquet(source.partition("?")[0]):
            raise TableError(
                f"{hide_keys(source)} is not a Parquet file, and Ray's workers read no other "
                "format; convert it first, or leave out --engine ray."
            )
    if repeated := [source for source, times in Counter(found).items() if times > 1]:
        raise TableError(f"{hide_keys(repeated[0])} is given more than once.")
    return found


def _files_at(given: str) -> list[str]:
    # What follows a question mark says how to connect, so it cannot stand for a character.
    address, _, options = given.partition("?")
    options = options and f"?{options}"
    folder, _, pattern = address.rpartition("/") if "*" in address else (address, "", "*")
    system, path = open_filesystem(folder + options)
    try:
        if system.get_file_info(path).is_file:
            return [given]
        infos = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
    except (pa.ArrowException, OSError) as error:
        raise TableError(hide_keys(f"{given} cannot be reached: {one_line(error)}")) from None
    names = sorted(info.base_name for info in infos if info.is_file)
    visible = [name for name in names if not name.startswith(("_", "."))]
    matching = [name for name in visible if fnmatchcase(name, pattern) and _is_parquet(name)]
    if not matching:
        raise TableError(f"there is no Parquet file at {hide_keys(given)}; check the address.")
    return [f"{folder.rstrip('/')}/{quote(name)}{options}" for name in matching]


def _is_parquet(name: str) -> bool:
    return name.lower().endswith(".parquet")
