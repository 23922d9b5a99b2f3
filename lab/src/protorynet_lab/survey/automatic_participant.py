"""The automatic participant: an independent encoder answers, for a dry run."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean

from protorynet.encoders import Encoder, load_encoder
from protorynet.errors import InputError
from protorynet.explain import Judge, choose_judge
from protorynet.model import EncoderRecord
from protorynet_lab.survey.participants import Participant, new_token, order_steps
from protorynet_lab.survey.questionnaire import NONE, ModelQuestions, Question, Survey
from protorynet_lab.survey.survey_storage import Storage

__all__ = ["take_automatically"]

_Similarity = Callable[[str, str], float]


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
        judging, name = _find_judge(part, asked, device)
        similarity = _compare_all(part, judging)
        entered = storage.enter(survey, new_token(), "automatic", judge=name, model=part.name)
        steps = order_steps(survey, entered)
        for step in steps:
            choice = None if step.question is None else _choose(step.question, similarity)
            storage.answer(entered, step.id, choice, n_steps=len(steps))
        taken.append(entered)
    return taken


def _choose(question: Question, similarity: _Similarity) -> str:
    """Return the key of the option that a judge finds best.

    In a match that is the most similar prototype, or none where nothing is similar at all; in a
    diagnosis the least similar pair; of trajectories the most similar in the mean.
    """
    if question.task == "diagnosis":
        return min(question.options, key=lambda option: similarity(*option.lines[:2])).key
    scores = {
        option.key: fmean(map(similarity, question.lines, option.lines))
        for option in question.options
        if option.key != NONE
    }
    best = max(scores, key=lambda key: scores[key])
    return NONE if NONE in question.keys and scores[best] <= 0 else best


def _find_judge(part: ModelQuestions, asked: Encoder | None, device: str) -> tuple[Judge, str]:
    if asked is not None and asked.name == part.encoder:
        raise InputError(
            f"the model {part.name!r} was made with the encoder {asked.name!r}, so that cannot "
            "judge it independently. Give another one with --judge, or none."
        )
    judging, name = choose_judge(EncoderRecord(part.encoder, ""), asked, device=device)
    if judging is None:
        raise InputError(f"the model {part.name!r} reads vectors, which cannot be judged.")
    return judging, name


def _compare_all(part: ModelQuestions, judge: Judge) -> _Similarity:
    """Ask the judge about all sentences at once: it compares them by how they differ."""
    pairs = [pair for question in part.questions for pair in _pairs(question)]
    sentences = list(dict.fromkeys(sentence for sentence, _ in pairs))
    prototypes = list(dict.fromkeys(prototype for _, prototype in pairs))
    matrix = judge(sentences, prototypes)
    sentence_at = {sentence: at for at, sentence in enumerate(sentences)}
    prototype_at = {prototype: at for at, prototype in enumerate(prototypes)}
    return lambda sentence, prototype: float(matrix[sentence_at[sentence], prototype_at[prototype]])


def _pairs(question: Question) -> list[tuple[str, str]]:
    if question.task == "diagnosis":
        return [(option.lines[0], option.lines[1]) for option in question.options]
    return [
        pair
        for option in question.options
        for pair in zip(question.lines, option.lines, strict=False)
    ]
