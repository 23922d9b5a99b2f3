"""What all views agree on: how numbers and texts are written, classes coloured, words marked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from protorynet.explain import Explanation, SentenceExplanation, WordEffect
    from protorynet.figures import ClassFigures, Figures
    from protorynet.prototypes import Member, Prototype, Prototypes

READER_IS_BEHIND = (
    "Prototypes were edited by hand after the reader was last trained, so it decides with "
    "prototypes that it has not learned to use."
)
"""What every view says of an explanation whose `reader_is_behind`."""
UNFAMILIAR = "unlike anything in the training data"
"""What every view says of a sentence that is `unfamiliar`."""

# Blue and orange first: told apart by the colour-blind, and of middling lightness, so that they
# stand out on white and on black alike.
HUES = ("#3b82c4", "#d2711c", "#2e9e78", "#a865b5", "#94851b", "#c0504d", "#2a97ad", "#7d8590")

# XML and HTML cannot carry these, not even escaped; a lone surrogate cannot even be written.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
# Left in, these would turn around the numbers that follow on a terminal's line.
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")
# A word is marked strongly, clearly or faintly from these shares of the strongest effect on.
_MARKED_SHARES = (0.6, 0.3, 0.12)
_SMALLEST_EFFECT = 1e-6  # below, an effect is rounding
_AGREE, _MOSTLY_AGREE = 0.1, 0.2  # members agree whose class rates lie so far apart


def format_percent(value: float) -> str:
    """Return a probability for reading, never rounded to a certainty it is not."""
    if 0 < value < 0.005:
        return "<1%"
    return ">99%" if 0.995 < value < 1 else f"{100 * value:.0f}%"


def format_signed(effect: float) -> str:
    """Return a difference of similarities: "+0.31", or "+0.004" where it is small."""
    return f"{effect:+.2f}" if abs(effect) >= 0.01 else f"{effect:+.3f}"


def format_points(effect: float) -> str:
    """Return a difference of probabilities in percentage points: "+12", "-4" or "0"."""
    rounded = round(100 * effect)
    return f"{rounded:+d}" if rounded else "0"


def format_measure(value: float | None) -> str:
    """Return a measure's figure: "0.914", "9.8", or "n/a" where there is none."""
    if value is None:
        return "n/a"
    return f"{value:.3f}" if abs(value) <= 1 else f"{value:.1f}"


def measure_title(name: str) -> str:
    """Return a measure's key as words: "Ids only accuracy"."""
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def list_figures(figures: Figures) -> list[tuple[str, str]]:
    """Return names and values of the figures that stand beside the accuracy, it first."""
    low, high = figures.accuracy_interval
    floors = figures.majority_baseline, figures.bag_of_words_accuracy
    baseline, bag = (None if floor is None else f"{floor:.1%}" for floor in floors)
    shown = {
        "Accuracy": f"{figures.accuracy:.1%} (95% interval {100 * low:.1f}–{high:.1%})",
        "Majority baseline": baseline,
        "Bag of words": bag,
        "Balanced accuracy": f"{figures.balanced_accuracy:.1%}",
        "Macro F1": f"{figures.macro_f1:.3f}",
        "Calibration error": f"{figures.calibration_error:.3f}",
    }
    return [(name, value) for name, value in shown.items() if value is not None]


def choose_classes(figures: Figures, most: int) -> list[ClassFigures]:
    """Return the classes that are shown; of many those of the lowest recall, the worst first."""
    if len(figures.classes) <= most:
        return list(figures.classes)
    found = [each for each in figures.classes if each.recall is not None]
    return sorted(found, key=lambda each: each.recall or 0.0)[:most]


def clean(text: str) -> str:
    """Return the text with what no HTML or SVG file can hold replaced by U+FFFD."""
    return _UNWRITABLE.sub("\ufffd", text)


def printable(text: str, encoding: str = "utf-8") -> str:
    """Return the text on one line, without anything that could steer a terminal."""
    line = _DIRECTION.sub("", clean(" ".join(text.split())))
    return line.encode(encoding, "replace").decode(encoding)


