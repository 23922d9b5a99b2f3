"""A small automaton that decides as the model does: one class, prototype ids in, yes or no out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Self

from protorynet.errors import InputError, ModelFormatError
from protorynet.records import plain, read_record

_SHOWN = (
    "label prototypes fidelity fidelity_train fidelity_held_out fidelity_ids_only n_train "
    "n_held_out n_states n_transitions start patterns states transitions traffic edges"
)


@dataclass(frozen=True)
class Pattern:
    """A beginning after which the model nearly always gives the class; anything may follow."""

    prototypes: tuple[int, ...]
    support: int  # training documents that begin so
    purity: float  # share of these that is given the class


@dataclass(frozen=True)
class State:
    """One level of belief; states are numbered from 0 by rising belief."""

    number: int
    belief: float  # mean running probability here, or the reader's where no sentence leads
    accepting: bool
    visits: int  # of training documents, before or after a sentence


@dataclass(frozen=True)
class Edge:
    """All transitions from one state to another, by prototype, and how many went each way."""

    source: int
    target: int
    prototypes: tuple[int, ...]
    traffic: tuple[int, ...]


@dataclass(frozen=True)
class Automaton:
    """A deterministic finite automaton over prototype ids, for one class of a model.

    Every state, numbered by rising belief in the class, has a transition for every prototype, in
    the order of the model, so it reads any document. Transitions that no training document took
    go where the model's reader itself would go; `traffic` counts the sentences that took each.
    The fidelity is the share of documents that automaton and model judge alike, on held-out ones
    None without any, `fidelity_ids_only` the same against a reader that sees prototype ids alone.
    """

    label: str
    prototypes: tuple[int, ...]
    states: tuple[State, ...]
    start: int
    transitions: tuple[tuple[int, ...], ...]
    traffic: tuple[tuple[int, ...], ...]
    patterns: tuple[Pattern, ...]
    fidelity_train: float
    fidelity_held_out: float | None
    fidelity_ids_only: float
    n_train: int
    n_held_out: int

    @property
    def fidelity(self) -> float:
        """Fidelity on held-out documents, or on the training documents without any."""
        held_out = self.fidelity_held_out
        return self.fidelity_train if held_out is None else held_out

    @property
    def n_states(self) -> int:
        """How many states there are."""
        return len(self.states)

    @property
    def n_transitions(self) -> int:
        """How many transitions were taken by a training document."""
        return sum(count > 0 for counts in self.traffic for count in counts)

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """All transitions, those between the same two states together."""
        ways: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for source, targets in enumerate(self.transitions):
            for prototype, target in enumerate(targets):
                way = (-self.traffic[source][prototype], self.prototypes[prototype])
                ways.setdefault((source, target), []).append(way)
        return tuple(
            Edge(*ends, *zip(*((name, -count) for count, name in sorted(bundle)), strict=True))
            for ends, bundle in sorted(ways.items())
        )

    def run(self, prototypes: Iterable[int]) -> tuple[int, ...]:
        """Return the states that a document's prototypes, by position, lead through."""
        states = [self.start]
        for prototype in prototypes:
            if not 0 <= prototype < len(self.prototypes):
                raise InputError(
                    f"column {prototype} is no prototype; the automaton knows columns 0 to "
                    f"{len(self.prototypes) - 1}."
                )
            states.append(self.transitions[states[-1]][prototype])
        return tuple(states)

    def accepts(self, prototypes: Iterable[int]) -> bool:
        """Say whether a document is given the class."""
        return self.states[self.run(prototypes)[-1]].accepting

    def deciding_pattern(self, prototypes: Sequence[int]) -> Pattern | None:
        """Return the pattern that a document of the class begins with.

        None where the automaton does not give the class, or no pattern matches: then the states
        that the document goes through decide.
        """
        if not self.accepts(prototypes):
            return None
        ids = tuple(self.prototypes[prototype] for prototype in prototypes)
        matching = (p for p in self.patterns if p.prototypes == ids[: len(p.prototypes)])
        return next(matching, None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `protorynet automaton --json` prints them."""
        return {name: plain(getattr(self, name)) for name in _SHOWN.split()}

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """Build an automaton from what `to_dict` gave; what follows from the rest is not read."""
        try:
            if not isinstance(values, dict):
                raise ValueError("it should be a JSON object")
            names = [field.name for field in fields(cls)]
            if missing := [name for name in names if name not in values]:
                raise ValueError(f"{missing[0]} is missing")
            automaton = read_record(cls, {name: values[name] for name in names})
            automaton._check()
        except (TypeError, ValueError, RecursionError) as error:
            raise ModelFormatError(f"the automaton is not valid: {error}.") from None
        return automaton

    def _check(self) -> None:
        """Refuse parts that are each of the right type but do not belong together."""
        n, known = len(self.states), set(self.prototypes)
        if not 0 <= self.start < n:
            raise ValueError(f"it has {n} states, of which {self.start} should be the start")
        if [state.number for state in self.states] != list(range(n)):
            raise ValueError("its states are not numbered from 0 on")
        if not 1 <= len(known) == len(self.prototypes):
            raise ValueError("its prototypes should be different, and one at least")
        for name, table in (("transitions", self.transitions), ("traffic", self.traffic)):
            if len(table) != n or any(len(values) != len(known) for values in table):
                raise ValueError(f"{name} should have {n} rows of {len(known)} numbers")
        if any(not 0 <= target < n for values in self.transitions for target in values):
            raise ValueError("a transition leads to no state")
        if any(not p.prototypes or not known.issuperset(p.prototypes) for p in self.patterns):
            raise ValueError("a pattern has other prototypes than the automaton")
        counts = [self.n_train, self.n_held_out, *(c for each in self.traffic for c in each)]
        counts += [*(s.visits for s in self.states), *(p.support for p in self.patterns)]
        shares = [self.fidelity_train, self.fidelity, self.fidelity_ids_only]
        shares += [*(s.belief for s in self.states), *(p.purity for p in self.patterns)]
        if min(counts) < 0 or not all(0 <= share <= 1 for share in shares):
            raise ValueError("a count is below 0, or a share not between 0 and 1")
