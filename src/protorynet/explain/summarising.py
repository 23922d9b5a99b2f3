"""Learning automata that decide as the model does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protorynet.automaton import Automaton, Pattern
from protorynet.errors import EmptyDocumentError, InputError
from protorynet.explain.beliefs import BeliefReader
from protorynet.explain.machine import Machine
from protorynet.explain.prefix_tree import PrefixTree, grow_tree, pure_prefixes
from protorynet.explain.quotient import form_quotient, merged_while_faithful, retargeted
from protorynet.explain.walk import Walk
from protorynet.model import Model
from protorynet.progress import progress_bar
from protorynet.reading import Reading
from protorynet.training import evenly_chosen

__all__ = [
    "class_place",
    "learn_automata",
    "learn_automaton",
    "stored_automaton",
]

_FIRST_STATES = 32  # clusters of the reader's states before any are merged
_MOST_STATES = 20
_TOLERANCE = 0.005
_PURITY = 0.95
_LEAST_SUPPORT, _LEAST_SHARE = 5, 0.005


def learn_automaton(
    model: Model,
    train: Reading,
    label: object,
    *,
    held_out: Reading | None = None,
    max_states: int = _MOST_STATES,
    tolerance: float = _TOLERANCE,
    purity: float = _PURITY,
    min_support: float = _LEAST_SHARE,
) -> Automaton:
    """Summarise what a model does for one class as a small automaton.

    The reader's states after all beginnings of the documents are clustered by what it believes
    there and would believe one sentence later; a state goes where most documents go. Then states
    that believe alike are merged as long as the automaton still judges the documents as the model
    does. After AdaAX (Hong et al., KDD 2022), which merges by hidden vectors.

    Of two classes, of which a document has one, the first one's automaton is that of the second
    with yes and no exchanged.

    Parameters
    ----------
    model
        The model.
    train
        Documents to learn from; best those that the model was trained on.
    label
        The class.
    held_out
        Other documents, on which only the fidelity is measured.
    max_states
        Most states.
    tolerance
        Fidelity that may be given up for fewer states.
    purity
        Least share of the class among the documents of a pattern.
    min_support
        Least share of the documents that a pattern needs; five documents in any case.
    """
    place = class_place(model, label)
    limits = _Limits(max_states, tolerance, purity, min_support)
    return next(_learn(model, train, [place], held_out, limits))


def learn_automata(
    model: Model,
    train: Reading,
    *,
    held_out: Reading | None = None,
    progress: bool = False,
) -> tuple[Automaton, ...]:
    """Summarise what a model does for each of its classes, reading the documents only once.

    Parameters
    ----------
    model, train, held_out
        As for `learn_automaton`.
    progress
        Show a progress bar.
    """
    places = range(len(model.labels.names))
    automata = []
    with progress_bar("Automata", len(places), enabled=progress) as advance:
        for automaton in _learn(model, train, places, held_out, _Limits()):
            automata.append(automaton)
            advance(1)
    return tuple(automata)


def stored_automaton(model: Model, label: object) -> Automaton:
    """Return the automaton of a class that the model holds."""
    place = class_place(model, label)
    if not model.automata:
        raise InputError(
            "the model holds no automata: it was edited without training the reader again, or "
            "made before automata were kept. Give documents to learn one from (X, or --data FILE)."
        )
    return model.automata[place]


@dataclass(frozen=True)
class _Limits:
    """How small an automaton is to be, and what counts as a pattern."""

    max_states: int = _MOST_STATES
    tolerance: float = _TOLERANCE
    purity: float = _PURITY
    min_support: float = _LEAST_SHARE


@dataclass(frozen=True)
class _Judged:
    """Documents, and what the model says of them.

    Parameters
    ----------
    trajectory, walk
        The documents, and the same laid out for automata.
    members
        Which of them the model gives each class, (documents, C).
    running
        Its probabilities after each sentence, (sentences, C).
    """

    trajectory: Reading
    walk: Walk
    members: NDArray[np.bool_]
    running: NDArray[np.float32]

    def fidelity(self, machine: Machine, place: int) -> float:
        walk = self.walk.judged(self.members[:, place])
        return walk.fidelity(machine.table, machine.start, machine.accepting)


def class_place(model: Model, label: object) -> int:
    """Return the position of a class among the model's outputs; refuse what is no class."""
    names = model.labels.names
    if str(label) not in names:
        raise InputError(
            f"{str(label)!r} is none of the model's classes, which are "
            f"{', '.join(map(repr, names[:10]))}{', …' if len(names) > 10 else ''}."
        )
    return names.index(str(label))


