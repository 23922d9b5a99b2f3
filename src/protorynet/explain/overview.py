"""The whole model on labelled documents: what it thinks with, how right it is, where it errs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protorynet.errors import InputError
from protorynet.explain.chosen import (
    Example,
    Mistake,
    confident_mistakes,
    documents_at,
    explain_mistakes,
    explained,
    plainest_document,
    telling_documents,
)
from protorynet.explain.figures import (
    ClassFigures,
    LengthFigures,
    ReliabilityBin,
    accuracy_by_length,
    class_figures,
    confusion_counts,
    reliability_bins,
    said_and_true,
    transition_counts,
)
from protorynet.explain.labelled import LabelledDocuments
from protorynet.explain.neighbours import Neighbour, nearest_sentences
from protorynet.labels import Task
from protorynet.model import PRECOMPUTED, Model
from protorynet.prototypes import Prototype, PruningPoint
from protorynet.reading import Reading

__all__ = ["SURE", "Overview", "PrototypeFigures", "overview_model"]

SURE = 0.95
"""From this probability on a prediction counts as sure."""


@dataclass(frozen=True)
class PrototypeFigures:
    """A prototype and the sentences of the documents that are matched to it.

    Parameters
    ----------
    prototype
        The prototype; its own usage and class rates are those of the training data.
    usage
        Share of the sentences matched to it.
    class_rate
        Share of each class among the documents of these; empty where there are none.
    nearest
        The sentences most like it.
    """

    prototype: Prototype
    usage: float
    class_rate: dict[str, float]
    nearest: tuple[Neighbour, ...]


@dataclass(frozen=True)
class Overview:
    """What a model is, and what it does with labelled documents.

    Parameters
    ----------
    classes, task
        The classes, and whether a document has one of them or any number.
    has_texts
        Whether the documents are texts, or sequences of vectors.
    n_documents, n_sentences, n_right
        How many documents and sentences were read, and how many documents labelled rightly.
    n_sure, n_sure_right
        How many predictions were sure (0.95 and up), and how many of these right; 0 where a
        document may have any number of classes.
    prototypes
        The prototypes by falling score: for the last class if there are two classes, else class
        after class by their strongest one.
    transitions
        How often a sentence of one prototype (row) is followed by one of another (column), in the
        order of `prototypes`.
    curve
        The pruning curve of the training.
    class_figures
        How well each class is found.
    confusion
        Documents by true class (row) and predicted class (column); None where a document may
        have any number of classes.
    lengths
        Figures of short documents and of long ones; empty where the documents are no texts.
    reliability
        Predictions by probability, and how many came true.
    mistakes
        The most confident mistakes, the worst first.
    examples
        A document for each of the most frequent classes, labelled rightly.
    plainest
        A short document, labelled rightly, that shows a newcomer how the model reads; None where
        the documents are no texts, or none is labelled rightly.
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
    transitions: NDArray[np.int64]
    curve: tuple[PruningPoint, ...]
    class_figures: tuple[ClassFigures, ...]
    confusion: NDArray[np.int64] | None
    lengths: tuple[LengthFigures, ...]
    reliability: tuple[ReliabilityBin, ...]
    mistakes: tuple[Mistake, ...]
    examples: tuple[Example, ...]
    plainest: Example | None

    @property
    def accuracy(self) -> float:
        """Share of the documents labelled rightly."""
        return self.n_right / self.n_documents

    @property
    def baseline(self) -> float | None:
        """Share labelled rightly by always naming the most frequent class, where one holds."""
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
    """Look at a model as a whole.

    Parameters
    ----------
    model
        The model.
    documents
        Labelled documents, best unseen in training; those without a sentence are left out.
    nearest
        Most sentences shown for each prototype.
    mistakes, examples
        Most documents shown that are labelled wrongly and rightly.
    """
    filled = np.flatnonzero(documents.sentences.filled)
    if not len(filled):
        raise InputError("there are no documents with a sentence to look at.")
    documents = documents_at(documents, filled)
    task, names = model.labels.task, model.labels.names
    trajectory = model.match(documents.embeddings, documents.sentences.lengths)
    prediction = model.read(trajectory)
    said, truth = prediction.probabilities, documents.targets > 0.5
    predicted = model.labels.decide(said)
    right = (predicted == truth).all(axis=1)
    has_texts = model.encoder.name != PRECOMPUTED
    words = np.array([len(text.split()) for text in documents.texts])
    sure = (said.max(axis=1) >= SURE) if task == "multiclass" else np.zeros(len(said), np.bool_)
    ranked, order = _prototypes(model, trajectory, documents, nearest)
    counts = transition_counts(trajectory, len(model.prototypes))
    wrong = confident_mistakes(model, prediction, truth, mistakes)
    telling = telling_documents(model, trajectory, prediction, truth, examples)
    plainest = plainest_document(trajectory, prediction, truth, predicted, documents.texts)
    opening = [] if plainest is None or not has_texts else [plainest]
    return Overview(
        classes=names,
        task=task,
        has_texts=has_texts,
        n_documents=len(right),
        n_sentences=len(trajectory.columns),
        n_right=int(right.sum()),
        n_sure=int(sure.sum()),
        n_sure_right=int(right[sure].sum()),
        prototypes=ranked,
        transitions=counts[np.ix_(order, order)],
        curve=model.training.curve,
        class_figures=class_figures(names, truth, predicted),
        confusion=None if task == "multilabel" else confusion_counts(truth, predicted),
        lengths=accuracy_by_length(words, right) if has_texts else (),
        reliability=reliability_bins(*said_and_true(task, said, truth)),
        mistakes=explain_mistakes(model, documents_at(documents, wrong)),
        examples=explained(model, documents_at(documents, telling)),
        plainest=next(
            iter(explained(model, documents_at(documents, np.array(opening, np.int64)))), None
        ),
    )


def _prototypes(
    model: Model, trajectory: Reading, documents: LabelledDocuments, most: int
) -> tuple[tuple[PrototypeFigures, ...], NDArray[np.int64]]:
    """Return the prototypes by rank, and the column of each."""
    k = len(model.prototypes)
    counts = np.bincount(trajectory.columns, minlength=k)
    sums = np.zeros((k, documents.targets.shape[1]))
    np.add.at(sums, trajectory.columns, np.repeat(documents.targets, trajectory.lengths, axis=0))
    near = nearest_sentences(trajectory, documents.sentences.texts, documents.rows, k, most=most)
    order = _ranks(model)
    figures = tuple(
        PrototypeFigures(
            model.prototypes[column],
            float(counts[column] / counts.sum()),
            dict(zip(model.labels.names, (sums[column] / counts[column]).tolist(), strict=True))
            if counts[column]
            else {},
            near[column],
        )
        for column in order.tolist()
    )
    return figures, order


def _ranks(model: Model) -> NDArray[np.int64]:
    """Return the columns by falling score; with several classes, class after class."""
    scores = np.array([list(item.scores.values()) for item in model.prototypes])
    one_axis = scores.shape[1] == 2 and model.labels.task == "multiclass"
    strongest = np.zeros(len(scores)) if one_axis else scores.argmax(axis=1)
    value = scores[:, 1] if one_axis else scores.max(axis=1)
    return np.lexsort((model.prototypes.ids, -value, strongest))
