"""The reader: an LSTM over the trajectory of prototypes, and a fully connected head."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from protorynet.settings import Settings

__all__ = ["Reader", "at_last_sentence"]


class Reader(nn.Module):
    """Read a trajectory sentence by sentence and give class logits after each.

    Parameters
    ----------
    n_prototypes
        Width of a step: one entry per prototype, all but the active one zero.
    n_classes
        Number of outputs.
    hidden, layers, dropout
        Size of the LSTM, its number of layers, and the dropout between them and before the head.
    """

    def __init__(
        self, n_prototypes: int, n_classes: int, *, hidden: int, layers: int, dropout: float
    ) -> None:
        super().__init__()
        between = dropout if layers > 1 else 0.0
        self.lstm = nn.LSTM(n_prototypes, hidden, layers, batch_first=True, dropout=between)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(hidden, n_classes)

    @classmethod
    def of(cls, settings: Settings, n_prototypes: int, n_classes: int) -> Reader:
        """Build the reader that settings describe."""
        return cls(
            n_prototypes,
            n_classes,
            hidden=settings.reader_size,
            layers=settings.reader_layers,
            dropout=settings.reader_dropout,
        )

    def forward(self, steps: Tensor) -> Tensor:
        """Map steps (documents, sentences, K) to logits after every sentence (…, …, C).

        Padding at the end of a document cannot reach back, since the LSTM reads forward only.
        """
        hidden, _ = self.lstm(steps)
        logits: Tensor = self.head(self.dropout(hidden))
        return logits

    def read_alone(self, steps: Tensor) -> Tensor:
        """Map single sentences (n, K), each a document of its own, to logits (n, C).

        The same as `forward` on documents of one sentence, but without the recurrent products,
        which are zero at the first step.
        """
        hidden = steps
        for layer in range(self.lstm.num_layers):
            if layer:
                hidden = functional.dropout(hidden, self.lstm.dropout, self.training)
            weight = getattr(self.lstm, f"weight_ih_l{layer}")
            bias = getattr(self.lstm, f"bias_ih_l{layer}") + getattr(self.lstm, f"bias_hh_l{layer}")
            entry, _, content, output = functional.linear(hidden, weight, bias).chunk(4, dim=-1)
            cell = torch.sigmoid(entry) * torch.tanh(content)
            hidden = torch.sigmoid(output) * torch.tanh(cell)
        logits: Tensor = self.head(self.dropout(hidden))
        return logits


def at_last_sentence(values: Tensor, lengths: Tensor) -> Tensor:
    """Pick from (documents, sentences, …) the entry of each document's last sentence."""
    return values[torch.arange(lengths.shape[0], device=values.device), lengths - 1]