def _learn(
    model: Model,
    train: Reading,
    places: Sequence[int],
    held_out: Reading | None,
    limits: _Limits,
) -> Iterator[Automaton]:
    """Learn the automata of some classes in turn; what they share is computed once."""
    _check(train, limits.max_states)
    learned = _judged(model, train)
    others = None if held_out is None else _judged(model, held_out)
    ids_only = _judged(model, (held_out or train).with_full_similarity())
    part = _some(learned)
    tree = grow_tree(part.trajectory, part.members[:, 0])
    for place, machine in zip(places, _machines(model, part, tree, places, limits), strict=True):
        yield Automaton(
            label=model.labels.names[place],
            prototypes=tuple(item.id for item in model.prototypes),
            states=machine.states(tree),
            start=machine.start,
            transitions=_rows(machine.table),
            traffic=_rows(machine.traffic(tree)),
            patterns=_patterns(model, part, tree, place, limits),
            fidelity_train=learned.fidelity(machine, place),
            fidelity_held_out=None if others is None else others.fidelity(machine, place),
            fidelity_ids_only=ids_only.fidelity(machine, place),
            n_train=len(train.lengths),
            n_held_out=0 if held_out is None else len(held_out.lengths),
        )


def _machines(
    model: Model, part: _Judged, tree: PrefixTree, places: Sequence[int], limits: _Limits
) -> Iterator[Machine]:
    """Find the machine of each class."""
    labels = model.labels
    usage = np.bincount(part.trajectory.columns, minlength=len(model.prototypes))
    reader = BeliefReader(model.network.reader, labels.task, usage)
    either = labels.task == "multiclass" and len(labels.names) == 2
    for beliefs in reader.beliefs(tree, [1] if either else places):
        members = part.members[:, beliefs.label]
        quotient = form_quotient(
            tree, members, beliefs, reader, most=max(limits.max_states, _FIRST_STATES)
        )
        walk = part.walk.judged(members)
        quotient = merged_while_faithful(
            quotient, walk, most=limits.max_states, tolerance=limits.tolerance
        )
        machine = Machine.of(quotient, retargeted(quotient, walk, len(members)))
        machine = machine.by_belief(tree, part.running[:, beliefs.label])
        if either:
            yield from (machine if place else machine.mirrored() for place in places)
        else:
            yield machine


def _check(train: Reading, max_states: int) -> None:
    if max_states < 1:
        raise InputError(f"max_states={max_states} should be at least 1.")
    if not len(train.lengths):
        raise InputError("there are no documents to learn an automaton from.")


def _judged(model: Model, trajectory: Reading) -> _Judged:
    """Let the model judge documents."""
    if not trajectory.lengths.all():
        raise EmptyDocumentError(np.flatnonzero(trajectory.lengths == 0).tolist())
    prediction = model.read(trajectory)
    members = model.labels.decide(prediction.probabilities)
    return _Judged(trajectory, Walk(trajectory, members[:, 0]), members, prediction.running)


def _some(judged: _Judged) -> _Judged:
    """Return so many of the documents that learning is quick, spread over all of them."""
    lengths = judged.trajectory.lengths
    chosen = evenly_chosen(lengths)
    if len(chosen) == len(lengths):
        return judged
    inside = np.zeros(len(lengths), np.bool_)
    inside[chosen] = True
    places = np.flatnonzero(np.repeat(inside, lengths))
    part, members = judged.trajectory.take(places, lengths[chosen]), judged.members[chosen]
    return _Judged(part, Walk(part, members[:, 0]), members, judged.running[places])


def _patterns(
    model: Model, part: _Judged, tree: PrefixTree, place: int, limits: _Limits
) -> tuple[Pattern, ...]:
    ids = [item.id for item in model.prototypes]
    counted = tree.judged(part.members[:, place], part.trajectory.lengths)
    support = max(_LEAST_SUPPORT, int(np.ceil(limits.min_support * len(part.members))))
    return tuple(
        Pattern(
            tuple(ids[column] for column in counted.prefix(node)),
            int(counted.documents[node]),
            float(counted.members[node] / counted.documents[node]),
        )
        for node in pure_prefixes(counted, purity=limits.purity, support=support)
    )


def _rows(values: NDArray[np.int64]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(row) for row in values.tolist())
