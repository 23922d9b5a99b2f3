"""Learning automata that decide as the model does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from protorynet.automaton import Automaton, Pattern, State
from protorynet.errors import EmptyDocumentError, InputError, list_names
from protorynet.explain.quotient import (
    BeliefReader,
    PrefixTree,
    Quotient,
    form_quotient,
    grow_tree,
    merge_while_faithful,
    pure_prefixes,
    retarget,
)
from protorynet.model import Model
from protorynet.progress import progress_bar
from protorynet.reading import Reading
from protorynet.training import evenly_chosen

# Clusters of the reader's states before any are merged, and next sentences that tell these apart;
# so many each, and fewer where automata of many classes are learned together.
_FIRST_STATES, _FEWEST_FIRST_STATES, _OF_ALL_CLASSES = 32, 12, 640
_MOST_STATES = 20
# Sentences read for the automata of all classes together; of each class so many at least and most.
_READ_FOR_ALL, _READ_SENTENCES = 600_000, (20_000, 100_000)
_PATTERN_PURITY = 0.95
_PATTERN_DOCUMENTS, _PATTERN_SHARE = 5, 0.005  # a pattern needs both


def learn_automaton(
    model: Model,
    train: Reading,
    label: object,
    *,
    held_out: Reading | None = None,
    max_states: int = _MOST_STATES,
) -> Automaton:
    """Summarise what a model does for one class as a small automaton.

    The reader's states after all beginnings of the documents are clustered by what it believes
    there and would believe one sentence later; a state goes where most documents go. Then states
    that believe alike are merged as long as the automaton still judges the documents as the model
    does. After AdaAX (Hong et al., KDD 2022), which merges by hidden vectors. Of two classes, of
    which a document has one, the first one's automaton is the second's with yes and no exchanged.
    On the documents `held_out` only the fidelity is measured.
    """
    return next(_learn(model, train, [class_index(model, label)], held_out, max_states))


def learn_automata(
    model: Model, train: Reading, *, held_out: Reading | None = None, progress: bool = False
) -> tuple[Automaton, ...]:
    """Summarise what a model does for each of its classes, reading the documents only once."""
    labels = range(len(model.labels.names))
    automata = []
    with progress_bar("Automata", len(labels), enabled=progress) as advance:
        for automaton in _learn(model, train, labels, held_out, _MOST_STATES):
            automata.append(automaton)
            advance(1)
    return tuple(automata)


def stored_automaton(model: Model, label: object) -> Automaton:
    """Return the automaton of a class that the model holds."""
    number = class_index(model, label)
    if not model.automata:
        raise InputError(
            "the model holds no automata: it was edited without training the reader again, or "
            "made before automata were kept. Give documents to learn one from (X, or --data FILE)."
        )
    return model.automata[number]


def class_index(model: Model, label: object) -> int:
    """Return the position of a class among the model's outputs; refuse what is no class."""
    names, position = model.labels.names, model.labels.find(label)
    if position is None:
        raise InputError(
            f"{str(label)!r} is none of the model's classes, which are {list_names(names, 10)}."
        )
    return position


class _ReadDocuments:
    """Documents as the model reads them, and which of them it gives each class."""

    def __init__(self, model: Model, reading: Reading) -> None:
        self.reading = reading
        self.members = model.labels.decide(reading.probabilities)
        self.tree = grow_tree(reading, self.members[:, 0])

    def fidelity(self, machine: _Machine, label: int) -> float:
        tree = replace(self.tree, inside=self.members[:, label])
        return tree.fidelity(machine.table, machine.start, machine.accepting)


@dataclass(frozen=True)
class _Machine:
    """The next state by state and prototype, and whether and how much each state believes."""

    table: NDArray[np.int64]
    start: int
    accepting: NDArray[np.bool_]
    belief: NDArray[np.float64]

    def take(self, order: NDArray[np.int64]) -> _Machine:
        """Return the machine with these states only, which lead to no others, in this order."""
        number = np.full(len(self.table), -1)
        number[order] = np.arange(len(order))
        return _Machine(
            number[self.table[order]],
            int(number[self.start]),
            self.accepting[order],
            self.belief[order],
        )

    def mirror(self) -> _Machine:
        """Return the machine that says no where this one says yes, by rising belief as well."""
        last = len(self.table) - 1
        return _Machine(
            last - self.table[::-1], last - self.start, ~self.accepting[::-1], 1 - self.belief[::-1]
        )

    def sort_by_belief(self, tree: PrefixTree, running: NDArray[np.float32]) -> _Machine:
        """Return the machine with the model's own mean beliefs, its states in their order."""
        states = tree.states(self.table, self.start)[tree.nodes]
        counts = np.bincount(states, minlength=len(self.table))
        sums = np.bincount(states, running, len(self.table))
        # Rounding may lead a mean of ones beyond one.
        means = np.clip(sums / np.maximum(counts, 1), 0, 1)
        belief = np.where(counts > 0, means, self.belief)
        return replace(self, belief=belief).take(np.argsort(belief, kind="stable"))


