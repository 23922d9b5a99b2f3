"""Which rows of a table are documents, and how large they are."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from protorynet.data.columns import plain_column
from protorynet.data.conforming import conformed
from protorynet.data.record_batches import BatchedTable
from protorynet.data.row_sizes import row_bytes
from protorynet.data.sources import Loaded

__all__ = ["Counts", "WantedRows"]

_SHOWN = 20
_ROW_PER_TEXT = 16  # a chunk holds that many times more of whole rows than of texts


@dataclass
class Counts:
    """What a first reading of one table found."""

    n_rows: int = 0
    n_wanted: int = 0
    n_blank: int = 0
    text_bytes: int = 0
    blank_rows: list[int] = field(default_factory=list)
    splits: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class WantedRows:
    """What makes a row one of the documents.

    Parameters
    ----------
    text
        The column of texts.
    split_column, split
        The column that names splits, and the split asked for; None for all rows.

    Examples
    --------
    >>> batch = pa.record_batch({"text": ["Good.", " ", "Bad."], "split": ["a", "a", "b"]})
    >>> wanted, blank = WantedRows("text", "split", "a").judged(batch)
    >>> wanted.tolist(), blank.tolist()
    ([True, True, False], [False, True, False])
    """

    text: str
    split_column: str | None = None
    split: str | None = None

    def judged(self, batch: pa.RecordBatch) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Say which rows are asked for, and which of those have no text."""
        loaded = Loaded("", pa.Table.from_batches([batch]))
        wanted = np.ones(batch.num_rows, np.bool_)
        if self.split_column is not None:
            values = pc.cast(plain_column(loaded, self.split_column), pa.large_string())
            wanted = pc.fill_null(pc.equal(values, self.split), False).to_numpy()
        texts = plain_column(loaded, self.text).to_pylist()
        blank = np.array([not text or text.isspace() for text in texts], np.bool_)
        return wanted, blank & wanted

    def sizes(self, batch: pa.RecordBatch) -> NDArray[np.int64]:
        """Return the bytes of each row's text, or a share of the row where the rest is far more.

        So rows with pictures in them do not fill the memory.
        """
        whole = np.sum([row_bytes(column) for column in batch.columns], axis=0, dtype=np.int64)
        sizes: NDArray[np.int64] = np.maximum(
            row_bytes(batch.column(self.text)), whole // _ROW_PER_TEXT
        )
        return sizes

    def counted(self, table: BatchedTable, schema: pa.Schema) -> Counts:
        """Read a table through, so that whatever is wrong in any column shows before any work."""
        counts = Counts()
        for found in table.batches():
            batch = conformed(found, schema, table.name)
            wanted, blank = self.judged(batch)
            if counts.n_blank < _SHOWN:
                counts.blank_rows += (counts.n_rows + np.flatnonzero(blank)).tolist()
            if self.split_column is not None and len(counts.splits) < _SHOWN:
                there = pc.unique(batch.column(self.split_column)).to_pylist()
                counts.splits |= {str(name) for name in there if name is not None}
            counts.n_rows += batch.num_rows
            counts.n_wanted += int(wanted.sum())
            counts.n_blank += int(blank.sum())
            counts.text_bytes += int(row_bytes(batch.column(self.text)).sum())
        return counts
