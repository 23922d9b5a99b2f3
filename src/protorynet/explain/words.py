"""Words of any language with their places, and texts from which some of them are left out."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import groupby, pairwise

__all__ = ["Span", "left_out", "word_spans"]

Span = tuple[int, int]
"""Start and end of a word, or of a group of words, in its text."""

# Scripts written without spaces, and how many characters make about a word of each.
_SPACELESS = (
    (0x0E00, 0x0EFF, 4),  # Thai, Lao
    (0x1000, 0x109F, 4),  # Myanmar
    (0x1780, 0x17FF, 4),  # Khmer
    (0x3040, 0x309F, 3),  # Hiragana
    (0x30A0, 0x30FF, 8),  # Katakana: mostly one foreign word
    (0x3400, 0x9FFF, 2),  # Han
    (0xF900, 0xFAFF, 2),
    (0x20000, 0x3FFFF, 2),
)
# Between two letters these belong to the word: don’t, well-known, 3.5.
_INNER = frozenset("'’-‐‑.·_@&/")
_JOINERS = "\u200c\u200d"  # hold the parts of an emoji, or of a Persian word, together


def word_spans(text: str, most: int) -> list[Span]:
    """Return where the words of a text are, joined to groups where there are more than `most`.

    Emoji and other symbols count as words, punctuation does not, unless there is nothing else.
    Text without spaces is cut into pieces of a few characters.

    Examples
    --------
    >>> text = "It wasn't cheap, but 👍🏽!"
    >>> [text[start:end] for start, end in word_spans(text, most=9)]
    ['It', "wasn't", 'cheap', 'but', '👍🏽']
    >>> [text[start:end] for start, end in word_spans(text, most=3)]
    ["It wasn't", 'cheap, but', '👍🏽']
    """
    words = [piece for start, end in _runs(text) for piece in _pieces(text, start, end)]
    if not words:
        start, end = len(text) - len(text.lstrip()), len(text.rstrip())
        return [(start, end)] if start < end else []
    size = -(-len(words) // most)
    groups = [words[first : first + size] for first in range(0, len(words), size)]
    return [(group[0][0], group[-1][1]) for group in groups]


def left_out(text: str, span: Span) -> str:
    """Return the text without a span, and without the gap that this would leave.

    Examples
    --------
    >>> left_out("A very good film.", (2, 6))
    'A good film.'
    >>> left_out("It was fine, really.", (7, 11))
    'It was, really.'
    """
    before, after = text[: span[0]], text[span[1] :]
    if before[-1:].isspace():
        after = after.lstrip()
        if after and unicodedata.category(after[0])[0] == "P" and not text[span[1]].isspace():
            before = before.rstrip()
    return (before + after).strip()


def _runs(text: str) -> Iterator[Span]:
    """Yield runs of characters of one kind that hold a word, or several without spaces."""
    kinds = [_kind(mark) for mark in text]
    for place, mark in enumerate(text):
        if place and (mark in _JOINERS or unicodedata.category(mark)[0] == "M"):
            kinds[place] = kinds[place - 1]
        elif mark in _INNER and kinds[place - 1 : place + 2 : 2] == ["letter", "letter"]:
            kinds[place] = "letter"
    start = 0
    for kind, marks in groupby(kinds):
        end = start + sum(1 for _ in marks)
        if kind:
            yield start, end
        start = end


def _kind(mark: str) -> str:
    """Return what a character is part of: "letter", "symbol", a spaceless script, or nothing."""
    code, category = ord(mark), unicodedata.category(mark)
    for number, (low, high, _) in enumerate(_SPACELESS):
        if low <= code <= high and category[0] in "LMN":
            return f"spaceless {number}"
    if category[0] in "LMN":
        return "letter"
    return "symbol" if category[0] == "S" else ""


def _pieces(text: str, start: int, end: int) -> Iterator[Span]:
    """Cut a run of a script without spaces; marks stay with the letter they sit on."""
    code = ord(text[start])
    size = next((size for low, high, size in _SPACELESS if low <= code <= high), 0)
    if not size:
        yield start, end
        return
    letters = [p for p in range(start, end) if unicodedata.category(text[p])[0] != "M"] or [start]
    cuts = [start, *letters[size::size], end]
    yield from pairwise(cuts)