def _learn(
    model: Model, train: Reading, labels: Sequence[int], held_out: Reading | None, max_states: int
) -> Iterator[Automaton]:
    """Learn the automata of some classes in turn; what they share is computed once."""
    if max_states < 1:
        raise InputError(f"max_states={max_states} should be at least 1.")
    if not len(train.lengths):
        raise InputError("there are no documents to learn an automaton from.")
    trained = _read_documents(model, train)
    others = None if held_out is None else _read_documents(model, held_out)
    ids_only = _read_documents(model, (held_out or train).with_ids_only())
    # So many of the documents that learning is quick, spread over all of them.
    most = np.clip(_READ_FOR_ALL // len(model.labels.names), *_READ_SENTENCES)
    inside = np.zeros(len(trained.members), np.bool_)
    inside[evenly_chosen(trained.reading.lengths, int(most))] = True
    part = trained if inside.all() else _ReadDocuments(model, trained.reading.part(inside))
    tree = part.tree
    machines = _find_machines(model, part, labels, max_states)
    for label, machine in zip(labels, machines, strict=True):
        nodes = tree.states(machine.table, machine.start)
        traffic = np.zeros_like(machine.table)
        np.add.at(traffic, (nodes[tree.parents[1:]], tree.prototypes[1:]), tree.documents[1:])
        visits = np.bincount(nodes, tree.documents, len(traffic)).astype(int)
        facts = (each.tolist() for each in (machine.belief, machine.accepting, visits))
        yield Automaton(
            label=model.labels.names[label],
            prototypes=tuple(item.id for item in model.prototypes),
            states=tuple(map(State, range(len(traffic)), *facts)),
            start=machine.start,
            transitions=tuple(map(tuple, machine.table.tolist())),
            traffic=tuple(map(tuple, traffic.tolist())),
            patterns=_find_patterns(model, part, label),
            fidelity_train=trained.fidelity(machine, label),
            fidelity_held_out=None if others is None else others.fidelity(machine, label),
            fidelity_ids_only=ids_only.fidelity(machine, label),
            n_train=len(train.lengths),
            n_held_out=0 if held_out is None else len(held_out.lengths),
        )


def _read_documents(model: Model, reading: Reading) -> _ReadDocuments:
    if not reading.lengths.all():
        raise EmptyDocumentError(np.flatnonzero(reading.lengths == 0).tolist())
    return _ReadDocuments(model, model.read(reading))


def _find_machines(
    model: Model, part: _ReadDocuments, labels: Sequence[int], max_states: int
) -> Iterator[_Machine]:
    task, names = model.labels.task, model.labels.names
    usage = np.bincount(part.reading.prototypes, minlength=len(model.prototypes))
    either = task == "multiclass" and len(names) == 2
    share = max(_FEWEST_FIRST_STATES, min(_FIRST_STATES, _OF_ALL_CLASSES // len(labels)))
    first_states = share if len(labels) > 1 else max(max_states, share)
    reader = BeliefReader(model.network.reader, task, usage, probes=share)
    for beliefs in reader.beliefs(part.tree, [1] if either else labels):
        tree = replace(part.tree, inside=part.members[:, beliefs.label])
        quotient = form_quotient(tree, beliefs, reader, most=first_states)
        quotient = merge_while_faithful(quotient, tree, most=max_states)
        machine = _reachable_machine(quotient, retarget(quotient, tree))
        machine = machine.sort_by_belief(tree, part.reading.running[:, beliefs.label])
        if either:
            yield from (machine if label else machine.mirror() for label in labels)
        else:
            yield machine


def _reachable_machine(quotient: Quotient, table: NDArray[np.int64]) -> _Machine:
    """Return the machine of a quotient, without states that nothing leads to."""
    reached = np.zeros(len(table), np.bool_)
    reached[quotient.start] = True
    while not reached[table[reached]].all():
        reached[table[reached]] = True
    whole = _Machine(table, quotient.start, quotient.accepting, quotient.outlook[:, 0])
    return whole.take(np.flatnonzero(reached))


def _find_patterns(model: Model, part: _ReadDocuments, label: int) -> tuple[Pattern, ...]:
    ids = [item.id for item in model.prototypes]
    counted = replace(part.tree, inside=part.members[:, label])
    support = max(_PATTERN_DOCUMENTS, int(np.ceil(_PATTERN_SHARE * len(part.members))))
    return tuple(
        Pattern(
            tuple(ids[position] for position in counted.prefix(node)),
            int(counted.documents[node]),
            float(counted.members[node] / counted.documents[node]),
        )
        for node in pure_prefixes(counted, purity=_PATTERN_PURITY, support=support)
    )
