"""Cutting sentences that are too long for the encoder into readable pieces that fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Span", "TokenCounter", "fit_to_window"]

# Where a sentence is cut, the best places first: after a clause, after a comma, at a space.
_BREAKS = (
    re.compile(r"[;:](?=\s)|[–—；：؛]"),
    re.compile(r",(?=\s)|[，、،]"),
    re.compile(r"\s+"),
)
_BATCH = 4_096

# Pieces are planned this full, so that cutting at a comma seldom makes one too long again.
_FILL = 0.9


class TokenCounter(Protocol):
    """An encoder's window: how many tokens a text takes, special tokens included."""

    @property
    def window(self) -> int:
        """The most tokens the encoder reads."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return the number of tokens of each text, special tokens included."""
        ...


class Span(NamedTuple):
    """A sentence's place: its document, and its first and last character there."""

    document: int
    start: int
    end: int


def fit_to_window(
    spans: list[Span],
    documents: Sequence[str],
    counter: TokenCounter,
    reading: Callable[[str], str],
) -> list[Span]:
    """Return the spans in order, with every one over the window cut into pieces that fit.

    Parameters
    ----------
    spans
        The sentences.
    documents
        The documents they stand in.
    counter
        The encoder's window.
    reading
        What the encoder reads of a piece of a document.
    """
    fitting: list[Span] = []
    while spans:
        texts = [reading(documents[span.document][span.start : span.end]) for span in spans]
        counts = _count(texts, counter)
        too_long: list[Span] = []
        for span, count in zip(spans, counts, strict=True):
            if count <= counter.window or span.end - span.start == 1:
                fitting.append(span)
            else:
                n_pieces = int(-(-count // max(1, _FILL * counter.window)))
                too_long += _cut(span, documents[span.document], n_pieces)
        spans = too_long
    return sorted(fitting)


def _count(texts: list[str], counter: TokenCounter) -> list[int]:
    # No tokeniser makes more than one token of a byte, so short texts need not be tokenised.
    counts = [0] * len(texts)
    unsure = [
        index
        for index, text in enumerate(texts)
        if (len(text) if text.isascii() else len(text.encode())) + 2 > counter.window
    ]
    for begin in range(0, len(unsure), _BATCH):
        batch = unsure[begin : begin + _BATCH]
        tokens = counter.count_tokens([texts[index] for index in batch])
        for index, count in zip(batch, tokens.tolist(), strict=True):
            counts[index] = count
    return counts


def _cut(span: Span, document: str, n_pieces: int) -> list[Span]:
    length = span.end - span.start
    n_pieces = min(max(2, n_pieces), length)
    edges = [span.start]
    for number in range(1, n_pieces):
        target = span.start + number * length // n_pieces
        edges.append(_nearest_break(document, target, slack=length // n_pieces // 3))
    edges.append(span.end)
    pieces = []
    for begin, end in pairwise(edges):
        piece = document[begin:end]
        if piece and not piece.isspace():
            start = begin + len(piece) - len(piece.lstrip())
            pieces.append(Span(span.document, start, begin + len(piece.rstrip())))
    return pieces


def _nearest_break(document: str, target: int, slack: int) -> int:
    for pattern in _BREAKS:
        breaks = [m.end() for m in pattern.finditer(document, target - slack, target + slack)]
        if breaks:
            return min(breaks, key=lambda position: abs(position - target))
    return target
