"""The sparsity transformation: each sentence keeps the similarity to one prototype only."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from protorynet.settings import Selection

__all__ = ["active_prototype", "select"]


def active_prototype(distances: Tensor) -> Tensor:
    """Return the index of the nearest prototype of each row; the lowest index among equals."""
    return distances.argmin(dim=-1)


def select(
    distances: Tensor,
    similarities: Tensor,
    selection: Selection,
    *,
    gamma: float = 1e6,
    temperature: float = 0.1,
) -> Tensor:
    """Turn the similarity matrix (n, K) into what the reader sees.

    ``"paper"`` multiplies it by Softmax(γ·s), which is almost one-hot; its gradient reaches the
    chosen similarity but not the choice. ``"straight_through"`` is one-hot exactly and lets the
    gradient of Softmax(−d² / temperature) decide the choice. ``"dense"`` changes nothing.

    Examples
    --------
    >>> d = torch.tensor([[0.5, 2.0]])
    >>> select(d, torch.exp(-d), "straight_through")
    tensor([[0.6065, 0.0000]])
    """
    if selection == "dense":
        return similarities
    if selection == "paper":
        return torch.softmax(gamma * similarities, dim=-1) * similarities
    chosen = active_prototype(distances)
    hard = functional.one_hot(chosen, distances.shape[-1]).to(similarities.dtype)
    soft = torch.softmax(-distances.square() / temperature, dim=-1)
    return (hard + soft - soft.detach()) * similarities
