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

_RELIABILITY_BINS = 10


@dataclass(frozen=True)
class ClassFigures:
    """How many documents have a class, how many are given it, and how many both."""

    name: str
    n_true: int
    n_predicted: int
    n_both: int

    @property
    def recall(self) -> float | None:
        """Share of the documents of the class that are given it; None where there are none."""
        return self.n_both / self.n_true if self.n_true else None

    @property
    def precision(self) -> float | None:
        """Share of the documents given the class that have it; None where there are none."""
        return self.n_both / self.n_predicted if self.n_predicted else None


@dataclass(frozen=True)
class ReliabilityBin:
    """Predictions of probabilities from `low` to below `high`, `said` on average; never none."""

    low: float
    high: float
    count: int
    said: float
    n_true: int

    @property
    def observed(self) -> float:
        """Share of the predictions that came true."""
        return self.n_true / self.count

    @property
    def interval(self) -> tuple[float, float]:
        """The observed share with its uncertainty: a 95% Wilson interval."""
        from scipy.stats import binomtest

        ends = binomtest(self.n_true, self.count).proportion_ci(0.95, method="wilson")
        return float(ends.low), float(ends.high)


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

    Predictions of 0.95 and up are sure; none is where a document may have several classes, and
    then there is no `confusion` (true by predicted class) either. The prototypes stand by falling
    score: for the last of two classes, else class after class by their strongest one. Mistakes are
    the most confident, the worst first; examples are documents of the most frequent classes,
    predicted correctly, and `plainest` a short one that shows a newcomer how the model reads.
    Where the documents are no texts, none is the plainest.
    """

    classes: tuple[str, ...]
    task: Task
    has_texts: bool
    n_documents: int
    n_sentences: int
    n_right: int
    n_sure: int
    n_sure_right: int
    prototypes: tuple[PrototypeFigures, ...]
    curve: tuple[PruningPoint, ...]
    class_figures: tuple[ClassFigures, ...]
    confusion: NDArray[np.int64] | None
    reliability: tuple[ReliabilityBin, ...]
    mistakes: tuple[Mistake, ...]
    examples: tuple[Example, ...]
    plainest: Example | None

    @property
    def accuracy(self) -> float:
        """Share of the predictions that are correct."""
        return self.n_right / self.n_documents

    @property
    def baseline(self) -> float | None:
        """Accuracy of always naming the most frequent class, where one holds."""
        if self.task == "multilabel":
            return None
        return max(each.n_true for each in self.class_figures) / self.n_documents


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
        n_documents=len(right),
        n_sentences=len(reading.prototypes),
        n_right=int(right.sum()),
        n_sure=int(sure.sum()),
        n_sure_right=int(right[sure].sum()),
        prototypes=_prototype_figures(model, reading, documents, order, nearest),
        curve=model.training.curve,
        class_figures=class_figures(names, truth, predicted),
        confusion=None if task == "multilabel" else truth.T.astype(np.int64) @ predicted,
        reliability=reliability_bins(*_calibrated(task, said, truth)),
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


def class_figures(
    names: Sequence[str], truth: NDArray[np.bool_], predicted: NDArray[np.bool_]
) -> tuple[ClassFigures, ...]:
    """Count, for each class, the documents that have it, are given it, and both."""
    counts = (each.sum(axis=0).tolist() for each in (truth, predicted, truth & predicted))
    return tuple(ClassFigures(*each) for each in zip(names, *counts, strict=True))


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


def reliability_bins(
    said: NDArray[np.float64], came_true: NDArray[np.bool_]
) -> tuple[ReliabilityBin, ...]:
    """Group predictions by their probability into bins of equal width; empty ones are left out."""
    edges = np.arange(_RELIABILITY_BINS + 1) / _RELIABILITY_BINS
    bins = np.minimum(np.searchsorted(edges, said, side="right"), _RELIABILITY_BINS) - 1
    counts = np.bincount(bins)
    sums, true = np.bincount(bins, said), np.bincount(bins, came_true)
    return tuple(
        ReliabilityBin(
            float(edges[i]),
            float(edges[i + 1]),
            int(counts[i]),
            float(sums[i] / counts[i]),
            int(true[i]),
        )
        for i in np.flatnonzero(counts)
    )


def calibration_error(bins: Sequence[ReliabilityBin]) -> float:
    """Return the expected calibration error: how far what is said is from the truth."""
    total = sum(each.count for each in bins)
    return sum(each.count * abs(each.said - each.observed) for each in bins) / total


def _calibrated(
    task: Task, probabilities: NDArray[np.float32], truth: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the probabilities that calibration is about, and whether each came true.

    Of two classes the last one's, of several the predicted one's, of any number each one's.
    """
    said = probabilities.astype(np.float64)
    if task == "multilabel":
        return said.ravel(), truth.ravel()
    if said.shape[1] == 2:
        return said[:, 1], truth[:, 1]
    leading = (np.arange(len(said)), said.argmax(axis=1))
    return said[leading], truth[leading]


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
