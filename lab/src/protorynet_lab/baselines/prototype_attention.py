"""The network of ProtoAttend: sparse attention over training examples (Arik and Pfister, 2020)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["Encoded", "PrototypeAttention", "attend", "prototype_loss", "sparsemax"]

_HIDDEN, _ATTENTION, _VALUE = 128, 32, 64  # widths of documents, of queries and keys, of values
_DROPOUT = 0.2
_TOP = 128  # scores looked at first; nearly always the others get nothing
_JOINT_SHARE = 0.5  # of the examples, in the loss between that of the document and of the examples
_SMALL = 1e-6


class Encoded(NamedTuple):
    """Documents as queries, keys and values, one row each."""

    queries: Tensor
    keys: Tensor
    values: Tensor


class PrototypeAttention(nn.Module):
    """From document vectors to queries, keys and values, and from values to logits.

    Parameters
    ----------
    dimension, n_classes
        Components of a document vector, and number of outputs.
    """

    def __init__(self, dimension: int, n_classes: int) -> None:
        super().__init__()
        self.document = nn.Linear(dimension, _HIDDEN)
        self.norm = nn.LayerNorm(_HIDDEN)
        self.dropout = nn.Dropout(_DROPOUT)
        self.query = nn.Linear(_HIDDEN, _ATTENTION)
        self.key = nn.Linear(_HIDDEN, _ATTENTION)
        self.value = nn.Linear(_HIDDEN, _VALUE)
        self.value_norm = nn.LayerNorm(_VALUE)
        # Without a bias, the logits of a mixture are the mixture of the examples' logits.
        self.decide = nn.Linear(_VALUE, n_classes, bias=False)

    def forward(self, vectors: Tensor) -> Encoded:
        """Encode documents, (n, dimension)."""
        document = self.dropout(self.norm(functional.gelu(self.document(vectors))))
        values = self.value_norm(functional.relu(self.value(document)))
        return Encoded(self.query(document), self.key(document), values)


def attend(queries: Tensor, keys: Tensor, forbidden: Tensor | None = None) -> Tensor:
    """Return how much each query attends to each key, (queries, keys); rows sum to 1.

    Parameters
    ----------
    queries, keys
        As the network gives them.
    forbidden
        Pairs that may not meet.
    """
    scores = queries @ keys.T / queries.shape[1] ** 0.5
    if forbidden is not None:
        scores = scores.masked_fill(forbidden, float("-inf"))
    return sparsemax(scores)


def sparsemax(scores: Tensor) -> Tensor:
    """Project rows of scores onto the simplex: shares that sum to 1, most of them exactly 0.

    Martins and Astudillo (2016).

    Examples
    --------
    >>> sparsemax(torch.tensor([[2.0, 1.5, 0.1]])).tolist()
    [[0.75, 0.25, 0.0]]
    """
    scores = scores - scores.detach().amax(dim=1, keepdim=True)  # small numbers are exact
    size = min(_TOP, scores.shape[1])
    while True:
        top = scores.topk(size, dim=1).values
        ranks = torch.arange(1, size + 1, device=scores.device)
        excess = top.cumsum(dim=1) - 1
        count = (ranks * top > excess).sum(dim=1, keepdim=True)
        if size == scores.shape[1] or int(count.max()) < size:
            threshold = excess.gather(1, count - 1) / count
            return (scores - threshold).clamp(min=0)
        size = min(4 * size, scores.shape[1])


def prototype_loss(
    network: PrototypeAttention,
    own: Tensor,
    examples: Tensor,
    weights: Tensor,
    targets: Tensor,
    sparsity: float,
) -> Tensor:
    """Return the loss of the paper.

    The document's own value, the mixture of the examples it attends to, and the mean of both must
    each give the class; and attention should go to few examples.

    Parameters
    ----------
    network
        Decides on values.
    own, examples
        Values of the documents and of the examples.
    weights
        Attention, (documents, examples).
    targets
        Number of the class of each document.
    sparsity
        Weight of the entropy of attention.
    """
    mixture = weights @ examples
    joint = (1 - _JOINT_SHARE) * own + _JOINT_SHARE * mixture
    losses = [functional.cross_entropy(network.decide(v), targets) for v in (own, mixture, joint)]
    entropy = -(weights * (weights + _SMALL).log()).sum(dim=1).mean()
    return torch.stack(losses).sum() + sparsity * entropy
