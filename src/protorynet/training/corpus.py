"""Training documents as tensors, and the batches made of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["Batch", "Corpus"]

_PADDED_STEPS = 32_768  # most sentences of a batch, padding included
_SHUFFLED_TOGETHER = 32  # batches whose documents are sorted by length together


@dataclass(frozen=True)
class Batch:
    """Some documents: rows of their sentences, their lengths and their targets."""

    rows: Tensor
    lengths: Tensor
    targets: Tensor


@dataclass(frozen=True)
class Corpus:
    """Documents as rows of base embeddings.

    Parameters
    ----------
    base
        Base embeddings of the distinct sentences, (m, d).
    rows
        Row of `base` of every sentence.
    lengths
        Sentences per document.
    targets
        One-hot or multi-hot labels, (documents, C).
    """

    base: Tensor
    rows: Tensor
    lengths: Tensor
    targets: Tensor

    def __len__(self) -> int:
        return len(self.lengths)

    def subset(self, documents: NDArray[np.int64]) -> Corpus:
        """Return some of the documents; the base embeddings are shared."""
        chosen = torch.from_numpy(documents).to(self.lengths.device)
        rows = self.rows[self._places(chosen)]
        return Corpus(self.base, rows, self.lengths[chosen], self.targets[chosen])

    def batches(self, size: int, random: np.random.Generator) -> Iterator[Batch]:
        """Yield all documents once in random batches of like length."""
        lengths = self.lengths.cpu().numpy()
        order = random.permutation(len(lengths))
        groups = []
        for start in range(0, len(order), size * _SHUFFLED_TOGETHER):
            part = order[start : start + size * _SHUFFLED_TOGETHER]
            part = part[np.argsort(lengths[part], kind="stable")]
            groups += _cut(part, lengths, size)
        for group in random.permutation(len(groups)):
            documents = torch.from_numpy(groups[group]).to(self.lengths.device)
            yield Batch(
                self.rows[self._places(documents)], self.lengths[documents], self.targets[documents]
            )

    def _places(self, documents: Tensor) -> Tensor:
        """Return the positions of the documents' sentences among all sentences."""
        starts = torch.cumsum(self.lengths, 0) - self.lengths
        lengths = self.lengths[documents]
        first = torch.repeat_interleave(starts[documents], lengths)
        inside = torch.arange(len(first), device=lengths.device)
        before = torch.repeat_interleave(torch.cumsum(lengths, 0) - lengths, lengths)
        return first + inside - before


def _cut(
    documents: NDArray[np.int64], lengths: NDArray[np.int64], size: int
) -> list[NDArray[np.int64]]:
    """Cut documents sorted by length into batches bounded in documents and padded sentences."""
    groups, start = [], 0
    while start < len(documents):
        stop = start + 1
        while (
            stop < len(documents)
            and stop - start < size
            and (stop - start + 1) * lengths[documents[stop]] <= _PADDED_STEPS
        ):
            stop += 1
        groups.append(documents[start:stop])
        start = stop
    return groups
