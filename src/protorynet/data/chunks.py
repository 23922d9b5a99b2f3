"""Cutting a stream of rows into chunks of documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["DOCUMENTS", "TEXT_BYTES", "Chunk", "GrowingChunk"]

# Enough documents that sentences of one length meet in the encoder's batches.
DOCUMENTS = 4_096
TEXT_BYTES = 4_000_000


@dataclass(frozen=True)
class Chunk:
    """Some documents that follow each other in a stream of tables.

    Parameters
    ----------
    batch
        Their rows, with all columns.
    rows
        Position of each of them, counted from 0 through all tables.
    first, stop
        The rows of the stream that the chunk stands for, those left out included.
    """

    batch: pa.RecordBatch
    rows: NDArray[np.int64]
    first: int
    stop: int


class GrowingChunk:
    """A chunk in the making."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._pieces: list[pa.RecordBatch] = []
        self._rows: list[NDArray[np.int64]] = []
        self._text_bytes = 0
        self.n_documents = 0

    def fitting(self, sizes: NDArray[np.int64], documents: int, text_bytes: int) -> int:
        """Return how many of the next documents fit; the first one always does."""
        room = documents - self.n_documents
        together = np.cumsum(sizes[:room])
        fitting = int(np.searchsorted(together, text_bytes - self._text_bytes, side="right"))
        return max(fitting, 0 if self.n_documents else 1)

    def add(
        self,
        batch: pa.RecordBatch,
        position: int,
        kept: NDArray[np.int64],
        sizes: NDArray[np.int64],
    ) -> None:
        """Take some rows of a batch, which begins at a position of the stream."""
        whole = len(kept) == batch.num_rows
        self._pieces.append(batch if whole else batch.take(pa.array(kept)))
        self._rows.append(position + kept)
        self._text_bytes += int(sizes.sum())
        self.n_documents += len(kept)

    def chunk(self, stop: int) -> Chunk:
        """Return what has been taken, for the rows of the stream up to `stop`."""
        table = pa.Table.from_batches(self._pieces).unify_dictionaries().combine_chunks()
        [batch] = table.to_batches()
        return Chunk(batch, np.concatenate(self._rows), self._first, stop)
