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

# Sizes of batches, in tokens, each an eighth more than the one before. A row has room for more
# sentences than there are in it on average, and for some that fill it up.
_FEWEST_TOKENS, _MOST_TOKENS, _STEPS = 1_024, 131_072, 8
_ROW_STEP, _SENTENCES, _FILLINGS = 64, 1.1, 2
_PARTS = (np.floor_divide, np.remainder)


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


def fill_rows(
    lengths: NDArray[np.int64], *, mean: float, longest: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Lay sentences out in rows that none of them crosses, and fill these up with others.

    So there are few sizes of batches. `lengths` rise; `mean` and `longest` are of all sentences.
    Return the lengths of all sentences, and which of them are those given. None: the batch is too
    large, or unlike all others.

    Examples
    --------
    >>> lengths, given = fill_rows(np.full(50, 19), mean=20.0, longest=40)
    >>> len(lengths), int(lengths.sum()), given[:5].tolist()
    (99, 1152, [0, 1, 2, 10, 11])
    """
    row, ends = row_of(longest), np.cumsum(lengths)
    stops, read = [0], 0
    while stops[-1] < len(lengths):
        stops.append(int(np.searchsorted(ends, read + row, side="right")))
        read = int(ends[stops[-1] - 1])
    used = np.diff(np.concatenate([[0], ends])[stops])
    rows = max(1, _FEWEST_TOKENS // row)
    while rows * row <= _MOST_TOKENS:
        gaps = row - np.append(used, np.zeros(max(0, rows - len(used)), np.int64))
        fewest = -(-gaps // longest)
        spare = int(rows * (_SENTENCES * row / mean + _FILLINGS)) - len(lengths)
        if len(gaps) == rows and fewest.sum() <= spare <= gaps.sum():
            room = gaps - fewest
            pieces = fewest + np.clip(spare - fewest.sum() - (room.cumsum() - room), 0, room)
            at = np.repeat(np.append(stops[1:], np.full(rows - len(used), len(lengths))), pieces)
            number = np.arange(spare) - np.repeat(pieces.cumsum() - pieces, pieces)
            short, more = (np.repeat(part(gaps, pieces.clip(1)), pieces) for part in _PARTS)
            filled = np.insert(lengths, at, short + (number < more))
            every = np.arange(len(lengths))
            return filled, every + np.searchsorted(at, every, side="right")
        rows += max(1, rows // _STEPS)
    return None


def row_of(longest: int) -> int:
    """Return the tokens of a row that sentences of at most so many tokens are laid out in."""
    return -(-longest // _ROW_STEP) * _ROW_STEP


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
