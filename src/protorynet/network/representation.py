"""From an encoder's vectors to the space in which sentences and prototypes are compared."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["Adapter", "Centring"]


class Centring(nn.Module):
    """Subtract the corpus mean, then scale.

    Embeddings of text go to unit length, since their length says nothing and their raw cosines
    lie in a narrow band. Vectors given by the user keep their relative lengths and are divided by
    the corpus's root mean square length.

    Parameters
    ----------
    mean
        Mean vector of the training sentences, (d,).
    scale
        Root mean square length of the centred training vectors; 0 asks for unit length.
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, mean: Tensor, scale: float = 0.0) -> None:
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("scale", torch.tensor(float(scale)))
        self._unit_length = scale == 0.0

    @property
    def unit_length(self) -> bool:
        """Whether every vector is brought to length one."""
        return self._unit_length

    def forward(self, raw: Tensor) -> Tensor:
        """Map vectors of the encoder (n, d) to base embeddings (n, d)."""
        centred = raw - self.mean
        return functional.normalize(centred, dim=-1) if self._unit_length else centred / self.scale


class Adapter(nn.Module):
    """A small residual network that bends the space of frozen embeddings to the task.

    Its last layer starts at zero, so training starts from the pre-trained space.
    """

    def __init__(self, dimension: int, hidden: int, *, unit_length: bool) -> None:
        super().__init__()
        self.down = nn.Linear(dimension, hidden)
        self.up = nn.Linear(hidden, dimension)
        self._unit_length = unit_length
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, base: Tensor) -> Tensor:
        """Map base embeddings (n, d) to adapted ones (n, d)."""
        moved = base + self.up(functional.gelu(self.down(base)))
        return functional.normalize(moved, dim=-1) if self._unit_length else moved
