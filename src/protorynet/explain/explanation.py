"""The reasons of one prediction: what every view of a document is drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = [
    "AutomatonReading",
    "DecidingPattern",
    "Explanation",
    "Rationale",
    "SentenceExplanation",
    "WordEffect",
]

_LEVEL = 1e-3  # probabilities nearer than this are told as equal


@dataclass(frozen=True)
class WordEffect:
    """A word, or a few words in a row, and what they do for a similarity.

    Parameters
    ----------
    text
        The words, exactly as they stand in their sentence.
    start, end
        Their character offsets in the sentence.
    effect
        The similarity with them minus the similarity without them: above 0 where they make the
        two sentences alike, below 0 where they set them apart.
    """

    text: str
    start: int
    end: int
    effect: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `protorynet explain --words --json` prints them."""
        return {"text": self.text, "start": self.start, "end": self.end, "effect": self.effect}


@dataclass(frozen=True)
class Rationale:
    """Why a sentence is like a prototype, word by word.

    Parameters
    ----------
    sentence
        The sentence.
    prototype, prototype_sentence, similarity
        The prototype's id and sentence, and how similar the model finds the two.
    words, prototype_words
        The words of either one with their effects, in reading order.
    """

    sentence: str
    prototype: int
    prototype_sentence: str
    similarity: float
    words: tuple[WordEffect, ...]
    prototype_words: tuple[WordEffect, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "sentence": self.sentence,
            "prototype": self.prototype,
            "prototype_sentence": self.prototype_sentence,
            "similarity": self.similarity,
            "words": [word.to_dict() for word in self.words],
            "prototype_words": [word.to_dict() for word in self.prototype_words],
        }

    def _repr_html_(self) -> str:
        from protorynet.report import rationale_fragment

        return rationale_fragment(self)

    def __str__(self) -> str:
        from protorynet.report import print_rationale, printed

        return printed(print_rationale, self)


