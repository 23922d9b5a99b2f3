"""Where the sentences of a document stand, and cutting those too long for the encoder."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sentencex import segment

__all__ = [
    "Span",
    "TokenCounter",
    "fit_to_window",
    "paper_reading",
    "paper_spans",
    "sentencex_spans",
]

_LINE_END = re.compile(r"<br\s*/?>|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", re.IGNORECASE)
_PAPER_PIECE = re.compile(r"[^.?!]*[.?!]|[^.?!]+")
_WORD = re.compile(r"[^\W_]")
_TERMINATED = re.compile(r"[^.?!…。！？]*(?:[.?!…。！？]+\s*|$)")
_READABLE = re.compile(rf"[^\s{re.escape(string.punctuation)}]")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)

# sentencex breaks down on "A\xa0." and its like: a space of several bytes before a full stop.
_WIDE_SPACES = str.maketrans(
    dict.fromkeys(
        "\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
        "\u2028\u2029\u202f\u205f\u3000",
        " ",
    )
)

# Some input ("«" many times) takes sentencex time that grows with the square of its length.
_CHARACTERS_PER_BLOCK = 10_000
_SETTLED_CHARACTERS = 8_000

# Where a sentence is cut, the best places first: after a clause, after a comma, at a space.
_BREAKS = (
    re.compile(r"[;:](?=\s)|[–—；：؛]"),
    re.compile(r",(?=\s)|[，、،]"),
    re.compile(r"\s+"),
)
_TEXTS_PER_BATCH = 4_096

# Pieces are planned this full, so that cutting at a comma seldom makes one too long again.
_PIECE_FILL = 0.9


def sentencex_spans(document: str) -> list[tuple[int, int]]:
    """Return start and end of every sentence, found by the rules of `sentencex`.

    A piece without a word or a symbol, such as ``).``, joins the sentence before it on its line
    and is dropped where there is none, unless the document holds nothing else.

    Examples
    --------
    >>> sentencex_spans("It was fine. Mr. Hill smiled.<br />The end")
    [(0, 12), (13, 29), (35, 42)]
    """
    return _spans(document, _is_meaningful) or _spans(document, _is_visible)


def paper_spans(document: str) -> list[tuple[int, int]]:
    """Return start and end of every sentence, each ended by '.', '?', '!' or the end of a line.

    Examples
    --------
    >>> paper_spans("Fine! It cost 5.50...")
    [(0, 5), (6, 16), (16, 19)]
    """
    return [
        _strip_span(match[0], offset + match.start())
        for offset, line in _lines(document)
        for match in _PAPER_PIECE.finditer(line)
        if _READABLE.search(match[0])
    ]


def paper_reading(sentence: str) -> str:
    """Return a sentence as the paper's encoder reads it: lower case, without punctuation.

    Examples
    --------
    >>> paper_reading("It's  GREAT!")
    'its great'
    """
    return " ".join(sentence.lower().translate(_NO_PUNCTUATION).split())


def _spans(document: str, is_sentence: Callable[[str], bool]) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for offset, line in _lines(document):
        before_line = len(spans)
        begin = 0
        for end in _sentence_ends(line):
            piece = line[begin:end]
            if is_sentence(piece):
                spans.append(_strip_span(piece, offset + begin))
            elif len(spans) > before_line and not piece.isspace():
                spans[-1] = (spans[-1][0], _strip_span(piece, offset + begin)[1])
            begin = end
    return spans


def _lines(document: str) -> Iterator[tuple[int, str]]:
    begin = 0
    for match in _LINE_END.finditer(document):
        if match.start() > begin:
            yield begin, document[begin : match.start()]
        begin = match.end()
    if begin < len(document):
        yield begin, document[begin:]


def _sentence_ends(line: str) -> list[int]:
    readable = line if line.isascii() else line.translate(_WIDE_SPACES)
    ends: list[int] = []
    position = 0
    while position < len(line):
        pieces = _segment(readable[position : position + _CHARACTERS_PER_BLOCK])
        found = list(accumulate(map(len, pieces)))
        if position + _CHARACTERS_PER_BLOCK < len(line):
            # A sentence or a quotation near the block's edge may go on beyond it, so that part is
            # read again. A sentence that fills the whole block ends in a later one.
            found = [end for end in found if end <= _SETTLED_CHARACTERS] or found[:-1]
        ends += [position + end for end in found]
        position += found[-1] if found else _CHARACTERS_PER_BLOCK
    return ends


def _segment(block: str) -> list[str]:
    try:
        pieces: list[str] = segment("en", block)
    except BaseException as error:
        # A panic of the Rust library is no Exception; one odd line must not end the whole run.
        if type(error).__name__ != "PanicException":
            raise
        return [piece for piece in _TERMINATED.findall(block) if piece]
    return pieces


def _strip_span(piece: str, offset: int) -> tuple[int, int]:
    return offset + len(piece) - len(piece.lstrip()), offset + len(piece.rstrip())


def _is_meaningful(piece: str) -> bool:
    if _WORD.search(piece):
        return True
    # ASCII symbols such as "=" and "|" are drawn as lines and arrows, so they count as punctuation.
    return not piece.isascii() and any(
        char > "\x7f" and unicodedata.category(char)[0] == "S" for char in piece
    )


def _is_visible(piece: str) -> bool:
    return any(unicodedata.category(char)[0] not in "CZ" for char in piece)


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

    `reading` gives what the encoder reads of a piece of a document.
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
                n_pieces = int(-(-count // max(1, _PIECE_FILL * counter.window)))
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
    for begin in range(0, len(unsure), _TEXTS_PER_BATCH):
        batch = unsure[begin : begin + _TEXTS_PER_BATCH]
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
