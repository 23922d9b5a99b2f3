"""Editing prototypes by hand: drop, merge, replace, rename.

What the edits mean in a model that matches every sentence to its nearest prototype:

- *drop*: the prototype goes; each of its sentences is matched to the nearest one that remains.
- *merge* 3, 5: 5 goes, 3 stays and speaks for both: the reader's weights for 3 become the mean of
  the two, weighted by usage. No sentence is forced to 3: each of 5's goes to the nearest one that
  remains, which the log names where it is not 3. An explanation still shows what was computed.
- *replace*: the vector becomes the embedding of the new sentence; the reader's weights stay.
- *rename*: only what is shown changes.

An id never changes and is never given to another prototype.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from protorynet.errors import InputError
from protorynet.labels import Task
from protorynet.network import (
    ProtoryNetwork,
    Reader,
    match_sentences,
    pairwise_distance,
    read_matches,
)
from protorynet.prototypes.edits import Change, Edits
from protorynet.prototypes.prototype import Prototype, Prototypes

__all__ = ["Edited", "apply_edits"]

_FEWEST = 2
# Nearer than this, one of two prototypes would take the sentences of both.
_SAME = 1e-5


class Edited(NamedTuple):
    """A network and its prototypes after edits, and what was done."""

    network: ProtoryNetwork
    prototypes: Prototypes
    changes: tuple[Change, ...]


def apply_edits(
    network: ProtoryNetwork, prototypes: Prototypes, edits: Edits, vectors: Tensor, task: Task
) -> Edited:
    """Return the network and the prototypes as edited; those given stay as they are.

    Scores are computed anew. Usage and class rates need documents, so they stay as they were.

    Parameters
    ----------
    network, prototypes
        A trained network, and what is known of its prototypes.
    edits
        What to do; the sentences as the encoder reads them.
    vectors
        Embeddings of the sentences of `edits.replace` in the space of the prototypes, (r, d).
    task
        One class per document, or several.
    """
    column = {item.id: place for place, item in enumerate(prototypes)}
    _check(edits, column)
    items = [item for item in prototypes if item.id not in edits.removed]
    edited, nearest = network, {}
    if edits.removed or edits.replace:
        edited = _edited_network(network, prototypes, edits, vectors, column)
        items = _replaced(items, edits)
        _check_apart(edits, edited, items)
        items = _scored(items, edited, task, prototypes.classes)
        nearest = _nearest(edits.removed, network, edited, column, items)
    changes = _changes(edits, prototypes, nearest)
    return Edited(edited, replace(prototypes, items=tuple(_renamed(items, edits))), changes)


def _check(edits: Edits, column: Mapping[int, int]) -> None:
    """Refuse edits of prototypes that are not there, or of too many."""
    named = [*edits.removed, *(group[0] for group in edits.merge)]
    named += [number for number, _ in (*edits.replace, *edits.rename)]
    if unknown := sorted(set(named) - set(column)):
        raise InputError(
            f"there is no prototype {', '.join(map(str, unknown))}; the ids are "
            f"{', '.join(map(str, sorted(column)))}."
        )
    left = len(column) - len(edits.removed)
    if edits.removed and left < _FEWEST:
        raise InputError(
            f"removing {len(edits.removed)} of {len(column)} prototypes would leave {left}; a "
            f"model needs at least {_FEWEST}."
        )


def _edited_network(
    network: ProtoryNetwork,
    prototypes: Prototypes,
    edits: Edits,
    vectors: Tensor,
    column: Mapping[int, int],
) -> ProtoryNetwork:
    state = {name: value.detach().clone() for name, value in network.state_dict().items()}
    weight = state["reader.lstm.weight_ih_l0"]
    for group in edits.merge:
        places = [column[number] for number in group]
        # A tiny share each, so that prototypes which are never used have a mean as well.
        share = weight.new_tensor([prototypes[place].usage + 1e-9 for place in places])
        weight[:, places[0]] = weight[:, places] @ (share / share.sum())
    for (number, _), vector in zip(edits.replace, vectors, strict=True):
        state["prototypes"][column[number]] = vector
    kept = [place for number, place in column.items() if number not in edits.removed]
    state["prototypes"] = state["prototypes"][kept]
    state["reader.lstm.weight_ih_l0"] = weight[:, kept].contiguous()
    settings = network.settings
    # Built without memory nor random numbers: all weights are given.
    with torch.device("meta"):
        reader = Reader(
            len(kept),
            network.reader.head.out_features,
            hidden=settings.reader_size,
            layers=settings.reader_layers,
            dropout=settings.reader_dropout,
        )
    edited = ProtoryNetwork(state["prototypes"], reader, settings)
    edited.load_state_dict(state, assign=True)
    return edited.eval().requires_grad_(False)


def _check_apart(edits: Edits, network: ProtoryNetwork, items: Sequence[Prototype]) -> None:
    """Refuse a sentence that another prototype has already, in these words or in others."""
    vectors = network.prototypes.double()
    for number in dict(edits.replace):
        place = next(place for place, item in enumerate(items) if item.id == number)
        distances = pairwise_distance(
            vectors[place : place + 1], vectors, network.settings.distance
        )
        distances[0, place] = torch.inf
        other = items[int(distances.argmin())]
        if float(distances.min()) < _SAME:
            raise InputError(
                f"prototype {other.id} (“{other.sentence}”) is the same to the encoder as the "
                f"sentence for prototype {number}; give another, or merge the two."
            )


def _replaced(items: Sequence[Prototype], edits: Edits) -> list[Prototype]:
    sentences = dict(edits.replace)
    return [
        replace(item, sentence=sentences[item.id], row=None) if item.id in sentences else item
        for item in items
    ]


def _renamed(items: Sequence[Prototype], edits: Edits) -> list[Prototype]:
    names = dict(edits.rename)
    return [
        replace(item, name=names[item.id] or None) if item.id in names else item for item in items
    ]


def _scored(
    items: Sequence[Prototype], network: ProtoryNetwork, task: Task, classes: Sequence[str]
) -> list[Prototype]:
    each = torch.arange(len(items))
    itself = match_sentences(network, network.prototypes, each, torch.ones_like(each))
    alone = read_matches(network.reader, itself, task).probabilities
    return [
        replace(item, scores=dict(zip(classes, row, strict=True)))
        for item, row in zip(items, alone.tolist(), strict=True)
    ]


def _nearest(
    removed: Sequence[int],
    before: ProtoryNetwork,
    after: ProtoryNetwork,
    column: Mapping[int, int],
    items: Sequence[Prototype],
) -> dict[int, int]:
    """Return, for each id removed, that of the remaining prototype nearest to it."""
    if not removed:
        return {}
    gone = before.prototypes[[column[number] for number in removed]].double()
    distances = pairwise_distance(gone, after.prototypes.double(), after.settings.distance)
    places = distances.argmin(dim=1).tolist()
    return {number: items[place].id for number, place in zip(removed, places, strict=True)}


def _changes(edits: Edits, before: Prototypes, nearest: Mapping[int, int]) -> tuple[Change, ...]:
    was = {item.id: item for item in before}
    changes = [
        Change("drop", number, was[number].sentence, nearest=nearest[number])
        for number in edits.drop
    ]
    changes += [
        Change("merge", number, was[number].sentence, into=group[0], nearest=nearest[number])
        for group in edits.merge
        for number in group[1:]
    ]
    changes += [
        Change("replace", number, was[number].sentence, sentence)
        for number, sentence in edits.replace
    ]
    changes += [
        Change("rename", number, was[number].name or "", name) for number, name in edits.rename
    ]
    return tuple(changes)
