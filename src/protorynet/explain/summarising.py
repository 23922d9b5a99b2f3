"""Learning an automaton that decides as the model does."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from protorynet.errors import EmptyDocumentError, InputError
from protorynet.explain.automaton import Automaton, Pattern, State
from protorynet.explain.beliefs import BeliefReader
from protorynet.explain.prefix_tree import PrefixTree, grow_tree, pure_prefixes
from protorynet.explain.quotient import Quotient, form_quotient, merged_while_faithful, retargeted
from protorynet.explain.walk import Walk
from protorynet.model import Model
from protorynet.network import Trajectory

__all__ = ["class_place", "learn_automaton"]

_FIRST_STATES = 32  # clusters of the reader's states before any are merged
_MOST_DOCUMENTS = 5_000  # an automaton of a few states learns nothing from more
_LEAST_SUPPORT = 5


def learn_automaton(
    model: Model,
    train: Trajectory,
    label: object,
    *,
    held_out: Trajectory | None = None,
    max_states: int = 20,
    tolerance: float = 0.005,
    purity: float = 0.95,
    min_support: float = 0.005,
) -> Automaton:
    """Summarise what a model does for one class as a small automaton.

    The reader's states after all beginnings of the documents are clustered by what it believes
    there and would believe one sentence later; a state goes where most documents go. Then states
    that believe alike are merged as long as the automaton still judges the documents as the model
    does. After AdaAX (Hong et al., KDD 2022), which merges by hidden vectors.

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
    _check(train, max_states)
    part = _evenly_chosen(train)
    members = _members(model, part, place)
    tree = grow_tree(part, members)
    usage = np.bincount(part.columns, minlength=len(model.prototypes))
    reader = BeliefReader(model.network.reader, model.labels.task, place, usage)
    quotient = form_quotient(tree, members, reader, most=max(max_states, _FIRST_STATES))
    walk = Walk(part, members)
    quotient = merged_while_faithful(quotient, walk, most=max_states, tolerance=tolerance)
    machine = _machine(quotient, retargeted(quotient, walk, len(members)))
    machine = _ordered(machine, tree, model.read(part).running[:, place])
    support = max(_LEAST_SUPPORT, int(np.ceil(min_support * len(members))))
    other = train if held_out is None else held_out
    return Automaton(
        label=model.labels.names[place],
        prototypes=tuple(item.id for item in model.prototypes),
        states=_states(machine, tree),
        start=machine.start,
        transitions=_rows(machine.table),
        traffic=_rows(_traffic(machine, tree)),
        patterns=_patterns(model, tree, purity, support),
        fidelity_train=_fidelity(model, machine, train, place),
        fidelity_held_out=None if held_out is None else _fidelity(model, machine, held_out, place),
        fidelity_ids_only=_fidelity(model, machine, other.with_full_similarity(), place),
        n_train=len(train.lengths),
        n_held_out=0 if held_out is None else len(held_out.lengths),
    )


@dataclass(frozen=True)
class _Machine:
    """A table of transitions, the start, which states accept, and the belief in each."""

    table: NDArray[np.int64]
    start: int
    accepting: NDArray[np.bool_]
    belief: NDArray[np.float64]

    def kept(self, order: NDArray[np.int64]) -> _Machine:
        """Return the machine with these states only, which lead to no others, in this order."""
        number = np.full(len(self.table), -1)
        number[order] = np.arange(len(order))
        return _Machine(
            number[self.table[order]],
            int(number[self.start]),
            self.accepting[order],
            self.belief[order],
        )


def class_place(model: Model, label: object) -> int:
    """Return the position of a class among the model's outputs; refuse what is no class."""
    names = model.labels.names
    if str(label) not in names:
        raise InputError(
            f"{str(label)!r} is none of the model's classes, which are "
            f"{', '.join(map(repr, names[:10]))}{', …' if len(names) > 10 else ''}."
        )
    return names.index(str(label))


def _check(train: Trajectory, max_states: int) -> None:
    if max_states < 1:
        raise InputError(f"max_states={max_states} should be at least 1.")
    if not len(train.lengths):
        raise InputError("there are no documents to learn an automaton from.")


def _members(model: Model, trajectory: Trajectory, place: int) -> NDArray[np.bool_]:
    """Say which documents the model gives the class."""
    if not trajectory.lengths.all():
        raise EmptyDocumentError(np.flatnonzero(trajectory.lengths == 0).tolist())
    probabilities = model.read(trajectory).probabilities
    if model.labels.task == "multilabel":
        return np.asarray(probabilities[:, place] >= 0.5)
    return np.asarray(probabilities.argmax(axis=1) == place)


def _evenly_chosen(trajectory: Trajectory) -> Trajectory:
    """Return so many of the documents that learning is quick, spread over all of them."""
    count = len(trajectory.lengths)
    if count <= _MOST_DOCUMENTS:
        return trajectory
    chosen = np.zeros(count, np.bool_)
    chosen[np.linspace(0, count - 1, _MOST_DOCUMENTS).astype(np.int64)] = True
    places = np.flatnonzero(np.repeat(chosen, trajectory.lengths))
    return trajectory.take(places, trajectory.lengths[chosen])


def _machine(quotient: Quotient, table: NDArray[np.int64]) -> _Machine:
    """Return the automaton without states that nothing leads to."""
    reached = np.zeros(len(table), np.bool_)
    reached[quotient.start] = True
    while not reached[table[reached]].all():
        reached[table[reached]] = True
    machine = _Machine(table, quotient.start, quotient.accepting, quotient.outlook[:, 0])
    return machine.kept(np.flatnonzero(reached))


def _ordered(machine: _Machine, tree: PrefixTree, running: NDArray[np.float32]) -> _Machine:
    """Return the automaton with the model's own mean beliefs, its states in their order."""
    states = tree.states(machine.table, machine.start)[tree.places]
    counts = np.bincount(states, minlength=len(machine.table))
    sums = np.bincount(states, running, len(machine.table))
    belief = np.where(counts > 0, sums / np.maximum(counts, 1), machine.belief)
    return replace(machine, belief=belief).kept(np.argsort(belief, kind="stable"))


def _states(machine: _Machine, tree: PrefixTree) -> tuple[State, ...]:
    nodes = tree.states(machine.table, machine.start)
    visits = np.bincount(nodes, tree.documents, len(machine.table))
    return tuple(
        State(number, float(belief), bool(accepting), int(count))
        for number, (belief, accepting, count) in enumerate(
            zip(machine.belief, machine.accepting, visits, strict=True)
        )
    )


def _traffic(machine: _Machine, tree: PrefixTree) -> NDArray[np.int64]:
    nodes = tree.states(machine.table, machine.start)
    traffic = np.zeros_like(machine.table)
    np.add.at(traffic, (nodes[tree.parents[1:]], tree.columns[1:]), tree.documents[1:])
    return traffic


def _patterns(model: Model, tree: PrefixTree, purity: float, support: int) -> tuple[Pattern, ...]:
    ids = [item.id for item in model.prototypes]
    return tuple(
        Pattern(
            tuple(ids[column] for column in tree.prefix(node)),
            int(tree.documents[node]),
            float(tree.members[node] / tree.documents[node]),
        )
        for node in pure_prefixes(tree, purity=purity, support=support)
    )


def _fidelity(model: Model, machine: _Machine, trajectory: Trajectory, place: int) -> float:
    walk = Walk(trajectory, _members(model, trajectory, place))
    return walk.fidelity(machine.table, machine.start, machine.accepting)


def _rows(values: NDArray[np.int64]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(row) for row in values.tolist())
