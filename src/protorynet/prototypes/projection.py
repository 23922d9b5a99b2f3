"""Projection of prototype vectors onto real sentences."""

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from protorynet.network import pairwise_distance
from protorynet.settings import Distance

_SENTENCES_PER_BLOCK = 16_384  # compared with all prototypes at once


@torch.inference_mode()
def project(
    prototypes: Tensor, sentences: Tensor | Iterable[Tensor], *, distance: Distance = "euclidean"
) -> NDArray[np.int64]:
    """Return the position of the nearest sentence for each prototype, never one sentence for two.

    Where two prototypes want the same sentence, the closer one gets it and the other its next
    nearest. Sentences (n, d), no two of the same text, may come in blocks, one after the other.
    """
    # K nearest sentences are enough: the other K − 1 prototypes can take at most K − 1 of them.
    k, start = len(prototypes), 0
    values = prototypes.new_empty((k, 0))
    positions = torch.empty((k, 0), dtype=torch.long, device=prototypes.device)
    for block in (
        torch.split(sentences, _SENTENCES_PER_BLOCK) if isinstance(sentences, Tensor) else sentences
    ):
        distances = pairwise_distance(prototypes, block, distance)
        here = torch.arange(start, start + len(block), device=prototypes.device)
        values = torch.cat([values, distances], dim=1)
        positions = torch.cat([positions, here.expand(k, -1)], dim=1)
        values, nearest = values.topk(min(k, values.shape[1]), largest=False)
        positions = positions.gather(1, nearest)
        start += len(block)
    return _assign_closest_first(values.cpu().numpy(), positions.cpu().numpy())


@torch.inference_mode()
def cluster_means(
    base: Tensor,
    embedded: Tensor,
    prototypes: Tensor,
    distance: Distance = "euclidean",
    *,
    index: Tensor | None = None,
) -> Tensor:
    """Return the mean direction, in the space of `base`, of the sentences nearest to each one.

    Sentences (n, d) and prototypes (K, d) are matched in their own space; `index` says where the
    sentences stand in `base`, if not all do. The mean of no sentence is zero.
    """
    k = len(prototypes)
    sums = base.new_zeros(k, base.shape[1])
    for start in range(0, len(embedded), _SENTENCES_PER_BLOCK):
        block = slice(start, start + _SENTENCES_PER_BLOCK)
        nearest = pairwise_distance(embedded[block], prototypes, distance).argmin(dim=1)
        here = base[block] if index is None else base[index[block]]
        # A product with one-hot vectors: the same sum in the same order on every device.
        sums += functional.one_hot(nearest, k).to(base.dtype).T @ here
    return functional.normalize(sums, dim=1)


def _assign_closest_first(
    values: NDArray[np.float32], positions: NDArray[np.int64]
) -> NDArray[np.int64]:
    k = len(values)
    chosen = np.full(k, -1, dtype=np.int64)
    taken: set[int] = set()
    for flat in np.argsort(values, axis=None, kind="stable"):
        prototype, rank = divmod(int(flat), values.shape[1])
        position = int(positions[prototype, rank])
        if chosen[prototype] < 0 and position not in taken:
            chosen[prototype] = position
            taken.add(position)
            if len(taken) == k:
                break
    return chosen
