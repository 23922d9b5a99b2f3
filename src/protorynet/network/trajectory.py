"""What the network says of documents, as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Prediction", "Trajectory"]


@dataclass(frozen=True)
class Trajectory:
    """The active prototypes of all sentences of a list of documents.

    Parameters
    ----------
    columns
        Column of the active prototype of each sentence.
    similarities
        Similarity of each sentence to its active prototype.
    runner_up, runner_up_similarities
        The same for the second-nearest prototype; equal to the first where there is only one.
    lengths
        Number of sentences of each document.
    dense
        The similarities to all prototypes, (sentences, K), where the reader sees them all (the
        ablation `selection="dense"`); None where it sees the active one only.
    """

    columns: NDArray[np.int64]
    similarities: NDArray[np.float32]
    runner_up: NDArray[np.int64]
    runner_up_similarities: NDArray[np.float32]
    lengths: NDArray[np.int64]
    dense: NDArray[np.float32] | None = None

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each document starts among the sentences; one more than there are documents."""
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)

    def take(self, places: NDArray[np.int64], lengths: NDArray[np.int64]) -> Trajectory:
        """Return documents of these lengths made of the sentences at these places."""
        return Trajectory(
            self.columns[places],
            self.similarities[places],
            self.runner_up[places],
            self.runner_up_similarities[places],
            lengths,
            None if self.dense is None else self.dense[places],
        )

    def columns_used(self, k: int) -> NDArray[np.bool_]:
        """Say for each of `k` prototypes whether it is active anywhere."""
        return np.bincount(self.columns, minlength=k) > 0

    def with_full_similarity(self) -> Trajectory:
        """Return the trajectory with every similarity replaced by 1: the prototype ids alone."""
        ones = np.ones_like(self.similarities)
        return Trajectory(self.columns, ones, self.runner_up, ones, self.lengths)


@dataclass(frozen=True)
class Prediction:
    """Probabilities for a list of documents.

    Parameters
    ----------
    probabilities
        One row per document, one column per class.
    running
        One row per sentence: the probabilities after reading up to and including it.
    """

    probabilities: NDArray[np.float32]
    running: NDArray[np.float32]
