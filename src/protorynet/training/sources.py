"""Where the embeddings come from during training: frozen, adapted, or a fine-tuned encoder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from protorynet.errors import InputError
from protorynet.network import Adapter, Centring

if TYPE_CHECKING:
    from protorynet.encoders import Encoder, TransformerEncoder

__all__ = [
    "AdaptedSource",
    "FineTunedSource",
    "FrozenSource",
    "SentenceSource",
    "tunable_encoder",
]

_BLOCK = 65_536
_TOKENS_PER_BLOCK = 16_384


def tunable_encoder(encoder: Encoder | None) -> TransformerEncoder:
    """Return the encoder if its weights can be trained."""
    from protorynet.encoders import TransformerEncoder

    if not isinstance(encoder, TransformerEncoder):
        raise InputError(
            "encoder_training='full' needs a transformer encoder; use 'adapter' or 'none'."
        )
    return encoder


class SentenceSource(nn.Module, ABC):
    """Gives the embeddings of distinct sentences by their row.

    Parameters
    ----------
    base
        Pre-trained, centred embeddings of all distinct sentences, (m, d).
    """

    def __init__(self, base: Tensor) -> None:
        super().__init__()
        self.base = base  # a plain attribute: data, not state to be saved

    @abstractmethod
    def forward(self, rows: Tensor) -> Tensor:
        """Return the embeddings of some sentences, (n, d)."""

    @torch.no_grad()
    def all_rows(self, rows: Tensor) -> Tensor:
        """Return the embeddings of many sentences, computed in blocks without gradients."""
        training = self.training
        self.eval()
        blocks = [self(rows[start : start + _BLOCK]) for start in range(0, len(rows), _BLOCK)]
        self.train(training)
        return torch.cat(blocks)


class FrozenSource(SentenceSource):
    """The pre-trained embeddings as they are."""

    def forward(self, rows: Tensor) -> Tensor:
        """Return the embeddings of some sentences, (n, d)."""
        return self.base[rows]


class AdaptedSource(SentenceSource):
    """Pre-trained embeddings bent by an adapter."""

    def __init__(self, base: Tensor, adapter: Adapter) -> None:
        super().__init__(base)
        self.adapter = adapter

    def forward(self, rows: Tensor) -> Tensor:
        """Return the embeddings of some sentences, (n, d)."""
        adapted: Tensor = self.adapter(self.base[rows])
        return adapted


class FineTunedSource(SentenceSource):
    """Embeddings computed anew by an encoder that is being fine-tuned."""

    def __init__(
        self, base: Tensor, encoder: TransformerEncoder, centring: Centring, texts: Sequence[str]
    ) -> None:
        super().__init__(base)
        self.network = encoder.network
        self._centring = [centring]  # in a list: fixed, and not part of the state
        self._pad = encoder.pad_token_id
        tokens = [torch.tensor(ids, dtype=torch.long) for ids in encoder.tokenize(list(texts))]
        self._lengths = torch.tensor([len(ids) for ids in tokens])
        self._tokens = tokens

    def forward(self, rows: Tensor) -> Tensor:
        """Return the embeddings of some sentences, (n, d); each distinct one is read once."""
        distinct, where = torch.unique(rows.cpu(), return_inverse=True)
        order = torch.argsort(self._lengths[distinct], stable=True)
        outputs = [self._encode(distinct[part]) for part in self._parts(distinct, order)]
        back = torch.empty_like(order)
        back[order] = torch.arange(len(order))
        return torch.cat(outputs)[back[where].to(rows.device)]

    def _parts(self, distinct: Tensor, order: Tensor) -> list[Tensor]:
        """Cut sentences sorted by length into parts of bounded size, padding included."""
        lengths = self._lengths[distinct[order]]
        parts, start = [], 0
        while start < len(order):
            stop = start + 1
            while stop < len(order) and (stop + 1 - start) * lengths[stop] <= _TOKENS_PER_BLOCK:
                stop += 1
            parts.append(order[start:stop])
            start = stop
        return parts

    def _encode(self, rows: Tensor) -> Tensor:
        device = self.base.device
        ids = nn.utils.rnn.pad_sequence(
            [self._tokens[row] for row in rows.tolist()],
            batch_first=True,
            padding_value=self._pad,
        ).to(device)
        mask = (
            torch.arange(ids.shape[1], device=device) < self._lengths[rows].to(device)[:, None]
        ).long()
        embedded: Tensor = self._centring[0](self.network(ids, mask))
        return embedded
