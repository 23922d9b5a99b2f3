"""ProSeNet's network: an encoder of sequences, prototypes in its space, and a linear layer."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from protorynet_lab.baselines.prosenet_losses import (
    clustering_loss,
    diversity_loss,
    evidence_loss,
    squared_distances,
)
from protorynet_lab.baselines.sequence_encoder import SequenceEncoder
from protorynet_lab.baselines.sequence_training import WordBatch

__all__ = ["LossWeights", "ProSeNetwork"]


@dataclass(frozen=True)
class LossWeights:
    """Weights of the terms beside the cross-entropy, and the least distance of prototypes."""

    clustering: float
    evidence: float
    diversity: float
    sparsity: float
    d_min: float


class ProSeNetwork(nn.Module):
    """Similarities of a document to prototypes, and a linear layer over them, without bias.

    Parameters
    ----------
    encoder
        Gives a document's vector.
    prototypes
        Vectors of documents, (K, size), in units in which `scale` measures.
    weight
        Weight of each prototype for each class, (classes, K).
    scale
        Factor from the encoder's units to those of the similarity exp(−d²), which is a matter of
        taste only if it is neither 0 nor 1 everywhere.
    """

    scale: Tensor

    def __init__(
        self, encoder: SequenceEncoder, prototypes: Tensor, weight: Tensor, scale: float
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.prototypes = nn.Parameter(prototypes.clone())
        self.weight = nn.Parameter(weight.clone())
        self.register_buffer("scale", torch.tensor(scale))

    def encode(self, batch: WordBatch) -> Tensor:
        """Return the vectors of documents in the space of the prototypes."""
        vectors: Tensor = self.encoder(batch.words, batch.lengths) * self.scale
        return vectors

    def similarities(self, vectors: Tensor) -> Tensor:
        """Return exp(−d²) of documents, (n, size), to all prototypes, (n, K)."""
        return torch.exp(-squared_distances(vectors, self.prototypes))

    def forward(self, batch: WordBatch) -> Tensor:
        """Return the logits of documents."""
        return self.similarities(self.encode(batch)) @ self.weight.T

    def loss(self, batch: WordBatch, weights: LossWeights) -> Tensor:
        """Return the objective: cross-entropy and the four terms of the paper."""
        squared = squared_distances(self.encode(batch), self.prototypes)
        logits = torch.exp(-squared) @ self.weight.T
        return (
            functional.cross_entropy(logits, batch.targets)
            + weights.clustering * clustering_loss(squared)
            + weights.evidence * evidence_loss(squared)
            + weights.diversity * diversity_loss(self.prototypes, weights.d_min)
            + weights.sparsity * self.sparsity()
        )

    def sparsity(self) -> Tensor:
        """Return the mean over prototypes of the sum of their absolute weights."""
        return self.weight.abs().sum(dim=0).mean()

    @torch.no_grad()
    def keep_nonnegative(self) -> None:
        """Raise weights below zero to zero, so that prototypes only ever speak for a class."""
        self.weight.clamp_(min=0)
