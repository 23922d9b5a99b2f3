"""Explanations of documents: the trajectory as computed, and what each sentence mattered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from protorynet.encoders import Embeddings
from protorynet.explain.explanation import Explanation, SentenceExplanation
from protorynet.model import Model
from protorynet.network import Prediction, Trajectory
from protorynet.text import Sentences

__all__ = ["explain_documents", "leave_one_out_effects"]

_STEPS_AT_ONCE = 1_000_000  # sentences read together when each is left out in turn


def explain_documents(
    model: Model, documents: Sequence[str], sentences: Sentences, embeddings: Embeddings
) -> list[Explanation]:
    """Explain the model's prediction for each document.

    Parameters
    ----------
    model
        The model.
    documents
        The original texts.
    sentences, embeddings
        Their sentences, at least one each, and the encoder's vectors of these.
    """
    trajectory = model.trace(embeddings, sentences.lengths)
    prediction = model.read(trajectory)
    effects = leave_one_out_effects(model, trajectory, prediction)
    offsets = trajectory.offsets
    explanations = []
    for document, text in enumerate(documents):
        places = range(offsets[document], offsets[document + 1])
        steps = tuple(
            _step(model, text, sentences, trajectory, prediction, effects, place)
            for place in places
        )
        row = prediction.probabilities[document]
        explanations.append(
            Explanation(text, model.labels.name_of(row), _by_class(model, row), steps)
        )
    return explanations


def leave_one_out_effects(
    model: Model, trajectory: Trajectory, prediction: Prediction
) -> NDArray[np.float32]:
    """Return, per sentence, the fall of the leading class's probability without that sentence.

    A document's only sentence is compared with the share of that class in the training data.
    """
    leading = prediction.probabilities.argmax(axis=1)
    whole = prediction.probabilities.max(axis=1)
    frequencies = np.array(model.training.class_frequencies, np.float32)
    effects = np.empty(len(trajectory.columns), np.float32)
    offsets = trajectory.offsets
    only = trajectory.lengths == 1
    effects[offsets[:-1][only]] = whole[only] - frequencies[leading[only]]
    for documents in _groups(trajectory.lengths):
        kept, lengths, left_out = _left_out(documents, offsets)
        without = model.read(_pick(trajectory, kept, lengths)).probabilities
        document = np.repeat(documents, trajectory.lengths[documents])
        classes = leading[document]
        effects[left_out] = whole[document] - without[np.arange(len(document)), classes]
    return effects


def _groups(lengths: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Group documents of two or more sentences so that each group is quick to read."""
    documents = np.flatnonzero(lengths > 1)
    cost = np.cumsum(lengths[documents] * (lengths[documents] - 1)) // _STEPS_AT_ONCE
    for group in np.unique(cost):
        yield documents[cost == group]


def _left_out(
    documents: NDArray[np.int64], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the sentences kept in each variant, the variants' lengths, and what each leaves out."""
    kept, lengths, left_out = [], [], []
    for document in documents:
        places = np.arange(offsets[document], offsets[document + 1])
        others = ~np.eye(len(places), dtype=bool)
        kept.append(np.broadcast_to(places, others.shape)[others])
        lengths.append(np.full(len(places), len(places) - 1))
        left_out.append(places)
    return np.concatenate(kept), np.concatenate(lengths), np.concatenate(left_out)


def _pick(
    trajectory: Trajectory, places: NDArray[np.int64], lengths: NDArray[np.int64]
) -> Trajectory:
    return Trajectory(
        trajectory.columns[places],
        trajectory.similarities[places],
        trajectory.runner_up[places],
        trajectory.runner_up_similarities[places],
        lengths,
    )


def _step(
    model: Model,
    text: str,
    sentences: Sentences,
    trajectory: Trajectory,
    prediction: Prediction,
    effects: NDArray[np.float32],
    place: int,
) -> SentenceExplanation:
    active = model.prototypes[int(trajectory.columns[place])]
    second = model.prototypes[int(trajectory.runner_up[place])]
    alone = second.id == active.id
    start, end = int(sentences.starts[place]), int(sentences.ends[place])
    return SentenceExplanation(
        text=text[start:end],
        start=start,
        end=end,
        prototype=active.id,
        prototype_sentence=active.sentence,
        similarity=float(trajectory.similarities[place]),
        runner_up=None if alone else second.id,
        runner_up_similarity=None if alone else float(trajectory.runner_up_similarities[place]),
        scores=dict(active.scores),
        running=_by_class(model, prediction.running[place]),
        effect=float(effects[place]),
    )


def _by_class(model: Model, values: NDArray[np.float32]) -> dict[str, float]:
    return dict(zip(model.labels.names, values.tolist(), strict=True))
