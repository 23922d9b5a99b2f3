"""The terms of ProSeNet's objective (Ming et al., 2019), on squared distances (documents, K)."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["clustering_loss", "diversity_loss", "evidence_loss", "squared_distances"]


def squared_distances(documents: Tensor, prototypes: Tensor) -> Tensor:
    """Return the squared distances between rows of `documents` (n, d) and `prototypes` (K, d).

    Examples
    --------
    >>> squared_distances(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([[25.]])
    """
    squares = documents.square().sum(-1, keepdim=True) + prototypes.square().sum(-1)
    return (squares - 2 * documents @ prototypes.T).clamp_min(0)


def clustering_loss(squared: Tensor) -> Tensor:
    """Return the mean over documents of the squared distance to the nearest prototype.

    Examples
    --------
    >>> float(clustering_loss(torch.tensor([[1.0, 4.0], [9.0, 2.0]])))
    1.5
    """
    return squared.min(dim=1).values.mean()


def evidence_loss(squared: Tensor) -> Tensor:
    """Return the mean over prototypes of the squared distance to the nearest document.

    Examples
    --------
    >>> float(evidence_loss(torch.tensor([[1.0, 4.0], [9.0, 2.0]])))
    1.5
    """
    return squared.min(dim=0).values.mean()


def diversity_loss(prototypes: Tensor, d_min: float) -> Tensor:
    """Return the mean over pairs of max(0, d_min − distance)², zero where all are far apart.

    Examples
    --------
    >>> float(diversity_loss(torch.tensor([[0.0], [1.0], [9.0]]), d_min=3.0))
    1.3333...
    """
    if len(prototypes) < 2:
        return prototypes.new_zeros(())
    return (d_min - torch.pdist(prototypes)).clamp_min(0).square().mean()
