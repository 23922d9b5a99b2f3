"""The whole model on labelled documents: what it thinks with, how right it is, where it errs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protorynet.errors import InputError
from protorynet.explain.examples import (
    Example,
    LabelledDocuments,
    Mistake,
    choose_plainest,
    choose_telling,
    confident_mistakes,
    documents_at,
    explain_examples,
    explain_mistakes,
)
from protorynet.labels import Task
from protorynet.model import PRECOMPUTED, Model
from protorynet.prototypes import Prototype, PruningPoint
from protorynet.reading import Reading

SURE = 0.95
"""From this probability on a prediction counts as sure."""


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
    said, truth = reading.probabilities, documents.targets > 0.5
    predicted = model.labels.decide(said)
    right = (predicted == truth).all(axis=1)
    has_texts = model.encoder.name != PRECOMPUTED
    sure = (said.max(axis=1) >= SURE) & (task == "multiclass")
    order = _rank_prototypes(model)
    plainest = choose_plainest(reading, truth, predicted, documents.texts) if has_texts else None
    shown = [] if plainest is None else [plainest]
    return Overview(
        classes=names,
        task=task,
        has_texts=has_texts,
        n_sentences=len(reading.prototypes),
        n_sure=int(sure.sum()),
        n_sure_right=int(right[sure].sum()),
        prototypes=_prototype_figures(model, reading, documents, order, nearest),
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
    model: Model,
    reading: Reading,
    documents: LabelledDocuments,
    order: NDArray[np.int64],
    most: int,
) -> tuple[PrototypeFigures, ...]:
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


def _rank_prototypes(model: Model) -> NDArray[np.int64]:
    """Return the positions by falling score; with several classes, class after class."""
    scores = np.array([list(item.scores.values()) for item in model.prototypes])
    one_axis = scores.shape[1] == 2 and model.labels.task == "multiclass"
    strongest = np.zeros(len(scores)) if one_axis else scores.argmax(axis=1)
    value = scores[:, 1] if one_axis else scores.max(axis=1)
    return np.lexsort((model.prototypes.ids, -value, strongest))
