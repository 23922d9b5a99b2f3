"""The log of edits: what was done and when, and the last states for undoing it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from protorynet.automaton import Automaton
from protorynet.errors import InputError
from protorynet.network import ProtoryNetwork
from protorynet.prototypes.edits import Change
from protorynet.prototypes.prototype import Prototypes

KEPT_STATES = 10
"""How many edits, one after the other, can be undone."""


@dataclass(frozen=True)
class Retraining:
    """How the reader was trained again after an edit.

    The accuracies are on the documents held out: before the edit, with the prototypes edited but
    the reader as it was, and with the reader trained again. The last is a little optimistic, for
    the same documents told what to keep. `moved` says, for each prototype that was removed or whose
    members changed, where the sentences matched to it before are now, as shares by id.
    """

    accuracy_before: float
    accuracy_edited: float
    accuracy_after: float
    n_documents: int
    n_held_out: int
    data_sha256: str
    seed: int
    moved: dict[str, dict[str, float]]
    seconds: float


@dataclass(frozen=True)
class EditEntry:
    """One edit: its number, from 1, when (UTC), what it did, and if it was undone."""

    number: int
    when: str
    changes: tuple[Change, ...] = ()
    retraining: Retraining | None = None
    undone: str | None = None

    @property
    def touches_matching(self) -> bool:
        """Whether sentences may be matched otherwise than before: not by new names alone."""
        return any(change.kind != "rename" for change in self.changes)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        retraining = None if self.retraining is None else vars(self.retraining)
        changes = [vars(change) for change in self.changes]
        return {**vars(self), "changes": changes, "retraining": retraining}


@dataclass(frozen=True)
class PastState:
    """The parts of a model that edits change, as they were before the edit of that number."""

    number: int
    network: ProtoryNetwork
    prototypes: Prototypes
    automata: tuple[Automaton, ...] = ()


@dataclass(frozen=True)
class EditLog:
    """All edits of a model, undone ones too, and its states before the last ten, oldest first."""

    entries: tuple[EditEntry, ...] = ()
    states: tuple[PastState, ...] = ()

    def __post_init__(self) -> None:
        numbers = [entry.number for entry in self.entries]
        if numbers != list(range(1, len(numbers) + 1)):
            raise ValueError(f"the edits are numbered {numbers}, not from 1 on")
        standing = [entry.number for entry in self.standing]
        kept = [state.number for state in self.states]
        if len(kept) > KEPT_STATES or kept != standing[len(standing) - len(kept) :]:
            raise ValueError(f"there are states before the edits {kept}, but the edits {standing}")

    @property
    def standing(self) -> tuple[EditEntry, ...]:
        """The edits that are not undone."""
        return tuple(entry for entry in self.entries if entry.undone is None)

    @property
    def reader_is_behind(self) -> bool:
        """Whether prototypes were edited after the reader was last trained."""
        for entry in reversed(self.standing):
            if entry.retraining is not None:
                return False
            if entry.touches_matching:
                return True
        return False

    @property
    def highest_ids(self) -> tuple[int, int]:
        """The highest ids of prototype and member ever named, or 0, so that none is given again."""
        changes = [change for entry in self.entries for change in entry.changes]
        prototype = max((max(change.id, change.into or 0) for change in changes), default=0)
        # Earlier releases logged no members: a prototype was its own, under the same id.
        return prototype, max([prototype, *(n for change in changes for n in change.members)])

    def with_edit(
        self,
        changes: Iterable[Change],
        network: ProtoryNetwork,
        prototypes: Prototypes,
        automata: tuple[Automaton, ...] = (),
    ) -> EditLog:
        """Return the log with one more edit, which ended the state given."""
        number = len(self.entries) + 1
        entry = EditEntry(number, _now(), tuple(changes))
        states = (*self.states, PastState(number, network, prototypes, automata))
        return EditLog((*self.entries, entry), states[-KEPT_STATES:])

    def with_retraining(self, retraining: Retraining) -> EditLog:
        """Return the log with the reader's training recorded in the last entry."""
        last = replace(self.entries[-1], retraining=retraining)
        return replace(self, entries=(*self.entries[:-1], last))

    def undo(self) -> tuple[EditLog, PastState]:
        """Return the log with the last standing edit undone, and the state before it."""
        if not self.states:
            past = f"; only the last {KEPT_STATES} edits can be undone" if self.standing else ""
            raise InputError(f"there is no edit to undo{past}.")
        state = self.states[-1]
        position = state.number - 1
        entry = replace(self.entries[position], undone=_now())
        entries = (*self.entries[:position], entry, *self.entries[position + 1 :])
        return EditLog(entries, self.states[:-1]), state


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
