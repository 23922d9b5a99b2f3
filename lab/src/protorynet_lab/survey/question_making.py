"""Making a survey's questions from what models say about documents, fairly and by a seed.

Every model is asked about the same sentences and texts where that can be done, so that a
difference between models is none between their texts.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import fmean
from typing import TYPE_CHECKING, Any

from protorynet.errors import EmptyDocumentError, InputError
from protorynet.explain import Explanation, SentenceExplanation
from protorynet.model import PRECOMPUTED
from protorynet.prototypes import Prototype, Prototypes
from protorynet_lab.survey.questionnaire import (
    NONE,
    TASKS,
    Lesson,
    ModelQuestions,
    Option,
    Question,
    Survey,
)

if TYPE_CHECKING:
    from protorynet.classifier import ProtoryNetClassifier

MAX_DOCUMENTS_READ = 600
SENTENCE_LENGTHS = (15, 220)
PROTOTYPE_LENGTHS = (2, 300)
MIN_WORDS = 4
DOCUMENT_SENTENCES = (3, 7)
MAX_DOCUMENT_LENGTH = 900
# In a clear mistake, no other sentence misleads more than this share of what the first one does.
MAX_SECOND_SHARE = 0.5
_NOT_WORDS = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class Counts:
    """How many questions of each kind every participant answers; the paper's by default."""

    match: int = 10
    diagnosis: int = 3
    trajectory: int = 4


@dataclass(frozen=True)
class _ReadModel:
    """A model, what it says about each document, the right labels, and what to call labels."""

    name: str
    encoder: str
    prototypes: Prototypes
    explanations: Sequence[Explanation]
    truths: Sequence[str]
    label_names: Mapping[str, str]

    def call(self, label: str) -> str:
        return self.label_names.get(label, label)


def survey_of_models(
    models: Mapping[str, ProtoryNetClassifier],
    texts: Sequence[str],
    labels: Sequence[Any],
    *,
    rows: Sequence[int] | None = None,
    title: str = "How does a program read?",
    seed: int = 0,
    counts: Counts = Counts(),
    names: Mapping[str, str] | None = None,
) -> tuple[Survey, list[str]]:
    """Let models read some of the documents, and ask people about what they make of them.

    Parameters
    ----------
    models
        The models by name; participants are assigned to one of them.
    texts, labels, rows
        Labelled documents, best unseen in training, and where they stand in their table.
    title, seed, counts
        What participants see as its name; the same seed makes the same survey; and how many
        questions of each kind to make.
    names
        What participants read in place of labels such as ``"0"`` and ``"1"``.

    Returns
    -------
    The survey, and a remark on every kind of question of which there are fewer than wished.
    """
    draw = random.Random(f"documents {seed}")  # noqa: S311
    chosen = sorted(draw.sample(range(len(texts)), min(len(texts), MAX_DOCUMENTS_READ)))
    while True:
        try:
            documents = [texts[at] for at in chosen], [labels[at] for at in chosen]
            read = [_read(name, model, *documents, names or {}) for name, model in models.items()]
            break
        except EmptyDocumentError as error:
            empty = {chosen[at] for at in error.rows}
            chosen = [at for at in chosen if at not in empty]
    positions = [at if rows is None else int(rows[at]) for at in chosen]
    parts = _make_questions(read, positions, counts, random.Random(seed))  # noqa: S311
    if any(not part.questions for part in parts):
        raise InputError(
            f"no question can be made from {len(chosen):,} documents: they hold no sentences of "
            f"{SENTENCE_LENGTHS[0]} to {SENTENCE_LENGTHS[1]} characters. Give other ones."
        )
    return Survey(title, seed, parts).with_id(), list(_remark_on_missing(parts, counts))


def _read(
    name: str,
    model: ProtoryNetClassifier,
    texts: list[str],
    labels: list[Any],
    label_names: Mapping[str, str],
) -> _ReadModel:
    encoder, code = model.model_.encoder.name, model.model_.labels
    if encoder == PRECOMPUTED:
        raise InputError(
            f"the model {name!r} reads vectors, not texts, so people cannot be asked about it."
        )
    readable = {_words(some[0]) for item in model.prototypes_ if (some := _readable(item))}
    if len(readable) < 3:
        raise InputError(
            f"the model {name!r} has {len(readable)} different prototypes of readable "
            "length, but a question needs 3. Train it with more, such as --max-prototypes 10."
        )
    truths = [code.name_of(target) for target in code.encode(labels)]
    explanations = model.explain(texts)
    return _ReadModel(name, encoder, model.prototypes_, explanations, truths, label_names)


