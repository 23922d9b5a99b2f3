"""Which training sentences may become prototypes: readable ones, each only once."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["distinct_candidates", "is_readable"]

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_MIN_WORDS, _MAX_WORDS = 3, 30
_MAX_CHARACTERS = 200
# Scripts written without spaces have no word count: a sentence of this many letters will do.
_MIN_UNSPACED_LETTERS = 6


def is_readable(sentence: str) -> bool:
    """Say whether a sentence can stand alone as an example to a reader.

    Fragments, lists of numbers and paragraphs cannot.

    Examples
    --------
    >>> is_readable("The room was clean and quiet.")
    True
    >>> is_readable("Mr.")
    False
    """
    if len(sentence) > _MAX_CHARACTERS or "<" in sentence or "http" in sentence:
        return False
    words = _WORD.findall(sentence)
    letters = sum(len(word) for word in words)
    if letters < 0.6 * len(sentence.replace(" ", "")):
        return False
    if len(words) >= _MIN_WORDS:
        return len(words) <= _MAX_WORDS
    return not sentence.isascii() and letters >= _MIN_UNSPACED_LETTERS


def distinct_candidates(sentences: Sequence[str]) -> NDArray[np.int64]:
    """Return positions of the sentences that may become prototypes.

    Of sentences that differ only in case, spacing or punctuation, the first stays. Where fewer
    than two are readable, all distinct ones are allowed.

    Examples
    --------
    >>> distinct_candidates(["I love it!", "i love it", "Mr.", "The food was cold."]).tolist()
    [0, 3]
    """
    first: dict[str, int] = {}
    for position, sentence in enumerate(sentences):
        first.setdefault(_without_decoration(sentence), position)
    distinct = sorted(first.values())
    readable = [position for position in distinct if is_readable(sentences[position])]
    return np.array(readable if len(readable) >= 2 else distinct, dtype=np.int64)


def _without_decoration(sentence: str) -> str:
    bare = "".join(character for character in sentence.casefold() if character.isalnum())
    return bare or sentence
