"""Which words of two sentences a view marks, and how strongly: the same in every view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from protorynet.explain import WordEffect

__all__ = ["Match", "Piece", "marked", "strongest_words"]

# A word is marked strongly, clearly or faintly from these shares of the strongest effect on.
_SHARES = (0.6, 0.3, 0.12)
_NOTHING = 1e-6  # an effect below this is rounding


class Match(Protocol):
    """What has words on both sides: a `Rationale`, or a sentence of an `Explanation`."""

    @property
    def prototype(self) -> int:
        """The prototype's id."""

    @property
    def prototype_sentence(self) -> str:
        """The prototype's sentence."""

    @property
    def similarity(self) -> float:
        """How similar the two are."""

    @property
    def words(self) -> tuple[WordEffect, ...]:
        """The words of the sentence."""

    @property
    def prototype_words(self) -> tuple[WordEffect, ...]:
        """The words of the prototype's sentence."""


class Piece(NamedTuple):
    """A part of a sentence: how strongly it is marked, from 0 to 3, and its effect."""

    text: str
    strength: int
    effect: float


def marked(text: str, words: Sequence[WordEffect], match: Match) -> list[Piece]:
    """Cut a sentence into marked words and what lies between.

    Both sentences of a match are measured by the strongest word of the two, so that the same mark
    means the same on either side.
    """
    pieces, end = [], 0
    for word in words:
        if strength := _strength(word, match):
            pieces += [Piece(text[end : word.start], 0, 0.0)] if end < word.start else []
            pieces.append(Piece(text[word.start : word.end], strength, word.effect))
            end = word.end
    return [*pieces, Piece(text[end:], 0, 0.0)] if end < len(text) else pieces


def strongest_words(words: Sequence[WordEffect], match: Match, most: int = 3) -> list[WordEffect]:
    """Return the marked words by falling effect, the earlier first where equal."""
    chosen = [word for word in words if _strength(word, match)]
    return sorted(chosen, key=lambda word: -word.effect)[:most]


def _strength(word: WordEffect, match: Match) -> int:
    top = max(other.effect for other in (*match.words, *match.prototype_words))
    if top < _NOTHING:
        return 0
    return sum(word.effect >= share * top for share in _SHARES)
