"""What a model did with some documents: the one type that every view and measure starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NOT_READ = np.empty((0, 0), np.float32)
_NONE, _NOT_KNOWN = np.empty(0, np.int64), np.empty(0, np.bool_)


@dataclass(frozen=True)
class Reading:
    """The trajectories of some documents, and the probabilities they lead to.

    Sentences stand one document after the other, so many `lengths` each. A document without a
    sentence has no trajectory; only `empty`, its position among all given, knows of it.

    - `prototypes`, `members`: position of the prototype of each sentence, and of the member it is
      like among those of all prototypes; without these, every prototype has one member.
    - `runner_up`…: the same of the nearest other prototype; the first again where there is none.
    - `probabilities`, `running`: of the classes, at the end of each document and after each
      sentence; empty where the sentences were matched, but not read yet.
    - `dense`: the similarities to all prototypes, (sentences, K), where the reader sees them all
      (the ablation `selection="dense"`); None where it sees the active one only.
    - `unfamiliar`: whether each sentence is unlike the training data; not given, none is.
    - `ids_only`: whether the reader sees but which prototype is active, whatever its similarity.

    Examples
    --------
    >>> matched, ones = np.array([0, 1, 0]), np.ones(3, np.float32)
    >>> reading = Reading(matched, ones, matched, ones, np.array([2, 1]), empty=np.array([1]))
    >>> reading.filled.tolist(), [path.tolist() for path in reading.paths(["a", "b"])]
    ([True, False, True], [['a', 'b'], ['a']])
    """

    prototypes: NDArray[np.int64]
    similarities: NDArray[np.float32]
    runner_up: NDArray[np.int64]
    runner_up_similarities: NDArray[np.float32]
    lengths: NDArray[np.int64]
    probabilities: NDArray[np.float32] = field(default_factory=_NOT_READ.copy)
    running: NDArray[np.float32] = field(default_factory=_NOT_READ.copy)
    empty: NDArray[np.int64] = field(default_factory=_NONE.copy)
    dense: NDArray[np.float32] | None = None
    members: NDArray[np.int64] = field(default_factory=_NONE.copy)
    runner_up_members: NDArray[np.int64] = field(default_factory=_NONE.copy)
    unfamiliar: NDArray[np.bool_] = field(default_factory=_NOT_KNOWN.copy)
    ids_only: bool = False

    def __post_init__(self) -> None:
        if len(self.members) != len(self.prototypes):
            object.__setattr__(self, "members", self.prototypes)
            object.__setattr__(self, "runner_up_members", self.runner_up)
        if len(self.unfamiliar) != len(self.prototypes):
            object.__setattr__(self, "unfamiliar", np.zeros(len(self.prototypes), np.bool_))

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each document starts among the sentences; one more than there are documents."""
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)

    @property
    def documents(self) -> NDArray[np.int64]:
        """The document that each sentence belongs to, counted among those that hold one."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @property
    def entries(self) -> NDArray[np.float32]:
        """What the reader sees of each sentence, at the place of its prototype."""
        return np.ones_like(self.similarities) if self.ids_only else self.similarities

    @property
    def filled(self) -> NDArray[np.bool_]:
        """Which of the documents given hold a sentence."""
        filled = np.ones(len(self.lengths) + len(self.empty), np.bool_)
        filled[self.empty] = False
        return filled

    def take(self, sentences: NDArray[np.int64], lengths: NDArray[np.int64]) -> Reading:
        """Return documents of these lengths, made of the sentences at these positions, not read."""
        return Reading(
            self.prototypes[sentences],
            self.similarities[sentences],
            self.runner_up[sentences],
            self.runner_up_similarities[sentences],
            lengths,
            dense=None if self.dense is None else self.dense[sentences],
            members=self.members[sentences],
            runner_up_members=self.runner_up_members[sentences],
            unfamiliar=self.unfamiliar[sentences],
            ids_only=self.ids_only,
        )

    def part(self, chosen: NDArray[np.bool_]) -> Reading:
        """Return some of the documents that hold a sentence, as they were read."""
        kept = np.repeat(chosen, self.lengths)
        part = self.take(np.flatnonzero(kept), self.lengths[chosen])
        if not len(self.probabilities):
            return part
        return replace(part, probabilities=self.probabilities[chosen], running=self.running[kept])

    @classmethod
    def join(cls, parts: Sequence[Reading]) -> Reading:
        """Return the documents of several readings one after the other, not read."""
        names = ["prototypes", "similarities", "runner_up", "runner_up_similarities", "lengths"]
        names += ["members", "runner_up_members", "unfamiliar"]
        joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        dense = [part.dense for part in parts if part.dense is not None]
        return cls(
            **joined,
            dense=np.concatenate(dense) if dense else None,
            ids_only=any(part.ids_only for part in parts),
        )

    def shuffle(self, seed: int) -> Reading:
        """Return the same documents, not read, with the sentences of each in random order."""
        values = np.random.default_rng(seed).random(len(self.prototypes))
        return self.take(np.lexsort((values, self.documents)), self.lengths)

    def class_rates(
        self, targets: NDArray[Any], k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return how often each of `k` prototypes is active, and its documents' shares of labels.

        Each document counts once for every sentence; a prototype without any has rates of 0.
        """
        counts = np.bincount(self.prototypes, minlength=k)
        sums = np.zeros((k, targets.shape[1]))
        np.add.at(sums, self.prototypes, np.repeat(targets, self.lengths, axis=0))
        return counts, sums / np.maximum(counts, 1)[:, None]

    def prototypes_used(self, k: int) -> NDArray[np.bool_]:
        """Say for each of `k` prototypes whether it is active anywhere."""
        return np.bincount(self.prototypes, minlength=k) > 0

    @property
    def unfamiliar_share(self) -> NDArray[np.float64]:
        """The share of each document's sentences that are unfamiliar."""
        counts = np.bincount(self.documents[self.unfamiliar], minlength=len(self.lengths))
        return np.asarray(counts / self.lengths)

    def with_ids_only(self) -> Reading:
        """Return the trajectories, not read, of which the reader is to see the ids alone."""
        same = self.take(np.arange(len(self.prototypes)), self.lengths)
        return replace(same, dense=None, ids_only=True)

    def paths(self, ids: Sequence[Any] | NDArray[Any]) -> list[NDArray[Any]]:
        """Return the ids of the prototypes of each document, given those of all prototypes."""
        return np.split(np.asarray(ids)[self.prototypes], self.offsets[1:-1])


def group_by_length(lengths: NDArray[np.int64], most: int) -> list[NDArray[np.int64]]:
    """Group documents of like length; a group of several, padded, has `most` sentences at most."""
    order = np.argsort(lengths, kind="stable")
    groups, start = [], 0
    while start < len(order):
        stop = start + 1
        while stop < len(order) and (stop + 1 - start) * lengths[order[stop]] <= most:
            stop += 1
        groups.append(order[start:stop])
        start = stop
    return groups
