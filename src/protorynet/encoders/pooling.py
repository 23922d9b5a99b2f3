"""The network from token ids to sentence embeddings."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from protorynet.encoders.packing import Packing, can_pack, packed_attention

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
        output = self.backbone(input_ids=input_ids, attention_mask=attention_mask, return_dict=True)
        tokens: Tensor = output.last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(tokens.dtype)
        pooled = torch.cat([_pool(mode, tokens, mask) for mode in self.pooling], dim=-1)
        result: Tensor = self.heads(pooled)
        return result

    def forward_packed(self, tokens: Tensor, lengths: Tensor, longest: int) -> Tensor:
        """Return one embedding per sentence of a row of tokens without padding.

        The same as `forward`, but nothing is computed for padding, and a few large matrix
        products take the place of many small ones.

        Parameters
        ----------
        tokens
            Token ids of all sentences, one sentence after the other.
        lengths
            Tokens of each sentence; none without any.
        longest
            The most tokens that any of them may have.
        """
        packing = Packing(lengths, longest, len(tokens))
        if not can_pack(self.backbone):
            inside = torch.arange(int(lengths.max()), device=tokens.device) < lengths[:, None]
            ids = torch.zeros(inside.shape, dtype=tokens.dtype, device=tokens.device)
            return self.forward(ids.masked_scatter(inside, tokens), inside.long())
        with packed_attention(self.backbone):
            output = self.backbone(
                input_ids=tokens[None],
                position_ids=packing.positions[None],
                packing=packing,
                return_dict=True,
            )
        states = output.last_hidden_state[0].float()
        pooled = torch.cat([_pool_packed(mode, states, packing) for mode in self.pooling], dim=-1)
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


def _pool_packed(mode: str, states: Tensor, packing: Packing) -> Tensor:
    if mode == "cls":
        return states[packing.bounds[:-1]]
    if mode == "mean_sqrt_len":
        root = packing.lengths.sqrt()[:, None]
        return root * _pool_packed("mean", states, packing)
    return torch.segment_reduce(states, mode, lengths=packing.lengths, axis=0, unsafe=True)
