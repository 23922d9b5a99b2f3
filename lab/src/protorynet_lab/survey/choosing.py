"""Choosing, fairly and by chance, what people are asked about."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from protorynet.explain import Explanation, SentenceExplanation
from protorynet.prototypes import Prototypes
from protorynet_lab.survey.survey import Lesson

__all__ = [
    "SENTENCE_CHARACTERS",
    "ReadModel",
    "clear_mistakes",
    "is_shown",
    "lesson_of",
    "matched_sentences",
    "plain",
    "traced_texts",
]

SENTENCE_CHARACTERS = (15, 220)
"""The fewest and the most characters of a sentence that is asked about."""

_PROTOTYPE_CHARACTERS = (2, 300)
_FEWEST_WORDS = 4
_DOCUMENT_SENTENCES = (3, 7)
_DOCUMENT_CHARACTERS = 900
_CLEAR = 0.5  # at most this share of what misleads most may come from any other sentence
_NOT_WORDS = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class ReadModel:
    """A model, and what it says about the documents.

    Parameters
    ----------
    name, encoder
        The model's name, and that of its encoder.
    prototypes
        Its prototypes.
    explanations
        What it says about each document; all models about the same documents.
    truths
        The right label of each document, named as the model names it.
    """

    name: str
    encoder: str
    prototypes: Prototypes
    explanations: Sequence[Explanation]
    truths: Sequence[str]


def matched_sentences(
    models: Sequence[ReadModel], order: Sequence[int], count: int, draw: random.Random
) -> list[tuple[int, int]]:
    """Choose sentences, one of a document, with as many different prototypes as there are."""
    candidates = []
    for place in order:
        steps = range(len(models[0].explanations[place].sentences))
        fitting = [step for step in steps if _is_matched_fairly(models, place, step)]
        if fitting:
            candidates.append((place, draw.choice(fitting)))
    chosen: list[tuple[int, int]] = []
    asked: set[int] = set()
    for place, step in candidates:
        prototype = models[0].explanations[place].sentences[step].prototype
        if prototype not in asked:
            asked.add(prototype)
            chosen.append((place, step))
    chosen += [candidate for candidate in candidates if candidate not in chosen]
    return chosen[:count]


def _is_matched_fairly(models: Sequence[ReadModel], place: int, step: int) -> bool:
    """Whether a sentence is readable, and for no model the very words of its prototype."""
    for model in models:
        sentence = model.explanations[place].sentences[step]
        if not _is_readable(sentence.text) or not is_shown(sentence.prototype_sentence):
            return False
        if plain(sentence.text) == plain(sentence.prototype_sentence):
            return False
    return True


def traced_texts(
    models: Sequence[ReadModel], order: Sequence[int], count: int, used: set[int]
) -> list[int]:
    """Choose short texts whose trajectories have turns, for every model."""
    fitting = (
        place
        for place in order
        if place not in used
        and all(_is_short_text(model.explanations[place]) for model in models)
        and all(_has_turns(model.explanations[place]) for model in models)
    )
    return [place for place, _ in zip(fitting, range(count), strict=False)]


def clear_mistakes(model: ReadModel, order: Sequence[int], used: set[int]) -> list[tuple[int, int]]:
    """Return wrong predictions with the sentence that misled the model, the clear ones first."""
    found: list[tuple[bool, int, int]] = []
    for place in order:
        explanation = model.explanations[place]
        is_wrong = explanation.label != model.truths[place]
        if place in used or not is_wrong or not _is_short_text(explanation):
            continue
        misled = [_misleading(step) for step in explanation.sentences]
        first, second = sorted(range(len(misled)), key=lambda step: -misled[step])[:2]
        if misled[first] > 0:
            found.append((misled[second] <= _CLEAR * misled[first], place, first))
    return [(place, step) for _, place, step in sorted(found, key=lambda each: not each[0])]


def _misleading(step: SentenceExplanation) -> float:
    """Return how far a badly fitting prototype speaks for the prediction.

    A sentence that speaks for it with good reason fits its prototype, so is not to blame.
    """
    return max(0.0, step.effect) * (1 - step.similarity)


def lesson_of(model: ReadModel, order: Sequence[int], used: set[int]) -> Lesson | None:
    """Return the rightly read text whose sentences are most like their prototypes."""
    right = [
        place
        for place in order
        if place not in used
        and model.explanations[place].label == model.truths[place]
        and _is_short_text(model.explanations[place])
    ]
    if not right:
        return None
    best = model.explanations[max(right, key=lambda place: _likeness(model.explanations[place]))]
    pairs = tuple((step.text, step.prototype_sentence) for step in best.sentences)
    return Lesson(pairs, best.label)


def _is_readable(sentence: str) -> bool:
    low, high = SENTENCE_CHARACTERS
    return low <= len(sentence) <= high and len(sentence.split()) >= _FEWEST_WORDS


def is_shown(prototype: str) -> bool:
    """Whether a prototype has words, and not too many to be compared."""
    low, high = _PROTOTYPE_CHARACTERS
    return low <= len(prototype) <= high and bool(plain(prototype))


def _is_short_text(explanation: Explanation) -> bool:
    low, high = _DOCUMENT_SENTENCES
    return (
        low <= len(explanation.sentences) <= high
        and len(explanation.document) <= _DOCUMENT_CHARACTERS
        and all(is_shown(step.prototype_sentence) for step in explanation.sentences)
    )


def _has_turns(explanation: Explanation) -> bool:
    return len({plain(step.prototype_sentence) for step in explanation.sentences}) > 1


def _likeness(explanation: Explanation) -> float:
    return sum(step.similarity for step in explanation.sentences) / len(explanation.sentences)


def plain(text: str) -> str:
    """Return only the letters and digits, so that texts that read alike are found equal."""
    return _NOT_WORDS.sub(" ", text.casefold()).strip()
