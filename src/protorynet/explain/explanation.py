"""The reasons of one prediction: what every view of a document is drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Explanation", "SentenceExplanation"]


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

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `protorynet explain --json` prints them."""
        return {
            "text": self.text,
            "start": self.start,
            "end": self.end,
            "prototype": self.prototype,
            "prototype_sentence": self.prototype_sentence,
            "similarity": self.similarity,
            "runner_up": self.runner_up,
            "runner_up_similarity": self.runner_up_similarity,
            "scores": dict(self.scores),
            "running": dict(self.running),
            "effect": self.effect,
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
    """

    document: str
    label: str
    probabilities: dict[str, float]
    sentences: tuple[SentenceExplanation, ...]

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes, in the order of the model's outputs."""
        return tuple(self.probabilities)

    @property
    def leading_class(self) -> str:
        """The most probable class: the one whose line a picture draws strongest."""
        return max(self.probabilities, key=lambda name: self.probabilities[name])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `protorynet explain --json` prints them."""
        return {
            "label": self.label,
            "probabilities": dict(self.probabilities),
            "sentences": [sentence.to_dict() for sentence in self.sentences],
        }

    def to_pandas(self) -> Any:
        """Return a table with one row per sentence."""
        import pandas as pd

        return pd.json_normalize([sentence.to_dict() for sentence in self.sentences], sep=" ")

    def to_html(self, path: str | Path) -> None:
        """Write a self-contained page that shows the trajectory."""
        from protorynet.report import explanation_page

        explanation_page([self], Path(path))

    def _repr_html_(self) -> str:
        from protorynet.report import explanation_fragment

        return explanation_fragment(self)
