"""Steps of full training as CUDA graphs: hundreds of kernels for the price of launching one."""

from __future__ import annotations

import warnings
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from protorynet.encoders import first_line

if TYPE_CHECKING:
    from protorynet.encoders import Rows, SentenceNetwork

# Sizes of batches, in tokens, each an eighth more than the one before. A row has room for more
# sentences than there are in it on average, and for some that fill it up.
_FEWEST_TOKENS, _MOST_TOKENS, _STEPS = 1_024, 131_072, 8
_SENTENCES, _FILLINGS = 1.1, 2
# Tokens of a row, which is compared with itself: a multiple of what attention takes at once. There
# are few long sentences, so for several short rows there is one for them.
_ROW_STEP, _SHORT_ROW, _SHORT_PER_WIDE = 64, 128, 4


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


@dataclass(frozen=True)
class FilledRows:
    """Sentences in rows that none of them crosses, filled up so that there are few sizes of them.

    Parameters
    ----------
    lengths
        The tokens of all sentences.
    given
        Which of them are those given.
    rows
        How many rows of how many tokens each there are, one kind after the other.
    """

    lengths: NDArray[np.int64]
    given: NDArray[np.int64]
    rows: Rows


def fill_rows(lengths: NDArray[np.int64], *, mean: float, longest: int) -> FilledRows | None:
    """Lay sentences of rising lengths out in rows: short ones, and some for long sentences.

    `mean` and `longest` are of all sentences. None: the batch is too large, or unlike all others.

    Examples
    --------
    >>> filled = fill_rows(np.full(50, 19), mean=20.0, longest=40)
    >>> len(filled.lengths), int(filled.lengths.sum()), filled.given[:5].tolist(), filled.rows
    (99, 1152, [0, 1, 2, 10, 11], ((18, 64),))
    """
    wide = -(-longest // _ROW_STEP) * _ROW_STEP
    short = min(wide, _SHORT_ROW)
    count, n_tokens = max(1, _FEWEST_TOKENS // short), int(lengths.sum())
    while count * short <= _MOST_TOKENS:
        rows: Rows = ((count, short),)
        if wide > short:
            rows = (*rows, (max(1, count // _SHORT_PER_WIDE), wide))
        total = sum(number * width for number, width in rows)
        if total >= n_tokens:
            spare = int(_SENTENCES * total / mean) + _FILLINGS * count - len(lengths)
            if (filled := _fill(lengths, rows, spare, longest)) is not None:
                return filled
        count += max(1, count // _STEPS)
    return None


def _fill(lengths: NDArray[np.int64], rows: Rows, spare: int, longest: int) -> FilledRows | None:
    """Lay sentences out in these rows, with so many others in their gaps, if that can be."""
    ends, each = [0, *lengths.cumsum().tolist()], lengths.tolist()
    widths = np.concatenate([np.full(count, width) for count, width in rows])
    stops = [0]
    for width in widths.tolist():
        fitting = bisect_right(ends, ends[stops[-1]] + width) - 1
        # Those of more than half a row would leave much of it to be filled.
        suited = bisect_right(each, width if width == rows[-1][1] else width // 2)
        stops.append(max(stops[-1], min(fitting, suited)))
    gaps = widths - np.diff(np.array(ends)[stops])
    fewest = -(-gaps // longest)
    if stops[-1] < len(lengths) or not fewest.sum() <= spare <= gaps.sum():
        return None
    room = gaps - fewest
    pieces = fewest + np.clip(spare - fewest.sum() - (room.cumsum() - room), 0, room)
    at = np.repeat(stops[1:], pieces)
    number = np.arange(spare) - np.repeat(pieces.cumsum() - pieces, pieces)
    share, rest = np.divmod(gaps, pieces.clip(1))
    others = np.repeat(share, pieces) + (number < np.repeat(rest, pieces))
    every = np.arange(len(lengths))
    given = every + np.searchsorted(at, every, side="right")
    return FilledRows(np.insert(lengths, at, others), given, rows)


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