def _make_questions(
    models: Sequence[_ReadModel], positions: Sequence[int], counts: Counts, draw: random.Random
) -> tuple[ModelQuestions, ...]:
    order = draw.sample(range(len(positions)), len(positions))
    matches = _choose_sentences(models, order, counts.match, draw)
    used = {document for document, _ in matches}
    texts = _choose_texts(models, order, counts.trajectory, used)
    used |= set(texts)
    parts = []
    for model in models:
        mistakes = _find_mistakes(model, order, used)[: counts.diagnosis]
        asked = [
            *((document, _ask_match(model, document, step, draw)) for document, step in matches),
            *((document, _ask_diagnosis(model, document, step)) for document, step in mistakes),
            *((document, _ask_trajectory(model, document, draw)) for document in texts),
        ]
        counted: Counter[str] = Counter()
        questions = []
        for document, question in asked:
            counted[question.task] += 1
            name = f"{model.name}/{question.task}/{counted[question.task]}"
            questions.append(replace(question, id=name, row=positions[document]))
        taken = used | {document for document, _ in mistakes}
        lesson = _choose_lesson(model, order, taken) if mistakes else None
        about = model.name, model.encoder, len(model.prototypes)
        parts.append(ModelQuestions(*about, tuple(questions), lesson))
    return tuple(parts)


def _choose_sentences(
    models: Sequence[_ReadModel], order: Sequence[int], count: int, draw: random.Random
) -> list[tuple[int, int]]:
    """Choose sentences, one of a document, with as many different prototypes as there are."""
    candidates = []
    for document in order:
        steps = range(len(models[0].explanations[document].sentences))
        fitting = [step for step in steps if _is_fair_match(models, document, step)]
        if fitting:
            candidates.append((document, draw.choice(fitting)))
    chosen: list[tuple[int, int]] = []
    asked: set[int] = set()
    for document, step in candidates:
        prototype = models[0].explanations[document].sentences[step].prototype
        if prototype not in asked:
            asked.add(prototype)
            chosen.append((document, step))
    chosen += [candidate for candidate in candidates if candidate not in chosen]
    return chosen[:count]


def _is_fair_match(models: Sequence[_ReadModel], document: int, step: int) -> bool:
    """Whether a sentence is readable, and for no model the very words that it is matched to."""
    low, high = SENTENCE_LENGTHS
    sentences = [model.explanations[document].sentences[step] for model in models]
    return all(
        low <= len(sentence.text) <= high
        and len(sentence.text.split()) >= MIN_WORDS
        and _is_shown(sentence.prototype_sentence)
        and _words(sentence.text) != _words(sentence.prototype_sentence)
        for sentence in sentences
    )


def _choose_texts(
    models: Sequence[_ReadModel], order: Sequence[int], count: int, used: set[int]
) -> list[int]:
    """Choose short texts whose trajectories change prototypes, for every model."""

    def fits(explanation: Explanation) -> bool:
        steps = explanation.sentences
        sentences = {_words(step.prototype_sentence) for step in steps}
        prototypes = {step.prototype for step in steps}
        return _is_short_text(explanation) and min(len(sentences), len(prototypes)) > 1

    fitting = (
        document
        for document in order
        if document not in used and all(fits(model.explanations[document]) for model in models)
    )
    return list(islice(fitting, count))


def _find_mistakes(
    model: _ReadModel, order: Sequence[int], used: set[int]
) -> list[tuple[int, int]]:
    """Return wrong predictions with the sentence that misled the model, the clear ones first."""
    found: list[tuple[bool, int, int]] = []
    for document in order:
        explanation = model.explanations[document]
        is_wrong = explanation.label != model.truths[document]
        if document in used or not is_wrong or not _is_short_text(explanation):
            continue
        misled = [_misleading(step) for step in explanation.sentences]
        first, second = sorted(range(len(misled)), key=lambda step: -misled[step])[:2]
        if misled[first] > 0:
            is_clear = misled[second] <= MAX_SECOND_SHARE * misled[first]
            found.append((is_clear, document, first))
    return [(document, step) for _, document, step in sorted(found, key=lambda each: not each[0])]


def _misleading(step: SentenceExplanation) -> float:
    # A sentence that speaks for the prediction with good reason fits its prototype, so is not to
    # blame.
    return max(0.0, step.effect) * (1 - step.similarity)


