"""Training documents as tensors, and the batches made of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

_SHUFFLED_TOGETHER = 32  # batches whose documents are sorted by length together


@dataclass(frozen=True)
class Batch:
    """Some documents of a `Corpus`."""

    index: Tensor
    lengths: Tensor
    targets: Tensor
    document: Tensor  # for each sentence, the position of its document in the batch
    # Known without asking a GPU for them: `index` itself, and sentences of the longest document.
    numbers: NDArray[np.int64]
    longest: int
    weights: Tensor | None = None  # of the documents

    def weights_of(self, document: Tensor) -> Tensor | None:
        """Return the weights of sentences, given the positions of their documents."""
        return None if self.weights is None else self.weights[document]


@dataclass(frozen=True)
class Corpus:
    """Documents as indices of distinct sentences."""

    index: Tensor  # of every sentence among the distinct ones
    lengths: Tensor  # sentences per document
    targets: Tensor  # one-hot or multi-hot labels, (documents, C)
    weights: Tensor | None = None  # of the documents in the loss, 1 on average; None: all alike

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def document_of(self) -> Tensor:
        """The position of the document of every sentence."""
        each = torch.arange(len(self), device=self.lengths.device)
        return torch.repeat_interleave(each, self.lengths)

    def subset(self, documents: NDArray[np.int64]) -> Corpus:
        """Return some of the documents; the distinct sentences are shared."""
        chosen = self.batch(documents)
        return Corpus(chosen.index, chosen.lengths, chosen.targets, chosen.weights)

    def batches(
        self, size: int, random: np.random.Generator, *, most_sentences: int = 32_768
    ) -> list[NDArray[np.int64]]:
        """Return all documents once, in random batches of like length.

        A batch has at most `size` documents and `most_sentences`, padding included; a document
        with more is a batch of its own.
        """
        lengths = self._lengths
        order = random.permutation(len(lengths))
        batches = []
        for start in range(0, len(order), size * _SHUFFLED_TOGETHER):
            part = order[start : start + size * _SHUFFLED_TOGETHER]
            part = part[np.argsort(lengths[part], kind="stable")]
            batches += _cut(part, lengths, size, most_sentences)
        return [batches[position] for position in random.permutation(len(batches))]

    def batch(self, documents: NDArray[np.int64]) -> Batch:
        """Return some of the documents as tensors."""
        device = self.lengths.device
        lengths = self._lengths[documents]
        numbers = self._index[consecutive(self._starts[documents], lengths)]
        chosen = send(documents, device)
        return Batch(
            send(numbers, device),
            self.lengths[chosen],
            self.targets[chosen],
            send(np.repeat(np.arange(len(lengths)), lengths), device),
            numbers,
            int(lengths.max()),
            None if self.weights is None else self.weights[chosen],
        )

    @cached_property
    def _index(self) -> NDArray[np.int64]:
        index: NDArray[np.int64] = self.index.cpu().numpy()
        return index

    @cached_property
    def _lengths(self) -> NDArray[np.int64]:
        lengths: NDArray[np.int64] = self.lengths.cpu().numpy()
        return lengths

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.cumsum(self._lengths) - self._lengths


def send(numbers: NDArray[np.int64], device: torch.device) -> Tensor:
    """Return numbers as a tensor on a device; nothing waits for a GPU to take them."""
    tensor = torch.from_numpy(numbers)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor


def consecutive(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return runs of consecutive numbers: starts 5, 0 of lengths 3, 2 give 5, 6, 7, 0, 1."""
    runs: NDArray[np.int64] = np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
    return runs + np.arange(len(runs))


def _cut(
    documents: NDArray[np.int64], lengths: NDArray[np.int64], size: int, most_sentences: int
) -> list[NDArray[np.int64]]:
    """Cut documents sorted by length into batches bounded in documents and padded sentences."""
    groups, start = [], 0
    while start < len(documents):
        stop = start + 1
        while (
            stop < len(documents)
            and stop - start < size
            and (stop - start + 1) * lengths[documents[stop]] <= most_sentences
        ):
            stop += 1
        groups.append(documents[start:stop])
        start = stop
    return groups
