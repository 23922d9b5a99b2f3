"""Who is asked what, and in which order: decided by the survey's seed alone."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass, replace
from typing import Literal

from protorynet_lab.survey.survey import NONE, TASKS, Lesson, Question, Survey

__all__ = ["KINDS", "Kind", "Step", "assigned_model", "steps_for"]

Kind = Literal["technical", "non-technical", "automatic"]
KINDS: tuple[Kind, ...] = ("technical", "non-technical", "automatic")
"""Groups of participants. The automatic ones are no people."""


@dataclass(frozen=True)
class Step:
    """A page of the survey: a question with its options as this participant sees them, or a lesson.

    Parameters
    ----------
    id
        What its answer is stored under.
    question, lesson
        One of the two.
    """

    id: str
    question: Question | None = None
    lesson: Lesson | None = None


def assigned_model(survey: Survey, kind: Kind, number: int) -> str:
    """Return the model that a participant is assigned to.

    Within each group, every model is drawn once before any is drawn again, so that the groups
    have as many participants of each model as can be.

    Parameters
    ----------
    survey
        The survey.
    kind, number
        The participant's group, and their place in it, counted from 0.
    """
    block, place = divmod(number, len(survey.models))
    names = [model.name for model in survey.models]
    _draw(survey, kind, "block", block).shuffle(names)
    return names[place]


def steps_for(survey: Survey, model: str, kind: Kind, number: int) -> tuple[Step, ...]:
    """Return the pages of one participant: task after task, each shuffled for them alone."""
    part = survey.model(model)
    steps: list[Step] = []
    for task in TASKS:
        questions = list(part.of(task))
        _draw(survey, kind, number, task).shuffle(questions)
        if task == "diagnosis" and questions and part.lesson:
            steps.append(Step(f"{model}/lesson", lesson=part.lesson))
        steps += [
            Step(question.id, _shuffled(question, _draw(survey, kind, number, question.id)))
            for question in questions
        ]
    return tuple(steps)


def _shuffled(question: Question, draw: random.Random) -> Question:
    if question.task == "diagnosis":
        return question  # its options are the sentences of a text, in reading order
    options = [option for option in question.options if option.key != NONE]
    draw.shuffle(options)
    options += [option for option in question.options if option.key == NONE]
    return replace(question, options=tuple(options))


def _draw(survey: Survey, *what: object) -> random.Random:
    words = "\0".join(map(str, (survey.id, survey.seed, *what)))
    # A seed of our own digest, since the hashes of texts differ from process to process.
    return random.Random(hashlib.sha256(words.encode()).digest())  # noqa: S311