def _choose_lesson(model: _ReadModel, order: Sequence[int], used: set[int]) -> Lesson | None:
    """Return the correctly read text whose sentences are most like their prototypes."""
    correct = [
        model.explanations[document]
        for document in order
        if document not in used
        and model.explanations[document].label == model.truths[document]
        and _is_short_text(model.explanations[document])
    ]
    if not correct:
        return None
    best = max(correct, key=lambda each: fmean(step.similarity for step in each.sentences))
    pairs = tuple((step.text, step.prototype_sentence) for step in best.sentences)
    return Lesson(pairs, model.call(best.label))


def _ask_match(model: _ReadModel, document: int, step: int, draw: random.Random) -> Question:
    sentence = model.explanations[document].sentences[step]
    key = str(sentence.prototype)
    others = _draw_others(model, sentence, 2, draw)
    options = [Option(key, (sentence.prototype_sentence,)), *others]
    draw.shuffle(options)
    return Question("", "match", (sentence.text,), (*options, Option(NONE, ())), key, 0)


def _ask_diagnosis(model: _ReadModel, document: int, blamed: int) -> Question:
    explanation = model.explanations[document]
    # The order of the text is kept: shuffled, it could not be read.
    options = tuple(
        Option(str(number), (sentence.text, sentence.prototype_sentence))
        for number, sentence in enumerate(explanation.sentences, 1)
    )
    lines = tuple(step.text for step in explanation.sentences)
    labels = model.call(explanation.label), model.call(model.truths[document])
    return Question("", "diagnosis", lines, options, str(blamed + 1), 0, *labels)


def _ask_trajectory(model: _ReadModel, document: int, draw: random.Random) -> Question:
    """Ask for a trajectory among four, none of which stands out by counting.

    The steps are divided in two, and either part is right or wrong. So every prototype of the right
    trajectory stands in exactly one of the wrong ones as well, as do those of the others.
    """
    steps = model.explanations[document].sentences
    right = [step.prototype_sentence for step in steps]
    wrong = [_draw_others(model, step, 1, draw)[0].lines[0] for step in steps]
    first = set(draw.sample(range(len(steps)), len(steps) // 2))
    trajectories = [
        tuple((right if (a if step in first else b) else wrong)[step] for step in range(len(steps)))
        for a, b in ((True, True), (True, False), (False, True), (False, False))
    ]
    keys = draw.sample("abcd", 4)
    options = sorted(map(Option, keys, trajectories), key=lambda option: option.key)
    lines = tuple(step.text for step in steps)
    return Question("", "trajectory", lines, tuple(options), keys[0], 0)


def _draw_others(
    model: _ReadModel, step: SentenceExplanation, count: int, draw: random.Random
) -> list[Option]:
    """Draw a member each of other prototypes, of other words than the match and each other."""
    seen = {_words(step.prototype_sentence)}
    found = []
    for item in draw.sample(model.prototypes.items, len(model.prototypes)):
        fitting = [text for text in _readable(item) if _words(text) not in seen]
        if fitting and item.id != step.prototype:
            text = draw.choice(fitting) if len(fitting) > 1 else fitting[0]
            seen.add(_words(text))
            found.append(Option(str(item.id), (text,)))
    return found[:count]


def _readable(item: Prototype) -> list[str]:
    return [member.sentence for member in item.members if _is_shown(member.sentence)]


def _is_shown(prototype: str) -> bool:
    """Whether a prototype has words, and not too many to be compared."""
    low, high = PROTOTYPE_LENGTHS
    return low <= len(prototype) <= high and bool(_words(prototype))


def _is_short_text(explanation: Explanation) -> bool:
    low, high = DOCUMENT_SENTENCES
    return (
        low <= len(explanation.sentences) <= high
        and len(explanation.document) <= MAX_DOCUMENT_LENGTH
        and all(_is_shown(step.prototype_sentence) for step in explanation.sentences)
    )


def _words(text: str) -> str:
    """Return only the letters and digits, so that texts that read alike are found equal."""
    return _NOT_WORDS.sub(" ", text.casefold()).strip()


def _remark_on_missing(parts: Sequence[ModelQuestions], counts: Counts) -> Iterator[str]:
    needed = {
        "match": "sentences of readable length",
        "diagnosis": "wrong predictions for short texts",
        "trajectory": "short texts with different prototypes",
    }
    for part in parts:
        for task in TASKS:
            made, wished = len(part.of(task)), getattr(counts, task)
            if made < wished:
                yield (
                    f"{part.name}: {made} {task} questions instead of {wished}; the data hold "
                    f"too few {needed[task]}"
                )
