"""The whole model on labelled documents: what it thinks with, how right it is, where it errs."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protorynet.data import Sentences
from protorynet.encoders import Embeddings
from protorynet.errors import InputError
from protorynet.explain.explanation import Explanation, SentenceExplanation, explain_reading
from protorynet.explain.leave_one_out import leave_one_out_effects
from protorynet.labels import Task
from protorynet.model import PRECOMPUTED, Model
from protorynet.prototypes import Prototype, PruningPoint, marking_words
from protorynet.reading import Reading

_READ_AT_A_GLANCE = range(3, 9)  # sentences
_PLAIN_SENTENCES, _PLAIN_CHARACTERS = range(2, 5), 320
_PLAIN_PROBABILITY = 0.8
_SAME_SENTENCE = 0.98  # similarity from which a sentence is its prototype
_BEYOND_CHANCE = 2.0  # standard errors
_MISLEADS = 0.05  # what a sentence that misled the model adds to its certainty, at least
_MOST_PROTOTYPES = 5
SURE = 0.95
"""From this probability on a prediction counts as sure."""
_Cut = tuple[str, str, dict[str, str | int], NDArray[np.bool_]]


@dataclass(frozen=True)
class LabelledDocuments:
    """Documents of one split, those without a sentence included, prepared for a model."""

    texts: Sequence[str]
    rows: NDArray[np.int64]  # where each stands in its table, counted from 0
    sentences: Sentences
    embeddings: Embeddings
    targets: NDArray[np.float32]  # one-hot or multi-hot


@dataclass(frozen=True)
class Example:
    """A document by its row in its table, its true label in words, and the model's reasons."""

    row: int
    truth: str
    explanation: Explanation


@dataclass(frozen=True)
class Mistake(Example):
    """A document with a wrong prediction."""

    wrong_class: str  # that the model is most wrong about
    given: bool  # whether it gives it, and should not; else it should, and does not
    certainty: float  # the probability with which it is wrong about it
    blamed: int  # position of the sentence that pushed most towards the mistake
    blamed_effect: float  # by how much the certainty falls without it

    @property
    def sentence(self) -> SentenceExplanation:
        """The sentence to blame."""
        return self.explanation.sentences[self.blamed]

    @property
    def one_misled(self) -> bool:
        """Whether that sentence alone misled the model: one that changes less misleads nobody."""
        return self.blamed_effect >= _MISLEADS


def documents_at(documents: LabelledDocuments, chosen: NDArray[np.int64]) -> LabelledDocuments:
    """Return some of the documents, none of them empty, in the order of `chosen`."""
    sentences, where = documents.sentences.take(chosen)
    used, inverse = np.unique(documents.embeddings.index[where], return_inverse=True)
    return LabelledDocuments(
        [documents.texts[document] for document in chosen.tolist()],
        documents.rows[chosen],
        sentences,
        Embeddings(documents.embeddings.vectors[used], inverse.reshape(-1).astype(np.int64)),
        documents.targets[chosen],
    )


def confident_mistakes(
    model: Model, reading: Reading, truth: NDArray[np.bool_], most: int
) -> NDArray[np.int64]:
    """Return the positions of the documents with wrong predictions, the most confident first."""
    certainty = _wrongness(model, reading, truth).max(axis=1)
    wrong = np.flatnonzero(certainty > 0)
    return wrong[np.argsort(-certainty[wrong], kind="stable")][:most]


def choose_telling(
    reading: Reading, truth: NDArray[np.bool_], predicted: NDArray[np.bool_], most: int
) -> NDArray[np.int64]:
    """Return the position of one document per class, for the most frequent classes.

    Each is predicted correctly, preferably short, and its verdict moved most between sentences.
    """
    right = (predicted == truth).all(axis=1)
    is_short = np.isin(reading.lengths, _READ_AT_A_GLANCE)
    starts, running = reading.offsets[:-1], reading.running
    swing = np.maximum.reduceat(running, starts) - np.minimum.reduceat(running, starts)
    chosen: list[int] = []
    for label in np.argsort(-truth.sum(axis=0), kind="stable").tolist():
        fit = right & truth[:, label]
        fit[chosen] = False
        if not fit.any() or len(chosen) == most:
            continue
        fit &= is_short if (fit & is_short).any() else fit
        chosen.append(int(np.where(fit, swing[:, label], -1).argmax()))
    return np.array(chosen, np.int64)


