"""A survey as data: its questions, what the model would answer, and the file that keeps them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from protorynet.errors import InputError
from protorynet.files import write_atomically

Task = Literal["match", "diagnosis", "trajectory"]
TASKS: tuple[Task, ...] = ("match", "diagnosis", "trajectory")
"""The kinds of questions, in the order in which they are asked."""

NONE = "none"
"""The key of the option that no prototype fits."""

FORMAT_VERSION = 1

# The file may have been edited by hand, or come from somebody else.
MAX_FILE_BYTES = 20_000_000
MAX_LIST_LENGTH = 1000
_SURVEY_ID = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_Text = Annotated[str, Field(max_length=20_000)]
_Name = Annotated[str, Field(max_length=200)]
_QuestionId = Annotated[str, Field(max_length=240)]
_Key = Annotated[str, Field(max_length=64)]
_Lines = Annotated[tuple[_Text, ...], Field(max_length=MAX_LIST_LENGTH)]
_Number = Annotated[int, Field(strict=True, ge=0, lt=2**63)]


@dataclass(frozen=True)
class Option:
    """One of the answers to choose from: the key that is stored, and what is shown.

    The lines are a prototype; a sentence and its prototype (diagnosis); or the prototypes of a
    trajectory. "None of these" has none.
    """

    key: _Key
    lines: _Lines


@dataclass(frozen=True)
class Question:
    """A question, and the answer that agrees with the model.

    Parameters
    ----------
    id, task
        Name that is unique in its survey, and one of `TASKS`.
    lines, options
        The sentences asked about, and the answers to choose from.
    expected
        Key of the answer that agrees with the model, or that explains its mistake.
    row
        Position of the document in its table, counted from 0.
    given, truth
        The wrong prediction and the right label; only in a diagnosis.
    """

    id: _QuestionId
    task: Task
    lines: _Lines
    options: Annotated[tuple[Option, ...], Field(max_length=MAX_LIST_LENGTH)]
    expected: str
    row: _Number
    given: _Text | None = None
    truth: _Text | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the options."""
        return tuple(option.key for option in self.options)


@dataclass(frozen=True)
class Lesson:
    """A document that a model reads correctly: each sentence with its prototype, and the label."""

    pairs: Annotated[tuple[tuple[_Text, _Text], ...], Field(max_length=MAX_LIST_LENGTH)]
    label: _Text


@dataclass(frozen=True)
class ModelQuestions:
    """What participants assigned to a model are asked, task after task.

    They never see its name. The encoder is known so that an automatic participant can ask another
    one. The lesson is shown before the first diagnosis.
    """

    name: _Name
    encoder: _Text
    n_prototypes: _Number
    questions: Annotated[tuple[Question, ...], Field(max_length=MAX_LIST_LENGTH)]
    lesson: Lesson | None = None

    def of(self, task: Task) -> tuple[Question, ...]:
        """Return the questions of one kind."""
        return tuple(question for question in self.questions if question.task == task)


@dataclass(frozen=True)
class Survey:
    """Questions about one or several models.

    Parameters
    ----------
    title, seed
        What participants see as its name; what decides who is assigned to which model, and every
        order shown.
    models
        The questions of each model.
    id
        Short name made from the content, so that no two surveys have the same.
    """

    title: _Text
    seed: _Number
    models: Annotated[tuple[ModelQuestions, ...], Field(max_length=MAX_LIST_LENGTH)]
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
        """Return plain values for JSON."""
        return {"format_version": FORMAT_VERSION, **asdict(self)}


def survey_json(survey: Survey) -> str:
    """Return the survey as JSON that a person can read and edit."""
    return json.dumps(survey.to_dict(), indent=2, ensure_ascii=False) + "\n"


def write_survey(survey: Survey, path: Path) -> None:
    """Write the survey's file, whole or not at all."""
    write_atomically(path, survey_json(survey))


def read_survey(path: Path) -> Survey:
    """Read a survey's file."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise InputError(f"{path} is larger than 20 MB, too large for a survey's file.")
        content = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(
            f"there is no survey {path}; make one with: protorynet survey create MODEL --data TABLE"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the survey {path} cannot be read: {error}") from None
    return parse_survey(content, str(path))


def parse_survey(content: str, name: str = "the survey") -> Survey:
    """Return the survey that JSON holds, or say what is wrong with it."""
    try:
        values = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is no JSON: {error}") from None
    try:
        if not isinstance(values, dict):
            raise ValueError("it should hold one object.")
        if (version := values.get("format_version")) != FORMAT_VERSION:
            raise ValueError(f'"format_version" is {version!r}.')
        survey = TypeAdapter(Survey).validate_python(values)
        _check_survey(survey)
    except ValueError as error:
        reason = str(error)
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            reason = f'"{".".join(map(str, first["loc"]))}": {first["msg"]}.'
        message = f"{name} is no survey's file of format {FORMAT_VERSION}: {reason}"
        raise InputError(message) from None
    return survey


def _check_survey(survey: Survey) -> None:
    if not _SURVEY_ID.fullmatch(survey.id):
        raise ValueError(f'"id" is {survey.id!r:.80}, not 1 to 64 letters, digits, "-" or "_".')
    if not survey.models:
        raise ValueError('"models" is empty.')
    _check_unique("models", [model.name for model in survey.models])
    _check_unique("questions", [question.id for question in survey])
    for model in survey.models:
        if not model.questions:
            raise ValueError(f"the model {model.name!r} has no questions.")
        for question in model.questions:
            _check_question(question)


def _check_question(question: Question) -> None:
    _check_unique(f"options of {question.id!r}", list(question.keys))
    n_lines = {"match": 1, "diagnosis": 2, "trajectory": len(question.lines)}[question.task]
    lengths = {len(option.lines) for option in question.options if option.key != NONE}
    if not question.lines or lengths - {n_lines}:
        raise ValueError(f"an option of {question.id!r} should have {n_lines} lines.")
    if len(question.options) < 2:
        raise ValueError(f"question {question.id!r} has fewer than two options.")
    if question.task == "diagnosis" and (question.given is None or question.truth is None):
        raise ValueError(f'question {question.id!r} lacks "given" or "truth".')
    if question.expected not in question.keys:
        raise ValueError(f"question {question.id!r} expects {question.expected!r:.80}, no option.")


def _check_unique(what: str, names: list[str]) -> None:
    if len(set(names)) < len(names):
        raise ValueError(f"two {what} have the same name.")
