"""Sentences laid end to end for a transformer, so that no token is padding."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["Packing", "can_pack", "packed_attention"]

_NAME = "protorynet_packed"
# Sentences are compared in groups of like length where there is no kernel for uneven ones.
_PADDING_SHARE = 0.2


@dataclass(frozen=True)
class Packing:
    """Where each sentence lies in a row of tokens.

    Parameters
    ----------
    lengths
        Tokens of each sentence, in the order in which they lie.
    longest, total
        No sentence has more tokens; tokens of all sentences. Given, so that nothing has to wait
        for a GPU to tell them.
    """

    lengths: Tensor
    longest: int
    total: int

    @cached_property
    def bounds(self) -> Tensor:
        """Where each sentence starts, and the end of the last one."""
        return functional.pad(self.lengths.cumsum(0, dtype=torch.int32), (1, 0))

    @cached_property
    def positions(self) -> Tensor:
        """Place of each token in its sentence."""
        starts = self.bounds[:-1].repeat_interleave(self.lengths, output_size=self.total)
        return torch.arange(self.total, device=starts.device) - starts

    @cached_property
    def groups(self) -> list[tuple[Tensor, Tensor]]:
        """Sentences of like length: the places of their tokens, padded, and which are real."""
        order = torch.argsort(self.lengths, stable=True)
        lengths = self.lengths[order].tolist()
        groups, start = [], 0
        while start < len(lengths):
            stop, tokens = start, 0
            while stop < len(lengths):
                tokens += lengths[stop]
                padded = (stop + 1 - start) * lengths[stop]
                if padded - tokens > _PADDING_SHARE * padded:
                    break
                stop += 1
            rows = order[start:stop]
            inside = torch.arange(lengths[stop - 1], device=rows.device)
            real = inside < self.lengths[rows, None]
            groups.append((torch.where(real, self.bounds[rows, None] + inside, 0), real))
            start = stop
        return groups


def can_pack(backbone: nn.Module) -> bool:
    """Say whether a transformer can read packed sentences: BERT and its many descendants."""
    config: Any = backbone.config
    return bool(config.model_type == "bert" and not config.is_decoder)


@contextmanager
def packed_attention(backbone: nn.Module) -> Iterator[None]:
    """Let a transformer attend within packed sentences only, for as long as the context lasts."""
    from transformers import AttentionInterface

    AttentionInterface.register(_NAME, _attend)
    config: Any = backbone.config
    usual = config._attn_implementation
    config._attn_implementation = _NAME
    try:
        yield
    finally:
        config._attn_implementation = usual


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: None,
    *,
    scaling: float,
    packing: Packing,
    **_: Any,
) -> tuple[Tensor, None]:
    """Attend within sentences; all tensors are (1, heads, tokens, size)."""
    q, k, v = (tensor[0].transpose(0, 1) for tensor in (query, key, value))
    if query.is_cuda and query.dtype in (torch.bfloat16, torch.float16):
        from torch.nn.attention.varlen import varlen_attn

        bounds, longest = packing.bounds, packing.longest
        result = varlen_attn(q, k, v, bounds, bounds, longest, longest, scale=scaling)
        assert isinstance(result, Tensor)
        return result[None], None
    result = torch.empty_like(v)
    for places, real in packing.groups:
        padded = [tensor[places].transpose(1, 2) for tensor in (q, k, v)]
        group = functional.scaled_dot_product_attention(
            padded[0], padded[1], padded[2], real[:, None, None], scale=scaling
        )
        result = result.index_copy(0, places[real], group.transpose(1, 2)[real])
    return result[None], None
