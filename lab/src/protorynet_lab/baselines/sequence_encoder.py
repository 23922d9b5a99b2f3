"""An LSTM that reads a document word by word and gives one vector for it."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from protorynet_lab.baselines.words import UNKNOWN

__all__ = ["SequenceEncoder"]

_LAYERS = 2
_DROPOUT = 0.5  # between the layers of the LSTM
_WORD_DROPOUT = 0.1  # share of the words that are hidden in training
_VECTOR_DROPOUT = 0.3  # share of the entries of word vectors that are


class SequenceEncoder(nn.Module):
    """Word vectors, two layers of LSTM, and the mean of the upper layer's states.

    The mean over all words, rather than the state after the last, so that what a long document
    says in its middle is not forgotten and the gradient reaches every word at once.

    Parameters
    ----------
    vectors
        Where the word vectors start from, (words, dimensions); they learn too.
    size
        Size of each layer, and of the document's vector.
    """

    def __init__(self, vectors: Tensor, size: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(vectors), vectors.shape[1], _weight=vectors.clone())
        self.lstm = nn.LSTM(vectors.shape[1], size, _LAYERS, batch_first=True, dropout=_DROPOUT)
        for name, parameter in self.lstm.named_parameters():
            for gate in parameter.data.chunk(4):
                if name.startswith("weight_hh"):
                    nn.init.orthogonal_(gate)
                elif name.startswith("weight_ih"):
                    nn.init.xavier_uniform_(gate)  # wider than torch's own: learning starts sooner
                else:
                    nn.init.zeros_(gate)
            if name.startswith("bias_ih"):
                parameter.data[size : 2 * size] = 1  # at first, little is forgotten

    @property
    def size(self) -> int:
        """Size of a document's vector."""
        return self.lstm.hidden_size

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Map rows of words (documents, longest) to vectors (documents, size).

        What stands behind a document's end cannot reach back, since the LSTM reads forward only;
        so sequences need not be packed, which on a CPU is four times as slow.
        """
        place = torch.arange(words.shape[1], device=words.device)
        inside = (place < lengths[:, None]).unsqueeze(-1)
        if self.training:
            hidden = torch.rand(words.shape, device=words.device) < _WORD_DROPOUT
            words = words.masked_fill(hidden, UNKNOWN)
        vectors = functional.dropout(self.embedding(words), _VECTOR_DROPOUT, self.training)
        states, _ = self.lstm(vectors)
        mean: Tensor = (states * inside).sum(dim=1) / lengths[:, None]
        return mean
