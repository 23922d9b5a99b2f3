"""Which class a view shows, and in which hue: decided once, so that no two views disagree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from protorynet.explain import Explanation
    from protorynet.prototypes import Prototype, Prototypes

__all__ = ["HUES", "Reading", "Scale", "ranked", "scale_of_explanation", "scale_of_prototypes"]

# Blue and orange first: told apart by the colour-blind, and of middling lightness, so that they
# stand out on white and on black alike.
HUES = (
    "#3b82c4",
    "#d2711c",
    "#2e9e78",
    "#a865b5",
    "#94851b",
    "#c0504d",
    "#2a97ad",
    "#7d8590",
)


@dataclass(frozen=True)
class Reading:
    """A class, its probability or score between 0 and 1, and the index of its hue."""

    label: str
    value: float
    hue: int


@dataclass(frozen=True)
class Scale:
    """One axis between two classes, or the strongest of several classes.

    Parameters
    ----------
    classes
        Names of the classes.
    pole
        The class at the upper end of the axis; None where there are several classes.

    Examples
    --------
    >>> two = Scale(("negative", "positive"), pole="positive")
    >>> two.shown({"negative": 0.9, "positive": 0.1})
    Reading(label='positive', value=0.1, hue=1)
    >>> several = Scale(("Person", "Animal", "Building"), pole=None)
    >>> several.shown({"Person": 0.1, "Animal": 0.2, "Building": 0.7})
    Reading(label='Building', value=0.7, hue=2)
    """

    classes: tuple[str, ...]
    pole: str | None

    @property
    def opposite(self) -> str:
        """Name of the lower end of the axis."""
        return self.classes[0] if len(self.classes) == 2 else f"not {self.pole}"

    def shown(self, distribution: Mapping[str, float]) -> Reading:
        """Return the class that stands for a distribution: the axis's, or the strongest."""
        label = self.pole or max(distribution, key=lambda name: distribution[name])
        return self.reading(label, distribution[label])

    def leading(self, distribution: Mapping[str, float]) -> Reading:
        """Return the most probable class by its name, also on an axis."""
        label = max(distribution, key=lambda name: distribution[name])
        shown = self.shown(distribution)
        return Reading(label, min(max(float(distribution[label]), 0.0), 1.0), shown.hue)

    def reading(self, label: str, value: float) -> Reading:
        """Return a class's value with its hue; on an axis the hue tells the side of one half."""
        value = min(max(float(value), 0.0), 1.0)
        if self.pole is not None:
            return Reading(label, value, hue=0 if value >= 0.5 else 1)
        return Reading(label, value, hue=self.classes.index(label) % len(HUES))

    def span(self, value: float) -> tuple[float, float]:
        """Return start and length of a bar: from the middle on an axis, from 0 elsewhere."""
        if self.pole is None:
            return 0.0, value
        return min(value, 0.5), abs(value - 0.5)


def scale_of_explanation(explanation: Explanation) -> Scale:
    """Return the scale on which a document's trajectory is shown."""
    scores = (sentence.scores for sentence in explanation.sentences)
    return _scale(explanation.classes, [explanation.probabilities, *scores])


def scale_of_prototypes(prototypes: Prototypes) -> Scale:
    """Return the scale on which a model's prototypes are shown."""
    return _scale(prototypes.classes, (item.scores for item in prototypes))


def ranked(prototypes: Prototypes, scale: Scale) -> list[Prototype]:
    """Return the prototypes by falling score; with several classes, class after class."""
    if scale.pole is not None:
        return prototypes.ranked(scale.pole)

    def place(item: Prototype) -> tuple[int, float, int]:
        strongest = scale.shown(item.scores)
        return scale.classes.index(strongest.label), -strongest.value, item.id

    return sorted(prototypes, key=place)


def _scale(classes: tuple[str, ...], distributions: Iterable[Mapping[str, float]]) -> Scale:
    # Two labels of a multi-label model do not add up to one, hence are no two ends of one axis.
    one_axis = len(classes) == 1 or (
        len(classes) == 2 and all(abs(sum(d.values()) - 1) < 1e-3 for d in distributions)
    )
    return Scale(classes, classes[-1] if one_axis else None)
