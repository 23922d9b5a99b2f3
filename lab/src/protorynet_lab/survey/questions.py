"""Making a survey's questions from what models say about documents: pure and seeded.

Every model is asked about the same sentences and texts where that can be done, so that a
difference between models is none between their texts.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from protorynet.errors import InputError
from protorynet.explain import SentenceExplanation
from protorynet_lab.survey.choosing import (
    SENTENCE_CHARACTERS,
    ReadModel,
    clear_mistakes,
    is_shown,
    lesson_of,
    matched_sentences,
    plain,
    traced_texts,
)
from protorynet_lab.survey.survey import NONE, ModelQuestions, Option, Question, Survey

__all__ = ["Counts", "ReadModel", "make_survey"]

_LETTERS = "abcd"


@dataclass(frozen=True)
class Counts:
    """How many questions of each kind every participant answers; the paper's by default."""

    match: int = 10
    diagnosis: int = 3
    trajectory: int = 4


def make_survey(
    title: str,
    models: Sequence[ReadModel],
    rows: Sequence[int],
    *,
    seed: int = 0,
    counts: Counts = Counts(),  # noqa: B008
    names: Mapping[str, str] | None = None,
) -> tuple[Survey, list[str]]:
    """Make the questions about one or several models.

    Parameters
    ----------
    title
        What participants see as the survey's name.
    models
        The models with their readings of the documents.
    rows
        Position of each document in its table.
    seed
        The same seed makes the same survey.
    counts
        How many questions of each kind to make.
    names
        What participants read in place of labels such as ``"0"`` and ``"1"``.

    Returns
    -------
    The survey, and a remark on every kind of question of which there are fewer than wished.
    """
    for model in models:
        _check_prototypes(model)
    draw = random.Random(seed)  # noqa: S311
    order = draw.sample(range(len(rows)), len(rows))
    matches = matched_sentences(models, order, counts.match, draw)
    used = {place for place, _ in matches}
    texts = traced_texts(models, order, counts.trajectory, used)
    used |= set(texts)
    parts = [
        _model_questions(model, rows, matches, texts, order, used, counts, draw) for model in models
    ]
    survey = Survey(title, seed, tuple(_renamed(part, names or {}) for part in parts)).with_id()
    if any(not model.questions for model in parts):
        raise InputError(
            f"no question can be made from {len(rows):,} documents: they hold no sentences of "
            f"{SENTENCE_CHARACTERS[0]} to {SENTENCE_CHARACTERS[1]} characters. Give other ones."
        )
    return survey, list(_fewer(survey, counts))


def _check_prototypes(model: ReadModel) -> None:
    readable = {plain(item.sentence) for item in model.prototypes if is_shown(item.sentence)}
    if len(readable) < 3:
        raise InputError(
            f"the model {model.name!r} has {len(readable)} different prototypes of readable "
            "length, but a question needs 3. Train it with more, such as --max-prototypes 10."
        )


def _model_questions(
    model: ReadModel,
    rows: Sequence[int],
    matches: Sequence[tuple[int, int]],
    texts: Sequence[int],
    order: Sequence[int],
    used: set[int],
    counts: Counts,
    draw: random.Random,
) -> ModelQuestions:
    mistakes = clear_mistakes(model, order, used)[: counts.diagnosis]
    questions = [
        *(_match(model, place, step, rows, draw) for place, step in matches),
        *(_diagnosis(model, place, blamed, rows) for place, blamed in mistakes),
        *(_trajectory(model, place, rows, draw) for place in texts),
    ]
    numbered = _numbered(model.name, questions)
    lesson = lesson_of(model, order, used | {place for place, _ in mistakes}) if mistakes else None
    return ModelQuestions(model.name, model.encoder, len(model.prototypes), numbered, lesson)


