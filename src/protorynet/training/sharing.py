"""Several processes that read sentences as one, and learn from them as one.

Nearly all the time of full fine-tuning goes into the encoder, and an encoder reads every sentence
for itself. So one process, the lead, runs Algorithm 1 as if it were alone. Where its encoder reads
sentences, the other processes, its assistants, each read a share of them with the same weights; in
the backward pass each gets the gradient of its share, and the gradients of the weights are added
up. Every term of the loss is computed from the whole batch, by the lead, so that the gradient is
that of a single process, whatever the loss; only the noise of the encoder's dropout is drawn
anew in each process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from protorynet.encoders import SentenceNetwork
from protorynet.training.team import LEARN, STOP, Team

__all__ = ["PackedNetwork", "SharedNetwork", "assist"]


class PackedNetwork(nn.Module):
    """An encoder that reads packed sentences when it is called."""

    def __init__(self, network: SentenceNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, tokens: Tensor, lengths: Tensor, longest: int) -> Tensor:
        """Return one embedding per sentence; see `SentenceNetwork.forward_packed`."""
        return self.network.forward_packed(tokens, lengths, longest)


class SharedNetwork(SentenceNetwork):
    """An encoder whose sentences are read by a team; only the lead has one.

    Parameters
    ----------
    network
        The encoder; the shared one has the same weights, not copies of them.
    team
        Who reads. All but this process must be in `assist`.
    """

    def __init__(self, network: SentenceNetwork, team: Team) -> None:
        super().__init__(network.backbone, network.pooling, network.heads)
        self.team = team
        self._own = [PackedNetwork(network)]  # in a list: its weights are not to be counted twice
        self.train(network.training)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return one embedding per row of token ids; the mask is 0 on padding."""
        real = attention_mask.bool()
        return self.forward_packed(input_ids[real], real.sum(dim=1), input_ids.shape[1])

    def forward_packed(self, tokens: Tensor, lengths: Tensor, longest: int) -> Tensor:
        """Return one embedding per sentence of a row of tokens without padding."""
        own = self._own[0].train(self.training)
        weights = dict(own.named_parameters())
        learning = torch.is_grad_enabled() and any(w.requires_grad for w in weights.values())
        sentences = tokens, lengths, longest
        ticket = self.team.order_reading(own, sentences, learning=learning)
        mine = torch.arange(len(lengths), device=lengths.device) % self.team.size == 0
        share = tokens[mine.repeat_interleave(lengths)], lengths[mine], longest
        if not learning:
            return self.team.collect(own(*share), len(lengths))
        copies = _Summed.apply(self.team, *weights.values())  # type: ignore[no-untyped-call]
        read = functional_call(own, dict(zip(weights, copies, strict=True)), share)
        whole: Tensor = _Collected.apply(self.team, ticket, len(lengths), read)  # type: ignore[no-untyped-call]
        return whole


def assist(network: SentenceNetwork, team: Team) -> None:
    """Read, and learn from, what the lead asks for, until it needs no more.

    Parameters
    ----------
    network
        An encoder built as the lead's is; its weights become the lead's.
    team
        The team, in which this process is not the lead.
    """
    own = PackedNetwork(network)
    weights = dict(own.named_parameters())
    readings: dict[int, tuple[dict[str, Tensor], Tensor | None]] = {}
    while (order := team.hear()).kind != STOP:
        if order.kind == LEARN:
            used, embedded = readings.pop(order.ticket)
            team.add_up(_gradients(team, used, embedded))
            continue
        tokens, lengths = team.share()
        if order.fresh:
            team.take_over(list(weights.values()))
        own.train(order.training)
        used = {name: _as_used(name, weight, order.half) for name, weight in weights.items()}
        embedded = None
        if len(lengths):
            torch.manual_seed(order.seed + team.rank)
            with torch.set_grad_enabled(order.learning):
                embedded = functional_call(own, used, (tokens, lengths, order.longest))
            team.return_embeddings(embedded)
        if order.learning:
            readings[order.ticket] = used, embedded


def _as_used(name: str, weight: Tensor, half: bool) -> Tensor:
    """Return a weight in the precision in which the lead computes with it."""
    is_half = half and name.startswith("network.backbone.")
    return weight.detach().to(torch.bfloat16).requires_grad_() if is_half else weight


def _gradients(team: Team, weights: Mapping[str, Tensor], embedded: Tensor | None) -> list[Tensor]:
    if embedded is None:
        return [torch.zeros_like(weight) for weight in weights.values()]
    return list(
        torch.autograd.grad(
            embedded,
            list(weights.values()),
            team.gradient_for(embedded),
            allow_unused=True,
            materialize_grads=True,
        )
    )


class _Summed(torch.autograd.Function):
    """The weights as they are; in the backward pass, the sum of all processes' gradients."""

    @staticmethod
    def forward(ctx: Any, team: Team, *weights: Tensor) -> tuple[Tensor, ...]:
        ctx.team = team
        return tuple(weight.view_as(weight) for weight in weights)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return None, *ctx.team.add_up(gradients)


class _Collected(torch.autograd.Function):
    """The embeddings of all processes; in the backward pass, to each the gradient of its own."""

    @staticmethod
    def forward(ctx: Any, team: Team, ticket: int, count: int, own: Tensor) -> Tensor:
        ctx.team, ctx.ticket = team, ticket
        return team.collect(own, count)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, None, ctx.team.hand_out(ctx.ticket, gradient)
