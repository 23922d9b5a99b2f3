"""Explanations of documents: the trajectory as computed, and what each sentence mattered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protorynet.automaton import Automaton
from protorynet.encoders import Embeddings
from protorynet.explain.explanation import (
    AutomatonReading,
    DecidingPattern,
    Explanation,
    SentenceExplanation,
)
from protorynet.explain.summarising import decisions
from protorynet.model import Model
from protorynet.network import Prediction, Trajectory
from protorynet.text import Sentences

__all__ = ["explain_documents", "leave_one_out_effects"]

_STEPS_AT_ONCE = 1_000_000  # sentences read together when each is left out in turn
_MOST_RUNS = 256  # variants of one document that are read to find its sentences' effects


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
        columns = trajectory.columns[offsets[document] : offsets[document + 1]].tolist()
        explanations.append(
            Explanation(
                document=text,
                label=model.labels.name_of(row),
                probabilities=_by_class(model, row),
                sentences=steps,
                automaton=_automaton_reading(model, columns, row),
            )
        )
    return explanations


def _automaton_reading(
    model: Model, columns: list[int], probabilities: NDArray[np.float32]
) -> AutomatonReading | None:
    """Let the automaton of the most probable class read a document too."""
    if not model.automata:
        return None
    leading = int(probabilities.argmax())
    given = bool(decisions(model, probabilities[None])[0, leading])
    automaton = model.automata[leading]
    accepts = automaton.accepts(columns)
    return AutomatonReading(
        label=automaton.label,
        states=automaton.run(columns),
        accepts=accepts,
        agrees=accepts == given,
        fidelity=automaton.fidelity,
        pattern=_deciding_pattern(model, automaton, columns) if accepts and given else None,
    )


def _deciding_pattern(
    model: Model, automaton: Automaton, columns: list[int]
) -> DecidingPattern | None:
    pattern = automaton.deciding_pattern(columns)
    if pattern is None:
        return None
    captions = {item.id: item.caption for item in model.prototypes}
    return DecidingPattern(
        label=automaton.label,
        prototypes=pattern.prototypes,
        sentences=tuple(captions[number] for number in pattern.prototypes),
        support=pattern.support,
        purity=pattern.purity,
    )


def leave_one_out_effects(
    model: Model, trajectory: Trajectory, prediction: Prediction
) -> NDArray[np.float32]:
    """Return, per sentence, the fall of the leading class's probability without that sentence.

    A document's only sentence is compared with the share of that class in the training data. In
    a very long document several sentences are left out together and share the fall equally.
    """
    leading = prediction.probabilities.argmax(axis=1)
    whole = prediction.probabilities.max(axis=1)
    frequencies = np.array(model.training.class_frequencies, np.float32)
    effects = np.empty(len(trajectory.columns), np.float32)
    only = trajectory.lengths == 1
    effects[trajectory.offsets[:-1][only]] = whole[only] - frequencies[leading[only]]
    for run in _groups(_runs(trajectory)):
        lengths = trajectory.lengths[run.document] - run.size
        kept = _others(run, trajectory.offsets[run.document], lengths)
        without = model.read(trajectory.take(kept, lengths)).probabilities
        fall = whole[run.document] - without[np.arange(len(lengths)), leading[run.document]]
        places = np.repeat(run.start - (np.cumsum(run.size) - run.size), run.size)
        effects[places + np.arange(len(places))] = np.repeat(fall / run.size, run.size)
    return effects


class _Run(NamedTuple):
    """Sentences left out together: of which document, from which place on, and how many."""

    document: NDArray[np.int64]
    start: NDArray[np.int64]
    size: NDArray[np.int64]


def _runs(trajectory: Trajectory) -> _Run:
    """Cut every document of two or more sentences into runs; of one sentence each if it can be."""
    lengths, offsets = trajectory.lengths, trajectory.offsets
    size = -(-lengths // _MOST_RUNS)
    counts = np.where(lengths > 1, -(-lengths // size), 0)
    document = np.repeat(np.arange(len(lengths)), counts)
    number = np.arange(len(document)) - np.repeat(np.cumsum(counts) - counts, counts)
    start = offsets[document] + number * size[document]
    return _Run(document, start, np.minimum(size[document], offsets[document + 1] - start))


def _groups(runs: _Run) -> Iterator[_Run]:
    """Group runs so that each group is read at once in bounded memory."""
    if not len(runs.size):
        return
    lengths = np.bincount(runs.document, weights=runs.size)[runs.document]
    group = np.cumsum(lengths) // _STEPS_AT_ONCE
    for part in np.split(np.arange(len(group)), np.flatnonzero(np.diff(group)) + 1):
        yield _Run(*(values[part] for values in runs))


def _others(run: _Run, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, for each run left out, the places of all other sentences of its document in turn."""
    first = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    places = first + np.arange(len(first))
    behind = places >= np.repeat(run.start, lengths)
    return places + behind * np.repeat(run.size, lengths)


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
        runner_up_sentence=None if alone else second.sentence,
    )


def _by_class(model: Model, values: NDArray[np.float32]) -> dict[str, float]:
    return dict(zip(model.labels.names, values.tolist(), strict=True))
