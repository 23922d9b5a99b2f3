"""Which training sentences may become prototypes: the best there are, each only once."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from protorynet.prototypes.completeness import is_complete

__all__ = ["distinct_candidates", "is_readable"]

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_DECORATION = re.compile(r"[\W_]+")
_MIN_WORDS, _MAX_WORDS = 3, 30
_MAX_CHARACTERS = 200
# Scripts written without spaces have no word count: a sentence of this many letters will do.
_MIN_UNSPACED_LETTERS = 6
# With fewer complete sentences than this, and this share, too little of a corpus could be shown.
_MIN_COMPLETE, _MIN_COMPLETE_SHARE = 200, 0.02
_MIN_READABLE = 2


def is_readable(sentence: str) -> bool:
    """Say whether a sentence has the length and the letters of one.

    Fragments, lists of numbers and paragraphs have not; `is_complete` asks for more.

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

    Of sentences that differ only in case, spacing or punctuation, one stays: the first that is
    complete, else the first. The complete ones are candidates if they are at least 200 and 2 %
    of the distinct ones; else the readable ones, if there are two; else all distinct ones. So
    small corpora, and those in lower case or without full stops, have candidates too.

    Examples
    --------
    >>> distinct_candidates(["I love it!", "i love it", "Mr.", "The food was cold."]).tolist()
    [0, 3]
    """
    first: dict[str, int] = {}
    complete: dict[str, int] = {}
    for position, sentence in enumerate(sentences):
        bare = _without_decoration(sentence)
        first.setdefault(bare, position)
        if bare not in complete and is_complete(sentence):
            complete[bare] = position
    if len(complete) >= max(_MIN_COMPLETE, _MIN_COMPLETE_SHARE * len(first)):
        return np.array(sorted(complete.values()), dtype=np.int64)
    distinct = sorted(first.values())
    readable = [position for position in distinct if is_readable(sentences[position])]
    return np.array(readable if len(readable) >= _MIN_READABLE else distinct, dtype=np.int64)


def _without_decoration(sentence: str) -> str:
    return _DECORATION.sub("", sentence.casefold()) or sentence
