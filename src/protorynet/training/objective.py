"""The loss of one batch: the paper's three terms, and the three that keep explanations honest."""

from __future__ import annotations

import torch
from torch import Tensor

from protorynet.labels import Task
from protorynet.network import (
    ProtoryNetwork,
    accuracy_loss,
    anchor_loss,
    at_last_sentence,
    balance_loss,
    diversity_loss,
    pad_documents,
    pairwise_distance,
    prototypicality_loss,
)
from protorynet.training.corpus import Batch
from protorynet.training.sources import FineTunedSource, FrozenSource, SentenceSource

__all__ = ["batch_loss"]


def batch_loss(
    network: ProtoryNetwork,
    source: SentenceSource,
    batch: Batch,
    task: Task,
    tied_rows: Tensor | None = None,
) -> Tensor:
    """Return L = L_acc + α L_div + β L_proto, and what the settings add to it.

    Parameters
    ----------
    network, source
        The network, and where the sentences' embeddings come from.
    batch
        The documents.
    task
        One class per document, or several.
    tied_rows
        Rows of the prototypes' sentences. Where given, the prototypes are these sentences'
        embeddings at every step, so that they can never drift away from them.
    """
    settings = network.settings
    if tied_rows is None:
        embedded, prototypes = source(batch.rows), network.prototypes
    else:
        both = source(torch.cat([batch.rows, tied_rows]))
        embedded, prototypes = both.split([len(batch.rows), len(tied_rows)])
    distances = pairwise_distance(embedded, prototypes, settings.distance)
    # Only where one prototype is active does a step without its similarity still tell which.
    share = settings.ids_only_share if settings.selection == "straight_through" else 0.0
    steps = network.steps(distances, ids_only=_ids_only(batch, share))
    padded = pad_documents(steps, batch.lengths, batch.longest)
    logits = at_last_sentence(network.reader(padded), batch.lengths)

    loss = accuracy_loss(logits, batch.targets, task, settings.accuracy_loss)
    if settings.lone_sentences:
        alone = network.reader.read_alone(steps)
        lone = accuracy_loss(alone, batch.targets[batch.document], task, settings.accuracy_loss)
        loss = loss + settings.lone_sentences * lone
    if prototypes.requires_grad:
        diversity = diversity_loss(prototypes, delta=settings.delta, eta=settings.eta)
        loss = loss + settings.alpha * diversity + settings.beta * prototypicality_loss(distances)
    anchor, balance = settings.anchor, settings.balance
    if isinstance(source, FineTunedSource):
        anchor, balance = settings.full_anchor, settings.full_balance
    if balance and distances.requires_grad:
        loss = loss + balance * balance_loss(distances, settings.temperature)
    if anchor and not isinstance(source, FrozenSource):
        loss = loss + anchor * anchor_loss(embedded, source.base[batch.rows])
    return loss


def _ids_only(batch: Batch, share: float) -> Tensor | None:
    """Draw the documents whose similarities count as 1, as a mask over sentences."""
    if share == 0:
        return None
    chosen = torch.rand(len(batch.lengths), device=batch.lengths.device) < share
    return chosen[batch.document]
