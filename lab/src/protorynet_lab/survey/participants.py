"""Who takes a survey, what they are asked in which order, and what they answered."""

import hashlib
import random
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from operator import attrgetter
from typing import Literal

from protorynet_lab.survey.questionnaire import NONE, TASKS, Lesson, Question, Survey

Kind = Literal["technical", "non-technical", "automatic"]
_TOKEN = re.compile(r"[A-Za-z0-9_-]{22,64}", re.ASCII)


@dataclass(frozen=True)
class Invitation:
    """A link that lets people take a survey."""

    id: int
    survey: str
    token: str


@dataclass(frozen=True)
class Participant:
    """Who takes a survey: their group, their position in it, and the model they are assigned to."""

    id: int
    survey: str
    kind: Kind
    number: int
    model: str
    judge: str | None  # what answers in place of a person
    is_finished: bool


@dataclass(frozen=True)
class Answer:
    """What was chosen, and how easy that was (1 to 5)."""

    choice: str | None
    ease: int | None


@dataclass(frozen=True)
class Step:
    """A page of the survey: a question as this participant sees it, or a lesson."""

    id: str
    question: Question | None = None
    lesson: Lesson | None = None


@dataclass(frozen=True)
class Response:
    """A participant's answer to a question, with all that the analysis needs.

    Parameters
    ----------
    participant, kind, judge
        Number of the participant, their group, and what answered in place of a person.
    choice, expected, n_options, ease
        Key of the option chosen, of the model's, how many there were, and how easy it was, 1 to 5.
    seconds, showings, answered_at
        Time since the question was first shown; how often it was shown, since with more than one
        the time may hold a pause; and seconds since 1970.
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


_CSV_COLUMNS: dict[str, Callable[[Response], object]] = {
    "participant": attrgetter("participant"),
    "group": attrgetter("kind"),
    "automatic": attrgetter("judge"),
    "model": attrgetter("model"),
    "task": attrgetter("task"),
    "question": attrgetter("question"),
    "choice": attrgetter("choice"),
    "expected": attrgetter("expected"),
    "agrees": lambda response: int(response.agrees),
    "ease": attrgetter("ease"),
    "seconds": lambda each: None if each.seconds is None else round(each.seconds, 3),
    "showings": attrgetter("showings"),
    "answered_at": lambda response: _format_time(response.answered_at),
    "finished": lambda response: int(response.is_finished),
}


def new_token() -> str:
    """Return a secret of 128 bits that fits into a link."""
    return secrets.token_urlsafe(16)


def is_token(text: str) -> bool:
    """Whether a text looks like a token; anything else is not even looked up."""
    return _TOKEN.fullmatch(text) is not None


def hash_token(token: str) -> str:
    """Return what a token is looked up by; the token cannot be derived from it."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def assign_model(survey: Survey, kind: Kind, number: int) -> str:
    """Return the model of the participant at a position in their group, counted from 0.

    Within each group, every model is drawn once before any is drawn again.
    """
    block, position = divmod(number, len(survey.models))
    names = [model.name for model in survey.models]
    _random(survey, kind, "block", block).shuffle(names)
    return names[position]


def order_steps(survey: Survey, participant: Participant) -> tuple[Step, ...]:
    """Return the pages of one participant: task after task, each shuffled for them alone."""
    part = survey.model(participant.model)
    kind, number = participant.kind, participant.number
    steps: list[Step] = []
    for task in TASKS:
        questions = list(part.of(task))
        _random(survey, kind, number, task).shuffle(questions)
        if task == "diagnosis" and questions and part.lesson:
            steps.append(Step(f"{part.name}/lesson", lesson=part.lesson))
        for question in questions:
            shuffled = _shuffle_options(question, _random(survey, kind, number, question.id))
            steps.append(Step(question.id, shuffled))
    return tuple(steps)


def responses_csv(responses: Sequence[Response]) -> str:
    """Return the answers as CSV, one row each, safe to open in a spreadsheet.

    Examples
    --------
    >>> one = Response(1, "technical", None, "=k15", "match", "q", "3", "3", 4, 5, 2.5, 1)
    >>> print(responses_csv([one]).splitlines()[1])
    1,technical,,'=k15,match,q,3,3,1,5,2.5,1,1970-01-01T00:00:00+00:00,1
    """
    table = [[read(response) for read in _CSV_COLUMNS.values()] for response in responses]
    from protorynet.server import csv_lines  # with FastAPI, which other commands do without

    return "".join(csv_lines(list(_CSV_COLUMNS), table))


def _format_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _shuffle_options(question: Question, draw: random.Random) -> Question:
    if question.task == "diagnosis":
        return question  # its options are the sentences of a text, in reading order
    options = [option for option in question.options if option.key != NONE]
    draw.shuffle(options)
    options += [option for option in question.options if option.key == NONE]
    return replace(question, options=tuple(options))


def _random(survey: Survey, *what: object) -> random.Random:
    words = "\0".join(map(str, (survey.id, survey.seed, *what)))
    # A seed of our own digest, since the hashes of texts differ from process to process.
    return random.Random(hashlib.sha256(words.encode()).digest())  # noqa: S311
