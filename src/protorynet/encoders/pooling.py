"""The network from token ids to sentence embeddings."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

__all__ = ["Dense", "Normalize", "SentenceNetwork"]


class Dense(nn.Module):
    """A linear layer with an activation, as sentence-transformers stores it."""

    def __init__(self, in_features: int, out_features: int, bias: bool, activation: str) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, out_features, bias=bias)
        self.activation: nn.Module = {"Tanh": nn.Tanh, "Identity": nn.Identity}[activation]()

    def forward(self, vectors: Tensor) -> Tensor:
        """Return the vectors after the layer."""
        result: Tensor = self.activation(self.linear(vectors))
        return result


class Normalize(nn.Module):
    """Scale each vector to length 1."""

    def forward(self, vectors: Tensor) -> Tensor:
        """Return the vectors at length 1."""
        return nn.functional.normalize(vectors, dim=-1)


class SentenceNetwork(nn.Module):
    """A transformer, the pooling of its token vectors, and what follows.

    Parameters
    ----------
    backbone
        The transformer.
    pooling
        One or several of cls, max, mean and mean_sqrt_len; the results are joined.
    heads
        Modules applied to the pooled vectors, in order.
    """

    def __init__(
        self, backbone: nn.Module, pooling: tuple[str, ...], heads: Iterable[nn.Module]
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.pooling = pooling
        self.heads = nn.Sequential(*heads)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return one embedding per row of token ids; the mask is 0 on padding."""
        output = self.backbone(input_ids=input_ids, attention_mask=attention_mask)
        tokens: Tensor = output.last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(tokens.dtype)
        pooled = torch.cat([_pool(mode, tokens, mask) for mode in self.pooling], dim=-1)
        result: Tensor = self.heads(pooled)
        return result


def _pool(mode: str, tokens: Tensor, mask: Tensor) -> Tensor:
    if mode == "cls":
        return tokens[:, 0]
    if mode == "max":
        return tokens.masked_fill(mask == 0, float("-inf")).amax(dim=1)
    total = (tokens * mask).sum(dim=1)
    count = mask.sum(dim=1).clamp(min=1.0)
    return total / (count if mode == "mean" else count.sqrt())
