"""The processes of one training run, and what they say to each other.

One process, the lead, runs Algorithm 1 as if it were alone; the others, its assistants, read
sentences for it. See `protorynet.training.sharing`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

__all__ = ["LEARN", "READ", "STOP", "Order", "Team"]

# Assistants wait while the lead clusters, prunes and writes; a lost process is noticed at once,
# since its connections close.
_PATIENCE = timedelta(days=7)
STOP, READ, LEARN = range(3)


@dataclass(frozen=True)
class Order:
    """What the lead asks of its assistants; all fields are whole numbers.

    `ticket` names a reading, so that what is learnt from it can be told later. `seed` is for
    dropout. `fresh` says that new weights follow, `half` that they are to be used in bfloat16.
    """

    kind: int
    ticket: int = 0
    longest: int = 0
    seed: int = 0
    training: bool = False
    learning: bool = False
    half: bool = False
    fresh: bool = False


class Team:
    """The processes of this training run, by torch.distributed, which must be initialised.

    All of them must make their team at the same point of the program.

    Parameters
    ----------
    device
        Where this process computes. On GPUs weights and embeddings travel by the default process
        group, which should then be NCCL's; all else travels by Gloo.
    """

    def __init__(self, device: torch.device) -> None:
        self.rank = dist.get_rank()
        self.size = dist.get_world_size()
        self.device = device
        self._orders = dist.new_group(backend="gloo", timeout=_PATIENCE)
        self._data = dist.group.WORLD if device.type == "cuda" else self._orders
        self._ticket = 0
        self._sent: Tensor | None = None  # the weights that the assistants hold

    def __deepcopy__(self, memo: dict[int, Any]) -> Team:
        # A copied encoder is read by the same processes.
        return self

    @property
    def assistants(self) -> range:
        """The ranks of all but the lead."""
        return range(1, self.size)

    def order_reading(
        self, network: nn.Module, sentences: tuple[Tensor, Tensor, int], *, learning: bool
    ) -> int:
        """Let every assistant read its share of some sentences, and return the reading's ticket.

        Parameters
        ----------
        network
            Whose weights they are to be read with.
        sentences
            Tokens, lengths and most tokens of one sentence, as `forward_packed` takes them.
        learning
            Whether `hand_out` will follow.
        """
        tokens, lengths, longest = sentences
        weights = dict(network.named_parameters())
        half = any(weight.dtype == torch.bfloat16 for weight in weights.values())
        flat = _flat(weights.values())
        # Compared, since torch's count of writes leaves out those of fused optimisers.
        fresh = self._sent is None or not torch.equal(flat, self._sent)
        seed = _next_seed(self.device) if network.training else 0
        self._ticket += 1
        order = Order(READ, self._ticket, longest, seed, network.training, learning, half, fresh)
        self._tell(order)
        owner = torch.arange(len(lengths), device=lengths.device) % self.size
        owner_of_token = owner.repeat_interleave(lengths)
        for rank in self.assistants:
            share = torch.cat([lengths[owner == rank], tokens[owner_of_token == rank]]).cpu()
            size = torch.tensor([len(lengths[rank :: self.size]), len(share)])
            dist.send(size, rank, group=self._orders)
            if len(share):
                dist.send(share, rank, group=self._orders)
        if fresh:
            dist.broadcast(flat, 0, group=self._data)
            self._sent = flat
        return self._ticket

    def collect(self, own: Tensor, count: int) -> Tensor:
        """Return the embeddings of all `count` sentences, given those of the lead's share."""
        whole = own.new_empty(count, own.shape[1])
        whole[0 :: self.size] = own
        for rank in self._readers(count):
            part = torch.empty_like(whole[rank :: self.size])
            dist.recv(part, rank, group=self._data)
            whole[rank :: self.size] = part
        return whole

    def hand_out(self, ticket: int, gradient: Tensor) -> Tensor:
        """Give each process the gradient of its share, and return the lead's."""
        self._tell(Order(LEARN, ticket))
        for rank in self._readers(len(gradient)):
            dist.send(gradient[rank :: self.size].contiguous(), rank, group=self._data)
        return gradient[0 :: self.size]

    def add_up(self, gradients: Sequence[Tensor]) -> list[Tensor]:
        """Return, to the lead, the sum over processes of the weights' gradients."""
        flat = _flat(gradients)
        dist.reduce(flat, 0, group=self._data)
        return list(_unflat(flat, gradients))

    def dismiss(self) -> None:
        """Tell the assistants that there is nothing more to do."""
        self._tell(Order(STOP))

    def hear(self) -> Order:
        """Wait, as an assistant, for the next order."""
        order = torch.empty(len(Order.__dataclass_fields__), dtype=torch.long)
        dist.broadcast(order, 0, group=self._orders)
        kind, ticket, longest, seed, *flags = order.tolist()
        return Order(kind, ticket, longest, seed, *(bool(flag) for flag in flags))

    def share(self) -> tuple[Tensor, Tensor]:
        """Receive, as an assistant, the tokens of its sentences and how many each has."""
        size = torch.empty(2, dtype=torch.long)
        dist.recv(size, 0, group=self._orders)
        sentences, total = size.tolist()
        both = torch.empty(total, dtype=torch.long)
        if total:
            dist.recv(both, 0, group=self._orders)
        lengths, tokens = torch.split(both.to(self.device), [sentences, total - sentences])
        return tokens, lengths

    @torch.no_grad()
    def take_over(self, weights: Sequence[Tensor]) -> None:
        """Receive, as an assistant, new weights into the old ones."""
        flat = _flat(weights)
        dist.broadcast(flat, 0, group=self._data)
        for weight, value in zip(weights, _unflat(flat, weights), strict=True):
            weight.copy_(value)

    def return_embeddings(self, embedded: Tensor) -> None:
        """Send, as an assistant, what it read."""
        dist.send(embedded.detach().contiguous(), 0, group=self._data)

    def gradient_for(self, embedded: Tensor) -> Tensor:
        """Receive, as an assistant, the gradient of what it read."""
        gradient = torch.empty_like(embedded, memory_format=torch.contiguous_format)
        dist.recv(gradient, 0, group=self._data)
        return gradient

    def _readers(self, count: int) -> range:
        """Return the ranks of the assistants that have a share of so many sentences."""
        return range(1, min(self.size, count))

    def _tell(self, order: Order) -> None:
        fields = torch.tensor([int(value) for value in vars(order).values()])
        dist.broadcast(fields, 0, group=self._orders)


def _next_seed(device: torch.device) -> int:
    """Foretell a draw without making it, so that the lead's own draws are those of one process."""
    # Of the device: that of the CPU stands still while a GPU draws.
    is_cuda = device.type == "cuda"
    generator = torch.Generator(device)
    generator.set_state(torch.cuda.get_rng_state(device) if is_cuda else torch.get_rng_state())
    return int(torch.randint(2**31, (), generator=generator, device=device))


def _flat(tensors: Iterable[Tensor]) -> Tensor:
    """Lay tensors end to end, in single precision, in which alone they travel."""
    return torch.cat([tensor.detach().reshape(-1).float() for tensor in tensors])


def _unflat(flat: Tensor, like: Sequence[Tensor]) -> Iterator[Tensor]:
    parts = torch.split(flat, [tensor.numel() for tensor in like])
    for part, tensor in zip(parts, like, strict=True):
        yield part.view_as(tensor).to(tensor.dtype)
