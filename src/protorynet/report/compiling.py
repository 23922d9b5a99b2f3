"""Everything that a report tells, put together from a model and its documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from protorynet.audit import Audit, LabelledDocuments, audit_model
from protorynet.automaton import Automaton
from protorynet.explain import (
    Evaluation,
    Misled,
    Overview,
    documents_at,
    learn_automaton,
    misled_documents,
    overview_model,
)
from protorynet.model import Model
from protorynet.reading import Reading

__all__ = ["FullReport", "compile_report"]

_MOST_AUTOMATA = 4
_ONE_IN = 5  # documents kept for measuring automata where there are no training documents
_FEWEST_TO_SPLIT = 20


@dataclass(frozen=True)
class FullReport:
    """A model, to be understood and judged by someone who has never seen it.

    Parameters
    ----------
    title
        The headline.
    model
        The model.
    overview, evaluation
        What it does with the test documents, and how far its explanations can be trusted.
    automata
        One for each of the most frequent answers.
    misled
        The wrong ones of these answers, by the beginning that misled the model.
    audit
        What a careful colleague would tell; None where the training documents were not given.
    provenance
        Names and values of what is needed to make the report again.
    """

    title: str
    model: Model
    overview: Overview
    evaluation: Evaluation
    automata: tuple[Automaton, ...]
    misled: tuple[Misled, ...]
    audit: Audit | None
    provenance: tuple[tuple[str, str], ...]


def compile_report(
    model: Model,
    evaluation: Evaluation,
    test: LabelledDocuments,
    train: LabelledDocuments | None = None,
    *,
    title: str,
    provenance: tuple[tuple[str, str], ...] = (),
) -> FullReport:
    """Put together all that a report tells.

    Parameters
    ----------
    model
        The model.
    evaluation
        Its accuracy and faithfulness on the test documents.
    test
        Labelled documents, best unseen in training.
    train
        The documents that the model was made from; without them there is no audit.
    title, provenance
        The headline, and what is needed to make the report again.
    """
    automata = _automata(model, test, train)
    return FullReport(
        title,
        model,
        overview_model(model, test),
        evaluation,
        automata,
        misled_documents(model, automata, test),
        None if train is None else audit_model(model, train, test),
        provenance,
    )


def _automata(
    model: Model, test: LabelledDocuments, train: LabelledDocuments | None
) -> tuple[Automaton, ...]:
    """Return an automaton for each of the most frequent answers: the model's own, or new ones."""
    measuring = _traced(model, test)
    said = model.read(measuring).probabilities
    given = model.labels.decide(said).sum(axis=0)
    frequent = [place for place in np.argsort(-given, kind="stable").tolist() if given[place]]
    frequent = frequent[:_MOST_AUTOMATA]
    if model.automata:
        return tuple(model.automata[place] for place in frequent)
    if train is not None and train.sentences.filled.any():
        learning, held_out = _traced(model, train), measuring
    elif len(measuring.lengths) < _FEWEST_TO_SPLIT:
        learning, held_out = measuring, None
    else:
        is_kept = np.arange(len(measuring.lengths)) % _ONE_IN == _ONE_IN - 1
        learning, held_out = _part(measuring, ~is_kept), _part(measuring, is_kept)
    names = model.labels.names
    return tuple(
        learn_automaton(model, learning, names[place], held_out=held_out) for place in frequent
    )


def _traced(model: Model, documents: LabelledDocuments) -> Reading:
    filled = documents_at(documents, np.flatnonzero(documents.sentences.filled))
    return model.match(filled.embeddings, filled.sentences.lengths)


def _part(trajectory: Reading, chosen: np.typing.NDArray[np.bool_]) -> Reading:
    places = np.flatnonzero(np.repeat(chosen, trajectory.lengths))
    return trajectory.take(places, trajectory.lengths[chosen])
