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

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
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
from protorynet.prototypes.prototype import Prototype, Prototypes
from protorynet.reading import Reading

__all__ = ["Change", "Edited", "Edits", "apply_edits", "score_alone"]

_LONGEST_SENTENCE, _LONGEST_NAME = 500, 80  # characters
_FEWEST_PROTOTYPES = 2
# Nearer than this, one of two prototypes would take the sentences of both.
_SAME_DISTANCE = 1e-5


@dataclass(frozen=True)
class Edits:
    """Edits to be made together; every id is named once for each purpose.

    Parameters
    ----------
    drop
        Ids of the prototypes to remove.
    merge
        Groups of ids: the first stays, the others are removed.
    replace
        Ids with their new sentences.
    rename
        Ids with their new names; an empty one takes the name away.

    Examples
    --------
    >>> Edits.of(drop=[7], rename={3: "slow service"})
    Edits(drop=(7,), merge=(), replace=(), rename=((3, 'slow service'),))
    """

    drop: tuple[int, ...] = ()
    merge: tuple[tuple[int, ...], ...] = ()
    replace: tuple[tuple[int, str], ...] = ()
    rename: tuple[tuple[int, str], ...] = ()

    def __post_init__(self) -> None:
        for group in self.merge:
            if len(group) < 2:
                raise InputError(f"merge={list(group)} should name at least two prototypes.")
        kept = {
            "merged into": [group[0] for group in self.merge],
            "replaced": [number for number, _ in self.replace],
            "renamed": [number for number, _ in self.rename],
        }
        for purpose, ids in {"removed": self.removed, **kept}.items():
            for number, count in Counter(ids).items():
                if count > 1:
                    raise InputError(f"prototype {number} is to be {purpose} twice; name it once.")
        for number in self.removed:
            if any(number in ids for ids in kept.values()):
                raise InputError(
                    f"prototype {number} is to be removed, but is named for something else as "
                    "well. Do one or the other."
                )

    @classmethod
    def of(
        cls,
        drop: Iterable[int] = (),
        merge: Iterable[Iterable[int]] = (),
        replace: Mapping[int, str] | Iterable[tuple[int, str]] = (),
        rename: Mapping[int, str] | Iterable[tuple[int, str]] = (),
    ) -> Edits:
        """Check and tidy what a person gives: lists of ids, dictionaries or pairs of texts."""
        sentences = _check_texts(replace, "replace", "sentence", _LONGEST_SENTENCE)
        for number, sentence in sentences:
            if not sentence:
                raise InputError(
                    f"the sentence for prototype {number} is empty; give one to replace it."
                )
        return cls(
            _check_ids(drop, "drop"),
            tuple(_check_ids(group, "merge") for group in _check_list(merge, "merge")),
            sentences,
            _check_texts(rename, "rename", "name", _LONGEST_NAME),
        )

    def __bool__(self) -> bool:
        return bool(self.removed or self.replace or self.rename)

    @property
    def removed(self) -> tuple[int, ...]:
        """Ids that are gone afterwards."""
        return (*self.drop, *(number for group in self.merge for number in group[1:]))


def _check_list(values: Any, what: str) -> list[Any]:
    if isinstance(values, str | bytes | int) or not isinstance(values, Iterable):
        raise InputError(f"{what}={values!r} should be a list.")
    return list(values)


def _check_ids(values: Any, what: str) -> tuple[int, ...]:
    numbers = _check_list(values, what)
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, Integral):
            raise InputError(f"{what}: {number!r} is no prototype id; ids are whole numbers.")
    return tuple(map(int, numbers))


