"""A small automaton that decides as the model does: one class, prototype ids in, yes or no out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from protorynet.errors import InputError

__all__ = ["Automaton", "Edge", "Pattern", "State"]


@dataclass(frozen=True)
class Pattern:
    """A beginning after which the model nearly always gives the class.

    Parameters
    ----------
    prototypes
        Ids of the prototypes of the first sentences; anything may follow.
    support
        How many of the documents learnt from begin so.
    purity
        Share of the class among the model's predictions for these.
    """

    prototypes: tuple[int, ...]
    support: int
    purity: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `protorynet automaton --json` prints them."""
        return {
            "prototypes": list(self.prototypes),
            "support": self.support,
            "purity": self.purity,
        }


@dataclass(frozen=True)
class State:
    """One level of belief.

    Parameters
    ----------
    number
        Its number, counted from 0; states are numbered by rising belief.
    belief
        The model's mean running probability of the class when the automaton is here; where no
        sentence leads here, what the reader says when asked.
    accepting
        Whether documents that end here are given the class.
    visits
        How often documents that were learnt from are here, before or after a sentence.
    """

    number: int
    belief: float
    accepting: bool
    visits: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `protorynet automaton --json` prints them."""
        return dict(vars(self))


@dataclass(frozen=True)
class Edge:
    """All transitions from one state to another.

    Parameters
    ----------
    source, target
        Numbers of the states.
    prototypes
        Ids of the prototypes that lead this way, most frequent first.
    traffic
        How many sentences of the documents learnt from went each of these ways.
    """

    source: int
    target: int
    prototypes: tuple[int, ...]
    traffic: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `protorynet automaton --json` prints them."""
        return {
            "source": self.source,
            "target": self.target,
            "prototypes": list(self.prototypes),
            "traffic": list(self.traffic),
        }


@dataclass(frozen=True)
class Automaton:
    """A deterministic finite automaton over prototype ids, for one class of a model.

    Every state has a transition for every prototype, so it reads any document. Transitions that
    no document took while it was learnt go where the model's reader itself would go.

    Parameters
    ----------
    label
        The class.
    prototypes
        Ids of the prototypes, in the order of the model's columns.
    states
        The states, numbered by rising belief in the class.
    start
        Number of the state before the first sentence.
    transitions
        By state and column, the number of the next state.
    traffic
        By state and column, how many sentences of the documents learnt from went this way.
    patterns
        Beginnings that give the class away, most frequent first.
    fidelity_train, fidelity_held_out
        Share of documents that automaton and model judge alike: of those learnt from, and of
        others; None where no others were given.
    fidelity_ids_only
        The same against the reader when it sees prototype ids alone, on the others where given.
    n_train, n_held_out
        How many documents these were.
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
        """Fidelity on documents held out, or on those learnt from where there are no others."""
        held_out = self.fidelity_held_out
        return self.fidelity_train if held_out is None else held_out

    @property
    def n_transitions(self) -> int:
        """How many transitions were taken by a document that was learnt from."""
        return sum(count > 0 for row in self.traffic for count in row)

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """All transitions, those between the same two states together."""
        ways: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for source, row in enumerate(self.transitions):
            for column, target in enumerate(row):
                way = (-self.traffic[source][column], self.prototypes[column])
                ways.setdefault((source, target), []).append(way)
        return tuple(
            Edge(*ends, *zip(*((name, -count) for count, name in sorted(bundle)), strict=True))
            for ends, bundle in sorted(ways.items())
        )

    def run(self, columns: Iterable[int]) -> tuple[int, ...]:
        """Return the states a document goes through: the start, and one after each sentence.

        Parameters
        ----------
        columns
            Columns of the prototypes of its sentences, as in a `Trajectory`.
        """
        states = [self.start]
        for column in columns:
            if not 0 <= column < len(self.prototypes):
                raise InputError(
                    f"column {column} is no prototype; the automaton knows columns 0 to "
                    f"{len(self.prototypes) - 1}."
                )
            states.append(self.transitions[states[-1]][column])
        return tuple(states)

    def accepts(self, columns: Iterable[int]) -> bool:
        """Say whether a document is given the class."""
        return self.states[self.run(columns)[-1]].accepting

    def deciding_pattern(self, columns: Sequence[int]) -> Pattern | None:
        """Return the pattern that a document of the class begins with.

        Returns
        -------
        None where the automaton does not give the class, or no pattern matches: then the
        document is decided by the states it goes through.
        """
        if not self.accepts(columns):
            return None
        ids = tuple(self.prototypes[column] for column in columns)
        matching = (p for p in self.patterns if p.prototypes == ids[: len(p.prototypes)])
        return next(matching, None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `protorynet automaton --json` prints them."""
        return {
            "label": self.label,
            "fidelity": self.fidelity,
            "fidelity_train": self.fidelity_train,
            "fidelity_held_out": self.fidelity_held_out,
            "fidelity_ids_only": self.fidelity_ids_only,
            "n_train": self.n_train,
            "n_held_out": self.n_held_out,
            "n_states": len(self.states),
            "n_transitions": self.n_transitions,
            "start": self.start,
            "patterns": [pattern.to_dict() for pattern in self.patterns],
            "states": [state.to_dict() for state in self.states],
            "edges": [edge.to_dict() for edge in self.edges],
        }
