"""Distances between sentence embeddings and prototypes."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from protorynet.settings import Distance

__all__ = ["pairwise_distance", "similarity"]

# Below this squared distance two vectors count as equal; the square root has no gradient at zero.
_TINY = 1e-12


def pairwise_distance(a: Tensor, b: Tensor, metric: Distance = "euclidean") -> Tensor:
    """Return the distances between all rows of `a` (n, d) and of `b` (k, d), as (n, k).

    Examples
    --------
    >>> pairwise_distance(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """
    if metric == "cosine":
        return 1 - functional.normalize(a, dim=-1) @ functional.normalize(b, dim=-1).T
    squared = a.square().sum(-1, keepdim=True) + b.square().sum(-1) - 2 * a @ b.T
    return squared.clamp_min(_TINY).sqrt()


def similarity(distance: Tensor, psi_squared: float) -> Tensor:
    """Return exp(−d / ψ²), the paper's proximity of a sentence to a prototype."""
    return torch.exp(-distance / psi_squared)