def _check_texts(given: Any, what: str, kind: str, longest: int) -> tuple[tuple[int, str], ...]:
    """Return ids with their texts, each on one line."""
    pairs = list(given.items()) if isinstance(given, Mapping) else _check_list(given, what)
    if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        raise InputError(f"{what} should give a text for each id, as in {what}={{4: 'A text.'}}.")
    ids = _check_ids([number for number, _ in pairs], what)
    lines = []
    for number, (_, text) in zip(ids, pairs, strict=True):
        name = f"the {kind} for prototype {number}"
        if not isinstance(text, str):
            raise InputError(f"{name} is {text!r}; expected a text.")
        line = " ".join(text.split())
        if len(line) > longest:
            raise InputError(f"{name} has {len(line):,} characters; give at most {longest}.")
        try:
            line.encode()
        except UnicodeEncodeError:
            raise InputError(f"{name} holds half a Unicode character; type it again.") from None
        lines.append((number, line))
    return tuple(lines)


@dataclass(frozen=True)
class Change:
    """What an edit did to one prototype, for the log.

    Parameters
    ----------
    kind, id
        What was done, and to which prototype.
    before, after
        Its sentence (its name, if it was renamed) before and after; empty where there is none.
    into
        The prototype it was merged into.
    nearest
        The remaining prototype nearest to one that was removed.

    Examples
    --------
    >>> print(Change("drop", 7, "More", nearest=3))
    7 “More” dropped: its sentences go to the nearest that remain
    """

    kind: Literal["drop", "merge", "replace", "rename"]
    id: int
    before: str
    after: str = ""
    into: int | None = None
    nearest: int | None = None

    def __str__(self) -> str:
        if self.kind == "rename":
            was = f" (was “{self.before}”)" if self.before else ""
            return f"{self.id} {f'named “{self.after}”' if self.after else 'unnamed'}{was}"
        was = f"{self.id} “{self.before}”"
        if self.kind == "replace":
            return f"{was} replaced by “{self.after}”"
        if self.kind == "drop":
            return f"{was} dropped: its sentences go to the nearest that remain"
        if self.nearest == self.into:
            return f"{was} merged into {self.into}"
        return (
            f"{was} merged into {self.into}; but {self.nearest} is nearer to it, and sentences go "
            "to the nearest that remain"
        )


def score_alone(network: ProtoryNetwork, task: Task) -> NDArray[np.float32]:
    """Return the probability of each class for each prototype read alone, (K, C)."""
    each = np.arange(network.n_prototypes)
    ones = np.ones(len(each), np.float32)
    itself = Reading(each, ones, each, ones, np.ones_like(each))
    if network.settings.selection == "dense":
        numbers = torch.from_numpy(each)
        itself = match_sentences(network, network.members.data, numbers, torch.ones_like(numbers))
    return read_matches(network.reader, itself, task).probabilities


class Edited(NamedTuple):
    """A network and its prototypes after edits, and what was done."""

    network: ProtoryNetwork
    prototypes: Prototypes
    changes: tuple[Change, ...]


