"""What a model says of some texts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Scores"]


@dataclass(frozen=True)
class Scores:
    """Probabilities and trajectories of some texts.

    A text without a sentence has neither; the others follow each other in their order.

    Parameters
    ----------
    probabilities
        One row per text that holds a sentence, one column per class.
    columns
        Column of the prototype of every sentence, one text after another.
    lengths
        Number of sentences of each of those texts.
    filled
        Which of the texts given hold a sentence.
    """

    probabilities: NDArray[np.float32]
    columns: NDArray[np.int64]
    lengths: NDArray[np.int64]
    filled: NDArray[np.bool_]

    @classmethod
    def empty(cls, n_texts: int, n_classes: int) -> Scores:
        """Return the scores of texts of which none holds a sentence.

        Examples
        --------
        >>> Scores.empty(2, n_classes=3).probabilities.shape
        (0, 3)
        """
        none = np.zeros(0, np.int64)
        probabilities = np.zeros((0, n_classes), np.float32)
        return cls(probabilities, none, none, np.zeros(n_texts, np.bool_))
