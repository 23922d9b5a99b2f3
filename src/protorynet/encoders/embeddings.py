"""Embeddings of sentences, each distinct sentence stored once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Embeddings"]


@dataclass(frozen=True)
class Embeddings:
    """Vectors of the distinct sentences, and which vector belongs to each sentence.

    Parameters
    ----------
    vectors
        One float32 row per distinct sentence.
    rows
        For each sentence of the corpus, its row in `vectors`.
    """

    vectors: NDArray[np.float32]
    rows: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def dimension(self) -> int:
        """Number of components of a vector."""
        return int(self.vectors.shape[1])
