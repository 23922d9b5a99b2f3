"""The terms of the training objective; names and formulas are the paper's where it has them."""

import math

import torch
from torch import Tensor
from torch.nn import functional

from protorynet.labels import Task
from protorynet.network.layers import pairwise_distance
from protorynet.settings import AccuracyLoss


def probabilities(logits: Tensor, task: Task) -> Tensor:
    """Turn the head's outputs into probabilities."""
    return torch.softmax(logits, dim=-1) if task == "multiclass" else torch.sigmoid(logits)


def accuracy_loss(logits: Tensor, targets: Tensor, task: Task, kind: AccuracyLoss) -> Tensor:
    """Return L_acc over documents with one-hot or multi-hot `targets` (n, C).

    ``"mse"`` is the paper's mean over documents of ‖y − ŷ‖².
    """
    if kind == "mse":
        return (targets - probabilities(logits, task)).square().sum(-1).mean()
    if task == "multiclass":
        return functional.cross_entropy(logits, targets)
    return functional.binary_cross_entropy_with_logits(logits, targets)


def diversity_loss(prototypes: Tensor, *, delta: float, eta: float) -> Tensor:
    """Return L_div = σ(η (δ − d_min)), where d_min is the distance of the closest pair."""
    if len(prototypes) < 2:
        return prototypes.new_zeros(())
    distances = pairwise_distance(prototypes, prototypes)
    pairs = torch.triu_indices(len(prototypes), len(prototypes), offset=1)
    closest = distances[pairs[0], pairs[1]].min()
    return torch.sigmoid(eta * (delta - closest))


def prototypicality_loss(distances: Tensor) -> Tensor:
    """Return L_proto: the mean over sentences of the distance (n, K) to the nearest prototype."""
    return distances.min(dim=-1).values.mean()


def anchor_loss(trained: Tensor, pretrained: Tensor) -> Tensor:
    """Return the mean over sentences of 1 − cos between trained and pre-trained embedding.

    Without it, training moves sentences to wherever they are easiest to classify, and a prototype
    no longer resembles the sentences matched to it.
    """
    return (1 - functional.cosine_similarity(trained, pretrained, dim=-1)).mean()


def balance_loss(distances: Tensor, temperature: float) -> Tensor:
    """Return how uneven the use of the prototypes is: 0 when all are used alike, log K at most.

    It is log K less the entropy of the mean over sentences of Softmax(−d² / temperature), the
    choice that the straight-through gradient sees. Without it a few prototypes take most of the
    sentences, and trajectories say little.

    Examples
    --------
    >>> float(balance_loss(torch.tensor([[0.0, 9.0], [9.0, 0.0]]), temperature=0.1))
    0.0
    """
    share = torch.softmax(-distances.square() / temperature, dim=-1).mean(dim=0)
    entropy: Tensor = torch.special.entr(share).sum()
    return math.log(distances.shape[-1]) - entropy
