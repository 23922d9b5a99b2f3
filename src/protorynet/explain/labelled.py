"""Documents with their labels, prepared for a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protorynet.data import Sentences
from protorynet.encoders import Embeddings

__all__ = ["LabelledDocuments"]


@dataclass(frozen=True)
class LabelledDocuments:
    """Documents of one split, prepared for a model.

    Parameters
    ----------
    texts
        The original texts, those without a sentence included.
    rows
        Where each stands in its table, counted from 0.
    sentences, embeddings
        Their sentences, and the encoder's vectors of these.
    targets
        One-hot or multi-hot labels, a row per text.
    """

    texts: Sequence[str]
    rows: NDArray[np.int64]
    sentences: Sentences
    embeddings: Embeddings
    targets: NDArray[np.float32]