def apply_edits(
    network: ProtoryNetwork, prototypes: Prototypes, edits: Edits, vectors: Tensor, task: Task
) -> Edited:
    """Return the network and the prototypes as edited; those given stay as they are.

    Scores are computed again. Usage and class rates need documents, so they stay as they were.

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
    positions = {item.id: position for position, item in enumerate(prototypes)}
    _check_known(edits, positions)
    sentences, names = dict(edits.replace), dict(edits.rename)
    items = [item for item in prototypes if item.id not in edits.removed]
    edited, nearest = network, {}
    if edits.removed or edits.replace:
        edited = _edit_network(network, prototypes, edits, vectors, positions)
        items = [
            replace(item, sentence=sentences[item.id], row=None) if item.id in sentences else item
            for item in items
        ]
        _check_apart(edits, edited, items)
        alone = zip(items, score_alone(edited, task).tolist(), strict=True)
        items = [
            replace(item, scores=dict(zip(prototypes.classes, scores, strict=True)))
            for item, scores in alone
        ]
        nearest = _find_nearest(edits.removed, network, edited, positions, items)
    items = [
        replace(item, name=names[item.id] or None) if item.id in names else item for item in items
    ]
    changes = _list_changes(edits, prototypes, nearest)
    return Edited(edited, replace(prototypes, items=tuple(items)), changes)


def _check_known(edits: Edits, positions: Mapping[int, int]) -> None:
    """Refuse edits of prototypes that are not there, or of too many."""
    named = [*edits.removed, *(group[0] for group in edits.merge)]
    named += [number for number, _ in (*edits.replace, *edits.rename)]
    if unknown := sorted(set(named) - set(positions)):
        raise InputError(
            f"there is no prototype {', '.join(map(str, unknown))}; the ids are "
            f"{', '.join(map(str, sorted(positions)))}."
        )
    left = len(positions) - len(edits.removed)
    if edits.removed and left < _FEWEST_PROTOTYPES:
        raise InputError(
            f"removing {len(edits.removed)} of {len(positions)} prototypes would leave {left}; a "
            f"model needs at least {_FEWEST_PROTOTYPES}."
        )


def _edit_network(
    network: ProtoryNetwork,
    prototypes: Prototypes,
    edits: Edits,
    vectors: Tensor,
    positions: Mapping[int, int],
) -> ProtoryNetwork:
    state = {name: value.detach().clone() for name, value in network.state_dict().items()}
    weight = state["reader.lstm.weight_ih_l0"]
    for group in edits.merge:
        together = [positions[number] for number in group]
        # A tiny share each, so that prototypes which are never used have a mean as well.
        share = weight.new_tensor([prototypes[position].usage + 1e-9 for position in together])
        weight[:, together[0]] = weight[:, together] @ (share / share.sum())
    for (number, _), vector in zip(edits.replace, vectors, strict=True):
        state["members"][positions[number]] = vector
    kept = [position for number, position in positions.items() if number not in edits.removed]
    state["members"] = state["members"][kept]
    state["reader.lstm.weight_ih_l0"] = weight[:, kept].contiguous()
    # Built without memory nor random numbers: all weights are given.
    with torch.device("meta"):
        reader = Reader.of(network.settings, len(kept), network.reader.head.out_features)
    edited = ProtoryNetwork(state["members"], reader, network.settings)
    edited.load_state_dict(state, assign=True)
    return edited.eval().requires_grad_(False)


def _check_apart(edits: Edits, network: ProtoryNetwork, items: Sequence[Prototype]) -> None:
    """Refuse a sentence that another prototype has already, in these words or in others."""
    vectors = network.members.double()
    for number in dict(edits.replace):
        position = next(position for position, item in enumerate(items) if item.id == number)
        distances = pairwise_distance(vectors[[position]], vectors, network.settings.distance)
        distances[0, position] = torch.inf
        other = items[int(distances.argmin())]
        if float(distances.min()) < _SAME_DISTANCE:
            raise InputError(
                f"prototype {other.id} (“{other.sentence}”) is the same to the encoder as the "
                f"sentence for prototype {number}; give another, or merge the two."
            )


def _find_nearest(
    removed: Sequence[int],
    before: ProtoryNetwork,
    after: ProtoryNetwork,
    positions: Mapping[int, int],
    items: Sequence[Prototype],
) -> dict[int, int]:
    """Return, for each id removed, that of the remaining prototype nearest to it."""
    gone = before.members[[positions[number] for number in removed]].double()
    distances = pairwise_distance(gone, after.members.double(), after.settings.distance)
    nearest = distances.argmin(dim=1).tolist()
    return {number: items[position].id for number, position in zip(removed, nearest, strict=True)}


def _list_changes(
    edits: Edits, before: Prototypes, nearest: Mapping[int, int]
) -> tuple[Change, ...]:
    was = {item.id: item for item in before}
    into = {number: group[0] for group in edits.merge for number in group[1:]}
    changes = [
        Change(
            "merge" if number in into else "drop",
            number,
            was[number].sentence,
            into=into.get(number),
            nearest=nearest[number],
        )
        for number in edits.removed
    ]
    for number, sentence in edits.replace:
        changes.append(Change("replace", number, was[number].sentence, sentence))
    for number, name in edits.rename:
        changes.append(Change("rename", number, was[number].name or "", name))
    return tuple(changes)
