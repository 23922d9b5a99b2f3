"""Sentences of a corpus, with their places in the original texts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

__all__ = ["Sentences"]


@dataclass(frozen=True)
class Sentences:
    """All sentences of a list of documents, in reading order.

    Parameters
    ----------
    texts
        What the encoder reads, one string per sentence.
    starts, ends
        Character offsets of each sentence in its original document.
    documents
        Index of each sentence's document; never decreasing.
    n_documents
        Number of documents. One without sentences has no index in `documents`.
    """

    texts: tuple[str, ...]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    documents: NDArray[np.int64]
    n_documents: int

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of sentences of each document."""
        return np.bincount(self.documents, minlength=self.n_documents).astype(np.int64)

    @property
    def filled(self) -> NDArray[np.bool_]:
        """Which documents hold a sentence."""
        return self.lengths > 0

    def without_empty(self) -> Sentences:
        """Renumber the documents so that those without a sentence are gone."""
        filled = self.filled
        if filled.all():
            return self
        number = np.cumsum(filled) - 1
        return replace(self, documents=number[self.documents], n_documents=int(filled.sum()))