def shorten(text: str, limit: int = 400) -> str:
    """Return the text cut to a number of letters, with an ellipsis where it was cut.

    East Asian characters take the room of two.
    """
    if cell_len(text) <= limit:
        return text
    return chop_cells(text, max(limit - 1, 1))[0].rstrip() + "…"


def break_lines(text: str, limit: int, most: int = 100) -> list[str]:
    """Return the text in lines of at most `limit` letters, the last one cut if need be."""
    whole = Text(" ".join(text.split()))
    folded = (line.plain.strip() for line in whole.wrap(Console(), limit, overflow="fold"))
    broken = [line for line in folded if line]
    if len(broken) > most:
        broken[most - 1 :] = [shorten(" ".join(broken[most - 1 : most + 1]), limit)]
    return broken


@dataclass(frozen=True)
class ShownClass:
    """A class, its probability or score between 0 and 1, and the index of its hue."""

    label: str
    value: float
    hue: int


@dataclass(frozen=True)
class Scale:
    """One axis up to the class `pole`, or the strongest of several classes where that is None."""

    classes: tuple[str, ...]
    pole: str | None

    @property
    def opposite(self) -> str:
        """Name of the lower end of the axis."""
        return self.classes[0] if len(self.classes) == 2 else f"not {self.pole}"

    def shown(self, distribution: Mapping[str, float]) -> ShownClass:
        """Return the class that stands for a distribution: the axis's, or the strongest."""
        label = self.pole or max(distribution, key=lambda name: distribution[name])
        return self.reading(label, distribution[label])

    def leading(self, distribution: Mapping[str, float]) -> ShownClass:
        """Return the most probable class by its name, also on an axis."""
        label = max(distribution, key=lambda name: distribution[name])
        reading = self.reading(label, distribution[label])
        return replace(reading, hue=self.shown(distribution).hue)

    def reading(self, label: str, value: float) -> ShownClass:
        """Return a class's value with its hue; on an axis the hue tells the side of one half."""
        value = min(max(float(value), 0.0), 1.0)
        if self.pole is not None:
            return ShownClass(label, value, hue=0 if value >= 0.5 else 1)
        return ShownClass(label, value, hue=self.classes.index(label) % len(HUES))

    def span(self, value: float) -> tuple[float, float]:
        """Return start and length of a bar: from the middle on an axis, from 0 elsewhere."""
        return (0.0, value) if self.pole is None else (min(value, 0.5), abs(value - 0.5))


def scale_of_explanation(explanation: Explanation) -> Scale:
    """Return the scale on which a document's trajectory is shown."""
    scores = (sentence.scores for sentence in explanation.sentences)
    return _scale(explanation.classes, [explanation.probabilities, *scores])


def scale_of_prototypes(prototypes: Prototypes) -> Scale:
    """Return the scale on which a model's prototypes are shown."""
    return _scale(prototypes.classes, (item.scores for item in prototypes))


def _scale(classes: tuple[str, ...], distributions: Iterable[Mapping[str, float]]) -> Scale:
    # Two labels of a multi-label model do not add up to one, hence are no two ends of one axis.
    one_axis = len(classes) == 1 or (
        len(classes) == 2 and all(abs(sum(d.values()) - 1) < 1e-3 for d in distributions)
    )
    return Scale(classes, classes[-1] if one_axis else None)


def rank_prototypes(prototypes: Prototypes, scale: Scale) -> list[Prototype]:
    """Return the prototypes by falling score; with several classes, class after class."""
    if scale.pole is not None:
        return prototypes.ranked(scale.pole)

    def rank(item: Prototype) -> tuple[int, float, int]:
        strongest = scale.shown(item.scores)
        return scale.classes.index(strongest.label), -strongest.value, item.id

    return sorted(prototypes, key=rank)


def group_by_class(prototypes: Prototypes, scale: Scale) -> dict[str | None, list[Prototype]]:
    """Return the ranked prototypes by the class that each speaks for; on an axis, by None.

    A class that none speaks for has an empty list.
    """
    ranked = rank_prototypes(prototypes, scale)
    if scale.pole is not None:
        return {None: ranked}
    strongest = [scale.shown(item.scores).label for item in ranked]
    return {
        label: [item for item, own in zip(ranked, strongest, strict=True) if own == label]
        for label in scale.classes
    }


