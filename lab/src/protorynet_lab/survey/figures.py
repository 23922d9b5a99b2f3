"""What an analysis of answers holds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = [
    "AUTOMATIC",
    "EVERYONE",
    "MEASURES",
    "Alpha",
    "Analysis",
    "Comparison",
    "Mean",
    "QuestionFigures",
]

MEASURES = ("agreement", "ease", "diagnosis", "trajectory")
"""Agreement and ease are those of the match questions; the other two are shares of agreement."""

EVERYONE = "everyone"
"""The group of all people, technical or not."""

AUTOMATIC = "automatic"
"""The group of automatic participants, who are no people."""


@dataclass(frozen=True)
class Mean:
    """A mean over participants.

    Parameters
    ----------
    measure, model, group
        What was measured, about which model, of whom.
    n
        How many participants.
    mean, error
        Mean of the participants' own means, and its standard error (None for fewer than two).
    chance
        What blind guessing would give; None for ratings.
    """

    measure: str
    model: str
    group: str
    n: int
    mean: float
    error: float | None
    chance: float | None


@dataclass(frozen=True)
class Comparison:
    """Welch's t-test of two samples of participants.

    Parameters
    ----------
    measure
        What was measured.
    within
        The group or the model that both samples have in common.
    left, right
        The two models or groups.
    difference
        Mean of the left minus mean of the right.
    t, df, p
        The statistic, its degrees of freedom and the two-sided probability; None where either
        sample has fewer than two participants, or nothing varies.
    """

    measure: str
    within: str
    left: str
    right: str
    difference: float
    t: float | None
    df: float | None
    p: float | None


@dataclass(frozen=True)
class QuestionFigures:
    """How a question was answered.

    Parameters
    ----------
    question, model, task
        The question.
    n, agreement, error
        How many answered, the share that agrees with the model, and its standard error.
    consensus
        The answer given most often; None where two were given equally often.
    is_consensus_expected
        Whether that is the model's.
    seconds
        Median of the time taken.
    """

    question: str
    model: str
    task: str
    n: int
    agreement: float
    error: float | None
    consensus: str | None
    is_consensus_expected: bool
    seconds: float | None


@dataclass(frozen=True)
class Alpha:
    """Krippendorff's alpha of the answers about one model."""

    measure: str
    model: str
    level: str
    n_questions: int
    alpha: float | None


@dataclass(frozen=True)
class Analysis:
    """The whole analysis.

    Parameters
    ----------
    n_people, n_analysed, n_automatic
        People who answered anything, those whose answers are analysed, and automatic participants
        that are shown beside them.
    left_out
        People left out, by reason.
    least_seconds
        The least time per question for which answers are trusted.
    models
        The models, in their order.
    means, comparisons, questions, alphas
        The figures. Automatic participants only ever have means of their own.
    """

    n_people: int
    n_analysed: int
    n_automatic: int
    left_out: dict[str, int]
    least_seconds: float
    models: tuple[str, ...]
    means: tuple[Mean, ...]
    comparisons: tuple[Comparison, ...]
    questions: tuple[QuestionFigures, ...]
    alphas: tuple[Alpha, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `protorynet survey analyse --json` prints them."""
        return asdict(self)

    def mean(self, measure: str, model: str, group: str) -> Mean | None:
        """Return one of the means."""
        wanted = (measure, model, group)
        return next(
            (each for each in self.means if (each.measure, each.model, each.group) == wanted), None
        )