@dataclass(frozen=True)
class SentenceExplanation:
    """One step of a trajectory.

    Parameters
    ----------
    text
        The sentence, exactly as it stands in the document.
    start, end
        Its character offsets in the document.
    prototype, prototype_sentence, similarity
        The active prototype's id and sentence, and exp(−d/ψ²) between the two.
    runner_up, runner_up_similarity
        The second-nearest prototype's id and similarity; None where there is only one prototype.
    scores
        The active prototype's score for each class.
    running
        The model's probabilities after reading up to and including this sentence.
    effect
        How much the predicted class's probability falls when this sentence is left out.
    runner_up_sentence
        The second-nearest prototype's sentence.
    words, prototype_words
        The words of the sentence and of its prototype with their effects on the similarity;
        empty where nobody asked for them.
    """

    text: str
    start: int
    end: int
    prototype: int
    prototype_sentence: str
    similarity: float
    runner_up: int | None
    runner_up_similarity: float | None
    scores: dict[str, float]
    running: dict[str, float]
    effect: float
    runner_up_sentence: str | None = None
    words: tuple[WordEffect, ...] = ()
    prototype_words: tuple[WordEffect, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `protorynet explain --json` prints them."""
        words = {
            "words": [word.to_dict() for word in self.words],
            "prototype_words": [word.to_dict() for word in self.prototype_words],
        }
        return {
            "text": self.text,
            "start": self.start,
            "end": self.end,
            "prototype": self.prototype,
            "prototype_sentence": self.prototype_sentence,
            "similarity": self.similarity,
            "runner_up": self.runner_up,
            "runner_up_similarity": self.runner_up_similarity,
            "runner_up_sentence": self.runner_up_sentence,
            "scores": dict(self.scores),
            "running": dict(self.running),
            "effect": self.effect,
            **(words if self.words else {}),
        }


@dataclass(frozen=True)
class DecidingPattern:
    """The beginning of a document after which the model nearly always gives its class.

    Parameters
    ----------
    label
        The class.
    prototypes, sentences
        Ids and sentences of the prototypes of the first sentences; anything may follow. A
        prototype that has a name is shown by both.
    support
        How many of the training documents looked at begin so.
    purity
        Share of these to which the model gives the class.
    """

    label: str
    prototypes: tuple[int, ...]
    sentences: tuple[str, ...]
    support: int
    purity: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `protorynet explain --json` prints them."""
        return {
            "label": self.label,
            "prototypes": list(self.prototypes),
            "sentences": list(self.sentences),
            "support": self.support,
            "purity": self.purity,
        }


@dataclass(frozen=True)
class AutomatonReading:
    """How the automaton of the most probable class reads a document.

    Parameters
    ----------
    label
        The class.
    states
        Numbers of the states it goes through: the start, and one after each sentence.
    accepts
        Whether it gives the class.
    agrees
        Whether it decides as the model does. If not, it explains nothing of this document.
    fidelity
        Share of the documents held out in training on which the two agree.
    pattern
        The pattern that decides; None where no pattern matches, or the two do not agree.
    """

    label: str
    states: tuple[int, ...]
    accepts: bool
    agrees: bool
    fidelity: float
    pattern: DecidingPattern | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `protorynet explain --json` prints them."""
        return {
            "label": self.label,
            "states": list(self.states),
            "accepts": self.accepts,
            "agrees": self.agrees,
            "fidelity": self.fidelity,
        }


@dataclass(frozen=True)
class Explanation:
    """A prediction with its trajectory.

    Parameters
    ----------
    document
        The original text.
    label
        The predicted class; for multi-label models the predicted classes joined by ``", "``.
    probabilities
        Probability of each class.
    sentences
        The steps of the trajectory, in reading order.
    automaton
        How the automaton of the most probable class reads it; None where the model holds none.
    reader_is_behind
        Whether prototypes were edited by hand after the reader was last trained, so that it
        decides with prototypes that it has not learnt to use.
    """

    document: str
    label: str
    probabilities: dict[str, float]
    sentences: tuple[SentenceExplanation, ...]
    automaton: AutomatonReading | None = None
    reader_is_behind: bool = False

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes, in the order of the model's outputs."""
        return tuple(self.probabilities)

    @property
    def leading_class(self) -> str:
        """The most probable class: the one whose line a picture draws strongest."""
        return max(self.probabilities, key=lambda name: self.probabilities[name])

    @property
    def pattern(self) -> DecidingPattern | None:
        """The pattern that decided, if one did and is known."""
        return None if self.automaton is None else self.automaton.pattern

    @property
    def level_with(self) -> tuple[str, ...]:
        """The other classes that are as probable as the predicted one, so that chance decided."""
        predicted = self.probabilities.get(self.label)
        if predicted is None:
            return ()
        return tuple(
            name
            for name, probability in self.probabilities.items()
            if name != self.label and abs(probability - predicted) < _LEVEL
        )

    @property
    def has_words(self) -> bool:
        """Whether the words that make sentences like their prototypes are known."""
        return any(sentence.words for sentence in self.sentences)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `protorynet explain --json` prints them."""
        return {
            "label": self.label,
            "probabilities": dict(self.probabilities),
            "sentences": [sentence.to_dict() for sentence in self.sentences],
            "automaton": None if self.automaton is None else self.automaton.to_dict(),
            "pattern": None if self.pattern is None else self.pattern.to_dict(),
            "reader_is_behind": self.reader_is_behind,
        }

    def to_pandas(self) -> Any:
        """Return a table with one row per sentence."""
        import pandas as pd

        return pd.json_normalize([sentence.to_dict() for sentence in self.sentences], sep=" ")

    def to_html(self, path: str | Path) -> None:
        """Write a self-contained page that shows the trajectory."""
        from protorynet.report import explanation_page

        explanation_page([self], Path(path))

    def to_svg(self, path: str | Path | None = None, *, width: int = 960) -> str:
        """Return the trajectory with the text beside it as an SVG, and write it where told.

        Parameters
        ----------
        path
            File to write.
        width
            Width in pixels, at least 320; below 640 the text stands beneath the trajectory.
        """
        from protorynet.report import explanation_svg, write_picture

        picture = explanation_svg(self, width=width)
        if path is not None:
            write_picture(picture, Path(path))
        return picture

    def to_png(self, path: str | Path, *, width: int = 960, scale: float = 2.0) -> None:
        """Write the picture of `to_svg` as a PNG; needs ``protorynet[png]`` and a font.

        Parameters
        ----------
        path
            File to write.
        width, scale
            Width of the picture as laid out, and how many pixels of the file make one of it.
        """
        from protorynet.report import explanation_svg, picture_png, write_picture

        picture = explanation_svg(self, width=width)
        write_picture(picture_png(picture, scale=scale), Path(path))

    def _repr_html_(self) -> str:
        from protorynet.report import explanation_fragment

        return explanation_fragment(self)

    def __str__(self) -> str:
        from protorynet.report import print_explanation, printed

        return printed(print_explanation, self)
