"""Documents worth looking at: the most confident mistakes, and examples of right decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protorynet.data import Sentences
from protorynet.encoders import Embeddings
from protorynet.explain.documents import explain_documents
from protorynet.explain.explanation import Explanation, SentenceExplanation
from protorynet.explain.labelled import LabelledDocuments
from protorynet.explain.leaving_out import leave_one_out_effects
from protorynet.model import Model
from protorynet.reading import Reading

__all__ = [
    "Example",
    "Mistake",
    "confident_mistakes",
    "documents_at",
    "explain_mistakes",
    "explained",
    "plainest_document",
    "telling_documents",
]

_SHORT = range(3, 9)  # sentences of a document whose trajectory is read at a glance
_PLAIN = range(2, 5)  # sentences of one that shows a newcomer how the model reads
_PLAIN_LENGTH = 320  # characters of such a document
_PLAIN_SURE, _SAME = 0.8, 0.98


@dataclass(frozen=True)
class Example:
    """A document with its true label and the model's reasons.

    Parameters
    ----------
    row
        Where it stands in its table, counted from 0.
    truth
        Its true label in words.
    explanation
        The model's prediction and trajectory.
    """

    row: int
    truth: str
    explanation: Explanation


@dataclass(frozen=True)
class Mistake(Example):
    """A document labelled wrongly.

    Parameters
    ----------
    wrong_class
        The class that the model is most wrong about.
    given
        Whether the model gives it that class, and should not; else it should, and does not.
    certainty
        The probability with which it is wrong about it.
    blamed
        Position, among the sentences, of the one that pushed most towards the mistake.
    blamed_effect
        By how much that certainty falls without that sentence.
    """

    wrong_class: str
    given: bool
    certainty: float
    blamed: int
    blamed_effect: float

    @property
    def sentence(self) -> SentenceExplanation:
        """The sentence to blame."""
        return self.explanation.sentences[self.blamed]


def confident_mistakes(
    model: Model, prediction: Reading, truth: NDArray[np.bool_], most: int
) -> NDArray[np.int64]:
    """Return the places of the documents labelled wrongly, the most confident first."""
    certainty = _wrongness(model, prediction, truth).max(axis=1)
    wrong = np.flatnonzero(certainty > 0)
    return wrong[np.argsort(-certainty[wrong], kind="stable")][:most]


def telling_documents(
    model: Model,
    trajectory: Reading,
    prediction: Reading,
    truth: NDArray[np.bool_],
    most: int,
) -> NDArray[np.int64]:
    """Return the place of one document per class, for the most frequent classes.

    Each is labelled rightly, short if there are short ones, and the one whose verdict moved most
    from sentence to sentence.
    """
    predicted = model.labels.decide(prediction.probabilities)
    right = (predicted == truth).all(axis=1)
    is_short = np.isin(trajectory.lengths, _SHORT)
    starts = trajectory.offsets[:-1]
    running = prediction.running
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


def plainest_document(
    trajectory: Reading,
    prediction: Reading,
    truth: NDArray[np.bool_],
    predicted: NDArray[np.bool_],
    texts: Sequence[str],
) -> int | None:
    """Return the place of the document that best shows a newcomer how the model reads.

    It is labelled rightly and surely, short, and its sentences are matched to different prototypes
    and are not these themselves; of all such, its least similar match is the most similar. Where
    there is none so short, it is the shortest one that is labelled rightly.
    """
    right = (predicted == truth).all(axis=1) & predicted.any(axis=1)
    if not right.any():
        return None
    starts = trajectory.offsets[:-1]
    lengths = np.array([len(text) for text in texts])
    plain = right & np.isin(trajectory.lengths, _PLAIN) & (lengths <= _PLAIN_LENGTH)
    plain &= prediction.probabilities.max(axis=1) >= _PLAIN_SURE
    plain &= np.maximum.reduceat(trajectory.similarities, starts) < _SAME
    if not plain.any():
        return int(np.where(right, lengths, lengths.max() + 1).argmin())
    varied = np.minimum.reduceat(trajectory.similarities, starts)
    for place in np.flatnonzero(plain):
        steps = trajectory.columns[starts[place] : starts[place] + trajectory.lengths[place]]
        varied[place] += len(set(steps.tolist())) / len(steps)
    return int(np.where(plain, varied, -1).argmax())


def documents_at(documents: LabelledDocuments, places: NDArray[np.int64]) -> LabelledDocuments:
    """Return some of the documents, none of them empty, in the order of `places`."""
    offsets = np.concatenate([[0], np.cumsum(documents.sentences.lengths)])
    steps = [np.arange(offsets[place], offsets[place + 1]) for place in places]
    where = np.concatenate([np.zeros(0, np.int64), *steps])
    rows, inverse = np.unique(documents.embeddings.rows[where], return_inverse=True)
    old = documents.sentences
    sentences = Sentences(
        tuple(old.texts[place] for place in where.tolist()),
        old.starts[where],
        old.ends[where],
        np.repeat(np.arange(len(places)), [len(each) for each in steps]),
        len(places),
    )
    return LabelledDocuments(
        [documents.texts[place] for place in places.tolist()],
        documents.rows[places],
        sentences,
        Embeddings(documents.embeddings.vectors[rows], inverse.reshape(-1).astype(np.int64)),
        documents.targets[places],
    )


def explained(model: Model, documents: LabelledDocuments) -> tuple[Example, ...]:
    """Explain documents, each beside its true label."""
    if not len(documents.texts):
        return ()
    explanations = explain_documents(
        model, documents.texts, documents.sentences, documents.embeddings
    )
    return tuple(
        Example(int(row), model.labels.name_of(target), explanation)
        for row, target, explanation in zip(
            documents.rows, documents.targets, explanations, strict=True
        )
    )


def explain_mistakes(model: Model, documents: LabelledDocuments) -> tuple[Mistake, ...]:
    """Explain documents labelled wrongly, and find the sentence to blame in each."""
    if not len(documents.texts):
        return ()
    trajectory = model.match(documents.embeddings, documents.sentences.lengths)
    prediction = model.read(trajectory)
    truth = documents.targets > 0.5
    wrongness = _wrongness(model, prediction, truth)
    places = (np.arange(len(truth)), wrongness.argmax(axis=1))
    effects = leave_one_out_effects(model, prediction, places[1])
    pushes = np.where(np.repeat(truth[places], trajectory.lengths), -effects, effects)
    offsets = trajectory.offsets
    mistakes = []
    for number, example in enumerate(explained(model, documents)):
        push = pushes[offsets[number] : offsets[number + 1]]
        blamed = int(push.argmax())
        label = int(places[1][number])
        mistakes.append(
            Mistake(
                **vars(example),
                wrong_class=model.labels.names[label],
                given=not truth[number, label],
                certainty=float(wrongness[number, label]),
                blamed=blamed,
                blamed_effect=float(push[blamed]),
            )
        )
    return tuple(mistakes)


def _wrongness(model: Model, prediction: Reading, truth: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return the certainty of each wrong decision, (documents, classes); 0 for right ones.

    Where one class holds, only the class that is wrongly given counts.
    """
    said = prediction.probabilities
    predicted = model.labels.decide(said)
    certainty = np.where(predicted, said, 1 - said)
    counts = predicted & ~truth if model.labels.task == "multiclass" else predicted != truth
    return np.where(counts, certainty, 0).astype(np.float32)
