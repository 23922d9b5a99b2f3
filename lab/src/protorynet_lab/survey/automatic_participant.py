"""The automatic participant: an independent encoder answers, for a dry run."""

from itertools import product
from statistics import fmean

from protorynet.encoders import Encoder, load_encoder
from protorynet.errors import InputError
from protorynet.explain import Judge, choose_judge
from protorynet.model import EncoderRecord
from protorynet_lab.survey.participants import Participant, new_token, order_steps
from protorynet_lab.survey.questionnaire import NONE, ModelQuestions, Option, Question, Survey
from protorynet_lab.survey.survey_storage import Storage

_Similarities = dict[tuple[str, str], float]


def take_automatically(
    storage: Storage, survey: Survey, *, judge: str | Encoder | None = None
) -> list[Participant]:
    """Let an encoder take a survey that the database holds, once for each model.

    Its answers are marked as automatic wherever they are stored, exported or analysed.

    Parameters
    ----------
    judge
        The encoder to ask, by default one that the model was not made with.
    """
    asked = None if judge is None else load_encoder(judge)
    taken = []
    for part in survey.models:
        judging, name = _find_judge(part, asked)
        similarities = _compare_all(part, judging)
        entered = storage.enter(survey, new_token(), "automatic", judge=name, model=part.name)
        steps = order_steps(survey, entered)
        for step in steps:
            choice = None if step.question is None else _choose(step.question, similarities)
            storage.answer(entered, step.id, choice, n_steps=len(steps))
        taken.append(entered)
    return taken


def _choose(question: Question, similarities: _Similarities) -> str:
    """Return the key of the option that a judge finds best.

    That is the most similar one, or none where nothing is similar; in a diagnosis the least.
    """
    scores = {
        option.key: fmean(similarities[pair] for pair in _pairs(question, option))
        for option in question.options
        if option.key != NONE
    }
    if question.task == "diagnosis":
        return min(scores, key=lambda key: scores[key])
    best = max(scores, key=lambda key: scores[key])
    return NONE if NONE in question.keys and scores[best] <= 0 else best


def _find_judge(part: ModelQuestions, asked: Encoder | None) -> tuple[Judge, str]:
    if asked is not None and asked.name == part.encoder:
        raise InputError(
            f"the model {part.name!r} was made with the encoder {asked.name!r}, so that cannot "
            "judge it independently. Give another one with --judge, or none."
        )
    judging, name = choose_judge(EncoderRecord(part.encoder, ""), asked, device="auto")
    if judging is None:
        raise InputError(f"the model {part.name!r} reads vectors, which cannot be judged.")
    return judging, name


def _compare_all(part: ModelQuestions, judge: Judge) -> _Similarities:
    """Ask the judge about all sentences at once: it compares them by how they differ."""
    pairs = [p for q in part.questions for option in q.options for p in _pairs(q, option)]
    sentences = list(dict.fromkeys(sentence for sentence, _ in pairs))
    prototypes = list(dict.fromkeys(prototype for _, prototype in pairs))
    scores = judge(sentences, prototypes).ravel().tolist()
    return dict(zip(product(sentences, prototypes), scores, strict=True))


def _pairs(question: Question, option: Option) -> list[tuple[str, str]]:
    """Return the sentences with the prototypes that an option offers for them."""
    if question.task == "diagnosis":
        return [(option.lines[0], option.lines[1])]
    return list(zip(question.lines, option.lines, strict=False))
