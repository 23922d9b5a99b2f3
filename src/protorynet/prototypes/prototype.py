"""What is known of each prototype of a delivered model, and how many of them to deliver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_Sourced = TypeVar("_Sourced", "Member", "Prototype")
_COLUMNS = ("id", "name", "sentence", "row", "usage")


@dataclass(frozen=True)
class Member:
    """A real training sentence, or one typed by hand, that others are matched to.

    - `id`: a stable number, never changed nor reused by an edit; unique among all members.
    - `sentence`, `row`: as it stands in the training document at this position, counted from 0, or
      as it was typed, with None.
    - `usage`: share of the training sentences matched to it.
    - `class_rate`: share of each class among their documents, in the order of the classes.
    """

    id: int
    sentence: str
    row: int | None
    usage: float
    class_rate: tuple[float, ...] = ()


@dataclass(frozen=True)
class Prototype:
    """A family of real sentences of one kind and one tone; in the paper, a single sentence.

    - `id`: a stable number, never changed nor reused by an edit; it is no position.
    - `sentence`, `row`: the headline: the sentence of its most typical member, and that one's row.
    - `usage`: share of the training sentences matched to one of its members.
    - `scores`: the model's probability of each class for this prototype read alone.
    - `class_rate`: share of each class among the documents of the sentences matched to it.
    - `name`: what a person calls it; only shown, never computed with.
    - `words`: words that are far more common in its sentences than in others.
    - `members`: after training the most typical first; where none are given, the sentence alone.

    Examples
    --------
    >>> Prototype(3, "It took an hour.", 8, 0.1, {}, {}, name="slow service").caption
    'slow service: It took an hour.'
    """

    id: int
    sentence: str
    row: int | None
    usage: float
    scores: dict[str, float]
    class_rate: dict[str, float]
    name: str | None = None
    words: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()

    def __post_init__(self) -> None:
        if not self.members:
            alone = Member(
                self.id, self.sentence, self.row, self.usage, tuple(self.class_rate.values())
            )
            object.__setattr__(self, "members", (alone,))

    @property
    def caption(self) -> str:
        """The sentence, after the name where it has one."""
        return self.sentence if self.name is None else f"{self.name}: {self.sentence}"

    @property
    def spread(self) -> float:
        """How far its members' class rates lie apart: their standard deviation, by use.

        What the chance of small numbers adds cannot be told here, so it is an upper bound.
        """
        rates = np.array([member.class_rate for member in self.members])
        use = np.array([member.usage for member in self.members])
        if rates.size == 0 or use.sum() == 0:
            return 0.0
        mean = use @ rates / use.sum()
        return float(np.sqrt(use @ np.square(rates - mean).mean(axis=1) / use.sum()))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `protorynet prototypes --json` prints them."""
        return asdict(self)


@dataclass(frozen=True)
class Prototypes:
    """The prototypes of a model, and the names of its classes, in the order of the network."""

    items: tuple[Prototype, ...]
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Prototype]:
        return iter(self.items)

    def __getitem__(self, position: int) -> Prototype:
        return self.items[position]

    def check(self) -> None:
        """Raise ValueError where the parts of a file that was read do not belong together."""
        prototypes, members = self.ids.tolist(), [member.id for member in self.members]
        for kind, ids in {"prototypes": prototypes, "members": members}.items():
            if len(set(ids)) < len(ids):
                raise ValueError(f"two {kind} have the same id")
        for item in self.items:
            rates = (member.class_rate for member in item.members)
            if any(len(rate) != len(self.classes) for rate in rates) or any(
                self.classes != tuple(of) for of in (item.scores, item.class_rate)
            ):
                raise ValueError("the prototypes have other classes than the model")

    @property
    def ids(self) -> NDArray[np.int64]:
        """The ids in the order of the prototypes."""
        return np.array([item.id for item in self.items], dtype=np.int64)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many members each prototype has."""
        return tuple(len(item.members) for item in self.items)

    @property
    def families(self) -> NDArray[np.int64]:
        """The position of the prototype that each member belongs to."""
        return np.repeat(np.arange(len(self.items)), self.sizes)

    @property
    def scores(self) -> NDArray[np.float64]:
        """The score of each prototype for each class, (K, C)."""
        return np.array([list(item.scores.values()) for item in self.items])

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """The members of all prototypes, in the order of the network."""
        return tuple(member for item in self.items for member in item.members)

    def ranked(self, label: str | None = None) -> list[Prototype]:
        """Return the prototypes by falling score for a class (the last class if none is named)."""
        by = self.classes[-1] if label is None else label
        return sorted(self.items, key=lambda item: (-item.scores[by], item.id))

    def with_rows(self, rows: Sequence[int] | NDArray[np.int64]) -> Prototypes:
        """Return the prototypes with the row of each one's document looked up in `rows`."""

        def look_up(item: _Sourced) -> _Sourced:
            return item if item.row is None else replace(item, row=int(rows[item.row]))

        items = (
            replace(look_up(item), members=tuple(map(look_up, item.members))) for item in self.items
        )
        return replace(self, items=tuple(items))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `protorynet prototypes --json` prints them."""
        return {"prototypes": [item.to_dict() for item in self.items]}

    def to_pandas(self) -> Any:
        """Return a table: one row per prototype, one column per class score and class rate."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    **{name: getattr(item, name) for name in _COLUMNS},
                    **{f"score {name}": value for name, value in item.scores.items()},
                    **{f"rate {name}": value for name, value in item.class_rate.items()},
                }
                for item in self.items
            ]
        )

    def _repr_html_(self) -> str:
        from protorynet.report import render

        return render("prototypes_fragment.html", prototypes=self)


@dataclass(frozen=True)
class PruningPoint:
    """One point of the pruning curve: so many prototypes stay."""

    n_prototypes: int
    threshold: float  # θ: the least share of the validation sentences that any is active for
    accuracy: float  # validation accuracy with a reader retrained on them


def sizes_to_try(live: int, most: int, least: int = 2) -> list[int]:
    """Return numbers of prototypes to try, from the most allowed down to two.

    Of `live` prototypes that are used at all, a delivered model may have `most`. Numbers below
    `least` are tried too, for the curve, unless it leaves no choice at all.
    """
    size = max(1, min(live, most))
    sizes = [size]
    if least >= size:
        return sizes
    while size > 2:
        size = max(2, size - max(2, size // 4))
        sizes.append(size)
    return sizes


def choose_size(points: Sequence[PruningPoint], *, least: int, tolerance: float) -> int:
    """Return the fewest prototypes whose accuracy is within `tolerance` of the best.

    Fewer than `least` are chosen only where there are no more.
    """
    allowed = [point for point in points if point.n_prototypes >= least] or list(points[:1])
    best = max(point.accuracy for point in allowed)
    return min(p.n_prototypes for p in allowed if p.accuracy >= best - tolerance)
