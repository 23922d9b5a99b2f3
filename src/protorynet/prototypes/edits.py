"""Edits of prototypes by hand: asked for and checked, logged when done, and undone.

What the edits mean in a model that matches every sentence to its nearest member:

- *drop* a prototype, or one of its members: what was matched to it goes to the nearest member
  that remains, of whatever prototype.
- *merge* 3, 5: the members of 5 join 3. Every sentence keeps its member; the reader's weights for
  3 become the mean of the two, weighted by usage.
- *split*: some members become a prototype of their own, which the reader reads as before.
- *move* a member to another prototype, *add* a sentence of one's own as a member, *replace* the
  only member of a prototype: the reader's weights stay.
- *rename*: only what is shown changes.

An id never changes and is never given to another prototype or member.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal

from protorynet.automaton import Automaton
from protorynet.errors import InputError
from protorynet.network import ProtoryNetwork
from protorynet.prototypes.prototype import Prototypes
from protorynet.records import moment

KEPT_STATES = 10
"""How many edits, one after the other, can be undone."""
_LONGEST = {"sentence": 500, "name": 80}  # characters

_Texts = Mapping[int, str] | Iterable[tuple[int, str]]


@dataclass(frozen=True)
class Edits:
    """Edits to be made together, as `ProtoryNetClassifier.edit` names them.

    Every id is named once for each purpose. Members are changed first, then prototypes: so a
    prototype can be dropped of which some members are moved to another.
    """

    drop: tuple[int, ...] = ()
    merge: tuple[tuple[int, ...], ...] = ()
    replace: tuple[tuple[int, str], ...] = ()
    rename: tuple[tuple[int, str], ...] = ()
    move: tuple[tuple[int, int], ...] = ()
    split: tuple[tuple[int, ...], ...] = ()
    drop_members: tuple[int, ...] = ()
    add: tuple[tuple[int, str], ...] = ()

    def __post_init__(self) -> None:
        for group in self.merge:
            if len(group) < 2:
                raise InputError(f"merge={list(group)} should name at least two prototypes.")
        if not all(self.split):
            raise InputError("split=[] should name at least one sentence of a prototype.")
        kept = {
            "merged into": [group[0] for group in self.merge],
            "replaced": [number for number, _ in self.replace],
            "renamed": [number for number, _ in self.rename],
        }
        for purpose, ids in {"removed": self.removed, **kept}.items():
            if twice := _repeated(ids):
                raise InputError(f"prototype {twice} is to be {purpose} twice; name it once.")
        if twice := _repeated(self.members):
            raise InputError(
                f"sentence {twice} is named twice. Move it, split it off or drop it, once."
            )
        for number in set(self.removed).intersection(self.prototypes):
            raise InputError(
                f"prototype {number} is to be removed, but is named for something else as well. "
                "Do one or the other."
            )

    @classmethod
    def of(
        cls,
        drop: Iterable[int] = (),
        merge: Iterable[Iterable[int]] = (),
        replace: _Texts = (),
        rename: _Texts = (),
        move: Mapping[int, int] | Iterable[tuple[int, int]] = (),
        split: Iterable[Iterable[int]] = (),
        drop_members: Iterable[int] = (),
        add: _Texts = (),
    ) -> Edits:
        """Check and tidy what a person gives: lists of ids, dictionaries or pairs."""
        homes = [
            (number, _check_ids([home], "move"))
            for number, home in _check_pairs(move, "move", "a prototype")
        ]
        return cls(
            _check_ids(drop, "drop"),
            tuple(_check_ids(group, "merge") for group in _check_list(merge, "merge")),
            _check_texts(replace, "replace"),
            _check_texts(rename, "rename", "name"),
            tuple((number, home) for number, (home,) in homes),
            tuple(_check_ids(group, "split") for group in _check_list(split, "split")),
            _check_ids(drop_members, "drop_members"),
            _check_texts(add, "add"),
        )

    def __bool__(self) -> bool:
        return bool(self.touches_members or self.rename)

    @property
    def touches_members(self) -> bool:
        """Whether more than names change."""
        return bool(self.removed or self.replace or self.members or self.add)

    @property
    def removed(self) -> tuple[int, ...]:
        """Ids of the prototypes that are gone afterwards."""
        return (*self.drop, *(number for group in self.merge for number in group[1:]))

    @property
    def prototypes(self) -> list[int]:
        """Ids of the prototypes that stay and are named."""
        pairs = (*self.replace, *self.rename, *self.add)
        named = [group[0] for group in self.merge] + [number for _, number in self.move]
        return named + [number for number, _ in pairs]

    @property
    def members(self) -> list[int]:
        """Ids of the members that are named."""
        split = [number for group in self.split for number in group]
        return [number for number, _ in self.move] + split + list(self.drop_members)

    @property
    def sentences(self) -> tuple[tuple[int, str], ...]:
        """Sentences that were typed, each with the id of its prototype."""
        return (*self.replace, *self.add)

    def with_sentences(self, sentences: Sequence[str]) -> Edits:
        """Return the edits with the typed sentences as the encoder reads them."""
        ids = [number for number, _ in self.sentences]
        pairs, count = tuple(zip(ids, sentences, strict=True)), len(self.replace)
        return replace(self, replace=pairs[:count], add=pairs[count:])


def _repeated(ids: Iterable[int]) -> int | None:
    return next((number for number, count in Counter(ids).items() if count > 1), None)


def _check_list(values: Any, what: str) -> list[Any]:
    if isinstance(values, str | bytes | int) or not isinstance(values, Iterable):
        raise InputError(f"{what}={values!r} should be a list.")
    return list(values)


def _check_ids(values: Any, what: str) -> tuple[int, ...]:
    numbers = _check_list(values, what)
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, Integral):
            raise InputError(f"{what}: {number!r} is no id; ids are whole numbers.")
    return tuple(map(int, numbers))


def _check_pairs(given: Any, what: str, kind: str) -> list[tuple[int, Any]]:
    pairs = list(given.items()) if isinstance(given, Mapping) else _check_list(given, what)
    if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        example = "{4: 'A text.'}" if kind == "a text" else "{41: 3}"
        raise InputError(f"{what} should give {kind} for each id, as in {what}={example}.")
    ids = _check_ids([number for number, _ in pairs], what)
    return [(number, value) for number, (_, value) in zip(ids, pairs, strict=True)]


def _check_texts(given: Any, what: str, kind: str = "sentence") -> tuple[tuple[int, str], ...]:
    """Return ids with their sentences or names, each on one line."""
    lines, longest = [], _LONGEST[kind]
    for number, text in _check_pairs(given, what, "a text"):
        name = f"the {kind} for prototype {number}"
        if not isinstance(text, str):
            raise InputError(f"{name} is {text!r}; expected a text.")
        line = " ".join(text.split())
        if len(line) > longest:
            raise InputError(f"{name} has {len(line):,} characters; give at most {longest}.")
        if kind == "sentence" and not line:
            raise InputError(f"{name} is empty; type one.")
        try:
            line.encode()
        except UnicodeEncodeError:
            raise InputError(f"{name} holds half a Unicode character; type it again.") from None
        lines.append((number, line))
    return tuple(lines)


@dataclass(frozen=True)
class Change:
    """What an edit did to one prototype, or to members of it, for the log.

    `before` and `after` are sentences, or names if it was renamed; `into` is the prototype that it,
    or its members, went to.
    """

    kind: Literal["drop", "merge", "replace", "rename", "move", "split", "drop_member", "add"]
    id: int
    before: str
    after: str = ""
    into: int | None = None
    members: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.kind in ("move", "split", "drop_member", "add") and not self.members:
            raise ValueError(f"a change of the kind {self.kind!r} should name members")

    def __str__(self) -> str:
        name = f"prototype {self.id}"
        if self.kind == "rename":
            was = f" (was “{self.before}”)" if self.before else ""
            return f"{name} {f'named “{self.after}”' if self.after else 'unnamed'}{was}"
        if self.kind == "add":
            return f"sentence {self.members[0]} “{self.after}” added to {name}"
        if self.kind == "split" and len(self.members) > 1:
            return (
                f"{len(self.members)} sentences of {name}, such as “{self.before}”, split off as "
                f"prototype {self.into}"
            )
        if self.kind in ("move", "split", "drop_member"):
            name = f"sentence {self.members[0]} of {name}"
        done = {
            "drop": "dropped: what was matched to it goes to the nearest that remain",
            "drop_member": "dropped: what was matched to it goes to the nearest that remain",
            "merge": f"merged into prototype {self.into}",
            "replace": f"replaced by “{self.after}”",
            "move": f"moved to prototype {self.into}",
            "split": f"split off as prototype {self.into}",
        }
        return f"{name} “{self.before}” {done[self.kind]}"


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
        entry = EditEntry(number, moment(), tuple(changes))
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
        entry = replace(self.entries[position], undone=moment())
        entries = (*self.entries[:position], entry, *self.entries[position + 1 :])
        return EditLog(entries, self.states[:-1]), state
