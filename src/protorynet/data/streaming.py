"""Tables of any size, read in chunks of documents and in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from protorynet.data.blocks import BLOCK_BYTES
from protorynet.data.chunks import DOCUMENTS, TEXT_BYTES, Chunk, GrowingChunk
from protorynet.data.columns import choose_columns, is_text, plain_column, split_column
from protorynet.data.conforming import common_schema, conformed
from protorynet.data.quoting import listed, listed_rows
from protorynet.data.record_batches import BatchedTable
from protorynet.data.sources import Loaded
from protorynet.data.standard_input import ReadOnce
from protorynet.data.wanted_rows import Counts, WantedRows
from protorynet.errors import TableError

__all__ = ["TableStream"]

_HEAD_ROWS = 256  # by which the column of texts is guessed


class TableStream:
    """One or several tables as one stream of documents, in chunks of bounded size.

    Where a chunk ends depends on the rows alone, so that reading from the end of one on gives the
    same chunks as reading from the beginning.

    Parameters
    ----------
    tables
        The tables, which must have the same columns.
    text
        Name of the column of texts. Guessed from the first rows if not given, and the guess is
        told in `notes`.
    split
        Keep only the rows whose column ``split`` says so.
    skip_empty
        Leave out rows without text instead of refusing the table.
    is_read_once
        The one table is a stream that cannot be read again. Others are read through beforehand,
        so that what is wrong with them shows before any work is done.

    Attributes
    ----------
    schema
        The columns of every chunk.
    text_column
        The column of texts.
    n_rows, n_documents
        All rows, and those that are kept; None where they are not known beforehand.
    skip_empty
        Whether rows without text are left out.
    n_blank
        Rows without text that were met so far while reading chunks.
    notes
        Plain sentences for the user: columns guessed, split used, rows skipped.

    Raises
    ------
    TableError
        If a table cannot be read, a column is missing, columns differ, or a text is missing.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from protorynet.data.record_batches import open_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "reviews.csv"
    ...     _ = path.write_text("text,stars" + chr(10) + "Good.,5" + chr(10) + "Bad.,1")
    ...     stream = TableStream([open_file(path)])
    ...     [(chunk.first, chunk.stop) for chunk in stream.chunks(documents=1)]
    [(0, 1), (1, 2)]
    """

    def __init__(
        self,
        tables: Sequence[BatchedTable],
        *,
        text: str | None = None,
        split: str | None = None,
        skip_empty: bool = False,
        is_read_once: bool = False,
    ) -> None:
        notes = [
            f"column {name!r} mixes values of several kinds and is left out"
            for name in dict.fromkeys(name for table in tables for name in table.mixed)
        ]
        self._tables = [ReadOnce(tables[0])] if is_read_once else list(tables)
        self.skip_empty = skip_empty
        self._split = split
        self._counts: list[Counts] = []
        self.schema = common_schema(self._tables)
        head = self._head()
        self.text_column, _ = choose_columns(head, text, None, False, notes)
        self._check_text(head)
        self.split_column = split_column(head) if split is not None else None
        if split is not None and self.split_column is None:
            raise TableError(
                f"{head.name} has no column 'split' that names splits, so {split!r} cannot be "
                f"chosen; its columns are {listed(self.schema.names)}."
            )
        self._wanted = WantedRows(self.text_column, self.split_column, split)
        self.n_rows: int | None = None
        self.n_documents: int | None = None
        self.n_blank = 0
        if not is_read_once:
            self._read_through(notes)
        self.notes = tuple(notes)

    def chunks(
        self, *, first: int = 0, documents: int = DOCUMENTS, text_bytes: int = TEXT_BYTES
    ) -> Iterator[Chunk]:
        """Yield the documents from row `first` on, which should be where a chunk ended.

        Parameters
        ----------
        first
            The row, counted from 0 through all tables.
        documents, text_bytes
            The most documents of a chunk, and the most bytes of their texts. A longer document is
            a chunk of its own.
        """
        growing = GrowingChunk(first)
        stop = first
        for position, table, batch in self._batches(first):
            wanted, blank = self._wanted.judged(batch)
            if blank.any() and not self.skip_empty:
                rows = (position + np.flatnonzero(blank)).tolist()
                raise self._blank_error(table, len(rows), batch.num_rows, rows)
            self.n_blank += int(blank.sum())
            kept = np.flatnonzero(wanted & ~blank)
            sizes = self._wanted.sizes(batch)[kept]
            at = 0
            while at < len(kept):
                fitting = growing.fitting(sizes[at:], documents, text_bytes)
                if fitting:
                    growing.add(batch, position, kept[at : at + fitting], sizes[at : at + fitting])
                    at += fitting
                else:
                    stop = position + int(kept[at])
                    yield growing.chunk(stop)
                    growing = GrowingChunk(stop)
            stop = position + batch.num_rows
        if growing.n_documents:
            yield growing.chunk(stop)

    @property
    def n_tables(self) -> int:
        """How many tables there are."""
        return len(self._tables)

    @property
    def is_small(self) -> bool:
        """Whether it is known to make a single chunk."""
        text_bytes = sum(counts.text_bytes for counts in self._counts)
        is_known = self.n_documents is not None and self.n_documents <= DOCUMENTS
        return is_known and text_bytes <= TEXT_BYTES

    def places(self, rows: Sequence[int]) -> list[tuple[str, int]]:
        """Return the name of the table in which each row stands, and its position there."""
        ends = np.cumsum([0, *(counts.n_rows for counts in self._counts[:-1])])
        owners = np.searchsorted(ends, rows, side="right") - 1
        return [
            (self._tables[owner].name, int(row - ends[owner]))
            for owner, row in zip(owners.tolist(), rows, strict=True)
        ]

    def _batches(self, first: int) -> Iterator[tuple[int, BatchedTable, pa.RecordBatch]]:
        """Yield batches with the row at which each begins, and its table."""
        position = 0
        for number, table in enumerate(self._tables):
            n_rows = self._counts[number].n_rows if self._counts else None
            skip = max(0, first - position)
            if n_rows is not None and skip >= n_rows:
                position += n_rows
                continue
            beginning = position
            position += skip
            for batch in table.batches(skip=skip):
                yield position, table, conformed(batch, self.schema, table.name)
                position += batch.num_rows
            if n_rows not in (None, position - beginning):
                raise TableError(
                    f"{table.name} was changed while it was read: it had {n_rows:,} rows, and now "
                    f"has {position - beginning:,}. Run the command again when it is complete."
                )

    def _head(self) -> Loaded:
        table = self._tables[0]
        first: list[pa.RecordBatch] = []
        n_rows = n_bytes = 0
        for _, _, batch in self._batches(0):
            first.append(batch)
            n_rows, n_bytes = n_rows + batch.num_rows, n_bytes + batch.nbytes
            if n_rows >= _HEAD_ROWS or n_bytes >= BLOCK_BYTES:
                break
        if isinstance(table, ReadOnce) and not first:
            raise _no_rows(table.name)
        rows = pa.Table.from_batches(first, self.schema)
        return Loaded(table.name, rows, mixed=table.mixed)

    def _check_text(self, head: Loaded) -> None:
        kind = plain_column(head, self.text_column).type
        if not (is_text(kind) or pa.types.is_null(kind)):
            raise TableError(
                f"column {self.text_column!r} of {head.name} holds {kind}, not text; "
                "choose the column of texts with --text COLUMN (text=…)."
            )

    def _read_through(self, notes: list[str]) -> None:
        for table in self._tables:
            counts = self._wanted.counted(table, self.schema)
            if counts.n_blank and not self.skip_empty:
                raise self._blank_error(table, counts.n_blank, counts.n_wanted, counts.blank_rows)
            self._counts.append(counts)
        self.n_rows = sum(counts.n_rows for counts in self._counts)
        n_wanted = sum(counts.n_wanted for counts in self._counts)
        n_blank = sum(counts.n_blank for counts in self._counts)
        self.n_documents = n_wanted - n_blank
        name = _listed_names([table.name for table in self._tables])
        if not self.n_rows:
            raise _no_rows(name)
        if self._split is not None:
            if not n_wanted:
                there = sorted(set().union(*(counts.splits for counts in self._counts)))
                raise TableError(f"{name} has no split {self._split!r}; it has {listed(there)}.")
            notes.append(
                f"using the {n_wanted:,} rows with split {self._split!r} of {self.n_rows:,}"
            )
        if not self.n_documents:
            raise TableError(f"no row of {name} has text in column {self.text_column!r}.")
        if n_blank:
            notes.append(f"skipped {n_blank:,} of {n_wanted:,} rows without text")

    def _blank_error(
        self, table: BatchedTable, n_blank: int, n_rows: int, rows: list[int]
    ) -> TableError:
        return TableError(
            f"{n_blank:,} of {n_rows:,} rows of {table.name} have no text in column "
            f"{self.text_column!r}: {listed_rows(rows)} (counted from 0). Remove them, or skip "
            "them with skip_empty=True (--skip-empty)."
        )


def _listed_names(names: Sequence[str]) -> str:
    """Return the name of a table, or that of the first with the number of others."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1:,} more"


def _no_rows(name: str) -> TableError:
    return TableError(f"{name} holds no rows; expected one row per document.")
