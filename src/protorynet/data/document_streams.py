"""Tables of any size as one stream of documents, in chunks and in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from protorynet.data.document_tables import (
    LoadedTable,
    blank_texts,
    choose_text_column,
    find_blank,
    find_split_rows,
    no_rows,
    require_split_column,
)
from protorynet.data.table_batches import open_standard_input, open_table, row_bytes
from protorynet.data.table_files import BLOCK_BYTES, BatchReader, find_files, one_line
from protorynet.errors import TableError, list_names

# Enough documents that sentences of one length meet in the encoder's batches.
DOCUMENTS = 4_096
TEXT_BYTES = 4_000_000

_HEAD_ROWS = 256  # by which the column of texts is guessed
_MOST_LISTED = 20
_ROW_PER_TEXT = 16  # a chunk holds that many times more of whole rows than of texts


def open_stream(
    inputs: Sequence[str],
    *,
    text: str | None = None,
    split: str | None = None,
    skip_empty: bool = False,
    kind: str | None = None,
    standard_input: BinaryIO | None = None,
) -> TableStream:
    """Open files, folders, patterns, or ``"-"`` alone as one stream of documents.

    `kind` and `standard_input` say what ``"-"`` stands for; the rest is as for `TableStream`.
    """
    if "-" not in inputs:
        readers = [open_table(path) for path in find_files(inputs)]
    elif len(inputs) > 1:
        raise TableError("'-' (standard input) cannot be read together with other inputs.")
    elif standard_input is None:
        raise TableError("'-' means standard input, but it is closed; name a file instead.")
    else:
        readers = [open_standard_input(standard_input, kind)]
    return TableStream(readers, text=text, split=split, skip_empty=skip_empty)


@dataclass(frozen=True)
class Chunk:
    """Some documents that follow each other in a stream of tables."""

    batch: pa.RecordBatch
    rows: NDArray[np.int64]  # counted from 0 through all tables
    first: int  # it stands for the rows from here to `stop`, those left out included
    stop: int


class TableStream:
    """One or several tables of the same columns as one stream of documents, in bounded chunks.

    Where a chunk ends depends on the rows alone, so reading on from the end of one gives the same
    chunks as reading from the beginning. Files are read through beforehand, so that what is wrong
    with them shows before any work is done, and `n_rows` and `n_documents` are known; they are
    None for standard input. `notes` tells of guesses and of rows left out.
    """

    def __init__(
        self,
        tables: Sequence[BatchReader],
        *,
        text: str | None = None,
        split: str | None = None,
        skip_empty: bool = False,
    ) -> None:
        mixed = dict.fromkeys(name for table in tables for name in table.mixed)
        notes = [f"column {n!r} mixes values of several kinds and is left out" for n in mixed]
        self._tables = list(tables)
        self.n_tables = len(tables)
        self.n_rows: int | None = None
        self.n_documents: int | None = None
        self.n_blank = 0
        self._table_rows: list[int] = []
        self._text_bytes = 0
        self.skip_empty = skip_empty
        self.schema = _common_schema(self._tables)
        head = self._read_head()
        self.text_column = choose_text_column(head, text, None, notes)
        self._split = split
        self._split_column = require_split_column(head, split) if split is not None else ""
        if self._tables[0].head is None:
            self._read_through(notes)
        self.notes = tuple(notes)

    @property
    def is_small(self) -> bool:
        """Whether it is known to make a single chunk."""
        is_short = self.n_documents is not None and self.n_documents <= DOCUMENTS
        return is_short and self._text_bytes <= TEXT_BYTES

    def locate(self, rows: Sequence[int]) -> list[tuple[str, int]]:
        """Return the name of the table in which each row stands, and its number there."""
        ends = np.cumsum([0, *self._table_rows[:-1]])
        owners = np.searchsorted(ends, rows, side="right") - 1
        return [
            (self._tables[owner].name, int(row - ends[owner]))
            for owner, row in zip(owners.tolist(), rows, strict=True)
        ]

    def chunks(
        self, *, first: int = 0, documents: int = DOCUMENTS, text_bytes: int = TEXT_BYTES
    ) -> Iterator[Chunk]:
        """Yield the documents from row `first` on, which should be where a chunk ended.

        A chunk holds at most so many documents and bytes of text; a document with more bytes is a
        chunk of its own.
        """
        pieces: list[tuple[pa.RecordBatch, NDArray[np.int64]]] = []
        n_documents = n_bytes = 0
        stop = first
        for position, table, batch in self._batches(first):
            wanted, blank = self._find_wanted(batch)
            if blank.any() and not self.skip_empty:
                rows = (position + np.flatnonzero(blank)).tolist()
                raise blank_texts(table.name, self.text_column, batch.num_rows, rows)
            self.n_blank += int(blank.sum())
            kept = np.flatnonzero(wanted & ~blank)
            # A share of the row where the rest is far more, so that pictures do not fill memory.
            whole = np.sum([row_bytes(column) for column in batch.columns], axis=0, dtype=np.int64)
            of_text = row_bytes(batch.column(self.text_column))
            sizes = np.maximum(of_text, whole // _ROW_PER_TEXT)[kept]
            while len(kept):
                together = np.cumsum(sizes[: documents - n_documents])
                fitting = int(np.searchsorted(together, text_bytes - n_bytes, side="right"))
                if not fitting and pieces:
                    stop = position + int(kept[0])
                    yield _join(pieces, first, stop)
                    pieces, n_documents, n_bytes, first = [], 0, 0, stop
                    continue
                fitting = max(1, fitting)
                is_whole = fitting == batch.num_rows
                some = batch if is_whole else batch.take(pa.array(kept[:fitting]))
                pieces.append((some, position + kept[:fitting]))
                n_documents, n_bytes = n_documents + fitting, n_bytes + int(sizes[:fitting].sum())
                kept, sizes = kept[fitting:], sizes[fitting:]
            stop = position + batch.num_rows
        if pieces:
            yield _join(pieces, first, stop)

    def _find_wanted(
        self, batch: pa.RecordBatch, splits: dict[str, None] | None = None
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Say which rows are asked for, and which of those have no text; note some splits."""
        wanted = np.ones(batch.num_rows, np.bool_)
        if self._split is not None:
            wanted, there = find_split_rows(batch.column(self._split_column), self._split)
            if splits is not None and len(splits) < _MOST_LISTED:
                splits.update(dict.fromkeys(there))
        return wanted, wanted & find_blank(batch.column(self.text_column))

    def _batches(self, first: int) -> Iterator[tuple[int, BatchReader, pa.RecordBatch]]:
        position = 0
        for number, table in enumerate(self._tables):
            n_rows = self._table_rows[number] if self.n_rows is not None else None
            skip = max(0, first - position)
            if n_rows is not None and skip >= n_rows:
                position += n_rows
                continue
            beginning = position
            position += skip
            for batch in table.batches(skip):
                yield position, table, _conform(batch, self.schema, table.name)
                position += batch.num_rows
            if n_rows not in (None, position - beginning):
                raise TableError(
                    f"{table.name} was changed while it was read: it had {n_rows:,} rows, and now "
                    f"has {position - beginning:,}. Run the command again when it is complete."
                )

    def _read_head(self) -> LoadedTable:
        table = self._tables[0]
        first = list(table.head or ())
        for _, _, batch in self._batches(0) if table.head is None else ():
            first.append(batch)
            n_rows, n_bytes = sum(b.num_rows for b in first), sum(b.nbytes for b in first)
            if n_rows >= _HEAD_ROWS or n_bytes >= BLOCK_BYTES:
                break
        if table.head == ():
            raise no_rows(table.name)
        return LoadedTable(table.name, pa.Table.from_batches(first, self.schema), table.mixed)

    def _read_through(self, notes: list[str]) -> None:
        """Read all tables, so that whatever is wrong in any column shows before any work."""
        n_wanted = n_blank = 0
        splits: dict[str, None] = {}
        for table in self._tables:
            n_rows, wanted_before, blank_before = 0, n_wanted, n_blank
            blank_rows: list[int] = []
            for found in table.batches(0):
                batch = _conform(found, self.schema, table.name)
                wanted, blank = self._find_wanted(batch, splits)
                if len(blank_rows) < _MOST_LISTED:
                    blank_rows += (n_rows + np.flatnonzero(blank)).tolist()
                n_rows += batch.num_rows
                n_wanted += int(wanted.sum())
                n_blank += int(blank.sum())
                self._text_bytes += int(row_bytes(batch.column(self.text_column)).sum())
            if blank_rows and not self.skip_empty:
                counts = n_wanted - wanted_before, blank_rows, n_blank - blank_before
                raise blank_texts(table.name, self.text_column, *counts)
            self._table_rows.append(n_rows)
        self.n_rows, self.n_documents = sum(self._table_rows), n_wanted - n_blank
        others = f" and {self.n_tables - 1:,} more" if self.n_tables > 1 else ""
        name = f"{self._tables[0].name}{others}"
        if not self.n_rows:
            raise no_rows(name)
        if self._split is not None:
            if not n_wanted:
                there = list_names(sorted(splits))
                raise TableError(f"{name} has no split {self._split!r}; it has {there}.")
            notes.append(
                f"using the {n_wanted:,} rows with split {self._split!r} of {self.n_rows:,}"
            )
        if not self.n_documents:
            raise TableError(f"no row of {name} has text in column {self.text_column!r}.")
        if n_blank:
            notes.append(f"skipped {n_blank:,} of {n_wanted:,} rows without text")


