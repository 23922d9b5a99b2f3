"""Edits applied to a network: its families of members, and the reader's weights for each."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from protorynet.errors import InputError, list_names
from protorynet.labels import Task
from protorynet.network import (
    ProtoryNetwork,
    Reader,
    match_sentences,
    pairwise_distance,
    read_matches,
)
from protorynet.prototypes.edits import Change, Edits
from protorynet.prototypes.prototype import Member, Prototype, Prototypes
from protorynet.reading import Reading

_FEWEST_PROTOTYPES = 2
# Nearer than this, one of two members would take the sentences of both.
_SAME_DISTANCE = 1e-5


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
    network: ProtoryNetwork,
    prototypes: Prototypes,
    edits: Edits,
    vectors: Tensor,
    task: Task,
    *,
    taken: tuple[int, int] = (0, 0),
) -> Edited:
    """Return the network and the prototypes as edited; those given stay as they are.

    Scores are computed again. Usage, class rates and words need documents, so they stay as they
    were; a prototype split off has those of its members. The typed sentences are as the encoder
    reads them, `vectors` (r, d) their embeddings in the space of the members. `taken` are the
    highest ids of a prototype and of a member ever given, where higher than those that are there.
    """
    _check_known(edits, prototypes)
    families = _Families(network, prototypes, taken)
    families.apply(edits, vectors)
    items, edited = [family.item for family in families.by_id.values()], network
    if edits.touches_members:
        _check_sizes(edits, families, len(prototypes), network)
        edited = _rebuild(network, list(families.by_id.values()))
        items = [family.describe() for family in families.by_id.values()]
        _check_apart(families.typed, edited, items)
        alone = zip(items, score_alone(edited, task).tolist(), strict=True)
        items = [
            replace(item, scores=dict(zip(prototypes.classes, scores, strict=True)))
            for item, scores in alone
        ]
    return Edited(edited, replace(prototypes, items=tuple(items)), tuple(families.changes))


def _check_known(edits: Edits, prototypes: Prototypes) -> None:
    """Refuse edits of prototypes and members that are not there."""
    ids = prototypes.ids.tolist()
    if unknown := sorted({*edits.removed, *edits.prototypes}.difference(ids)):
        raise InputError(
            f"there is no prototype {list_names(unknown, 5)}; the ids are "
            f"{list_names(sorted(ids))}."
        )
    if strange := sorted(set(edits.members).difference(m.id for m in prototypes.members)):
        raise InputError(
            f"there is no sentence {', '.join(map(str, strange))}; `protorynet prototypes --json` "
            "lists the ids of each prototype's sentences."
        )
    sizes = dict(zip(ids, prototypes.sizes, strict=True))
    for number, _ in edits.replace:
        if sizes[number] > 1:
            raise InputError(
                f"prototype {number} has {sizes[number]} sentences, and only one that stands alone "
                "can be replaced. Add yours, and drop those that it is to replace."
            )


class _Family:
    """A prototype being edited: its members with their vectors, and the reader's weights for it."""

    def __init__(
        self, item: Prototype, members: Iterable[tuple[Member, Tensor]], weights: Tensor
    ) -> None:
        self.item = item
        self.members = {member.id: (member, vector) for member, vector in members}
        self.weights = weights

    @property
    def pairs(self) -> list[tuple[Member, Tensor]]:
        """Members and vectors, in their order."""
        return list(self.members.values())

    def describe(self) -> Prototype:
        """Return the prototype; its headline stays while that is a member."""
        members = tuple(member for member, _ in self.pairs)
        headline = (self.item.sentence, self.item.row)
        if headline not in [(member.sentence, member.row) for member in members]:
            headline = (members[0].sentence, members[0].row)
        return replace(self.item, sentence=headline[0], row=headline[1], members=members)


