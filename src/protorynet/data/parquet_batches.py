"""Parquet files a batch of rows at a time, however well they are packed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from protorynet.data.blocks import BLOCK_BYTES, after
from protorynet.data.quoting import one_line
from protorynet.data.row_sizes import row_bytes
from protorynet.data.sources import check_names, check_values, damaged_parquet
from protorynet.errors import TableError

__all__ = ["ParquetTable"]

_FIRST_ROWS = 32
_MOST_ROWS = 2_048
_GROWTH = 8
_BUFFER = 2**20


class ParquetTable:
    """The rows of a Parquet file.

    Parameters
    ----------
    path
        The file.
    """

    mixed: tuple[str, ...] = ()

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path
        try:
            # Arrow opens no file whose name is not UTF-8; Python does.
            with path.open("rb") as file:
                metadata = pq.read_metadata(file)
            self.schema = metadata.schema.to_arrow_schema()
            names = self.schema.names
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise damaged_parquet(path, error) from None
        check_names(names, self.name)
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        self._group_rows = [group.num_rows for group in groups]
        self.n_rows: int = metadata.num_rows
        # Batches of rows that are megabytes long must be short ones.
        width = sum(group.total_byte_size for group in groups) // max(1, self.n_rows)
        self._first_rows = max(1, min(_FIRST_ROWS, BLOCK_BYTES // max(1, width)))

    def batches(
        self, columns: Sequence[str] | None = None, *, skip: int = 0
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows after the first `skip`, all columns or some of them."""
        # What a row takes in memory is not what it takes in the file, where a long value that
        # comes again and again stands once. So the first batches are short, and tell.
        rows: int | None = self._first_rows
        has_shrunk = False
        while rows is not None:
            length, rows = rows, None
            for batch in self._batches_of(length, columns, skip):
                yield batch
                skip += batch.num_rows
                fitting = _fitting_rows(batch, length, can_grow=not has_shrunk)
                if fitting != length:
                    # Growing no more after shrinking keeps the reopenings few, each of which reads
                    # a row group from its beginning.
                    rows, has_shrunk = fitting, has_shrunk or fitting < length
                    break

    def _batches_of(
        self, length: int, columns: Sequence[str] | None, skip: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows after the first `skip` in batches of one length."""
        groups = list(range(len(self._group_rows)))
        while groups and skip >= self._group_rows[groups[0]]:
            skip -= self._group_rows[groups.pop(0)]
        if not groups:
            return
        try:
            # With a buffer, a row group of any size is read page by page.
            with (
                self._path.open("rb") as opened,
                pq.ParquetFile(opened, buffer_size=_BUFFER) as file,
            ):
                read = file.iter_batches(
                    length, row_groups=groups, columns=columns, use_threads=False
                )
                for batch in after(skip, read):
                    check_values(batch, self.name)
                    yield batch
        except MemoryError as error:
            raise TableError(
                f"there is not enough memory to read {length:,} rows of {self._path} at once "
                f"({one_line(error)}). Free some, or leave out its largest columns."
            ) from None
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise damaged_parquet(self._path, error) from None


def _fitting_rows(batch: pa.RecordBatch, length: int, *, can_grow: bool) -> int:
    """Return how long the next batches should be, going by one of some length."""
    size: int = max(1, sum(map(_size, batch.columns)))
    if size > 2 * BLOCK_BYTES:
        return max(1, int(batch.num_rows) * BLOCK_BYTES // size)
    if can_grow and length < _MOST_ROWS and size * _GROWTH <= BLOCK_BYTES:
        return min(_MOST_ROWS, length * _GROWTH)
    return length


def _size(column: pa.Array) -> int:
    """Return the bytes of a column, its categories written out as those of texts will be."""
    is_packed = pa.types.is_dictionary(column.type)
    return int(row_bytes(column).sum()) if is_packed else int(column.nbytes)