def _join(pieces: list[tuple[pa.RecordBatch, NDArray[np.int64]]], first: int, stop: int) -> Chunk:
    table = pa.Table.from_batches([batch for batch, _ in pieces])
    [batch] = table.unify_dictionaries().combine_chunks().to_batches()
    return Chunk(batch, np.concatenate([rows for _, rows in pieces]), first, stop)


def _common_schema(tables: Sequence[BatchReader]) -> pa.Schema:
    first = tables[0]
    common = _widen_categories(first.schema)
    for table in tables[1:]:
        if set(table.schema.names) != set(common.names):
            raise TableError(
                f"{table.name} has the columns {list_names(table.schema.names)}, but {first.name} "
                f"has {list_names(common.names)}; the tables of one run should have the same "
                "columns. Predict them one by one."
            )
        ordered = _widen_categories(pa.schema([table.schema.field(name) for name in common.names]))
        try:
            common = pa.unify_schemas([common, ordered], promote_options="permissive")
        except pa.ArrowException:
            differing = next(f for f in common if f.type != ordered.field(f.name).type)
            raise TableError(
                f"column {differing.name!r} holds {table.schema.field(differing.name).type} in "
                f"{table.name}, but {differing.type} before. Predict the tables one by one."
            ) from None
    return common


def _widen_categories(schema: pa.Schema) -> pa.Schema:
    """Give categories the room that those of all tables and row groups together may need."""
    for number, column in enumerate(schema):
        if pa.types.is_dictionary(column.type):
            kind = pa.dictionary(pa.int32(), column.type.value_type, column.type.ordered)
            schema = schema.set(number, column.with_type(kind))
    return schema


def _conform(batch: pa.RecordBatch, schema: pa.Schema, name: str) -> pa.RecordBatch:
    if batch.schema.equals(schema, check_metadata=True):
        return batch
    columns = []
    for column in schema:
        values = batch.column(column.name)
        try:
            columns.append(values if values.type == column.type else values.cast(column.type))
        except pa.ArrowException as error:
            raise TableError(
                f"column {column.name!r} of {name} holds {values.type} that {column.type}, which "
                f"another table needs, cannot hold ({one_line(error)}). Predict the tables one by "
                "one."
            ) from None
    return pa.RecordBatch.from_arrays(columns, schema=schema)
