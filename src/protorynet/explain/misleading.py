"""Wrong answers by the beginning that misled the model, as its automata tell it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protorynet.automaton import Automaton, Pattern
from protorynet.explain.chosen import documents_at
from protorynet.explain.labelled import LabelledDocuments
from protorynet.model import Model

__all__ = ["Misled", "misled_documents"]


@dataclass(frozen=True)
class Misled:
    """Documents that are wrongly given a class, and for the same reason.

    Parameters
    ----------
    label
        The class given.
    pattern
        The beginning that decides for it; None where no beginning alone does.
    followed
        Whether the automaton gives the class, too; else it cannot tell why the model does.
    n_given
        How many documents are given the class for this reason, rightly or wrongly.
    truths
        What those given it wrongly are labelled, and how many, most frequent first.
    rows
        Where these stand in their table, the surest mistakes first.
    """

    label: str
    pattern: Pattern | None
    followed: bool
    n_given: int
    truths: tuple[tuple[str, int], ...]
    rows: tuple[int, ...]

    @property
    def n_wrong(self) -> int:
        """How many documents are given the class wrongly."""
        return len(self.rows)


def misled_documents(
    model: Model, automata: Iterable[Automaton], documents: LabelledDocuments
) -> tuple[Misled, ...]:
    """Group the wrong answers by what decides for them.

    Parameters
    ----------
    model
        The model.
    automata
        Automata of some of its classes; wrong answers of the other classes are left out.
    documents
        Labelled documents; those without a sentence are left out.

    Returns
    -------
    The reasons: beginnings first, and those first that misled the model most often.
    """
    documents = documents_at(documents, np.flatnonzero(documents.sentences.filled))
    if not len(documents.texts):
        return ()
    trajectory = model.match(documents.embeddings, documents.sentences.lengths)
    said = model.read(trajectory).probabilities
    given = model.labels.decide(said)
    columns = np.split(trajectory.columns, trajectory.offsets[1:-1])
    found: list[Misled] = []
    for automaton in automata:
        label = model.labels.names.index(automaton.label)
        surest = np.argsort(-said[:, label], kind="stable")
        places = surest[given[surest, label]].tolist()
        found += _misled(model, automaton, label, documents, columns, places)
    return tuple(sorted(found, key=lambda each: (each.pattern is None, -each.n_wrong)))


def _misled(
    model: Model,
    automaton: Automaton,
    label: int,
    documents: LabelledDocuments,
    columns: Sequence[NDArray[np.int64]],
    places: Iterable[int],
) -> Iterator[Misled]:
    """Group the documents that are given a class, and yield the groups that hold mistakes."""
    reasons: dict[tuple[Pattern | None, bool], list[int]] = {}
    for place in places:
        steps = columns[place].tolist()
        reason = automaton.deciding_pattern(steps), automaton.accepts(steps)
        reasons.setdefault(reason, []).append(place)
    for (pattern, followed), together in reasons.items():
        wrong = [place for place in together if documents.targets[place, label] < 0.5]
        if not wrong:
            continue
        truths = Counter(model.labels.name_of(documents.targets[place]) for place in wrong)
        rows = tuple(int(documents.rows[place]) for place in wrong)
        counted = sorted(truths.items(), key=lambda each: (-each[1], each[0]))
        yield Misled(automaton.label, pattern, followed, len(together), tuple(counted), rows)
