"""Several processes that train one model, by torch's DistributedDataParallel.

Every process runs Algorithm 1 on the same documents with the same seed. While the encoder itself
is trained, each takes a share of the documents of every batch, and the gradients are averaged.
Decisions that rounding could turn differently on two machines are those of the first process.
"""

from collections.abc import Callable

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from protorynet.training.batches import Batch


def n_processes() -> int:
    """Return how many processes train together."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """Return the number of this process; that of the first is 0."""
    return dist.get_rank() if n_processes() > 1 else 0


def agree(values: Tensor) -> Tensor:
    """Return the first process's values; all processes must call it, with tensors of one size."""
    if n_processes() == 1:
        return values
    # NCCL moves what lies on a GPU only.
    moved = values.cuda() if dist.get_backend() == "nccl" else values.cpu()
    dist.broadcast(moved, 0)
    return moved.to(values.device)


def agree_on_all(values: Tensor) -> Tensor:
    """Return the first process's values, where rounding may give processes more or fewer."""
    count = int(agree(torch.tensor(len(values))))
    return agree(values if count == len(values) else values.new_empty(count, *values.shape[1:]))


def own_share(documents: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the documents of a batch that this process reads; all where there are too few."""
    return documents[rank() :: n_processes()] if len(documents) >= n_processes() else documents


def gather_vectors(own: Tensor, count: int) -> Tensor:
    """Return all `count` vectors, of which every process gives those at its number, and so on."""
    n = n_processes()
    padded = own.new_zeros((-(-count // n), *own.shape[1:]))
    padded[: len(own)] = own
    parts = [torch.empty_like(padded) for _ in range(n)]
    dist.all_gather(parts, padded)
    return torch.stack(parts, dim=1).flatten(0, 1)[:count]


def average_gradients(
    module: nn.Module, loss_of: Callable[[Batch], Tensor]
) -> Callable[[Batch], Tensor]:
    """Return the loss of a batch such that its backward pass averages over all processes.

    The weights of `module`, which `loss_of` uses, become those of the first process.
    """
    if n_processes() == 1:
        return loss_of
    # Some weights, such as a pooler's, have no part in the loss.
    return DistributedDataParallel(_Loss(module, loss_of), find_unused_parameters=True)


class _Loss(nn.Module):
    def __init__(self, module: nn.Module, loss_of: Callable[[Batch], Tensor]) -> None:
        super().__init__()
        self.module = module
        self._loss_of = loss_of

    def forward(self, batch: Batch) -> Tensor:
        return self._loss_of(batch)
