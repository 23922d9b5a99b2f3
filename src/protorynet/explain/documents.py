"""Explanations of documents: the trajectory as computed, and what each sentence mattered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from protorynet.automaton import Automaton, Pattern
from protorynet.data import Sentences
from protorynet.encoders import Embeddings
from protorynet.explain.explanation import (
    AutomatonReading,
    DecidingPattern,
    Explanation,
    SentenceExplanation,
)
from protorynet.explain.leaving_out import read_without_each
from protorynet.explain.summarising import decisions
from protorynet.model import Model
from protorynet.network import Prediction, Trajectory

__all__ = ["explain_documents", "leave_one_out_effects"]


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
    steps = _steps(model, documents, sentences, trajectory, prediction, effects)
    readings = _automaton_readings(model, trajectory, prediction)
    names, rows = model.labels.names, prediction.probabilities.tolist()
    is_behind = model.edits.reader_is_behind
    return [
        Explanation(
            document=text,
            label=model.labels.name_of(prediction.probabilities[document]),
            probabilities=dict(zip(names, rows[document], strict=True)),
            sentences=tuple(islice(steps, length)),
            automaton=next(readings, None),
            reader_is_behind=is_behind,
        )
        for document, (text, length) in enumerate(
            zip(documents, trajectory.lengths.tolist(), strict=True)
        )
    ]


def _steps(
    model: Model,
    documents: Sequence[str],
    sentences: Sentences,
    trajectory: Trajectory,
    prediction: Prediction,
    effects: NDArray[np.float32],
) -> Iterator[SentenceExplanation]:
    """Explain all sentences of all documents, one after the other."""
    names, items = model.labels.names, model.prototypes.items
    # Plain numbers at once: taking them from arrays one by one would be slower by far.
    for document, start, end, column, similarity, other, other_similarity, running, effect in zip(
        sentences.documents.tolist(),
        sentences.starts.tolist(),
        sentences.ends.tolist(),
        trajectory.columns.tolist(),
        trajectory.similarities.tolist(),
        trajectory.runner_up.tolist(),
        trajectory.runner_up_similarities.tolist(),
        prediction.running.tolist(),
        effects.tolist(),
        strict=True,
    ):
        active, second, alone = items[column], items[other], column == other
        yield SentenceExplanation(
            documents[document][start:end],
            start,
            end,
            active.id,
            active.sentence,
            similarity,
            None if alone else second.id,
            None if alone else other_similarity,
            dict(active.scores),
            dict(zip(names, running, strict=True)),
            effect,
            None if alone else second.sentence,
        )


def _automaton_readings(
    model: Model, trajectory: Trajectory, prediction: Prediction
) -> Iterator[AutomatonReading]:
    """Let the automaton of each document's most probable class read it too."""
    if not model.automata:
        return
    captions = {item.id: item.caption for item in model.prototypes}
    leading = prediction.probabilities.argmax(axis=1)
    given = decisions(model, prediction.probabilities)[np.arange(len(leading)), leading]
    columns = iter(trajectory.columns.tolist())
    for place, gives, length in zip(
        leading.tolist(), given.tolist(), trajectory.lengths.tolist(), strict=True
    ):
        yield _automaton_reading(
            model.automata[place], list(islice(columns, length)), gives, captions
        )


def _automaton_reading(
    automaton: Automaton, columns: list[int], gives: bool, captions: dict[int, str]
) -> AutomatonReading:
    states = automaton.run(columns)
    accepts = automaton.states[states[-1]].accepting
    pattern = automaton.deciding_pattern(columns) if accepts and gives else None
    return AutomatonReading(
        label=automaton.label,
        states=states,
        accepts=accepts,
        agrees=accepts == gives,
        fidelity=automaton.fidelity,
        pattern=None if pattern is None else _deciding(automaton.label, pattern, captions),
    )


def _deciding(label: str, pattern: Pattern, captions: dict[int, str]) -> DecidingPattern:
    return DecidingPattern(
        label=label,
        prototypes=pattern.prototypes,
        sentences=tuple(captions[number] for number in pattern.prototypes),
        support=pattern.support,
        purity=pattern.purity,
    )


def leave_one_out_effects(
    model: Model,
    trajectory: Trajectory,
    prediction: Prediction,
    places: NDArray[np.int64] | None = None,
) -> NDArray[np.float32]:
    """Return, per sentence, the fall of a class's probability without that sentence.

    The class is the leading one of each document, or that at `places`. A document's only sentence
    is compared with the share of that class in the training data. In a very long document several
    sentences are left out together and share the fall equally.
    """
    leading = prediction.probabilities.argmax(axis=1) if places is None else places
    whole = prediction.probabilities[np.arange(len(leading)), leading]
    frequencies = np.array(model.training.class_frequencies, np.float32)
    effects = np.empty(len(trajectory.columns), np.float32)
    only = trajectory.lengths == 1
    effects[trajectory.offsets[:-1][only]] = whole[only] - frequencies[leading[only]]
    for left_out in read_without_each(model.network.reader, trajectory, model.labels.task):
        document, start, size, without = left_out
        fall = whole[document] - without[np.arange(len(document)), leading[document]]
        places = np.repeat(start - (np.cumsum(size) - size), size)
        effects[places + np.arange(len(places))] = np.repeat(fall / size, size)
    return effects
