"""Explanations of documents: the trajectory as computed, and what each sentence mattered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from protorynet.automaton import Automaton, Pattern
from protorynet.data import Sentences, Splitter
from protorynet.explain.explanation import (
    AutomatonReading,
    DecidingPattern,
    Explanation,
    SentenceExplanation,
)
from protorynet.labels import LabelCode
from protorynet.prototypes import Prototypes
from protorynet.reading import Reading

if TYPE_CHECKING:
    from protorynet.encoders import Embeddings
    from protorynet.model import Model

__all__ = ["ModelFacts", "explain_documents", "explain_reading"]


class ModelFacts(Protocol):
    """What is known of a model whatever computes it: a `Model`, or an exported one."""

    @property
    def labels(self) -> LabelCode:
        """The classes."""
        ...

    @property
    def prototypes(self) -> Prototypes:
        """The prototypes, in the order of the columns of a `Reading`."""
        ...

    @property
    def splitter(self) -> Splitter:
        """How texts are split."""
        ...

    @property
    def class_frequencies(self) -> tuple[float, ...]:
        """Share of each class in the training documents."""
        ...

    @property
    def reader_is_behind(self) -> bool:
        """Whether prototypes were edited after the reader was last trained."""
        ...

    @property
    def automata(self) -> tuple[Automaton, ...]:
        """What the model does for each class; none at all where they are not known."""
        ...


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
    from protorynet.explain.leaving_out import leave_one_out_effects

    reading = model.read(model.match(embeddings, sentences.lengths))
    effects = leave_one_out_effects(model, reading)
    return explain_reading(model, documents, sentences, reading, effects)


def explain_reading(
    facts: ModelFacts,
    documents: Sequence[str],
    sentences: Sentences,
    reading: Reading,
    effects: NDArray[np.float32],
) -> list[Explanation]:
    """Put explanations together from what a model did.

    Parameters
    ----------
    facts
        The model.
    documents, sentences
        The original texts, and their sentences, at least one each.
    reading
        What the model did with them.
    effects
        For each sentence, how much the predicted class's probability falls without it.
    """
    steps = _explain_sentences(facts, documents, sentences, reading, effects)
    automata = _automaton_readings(facts, reading)
    names, rows = facts.labels.names, reading.probabilities.tolist()
    return [
        Explanation(
            document=text,
            label=facts.labels.name_of(reading.probabilities[document]),
            probabilities=dict(zip(names, rows[document], strict=True)),
            sentences=tuple(islice(steps, length)),
            automaton=next(automata, None),
            reader_is_behind=facts.reader_is_behind,
        )
        for document, (text, length) in enumerate(
            zip(documents, reading.lengths.tolist(), strict=True)
        )
    ]


def _explain_sentences(
    facts: ModelFacts,
    documents: Sequence[str],
    sentences: Sentences,
    reading: Reading,
    effects: NDArray[np.float32],
) -> Iterator[SentenceExplanation]:
    """Explain all sentences of all documents, one after the other."""
    names, items = facts.labels.names, facts.prototypes.items
    # Plain numbers at once: taking them from arrays one by one would be slower by far.
    for document, start, end, column, similarity, other, other_similarity, running, effect in zip(
        sentences.documents.tolist(),
        sentences.starts.tolist(),
        sentences.ends.tolist(),
        reading.columns.tolist(),
        reading.similarities.tolist(),
        reading.runner_up.tolist(),
        reading.runner_up_similarities.tolist(),
        reading.running.tolist(),
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


def _automaton_readings(facts: ModelFacts, reading: Reading) -> Iterator[AutomatonReading]:
    """Let the automaton of each document's most probable class read it too."""
    if not facts.automata:
        return
    captions = {item.id: item.caption for item in facts.prototypes}
    leading = reading.probabilities.argmax(axis=1)
    given = facts.labels.decide(reading.probabilities)[np.arange(len(leading)), leading]
    columns = iter(reading.columns.tolist())
    for place, gives, length in zip(
        leading.tolist(), given.tolist(), reading.lengths.tolist(), strict=True
    ):
        yield _automaton_reading(
            facts.automata[place], list(islice(columns, length)), gives, captions
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
