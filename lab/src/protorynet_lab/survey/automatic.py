"""The automatic participant: an independent encoder answers, for a dry run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from protorynet.encoders import Encoder, load_encoder
from protorynet.errors import InputError
from protorynet.explain import Judge, choose_judge
from protorynet.model import EncoderRecord
from protorynet_lab.survey.orders import steps_for
from protorynet_lab.survey.people import Participant, new_token
from protorynet_lab.survey.storage import Storage
from protorynet_lab.survey.survey import NONE, ModelQuestions, Question, Survey

__all__ = ["judged_choice", "take_automatically"]

Likeness = Callable[[str, str], float]


def take_automatically(
    storage: Storage, survey: Survey, *, judge: str | Encoder | None = None, device: str = "auto"
) -> list[Participant]:
    """Let an encoder that the models were not made with take the survey, once for each model.

    Its answers are marked as automatic wherever they are stored, exported or analysed.

    Parameters
    ----------
    storage, survey
        The database, and the survey that it holds.
    judge
        The encoder to ask; by default one that the model was not made with.
    device
        Where that encoder computes.
    """
    asked = None if judge is None else load_encoder(judge, device=device)
    taken = []
    for part in survey.models:
        judging, name = _independent_judge(part, asked, device)
        likeness = _likeness(part, judging)
        entered = storage.enter(survey, new_token(), "automatic", judge=name, model=part.name)
        steps = steps_for(survey, entered.model, entered.kind, entered.number)
        for step in steps:
            choice = None if step.question is None else judged_choice(step.question, likeness)
            storage.answer(entered, step.id, choice, n_steps=len(steps))
        taken.append(entered)
    return taken


def judged_choice(question: Question, likeness: Likeness) -> str:
    """Return the key of the option that a judge finds best.

    In a match that is the likest prototype, or none where nothing is alike at all; in a diagnosis
    the pair least alike; of trajectories the one likest in the mean.

    Parameters
    ----------
    question
        The question.
    likeness
        Gives how alike a sentence and a prototype are.
    """
    if question.task == "diagnosis":
        return min(question.options, key=lambda option: likeness(*option.lines[:2])).key
    judged = {
        option.key: float(np.mean(list(map(likeness, question.lines, option.lines))))
        for option in question.options
        if option.key != NONE
    }
    best = max(judged, key=lambda key: judged[key])
    return NONE if NONE in question.keys and judged[best] <= 0 else best


def _independent_judge(
    part: ModelQuestions, asked: Encoder | None, device: str
) -> tuple[Judge, str]:
    if asked is not None and asked.name == part.encoder:
        raise InputError(
            f"the model {part.name!r} was made with the encoder {asked.name!r}, so that cannot "
            "judge it independently. Give another one with --judge, or none."
        )
    judging, name = choose_judge(EncoderRecord(part.encoder, ""), asked, device=device)
    if judging is None:
        raise InputError(f"the model {part.name!r} reads vectors, which cannot be judged.")
    return judging, name


def _likeness(part: ModelQuestions, judge: Judge) -> Likeness:
    """Ask the judge about all sentences at once: it compares them by how they differ."""
    pairs = [pair for question in part.questions for pair in _pairs(question)]
    sentences = list(dict.fromkeys(sentence for sentence, _ in pairs))
    prototypes = list(dict.fromkeys(prototype for _, prototype in pairs))
    matrix = judge(sentences, prototypes)
    row = {sentence: place for place, sentence in enumerate(sentences)}
    column = {prototype: place for place, prototype in enumerate(prototypes)}
    return lambda sentence, prototype: float(matrix[row[sentence], column[prototype]])


def _pairs(question: Question) -> list[tuple[str, str]]:
    if question.task == "diagnosis":
        return [(option.lines[0], option.lines[1]) for option in question.options]
    return [
        pair
        for option in question.options
        for pair in zip(question.lines, option.lines, strict=False)
    ]
