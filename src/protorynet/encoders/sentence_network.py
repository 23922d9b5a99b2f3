"""The network from token ids to sentence embeddings, padded or packed without padding."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn
from torch.nn import functional

from protorynet.encoders.bert import Bert
from protorynet.reading import group_by_length

Rows = tuple[tuple[int, int], ...]
"""How many rows of how many tokens each, one kind after the other."""

# Sentences are compared in groups of like length where there is no kernel for uneven ones.
_TOKENS_PER_GROUP = 512  # padding included, so that there is little of it


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
        return functional.normalize(vectors, dim=-1)


class SentenceNetwork(nn.Module):
    """A transformer, the pooling of its token vectors, and the modules that follow, in order.

    Pooling is one or several of cls, max, mean and mean_sqrt_len; the results are joined.
    """

    def __init__(
        self, backbone: nn.Module, pooling: tuple[str, ...], heads: Iterable[nn.Module]
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.pooling = pooling
        self.heads = nn.Sequential(*heads)

    @property
    def is_packable(self) -> bool:
        """Whether `forward_packed` computes nothing for padding and never waits for a GPU."""
        return isinstance(self.backbone, Bert)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return one embedding per list of token ids; the mask is 0 on padding."""
        output = self.backbone(input_ids=input_ids, attention_mask=attention_mask, return_dict=True)
        tokens: Tensor = output.last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(tokens.dtype)
        pooled = torch.cat([_pool(mode, tokens, mask) for mode in self.pooling], dim=-1)
        result: Tensor = self.heads(pooled)
        return result

    def forward_packed(
        self, tokens: Tensor, lengths: Tensor, longest: int, rows: Rows = ()
    ) -> Tensor:
        """Return one embedding per sentence of a run of tokens, one sentence after the other.

        The same as `forward`, but nothing is computed for padding, and a few large matrix products
        take the place of many small ones. No sentence is empty, and none is longer than `longest`.
        Where the run is made of `rows` that none crosses, a GPU compares short sentences faster,
        but the last bit of a vector depends on where its sentence lies.
        """
        packing = Packing(lengths, longest, len(tokens), rows)
        if not self.is_packable:
            inside = torch.arange(int(lengths.max()), device=tokens.device) < lengths[:, None]
            ids = torch.zeros(inside.shape, dtype=tokens.dtype, device=tokens.device)
            return self.forward(ids.masked_scatter(inside, tokens), inside.long())
        output = self.backbone(tokens[None], packing=packing)
        states = output.last_hidden_state[0].float()
        pooled = torch.cat([_pool_packed(mode, states, packing) for mode in self.pooling], dim=-1)
        result: Tensor = self.heads(pooled)
        return result


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """Compute without dropout and gradients, and leave the network in the mode it was in."""
    training = network.training
    network.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        network.train(training)


@dataclass(frozen=True)
class Packing:
    """Where each sentence lies in a run of tokens."""

    lengths: Tensor
    # The most tokens of one sentence, and those of all: nothing has to wait for a GPU to tell them.
    longest: int
    total: int
    rows: Rows = ()

    @cached_property
    def bounds(self) -> Tensor:
        """Where each sentence starts, and the end of the last one."""
        return functional.pad(self.lengths.cumsum(0, dtype=torch.int32), (1, 0))

    @cached_property
    def positions(self) -> Tensor:
        """Position of each token in its sentence."""
        starts = self.bounds[:-1].repeat_interleave(self.lengths, output_size=self.total)
        return torch.arange(self.total, device=starts.device) - starts

    @cached_property
    def together(self) -> list[Tensor]:
        """Whether two tokens of a row are of one sentence, of each kind of rows."""
        numbers = torch.arange(len(self.lengths), device=self.lengths.device)
        each = numbers.repeat_interleave(self.lengths, output_size=self.total)
        kinds = torch.split(each, [count * width for count, width in self.rows])
        parts = zip(kinds, self.rows, strict=True)
        rows = [kind.view(count, 1, width) for kind, (count, width) in parts]
        return [some[..., None] == some[..., None, :] for some in rows]

    @cached_property
    def groups(self) -> list[tuple[Tensor, Tensor]]:
        """Sentences of like length: the positions of their tokens, padded, and which are real."""
        groups, device = [], self.lengths.device
        for numbers in group_by_length(self.lengths.cpu().numpy(), _TOKENS_PER_GROUP):
            chosen = torch.from_numpy(numbers).to(device)
            lengths = self.lengths[chosen, None]
            inside = torch.arange(int(lengths.max()), device=device)
            real = inside < lengths
            groups.append((torch.where(real, self.bounds[chosen, None] + inside, 0), real))
        return groups


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
