"""A survey as data: its questions, what the model would answer, and the file that keeps them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

__all__ = ["NONE", "TASKS", "Lesson", "ModelQuestions", "Option", "Question", "Survey", "Task"]

Task = Literal["match", "diagnosis", "trajectory"]
TASKS: tuple[Task, ...] = ("match", "diagnosis", "trajectory")
"""The kinds of questions, in the order in which they are asked."""

NONE = "none"
"""The key of the option that no prototype fits."""

FORMAT_VERSION = 1


@dataclass(frozen=True)
class Option:
    """One of the answers to choose from.

    Parameters
    ----------
    key
        What is stored when it is chosen. It tells nothing about being right.
    lines
        What is shown: a prototype; a sentence and its prototype (diagnosis); the prototypes of a
        trajectory. Empty for "none of these".
    """

    key: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """A question, and the answer that agrees with the model.

    Parameters
    ----------
    id
        Unique in its survey.
    task
        ``"match"`` (which prototype fits the sentence), ``"diagnosis"`` (which sentence is badly
        matched) or ``"trajectory"`` (which sequence of prototypes fits the text).
    lines
        The sentences asked about.
    options
        The answers to choose from, in an order that tells nothing.
    expected
        Key of the answer that agrees with the model, or that explains its mistake.
    row
        Position of the document in its table, counted from 0.
    given, truth
        The wrong prediction and the right label; only in a diagnosis.
    """

    id: str
    task: Task
    lines: tuple[str, ...]
    options: tuple[Option, ...]
    expected: str
    row: int
    given: str | None = None
    truth: str | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the options."""
        return tuple(option.key for option in self.options)


@dataclass(frozen=True)
class Lesson:
    """A document that a model reads rightly, to teach how it reads.

    Parameters
    ----------
    pairs
        Each sentence with its prototype.
    label
        The prediction.
    """

    pairs: tuple[tuple[str, str], ...]
    label: str


@dataclass(frozen=True)
class ModelQuestions:
    """What participants assigned to a model are asked.

    Parameters
    ----------
    name
        The model's name. Participants never see it.
    encoder
        The encoder it was made with, so that an automatic participant can ask another one.
    n_prototypes
        How many prototypes it has.
    questions
        The questions, task after task.
    lesson
        What is shown before the first diagnosis; None where the model has none.
    """

    name: str
    encoder: str
    n_prototypes: int
    questions: tuple[Question, ...]
    lesson: Lesson | None = None

    def of(self, task: Task) -> tuple[Question, ...]:
        """Return the questions of one kind."""
        return tuple(question for question in self.questions if question.task == task)


@dataclass(frozen=True)
class Survey:
    """Questions about one or several models.

    Parameters
    ----------
    title
        What participants see as its name.
    seed
        Decides who is assigned to which model, and every order shown.
    models
        The questions of each model.
    id
        Short name made from the content, so that no two surveys have the same.

    Examples
    --------
    >>> survey = Survey("Hotels", 0, ())
    >>> len(survey.with_id().id)
    12
    """

    title: str
    seed: int
    models: tuple[ModelQuestions, ...]
    id: str = ""

    def with_id(self) -> Survey:
        """Return the survey with the id that its content gives."""
        content = json.dumps(replace(self, id="").to_dict(), sort_keys=True)
        return replace(self, id=hashlib.sha256(content.encode()).hexdigest()[:12])

    def model(self, name: str) -> ModelQuestions:
        """Return the questions of a model by its name."""
        return next(model for model in self.models if model.name == name)

    def __iter__(self) -> Iterator[Question]:
        return (question for model in self.models for question in model.questions)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, without the text of what is not there."""
        return {"format_version": FORMAT_VERSION, **asdict(self)}
