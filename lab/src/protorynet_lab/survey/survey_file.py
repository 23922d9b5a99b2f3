"""Reading a survey from JSON that a person may have edited, and writing it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from protorynet.errors import InputError
from protorynet.files import write_atomically
from protorynet_lab.survey.survey import (
    FORMAT_VERSION,
    NONE,
    TASKS,
    Lesson,
    ModelQuestions,
    Option,
    Question,
    Survey,
)

__all__ = ["parse_survey", "read_survey", "survey_json", "write_survey"]

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_MOST_BYTES = 20_000_000
_MOST_CHARACTERS = 20_000
_MOST_ITEMS = 1000
_MOST_NAME = 200
_MOST_KEY = 64
_T = TypeVar("_T")


def survey_json(survey: Survey) -> str:
    """Return the survey as JSON that a person can read and edit."""
    return json.dumps(survey.to_dict(), indent=2, ensure_ascii=False) + "\n"


def write_survey(survey: Survey, path: Path) -> None:
    """Write the survey's file, whole or not at all."""
    write_atomically(path, survey_json(survey))


def read_survey(path: Path) -> Survey:
    """Read a survey's file."""
    try:
        if path.stat().st_size > _MOST_BYTES:
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
    """Return the survey that JSON holds, or say what is wrong with it.

    Examples
    --------
    >>> parse_survey('{"format_version": 2}')
    Traceback (most recent call last):
    ...
    protorynet.errors.InputError: the survey is no survey's file of format 1: "format_version" is 2.
    """
    try:
        values = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is no JSON: {error}") from None
    try:
        return _survey(values)
    except _WrongError as wrong:
        message = f"{name} is no survey's file of format {FORMAT_VERSION}: {wrong}"
        raise InputError(message) from None


class _WrongError(Exception):
    """What is wrong with the content."""


def _survey(values: Any) -> Survey:
    if not isinstance(values, dict):
        raise _WrongError("it should hold one object.")
    if (version := values.get("format_version")) != FORMAT_VERSION:
        raise _WrongError(f'"format_version" is {version!r}.')
    survey = Survey(
        _text(values, "title"),
        _number(values, "seed"),
        _several(values, "models", _model),
        _text(values, "id"),
    )
    if not _ID.fullmatch(survey.id):
        raise _WrongError(f'"id" is {survey.id!r:.80}, not 1 to 64 letters, digits, "-" or "_".')
    if not survey.models:
        raise _WrongError('"models" is empty.')
    _check_unique("models", [model.name for model in survey.models])
    _check_unique("questions", [question.id for question in survey])
    for model in survey.models:
        if not model.questions or len(model.name) > _MOST_NAME:
            raise _WrongError(f"the model {model.name!r:.80} has no questions, or too long a name.")
    return survey


def _model(values: Any) -> ModelQuestions:
    lesson = values.get("lesson") if isinstance(values, dict) else None
    return ModelQuestions(
        _text(values, "name"),
        _text(values, "encoder"),
        _number(values, "n_prototypes"),
        _several(values, "questions", _question),
        None if lesson is None else _lesson(lesson),
    )


def _question(values: Any) -> Question:
    task = _text(values, "task")
    if task not in TASKS:
        raise _WrongError(f'"task" is {task!r}, not one of {", ".join(TASKS)}.')
    question = Question(
        _text(values, "id"),
        task,
        _several(values, "lines", _line),
        _several(values, "options", _option),
        _text(values, "expected"),
        _number(values, "row"),
        _text(values, "given") if values.get("given") is not None else None,
        _text(values, "truth") if values.get("truth") is not None else None,
    )
    if len(question.id) > _MOST_NAME + 40 or any(len(key) > _MOST_KEY for key in question.keys):
        raise _WrongError(f"the question {question.id!r:.80} or one of its keys is too long.")
    _check_unique(f"options of {question.id!r}", list(question.keys))
    shown = [option.lines for option in question.options if option.key != NONE]
    lines = {"match": 1, "diagnosis": 2, "trajectory": len(question.lines)}[task]
    if not question.lines or any(len(each) != lines for each in shown):
        raise _WrongError(f"an option of {question.id!r} should have {lines} lines.")
    if len(question.options) < 2:
        raise _WrongError(f"question {question.id!r} has fewer than two options.")
    if task == "diagnosis" and (question.given is None or question.truth is None):
        raise _WrongError(f'question {question.id!r} lacks "given" or "truth".')
    if question.expected not in question.keys:
        raise _WrongError(f"question {question.id!r} expects {question.expected!r}, no option.")
    return question


def _option(values: Any) -> Option:
    return Option(_text(values, "key"), _several(values, "lines", _line))


def _lesson(values: Any) -> Lesson:
    return Lesson(_several(values, "pairs", _pair), _text(values, "label"))


def _pair(values: Any) -> tuple[str, str]:
    if not isinstance(values, list) or len(values) != 2:
        raise _WrongError(f"a pair of the lesson is {values!r:.60}, not two texts.")
    return _line(values[0]), _line(values[1])


def _line(value: Any) -> str:
    if not isinstance(value, str) or len(value) > _MOST_CHARACTERS:
        raise _WrongError(f"{value!r:.60} should be a text of at most {_MOST_CHARACTERS:,} marks.")
    return value


def _text(values: Any, key: str) -> str:
    if not isinstance(values, dict) or not isinstance(values.get(key), str):
        raise _WrongError(f'a text "{key}" is missing.')
    return _line(values[key])


def _number(values: Any, key: str) -> int:
    value = values.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise _WrongError(f'"{key}" is {value!r:.60}, not a whole number of at least 0.')
    return value


def _several(values: Any, key: str, read: Callable[[Any], _T]) -> tuple[_T, ...]:
    items = values.get(key) if isinstance(values, dict) else None
    if not isinstance(items, list) or len(items) > _MOST_ITEMS:
        raise _WrongError(f'"{key}" should be a list of at most {_MOST_ITEMS} items.')
    return tuple(read(item) for item in items)


def _check_unique(what: str, names: list[str]) -> None:
    if len(set(names)) < len(names):
        raise _WrongError(f"two {what} have the same name.")