def choose_plainest(
    reading: Reading, truth: NDArray[np.bool_], predicted: NDArray[np.bool_], texts: Sequence[str]
) -> int | None:
    """Return the position of the document that best shows a newcomer how the model reads.

    Of short documents, predicted correctly and surely, whose sentences match different prototypes,
    the one whose least similar match is the most similar; else the shortest predicted correctly.
    """
    right = (predicted == truth).all(axis=1) & predicted.any(axis=1)
    if not right.any():
        return None
    starts = reading.offsets[:-1]
    lengths = np.array([len(text) for text in texts])
    plain = right & np.isin(reading.lengths, _PLAIN_SENTENCES) & (lengths <= _PLAIN_CHARACTERS)
    plain &= reading.probabilities.max(axis=1) >= _PLAIN_PROBABILITY
    plain &= np.maximum.reduceat(reading.similarities, starts) < _SAME_SENTENCE
    if not plain.any():
        return int(np.where(right, lengths, lengths.max() + 1).argmin())
    varied = np.minimum.reduceat(reading.similarities, starts)
    for document in np.flatnonzero(plain):
        steps = reading.prototypes[starts[document] : starts[document] + reading.lengths[document]]
        varied[document] += len(set(steps.tolist())) / len(steps)
    return int(np.where(plain, varied, -1).argmax())


def explain_examples(model: Model, documents: LabelledDocuments) -> tuple[Example, ...]:
    """Explain documents, each beside its true label."""
    reading = model.read(model.match(documents.embeddings, documents.sentences.lengths))
    effects = leave_one_out_effects(model, reading)
    found = explain_reading(model, documents.texts, documents.sentences, reading, effects)
    truths = map(model.labels.name_of, documents.targets)
    return tuple(map(Example, documents.rows.tolist(), truths, found))


def explain_mistakes(model: Model, documents: LabelledDocuments) -> tuple[Mistake, ...]:
    """Explain documents with wrong predictions, and find the sentence to blame in each."""
    reading = model.read(model.match(documents.embeddings, documents.sentences.lengths))
    truth = documents.targets > 0.5
    wrongness = _wrongness(model, reading, truth)
    labels = wrongness.argmax(axis=1)
    effects = leave_one_out_effects(model, reading, labels)
    is_missed = truth[np.arange(len(truth)), labels]
    pushes = np.where(np.repeat(is_missed, reading.lengths), -effects, effects)
    mistakes = []
    for document, example in enumerate(explain_examples(model, documents)):
        push = pushes[reading.offsets[document] : reading.offsets[document + 1]]
        blamed, label = int(push.argmax()), int(labels[document])
        mistakes.append(
            Mistake(
                **vars(example),
                wrong_class=model.labels.names[label],
                given=not is_missed[document],
                certainty=float(wrongness[document, label]),
                blamed=blamed,
                blamed_effect=float(push[blamed]),
            )
        )
    return tuple(mistakes)