def _match(
    model: ReadModel, place: int, step: int, rows: Sequence[int], draw: random.Random
) -> Question:
    sentence = model.explanations[place].sentences[step]
    others = _other_prototypes(model, [sentence.prototype_sentence], 2, draw)
    options = [Option(str(sentence.prototype), (sentence.prototype_sentence,))]
    options += [Option(str(key), (text,)) for key, text in others]
    draw.shuffle(options)
    options.append(Option(NONE, ()))
    return Question(
        "", "match", (sentence.text,), tuple(options), str(sentence.prototype), int(rows[place])
    )


def _diagnosis(model: ReadModel, place: int, blamed: int, rows: Sequence[int]) -> Question:
    explanation = model.explanations[place]
    # The order of the text is kept: shuffled, it could not be read.
    options = tuple(
        Option(str(number), (sentence.text, sentence.prototype_sentence))
        for number, sentence in enumerate(explanation.sentences, 1)
    )
    return Question(
        "",
        "diagnosis",
        _texts(explanation.sentences),
        options,
        str(blamed + 1),
        int(rows[place]),
        given=explanation.label,
        truth=model.truths[place],
    )


def _trajectory(model: ReadModel, place: int, rows: Sequence[int], draw: random.Random) -> Question:
    """Ask for a trajectory among four of which none can be told from the others by counting.

    The steps are parted in two; either part is right or wrong. So every prototype that stands in
    the right trajectory stands in exactly one of the wrong ones as well, as do those of the others.
    """
    steps = model.explanations[place].sentences
    right = [step.prototype_sentence for step in steps]
    wrong = [_other_prototypes(model, [text], 1, draw)[0][1] for text in right]
    first = set(draw.sample(range(len(steps)), len(steps) // 2))
    trajectories = [
        tuple((right if (a if step in first else b) else wrong)[step] for step in range(len(steps)))
        for a, b in ((True, True), (True, False), (False, True), (False, False))
    ]
    keys = draw.sample(_LETTERS, 4)
    options = sorted(map(Option, keys, trajectories), key=lambda option: option.key)
    return Question("", "trajectory", _texts(steps), tuple(options), keys[0], int(rows[place]))


def _other_prototypes(
    model: ReadModel, taken: Sequence[str], count: int, draw: random.Random
) -> list[tuple[int, str]]:
    """Draw prototypes whose words differ from each other and from those taken."""
    seen = {plain(text) for text in taken}
    found: list[tuple[int, str]] = []
    for item in draw.sample(model.prototypes.items, len(model.prototypes)):
        if is_shown(item.sentence) and plain(item.sentence) not in seen:
            seen.add(plain(item.sentence))
            found.append((item.id, item.sentence))
    return found[:count]


def _texts(steps: Sequence[SentenceExplanation]) -> tuple[str, ...]:
    return tuple(step.text for step in steps)


def _renamed(part: ModelQuestions, names: Mapping[str, str]) -> ModelQuestions:
    """Call the labels by other names."""
    questions = tuple(
        question
        if question.given is None or question.truth is None
        else replace(
            question,
            given=names.get(question.given, question.given),
            truth=names.get(question.truth, question.truth),
        )
        for question in part.questions
    )
    lesson = part.lesson
    if lesson is not None:
        lesson = replace(lesson, label=names.get(lesson.label, lesson.label))
    return replace(part, questions=questions, lesson=lesson)


def _numbered(name: str, questions: Sequence[Question]) -> tuple[Question, ...]:
    counted: Counter[str] = Counter()
    named = []
    for question in questions:
        counted[question.task] += 1
        number = counted[question.task]
        named.append(replace(question, id=f"{name}/{question.task}/{number}"))
    return tuple(named)


def _fewer(survey: Survey, counts: Counts) -> Iterator[str]:
    wished = {
        "match": (counts.match, "sentences of readable length"),
        "diagnosis": (counts.diagnosis, "wrong predictions for short texts"),
        "trajectory": (counts.trajectory, "short texts with different prototypes"),
    }
    for model in survey.models:
        for task, (count, needed) in wished.items():
            made = sum(question.task == task for question in model.questions)
            if made < count:
                yield (
                    f"{model.name}: {made} {task} questions instead of {count}; the data hold "
                    f"too few {needed}"
                )
