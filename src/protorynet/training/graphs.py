"""Steps of full training as CUDA graphs: hundreds of kernels for the price of launching one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from protorynet.encoders import first_line

if TYPE_CHECKING:
    from protorynet.encoders import SentenceNetwork

# Sizes of batches, in tokens, each a sixth more than the one before; sentences there is room for,
# as a multiple of those that a batch has on average.
_FEWEST_TOKENS, _MOST_TOKENS, _STEPS = 1_024, 131_072, 6
_SPARE_SENTENCES = 1.3


class StepGraphs:
    """CUDA graphs of reading a batch and of the gradients, one for each size of batch.

    What a graph reads and writes has a fixed place: sentences and weights are copied there, so that
    encoders which are trained one after the other share the graphs. The gradients of a batch have
    to be asked for before another one is read.
    """

    def __init__(self) -> None:
        self._graphs: dict[int, Callable[..., Tensor]] = {}
        self._weights: list[Tensor] = []
        self._pool: Any = None
        self._works = True

    def run(
        self, read: Callable[..., Tensor], network: SentenceNetwork, *sentences: Tensor, tokens: int
    ) -> Tensor | None:
        """Return `read(*sentences, *weights)`; None where this machine cannot make a graph of it.

        `read` depends on the number of tokens and on what it is given, nothing else.
        """
        if self._works and tokens not in self._graphs:
            self._capture(read, network, sentences, tokens)
        if not self._works:
            return None
        return self._graphs[tokens](*sentences, *halve(network, self._weights))

    def clear(self) -> None:
        """Give the memory of the graphs back; they refer to an encoder that refers to them."""
        self._graphs, self._weights, self._pool = {}, [], None

    def _capture(
        self,
        read: Callable[..., Tensor],
        network: SentenceNetwork,
        sentences: Sequence[Tensor],
        tokens: int,
    ) -> None:
        if not self._graphs:
            self._weights = [weight.detach().clone().requires_grad_() for weight in halve(network)]
            self._pool = torch.cuda.graph_pool_handle()
        places = [sentence.clone() for sentence in sentences]
        try:
            # What is drawn at random must not depend on when a graph is made.
            with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
                graphed: Any = torch.cuda.make_graphed_callables(
                    read,
                    (*places, *self._weights),
                    num_warmup_iters=2,
                    allow_unused_input=True,
                    pool=self._pool,
                )
            self._graphs[tokens] = graphed
        except RuntimeError as error:
            self._works = False
            warnings.warn(
                f"steps of training cannot be made CUDA graphs ({first_line(error)}), so full "
                "training is slower; the result is the same.",
                RuntimeWarning,
                stacklevel=2,
            )


def fill_up(lengths: NDArray[np.int64], *, mean: float, longest: int) -> NDArray[np.int64] | None:
    """Return the lengths of sentences to add to a batch, so that there are few sizes of batches.

    `mean` and `longest` are of all sentences. None: the batch is too large, or unlike all others.

    Examples
    --------
    >>> lengths = np.full(50, 19)
    >>> filling = fill_up(lengths, mean=20.0, longest=40)
    >>> len(filling), int(lengths.sum() + filling.sum())
    (16, 1024)
    """
    total = _FEWEST_TOKENS
    while total <= _MOST_TOKENS:
        spare, left = (
            int(_SPARE_SENTENCES * total / mean) - len(lengths),
            total - int(lengths.sum()),
        )
        if 0 < spare <= left <= spare * longest:
            return left // spare + (np.arange(spare) < left % spare)
        total += total // _STEPS // 64 * 64
    return None


def halve(network: SentenceNetwork, into: Sequence[Tensor] = ()) -> list[Tensor]:
    """Return copies of a network's weights, in bfloat16 those of its transformer, as it has them.

    They are put `into` the tensors given. Gradients reach the weights themselves.
    """
    halves = _Halved.apply(into, *network.backbone.parameters())  # type: ignore[no-untyped-call]
    return [*halves, *network.heads.parameters()]


class _Halved(torch.autograd.Function):
    """Copies of weights in bfloat16, and their gradients back in float32, all in one go each."""

    @staticmethod
    def forward(ctx: Any, into: Sequence[Tensor], *weights: Tensor) -> tuple[Tensor, ...]:
        if into:
            halves = [place.detach() for place in into[: len(weights)]]
        else:
            halves = [torch.empty_like(weight, dtype=torch.bfloat16) for weight in weights]
        torch._foreach_copy_(halves, weights)
        return tuple(halves)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        given = [gradient for gradient in gradients if gradient is not None]
        whole = [torch.empty_like(gradient, dtype=torch.float32) for gradient in given]
        torch._foreach_copy_(whole, given)
        results = iter(whole)
        return None, *(None if gradient is None else next(results) for gradient in gradients)