def read_verdict(explanation: Explanation, scale: Scale) -> ShownClass:
    """Return the predicted class in the hue of its side, which at one half is no other's."""
    probability = explanation.probabilities.get(explanation.label)
    if probability is None:
        return scale.shown(explanation.probabilities)
    reading = scale.reading(explanation.label, probability)
    if scale.pole is None:
        return reading
    return replace(reading, hue=0 if explanation.label == scale.pole else 1)


def is_member(match: SentenceExplanation) -> bool:
    """Say whether a sentence is matched to another one than its prototype is called by."""
    return match.headline not in ("", match.prototype_sentence)


def has_families(prototypes: Prototypes) -> bool:
    """Say whether any prototype is more than a single sentence."""
    return any(size > 1 for size in prototypes.sizes)


def pick_members(item: Prototype, most: int = 3) -> list[Member]:
    """Return members to show beside the headline, the most typical first; with a name, it too."""
    others = [member for member in item.members if member.sentence != item.sentence]
    typical = [member for member in item.members if member.sentence == item.sentence][:1]
    return [*(typical if item.name is not None else []), *others][:most]


def describe_agreement(item: Prototype) -> str:
    """Say in words how far the members of a prototype agree: "53 sentences that agree"."""
    # Over many classes, most of which are 0 for all members, the deviation would always be small.
    apart = item.spread * (len(item.class_rate) / 2) ** 0.5
    verb = "agree" if apart < _AGREE else "mostly agree" if apart < _MOSTLY_AGREE else "differ"
    return f"{len(item.members):,} sentences that {verb}"


def warn_unfamiliar(explanation: Explanation) -> str | None:
    """Return a warning of a document half of whose sentences, or more, are unfamiliar."""
    n, total = sum(step.unfamiliar for step in explanation.sentences), len(explanation.sentences)
    if not n or 2 * n < total:
        return None
    which = f"{n:,} of the {total:,} sentences are" if n < total else f"All {n:,} sentences are"
    subject = which if total > 1 else "This sentence is"
    return f"{subject} {UNFAMILIAR}, so the verdict says little."


def pick_steps(explanation: Explanation, most: int) -> list[tuple[int, SentenceExplanation]]:
    """Return the sentences with their numbers; of many, those that mattered most."""
    numbered = list(enumerate(explanation.sentences, start=1))
    by_effect = sorted(numbered, key=lambda each: (-abs(each[1].effect), each[0]))
    return sorted(by_effect[:most])


def find_decider(explanation: Explanation) -> Literal["pattern", "whole", "differs"] | None:
    """Say what decided, if known; an automaton that differs from the model explains nothing."""
    reading = explanation.automaton
    if reading is None:
        return None
    if not reading.agrees:
        return "differs"
    if reading.pattern is not None:
        return "pattern"
    return "whole" if reading.accepts else None


class Piece(NamedTuple):
    """A part of a sentence: how strongly it is marked, from 0 to 3, and its effect."""

    text: str
    strength: int
    effect: float


def mark_words(text: str, words: Sequence[WordEffect], match: SentenceExplanation) -> list[Piece]:
    """Cut a sentence into marked words and what lies between.

    Marks mean the same in both sentences of a match: the strongest word of the two sets the scale.
    """
    pieces, end = [], 0
    for word in words:
        if strength := _strength(word, match):
            pieces.append(Piece(text[end : word.start], 0, 0.0))
            pieces.append(Piece(text[word.start : word.end], strength, word.effect))
            end = word.end
    return [*pieces, Piece(text[end:], 0, 0.0)]


def strongest_words(
    words: Sequence[WordEffect], match: SentenceExplanation, most: int = 3
) -> list[WordEffect]:
    """Return the marked words by falling effect, the earlier first where equal."""
    chosen = [word for word in words if _strength(word, match)]
    return sorted(chosen, key=lambda word: -word.effect)[:most]


def _strength(word: WordEffect, match: SentenceExplanation) -> int:
    top = max(other.effect for other in (*match.words, *match.prototype_words))
    return sum(word.effect >= share * top for share in _MARKED_SHARES) * (top >= _SMALLEST_EFFECT)
