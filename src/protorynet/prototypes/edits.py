"""Edits of prototypes as a person asks for them, checked, and as the log tells them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

from protorynet.errors import InputError

__all__ = ["Change", "Edits"]

_LONGEST_SENTENCE, _LONGEST_NAME = 500, 80  # characters


@dataclass(frozen=True)
class Edits:
    """Edits to be made together; every id is named once for each purpose.

    Parameters
    ----------
    drop
        Ids of the prototypes to remove.
    merge
        Groups of ids: the first stays, the others are removed.
    replace
        Ids with their new sentences.
    rename
        Ids with their new names; an empty one takes the name away.

    Examples
    --------
    >>> Edits.of(drop=[7], rename={3: "slow service"})
    Edits(drop=(7,), merge=(), replace=(), rename=((3, 'slow service'),))
    >>> Edits.of(drop=[7], replace={7: "The room was cold."})
    Traceback (most recent call last):
    ...
    protorynet.errors.InputError: prototype 7 is to be removed, but is named for something else ...
    """

    drop: tuple[int, ...] = ()
    merge: tuple[tuple[int, ...], ...] = ()
    replace: tuple[tuple[int, str], ...] = ()
    rename: tuple[tuple[int, str], ...] = ()

    def __post_init__(self) -> None:
        for group in self.merge:
            if len(group) < 2:
                raise InputError(f"merge={list(group)} should name at least two prototypes.")
        kept = {
            "merged into": [group[0] for group in self.merge],
            "replaced": [number for number, _ in self.replace],
            "renamed": [number for number, _ in self.rename],
        }
        for purpose, ids in {"removed": self.removed, **kept}.items():
            for number, count in Counter(ids).items():
                if count > 1:
                    raise InputError(f"prototype {number} is to be {purpose} twice; name it once.")
        for number in self.removed:
            if any(number in ids for ids in kept.values()):
                raise InputError(
                    f"prototype {number} is to be removed, but is named for something else as "
                    "well. Do one or the other."
                )

    @classmethod
    def of(
        cls,
        drop: Iterable[int] = (),
        merge: Iterable[Iterable[int]] = (),
        replace: Mapping[int, str] | Iterable[tuple[int, str]] = (),
        rename: Mapping[int, str] | Iterable[tuple[int, str]] = (),
    ) -> Edits:
        """Check and tidy what a person gives: lists of ids, dictionaries or pairs of texts."""
        return cls(
            _ids(drop, "drop"),
            tuple(_ids(group, "merge") for group in _listed(merge, "merge")),
            tuple((number, _sentence(text, number)) for number, text in _pairs(replace, "replace")),
            tuple((number, _name(text, number)) for number, text in _pairs(rename, "rename")),
        )

    def __bool__(self) -> bool:
        return bool(self.removed or self.replace or self.rename)

    @property
    def removed(self) -> tuple[int, ...]:
        """Ids that are gone afterwards."""
        return (*self.drop, *(number for group in self.merge for number in group[1:]))


@dataclass(frozen=True)
class Change:
    """What an edit did to one prototype, for the log.

    Parameters
    ----------
    kind, id
        What was done, and to which prototype.
    before, after
        Its sentence (its name, if it was renamed) before and after; empty where there is none.
    into
        The prototype it was merged into.
    nearest
        The remaining prototype nearest to one that was removed.

    Examples
    --------
    >>> print(Change("drop", 7, "More", nearest=3))
    7 “More” dropped: its sentences go to the nearest that remain
    """

    kind: Literal["drop", "merge", "replace", "rename"]
    id: int
    before: str
    after: str = ""
    into: int | None = None
    nearest: int | None = None

    def __str__(self) -> str:
        if self.kind == "rename":
            was = f" (was “{self.before}”)" if self.before else ""
            return (
                f"{self.id} named “{self.after}”{was}" if self.after else f"{self.id} unnamed{was}"
            )
        if self.kind == "replace":
            return f"{self.id} “{self.before}” replaced by “{self.after}”"
        if self.kind == "drop":
            return f"{self.id} “{self.before}” dropped: its sentences go to the nearest that remain"
        merged = f"{self.id} “{self.before}” merged into {self.into}"
        if self.nearest == self.into:
            return merged
        return (
            f"{merged}; but {self.nearest} is nearer to it, and sentences go to the nearest that "
            "remain"
        )


def _listed(values: Any, what: str) -> list[Any]:
    if isinstance(values, str | bytes | int) or not isinstance(values, Iterable):
        raise InputError(f"{what}={values!r} should be a list.")
    return list(values)


def _ids(values: Any, what: str) -> tuple[int, ...]:
    return tuple(_id(number, what) for number in _listed(values, what))


def _id(number: Any, what: str) -> int:
    if isinstance(number, bool) or not isinstance(number, Integral):
        raise InputError(f"{what}: {number!r} is no prototype id; ids are whole numbers.")
    return int(number)


def _pairs(texts: Any, what: str) -> list[tuple[int, Any]]:
    pairs = list(texts.items()) if isinstance(texts, Mapping) else _listed(texts, what)
    if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        raise InputError(f"{what} should give a text for each id, as in {what}={{4: 'A text.'}}.")
    return [(_id(number, what), text) for number, text in pairs]


def _sentence(text: Any, number: int) -> str:
    sentence = _one_line(text, f"the sentence for prototype {number}", _LONGEST_SENTENCE)
    if not sentence:
        raise InputError(f"the sentence for prototype {number} is empty; give one to replace it.")
    return sentence


def _name(text: Any, number: int) -> str:
    return _one_line(text, f"the name for prototype {number}", _LONGEST_NAME)


def _one_line(text: Any, what: str, longest: int) -> str:
    if not isinstance(text, str):
        raise InputError(f"{what} is {text!r}; expected a text.")
    line = " ".join(text.split())
    if len(line) > longest:
        raise InputError(f"{what} has {len(line):,} characters; give at most {longest}.")
    try:
        line.encode()
    except UnicodeEncodeError:
        raise InputError(f"{what} holds half a Unicode character; type it again.") from None
    return line