def _wrongness(model: Model, reading: Reading, truth: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return the certainty of each wrong decision, (documents, classes); 0 for right ones.

    Where one class holds, only the class that is given and should not be counts.
    """
    probabilities = reading.probabilities
    predicted = model.labels.decide(probabilities)
    certainty = np.where(predicted, probabilities, 1 - probabilities)
    counts = predicted & ~truth if model.labels.task == "multiclass" else predicted != truth
    return np.where(counts, certainty, 0).astype(np.float32)


@dataclass(frozen=True)
class Slice:
    """Some of the documents, and how many of them are predicted wrongly.

    The `kind` is ``"length"``, ``"class"``, ``"prototype"`` or ``"word"``, and `holds` says which
    documents they are: ``{"min_sentences": 1, "max_sentences": 3}``, ``{"truth": "good"}``,
    ``{"prototype": 7}`` or ``{"word": "parking"}``.
    """

    kind: str
    name: str
    holds: dict[str, str | int]
    n_documents: int
    n_wrong: int


def find_slices(model: Model, documents: LabelledDocuments, reading: Reading) -> tuple[Slice, ...]:
    """Count the mistakes by length and class, and by what they hold more often than others do.

    No document is empty, and the reading is the model's of them.
    """
    truth = documents.targets > 0.5
    wrong = (model.labels.decide(reading.probabilities) != truth).any(axis=1)
    cuts = [*_by_length(reading.lengths), *_by_prototype(model, reading, wrong)]
    for name, inside in zip(model.labels.names, truth.T, strict=True):
        cuts.append(("class", name, {"truth": name}, inside))
    for word in marking_words(documents.texts, wrong.astype(np.int64), 2)[1]:
        inside = np.array([has_word(text, word) for text in documents.texts])
        cuts.append(("word", word, {"word": word}, inside))
    return tuple(
        Slice(kind, name, holds, int(inside.sum()), int(wrong[inside].sum()))
        for kind, name, holds, inside in cuts
    )


def has_word(text: str, word: str) -> bool:
    """Say whether a text holds a whole word, in any case."""
    return re.search(rf"\b{re.escape(word)}\b", text, re.IGNORECASE) is not None


def _by_length(lengths: NDArray[np.int64]) -> Iterator[_Cut]:
    ends = np.unique(np.quantile(lengths, (1 / 3, 2 / 3, 1), method="higher")).tolist()
    for below, high in itertools.pairwise([0, *ends]):
        inside = (lengths > below) & (lengths <= high)
        low = int(lengths[inside].min())
        name = f"{low} to {high} sentences" if low < high else f"{high} sentences"
        yield "length", name, {"min_sentences": low, "max_sentences": int(high)}, inside


def _by_prototype(model: Model, reading: Reading, wrong: NDArray[np.bool_]) -> Iterator[_Cut]:
    """Cut by the prototypes whose documents are wrong more often than all, beyond chance."""
    holding = np.zeros((len(reading.lengths), len(model.prototypes)), np.bool_)
    holding[reading.documents, reading.prototypes] = True
    counts, rate = holding.sum(axis=0), wrong.mean()
    error = np.sqrt(np.maximum(counts * rate * (1 - rate), 1e-9))
    excess = (wrong.astype(np.int64) @ holding - counts * rate) / error
    for position in np.argsort(-excess, kind="stable")[:_MOST_PROTOTYPES].tolist():
        if excess[position] >= _BEYOND_CHANCE:
            item = model.prototypes[position]
            yield "prototype", item.caption, {"prototype": item.id}, holding[:, position]


@dataclass(frozen=True)
class Neighbour:
    """A sentence matched to a prototype."""

    text: str
    similarity: float
    rows: tuple[int, ...]  # of its documents, ascending
    member: int  # position of the one it is like among the members of all prototypes


@dataclass(frozen=True)
class PrototypeFigures:
    """A prototype, the share of the sentences matched to it, and the sentences most like it.

    The prototype's own usage and class rates are those of the training data; `class_rate` is that
    of these documents, empty where no sentence is matched to it.
    """

    prototype: Prototype
    usage: float
    class_rate: dict[str, float]
    nearest: tuple[Neighbour, ...]


@dataclass(frozen=True)
class Overview:
    """What a model is, and what it does with labelled documents.

    Predictions of 0.95 and up are sure; none is where a document may have several classes. The
    prototypes stand by falling
    score: for the last of two classes, else class after class by their strongest one. Mistakes are
    the most confident, the worst first; examples are documents of the most frequent classes,
    predicted correctly, and `plainest` a short one that shows a newcomer how the model reads.
    Where the documents are no texts, none is the plainest.
    """

    classes: tuple[str, ...]
    task: Task
    has_texts: bool
    n_sentences: int
    n_sure: int
    n_sure_right: int
    prototypes: tuple[PrototypeFigures, ...]
    curve: tuple[PruningPoint, ...]
    mistakes: tuple[Mistake, ...]
    examples: tuple[Example, ...]
    plainest: Example | None


def overview_model(
    model: Model,
    documents: LabelledDocuments,
    *,
    nearest: int = 5,
    mistakes: int = 5,
    examples: int = 4,
) -> Overview:
    """Look at a model as a whole, on documents that are best unseen in training.

    Documents without a sentence are left out. At most so many sentences are shown for each
    prototype, and so many documents with wrong and with correct predictions.
    """
    filled = np.flatnonzero(documents.sentences.filled)
    if not len(filled):
        raise InputError("there are no documents with a sentence to look at.")
    documents = documents_at(documents, filled)
    task, names = model.labels.task, model.labels.names
    reading = model.read(model.match(documents.embeddings, documents.sentences.lengths))
    probabilities, truth = reading.probabilities, documents.targets > 0.5
    predicted = model.labels.decide(probabilities)
    right = (predicted == truth).all(axis=1)
    has_texts = model.encoder.name != PRECOMPUTED
    sure = (probabilities.max(axis=1) >= SURE) & (task == "multiclass")
    plainest = choose_plainest(reading, truth, predicted, documents.texts) if has_texts else None
    shown = [] if plainest is None else [plainest]
    return Overview(
        classes=names,
        task=task,
        has_texts=has_texts,
        n_sentences=len(reading.prototypes),
        n_sure=int(sure.sum()),
        n_sure_right=int(right[sure].sum()),
        prototypes=_prototype_figures(model, reading, documents, nearest),
        curve=model.training.curve,
        mistakes=explain_mistakes(
            model, documents_at(documents, confident_mistakes(model, reading, truth, mistakes))
        ),
        examples=explain_examples(
            model, documents_at(documents, choose_telling(reading, truth, predicted, examples))
        ),
        plainest=next(
            iter(explain_examples(model, documents_at(documents, np.array(shown, np.int64)))), None
        ),
    )


def nearest_sentences(
    reading: Reading, texts: Sequence[str], rows: NDArray[np.int64], k: int, *, most: int
) -> tuple[tuple[Neighbour, ...], ...]:
    """Return, for each of `k` prototypes, the sentences matched to it that are most like it.

    Sentences of the same words are named once; of two equally similar ones, the first in the
    table comes first, so that the order is the same every time. `rows` is that of each document.
    """
    order = np.lexsort((np.arange(len(texts)), -reading.similarities, reading.prototypes))
    row_of = np.repeat(rows, reading.lengths)
    ends = np.cumsum(np.bincount(reading.prototypes, minlength=k))
    found = []
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        near: dict[str, tuple[float, int, set[int]]] = {}
        for sentence in order[start:end].tolist():
            text, similarity = texts[sentence], float(reading.similarities[sentence])
            if text not in near and len(near) == most:
                if similarity < min(other for other, *_ in near.values()):
                    break
                continue
            new = similarity, int(reading.members[sentence]), set[int]()
            near.setdefault(text, new)[2].add(int(row_of[sentence]))
        found.append(
            tuple(Neighbour(t, s, tuple(sorted(own)), m) for t, (s, m, own) in near.items())
        )
    return tuple(found)


def _prototype_figures(
    model: Model, reading: Reading, documents: LabelledDocuments, most: int
) -> tuple[PrototypeFigures, ...]:
    """Return the prototypes by falling score; with several classes, class after class."""
    scores = model.prototypes.scores
    one_axis = scores.shape[1] == 2 and model.labels.task == "multiclass"
    strongest = np.zeros(len(scores)) if one_axis else scores.argmax(axis=1)
    value = scores[:, 1] if one_axis else scores.max(axis=1)
    order = np.lexsort((model.prototypes.ids, -value, strongest))
    counts, shares = reading.class_rates(documents.targets, len(order))
    rates, texts = shares.tolist(), documents.sentences.texts
    near = nearest_sentences(reading, texts, documents.rows, len(order), most=most)
    return tuple(
        PrototypeFigures(
            model.prototypes[position],
            float(counts[position] / counts.sum()),
            dict(zip(model.labels.names, rates[position], strict=True)) if counts[position] else {},
            near[position],
        )
        for position in order.tolist()
    )
