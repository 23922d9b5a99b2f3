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
    document = np.repeat(np.arange(len(trajectory.lengths)), trajectory.lengths)
    for left_out in _groups(trajectory.lengths[document] - 1):
        its = document[left_out]
        lengths = trajectory.lengths[its] - 1
        kept = _others(left_out, offsets[its], lengths)
        without = model.read(_pick(trajectory, kept, lengths)).probabilities
        effects[left_out] = whole[its] - without[np.arange(len(its)), leading[its]]
    return effects


def _groups(others: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Group the sentences that have others beside them, so that each group is quick to read."""
    sentences = np.flatnonzero(others > 0)
    group = np.cumsum(others[sentences]) // _STEPS_AT_ONCE
    yield from np.split(sentences, np.flatnonzero(np.diff(group)) + 1) if len(group) else ()


def _others(
    left_out: NDArray[np.int64], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return, for each sentence left out, the places of all others of its document in turn."""
    first = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    places = first + np.arange(len(first))
    return places + (places >= np.repeat(left_out, lengths))


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