class _Families:
    """The prototypes of a model being edited, by id, and what was done to them."""

    def __init__(
        self, network: ProtoryNetwork, prototypes: Prototypes, taken: tuple[int, int]
    ) -> None:
        vectors = torch.split(network.members.detach(), list(prototypes.sizes))
        weights = network.state_dict()["reader.lstm.weight_ih_l0"].T
        self.by_id = {
            item.id: _Family(item, zip(item.members, own, strict=True), column)
            for item, own, column in zip(prototypes, vectors, weights, strict=True)
        }
        self.home = {member.id: item.id for item in prototypes for member in item.members}
        self.classes = prototypes.classes
        self.next_prototype = max(taken[0], *self.by_id) + 1
        self.next_member = max(taken[1], *self.home) + 1
        self.changes: list[Change] = []
        self.typed: list[int] = []

    def apply(self, edits: Edits, vectors: Tensor) -> None:
        points = iter(vectors)
        for number, sentence in edits.replace:
            self.replace(number, sentence, next(points))
        for number, target in edits.move:
            self.move(number, target)
        for group in edits.split:
            self.split(group)
        for number in edits.drop_members:
            member, _ = self.take(number)
            self.log("drop_member", self.home[number], member.sentence, members=(number,))
        for number, sentence in edits.add:
            self.add(number, sentence, next(points))
        for group in edits.merge:
            self.merge(group)
        for number in edits.drop:
            family = self.by_id.pop(number)
            self.log("drop", number, family.item.sentence, members=tuple(family.members))
        for number, name in edits.rename:
            family = self.by_id[number]
            self.log("rename", number, family.item.name or "", name)
            family.item = replace(family.item, name=name or None)

    def log(self, kind: Any, number: int, before: str, after: str = "", **more: Any) -> None:
        self.changes.append(Change(kind, number, before, after, **more))

    def take(self, number: int) -> tuple[Member, Tensor]:
        """Take a member out of its prototype."""
        return self.by_id[self.home[number]].members.pop(number)

    def replace(self, number: int, sentence: str, vector: Tensor) -> None:
        family = self.by_id[number]
        ((old, _),) = family.members.values()
        family.members[old.id] = (replace(old, sentence=sentence, row=None), vector)
        family.item = replace(family.item, sentence=sentence, row=None)
        self.typed.append(old.id)
        self.log("replace", number, old.sentence, sentence, members=(old.id,))

    def move(self, number: int, target: int) -> None:
        if self.home[number] == target:
            raise InputError(f"sentence {number} is of prototype {target} already.")
        pair = self.take(number)
        self.by_id[target].members[number] = pair
        self.log("move", self.home[number], pair[0].sentence, into=target, members=(number,))

    def split(self, group: Sequence[int]) -> None:
        group = [number for number in self.home if number in group]  # in their order
        pairs = [self.take(number) for number in group]
        use = np.array([member.usage for member, _ in pairs])
        each = [torch.tensor(member.class_rate, dtype=torch.double) for member, _ in pairs]
        item = Prototype(
            id=self.next_prototype,
            sentence="",
            row=None,
            usage=float(use.sum()),
            scores={},
            class_rate=dict(zip(self.classes, _mean(each, use).tolist(), strict=True)),
        )
        weights = _mean([self.by_id[self.home[number]].weights for number in group], use)
        self.by_id[item.id] = _Family(item, pairs, weights)
        for source in dict.fromkeys(self.home[number] for number in group):
            own = [member for member, _ in pairs if self.home[member.id] == source]
            ids = tuple(member.id for member in own)
            self.log("split", source, own[0].sentence, into=item.id, members=ids)
        self.next_prototype += 1

    def add(self, number: int, sentence: str, vector: Tensor) -> None:
        member = Member(self.next_member, sentence, None, 0.0, (0.0,) * len(self.classes))
        self.by_id[number].members[member.id] = (member, vector)
        self.typed.append(member.id)
        self.log("add", number, "", sentence, members=(member.id,))
        self.next_member += 1

    def merge(self, group: Sequence[int]) -> None:
        families = [self.by_id[number] for number in group]
        use = np.array([family.item.usage for family in families])
        families[0].weights = _mean([family.weights for family in families], use)
        for number, family in zip(group[1:], families[1:], strict=True):
            families[0].members |= self.by_id.pop(number).members
            ids = tuple(family.members)
            self.log("merge", number, family.item.sentence, into=group[0], members=ids)


def _mean(values: Sequence[Tensor], use: NDArray[np.float64]) -> Tensor:
    """Return the mean by use; of equal values, the same to the last bit."""
    if all(torch.equal(value, values[0]) for value in values):
        return values[0]
    # A tiny share each, so that what is never used has a mean as well.
    share = values[0].new_tensor(use + 1e-9)
    return torch.stack(list(values), dim=1) @ (share / share.sum())


def _check_sizes(edits: Edits, families: _Families, count: int, network: ProtoryNetwork) -> None:
    """Refuse edits that leave too few prototypes, or one of no member or too many."""
    left = len(families.by_id)
    if edits.removed and left < _FEWEST_PROTOTYPES:
        raise InputError(
            f"removing {len(edits.removed)} of {count} prototypes would leave {left}; a model "
            f"needs at least {_FEWEST_PROTOTYPES}."
        )
    for number, family in families.by_id.items():
        if not family.members:
            raise InputError(
                f"prototype {number} would lose its last sentence; drop the prototype instead."
            )
        if len(family.members) > 1 and network.settings.selection == "dense":
            raise InputError(
                f"prototype {number} would have {len(family.members)} sentences, but a reader that "
                "sees all similarities (selection='dense') needs prototypes of one."
            )


def _rebuild(network: ProtoryNetwork, families: Sequence[_Family]) -> ProtoryNetwork:
    state = {name: value.detach().clone() for name, value in network.state_dict().items()}
    pairs = [family.pairs for family in families]
    state["members"] = torch.stack([vector for own in pairs for _, vector in own])
    weights = torch.stack([family.weights for family in families], dim=1)
    state["reader.lstm.weight_ih_l0"] = weights.contiguous()
    # Built without memory nor random numbers: all weights are given.
    with torch.device("meta"):
        reader = Reader.of(network.settings, len(families), network.reader.head.out_features)
    sizes = [len(own) for own in pairs]
    edited = ProtoryNetwork(state["members"], reader, network.settings, sizes)
    edited.load_state_dict(state, assign=True)
    return edited.eval().requires_grad_(False)


def _check_apart(typed: Sequence[int], network: ProtoryNetwork, items: Sequence[Prototype]) -> None:
    """Refuse a sentence that another member has already, in these words or in others."""
    vectors = network.members.double()
    members = [(member, item) for item in items for member in item.members]
    positions = {member.id: position for position, (member, _) in enumerate(members)}
    for position in (positions[number] for number in typed):
        distances = pairwise_distance(vectors[[position]], vectors, network.settings.distance)
        distances[0, position] = torch.inf
        if float(distances.min()) < _SAME_DISTANCE:
            member, item = members[int(distances.argmin())]
            of = f"sentence {member.id} of " if len(item.members) > 1 else ""
            raise InputError(
                f"{of}prototype {item.id} (“{member.sentence}”) is the same to the encoder as the "
                f"sentence for prototype {members[position][1].id}; give another."
            )
