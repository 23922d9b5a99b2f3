"""One answer with all that the analysis needs, and answers as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from protorynet.server import csv_lines

__all__ = ["COLUMNS", "Response", "responses_csv"]

COLUMNS = (
    "participant",
    "group",
    "automatic",
    "model",
    "task",
    "question",
    "choice",
    "expected",
    "agrees",
    "ease",
    "seconds",
    "showings",
    "answered_at",
    "finished",
)


@dataclass(frozen=True)
class Response:
    """A participant's answer to a question.

    Parameters
    ----------
    participant
        Number of the participant.
    kind, judge
        Their group, and what answered in place of a person.
    model, task, question
        What was asked.
    choice, expected, n_options
        Key of the option chosen, of the model's, and how many there were.
    ease
        How easy it was, 1 (very difficult) to 5 (very easy).
    seconds, showings
        Time since the question was first shown, and how often it was shown: a time with more than
        one showing may hold a pause.
    answered_at
        Seconds since 1970.
    is_finished
        Whether the participant answered everything.
    """

    participant: int
    kind: str
    judge: str | None
    model: str
    task: str
    question: str
    choice: str
    expected: str
    n_options: int
    ease: int | None = None
    seconds: float | None = None
    showings: int | None = None
    answered_at: float = 0.0
    is_finished: bool = True

    @property
    def agrees(self) -> bool:
        """Whether the choice is the model's, or explains its mistake."""
        return self.choice == self.expected


def responses_csv(responses: Sequence[Response]) -> str:
    """Return the answers as CSV, one row each, safe to open in a spreadsheet.

    Examples
    --------
    >>> one = Response(1, "technical", None, "=k15", "match", "q", "3", "3", 4, 5, 2.5, 1)
    >>> print(responses_csv([one]).splitlines()[1])
    1,technical,,'=k15,match,q,3,3,1,5,2.5,1,1970-01-01T00:00:00+00:00,1
    """
    return "".join(csv_lines(COLUMNS, map(_cells, responses)))


def _cells(response: Response) -> list[object]:
    told = datetime.fromtimestamp(response.answered_at, UTC).isoformat(timespec="seconds")
    seconds = None if response.seconds is None else round(response.seconds, 3)
    return [
        response.participant,
        response.kind,
        response.judge,
        response.model,
        response.task,
        response.question,
        response.choice,
        response.expected,
        int(response.agrees),
        response.ease,
        seconds,
        response.showings,
        told,
        int(response.is_finished),
    ]
