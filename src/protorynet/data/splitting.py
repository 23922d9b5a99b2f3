"""Splitting documents into sentences, with their spans in the original text."""

from __future__ import annotations

import difflib
import itertools
import re
import reprlib
import string
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Literal, NamedTuple, Protocol, get_args

import numpy as np
from numpy.typing import NDArray
from sentencex import segment

from protorynet.data.text_layout import PlainText, remove_layout
from protorynet.errors import EmptyDocumentError, InputError
from protorynet.records import read_record

Rule = Literal["sentencex", "lines", "paper"]

# The languages whose abbreviations or signs sentencex knows, itself or as those of a relative.
LANGUAGES = {
    "am": "Amharic", "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "ca": "Catalan",
    "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "es": "Spanish", "fi": "Finnish", "fr": "French", "gl": "Galician", "gu": "Gujarati",
    "hi": "Hindi", "hy": "Armenian", "it": "Italian", "ja": "Japanese", "kk": "Kazakh",
    "kn": "Kannada", "ml": "Malayalam", "mr": "Marathi", "my": "Burmese", "nl": "Dutch",
    "pa": "Punjabi", "pl": "Polish", "pt": "Portuguese", "ru": "Russian", "sk": "Slovak",
    "ta": "Tamil", "te": "Telugu", "uk": "Ukrainian", "ur": "Urdu", "zh": "Chinese",
}  # fmt: skip


@dataclass(frozen=True)
class Splitter:
    """How documents are split into sentences.

    - `rule`: ``"sentencex"`` knows abbreviations, numbers and quotations, joins wrapped lines, and
      removes marks of quoted lines (``>``) and markup; apart from these, sentences stay as written.
      ``"lines"`` ends a sentence at every line end as well, and removes nothing. ``"paper"`` ends
      one at every '.', '?', '!' and line end, and gives the encoder lower-case text without
      punctuation.
    - `language`: the code of the language, one of `LANGUAGES`.
    """

    rule: Rule = "sentencex"
    language: str = "en"

    def __post_init__(self) -> None:
        if self.rule not in get_args(Rule):
            listed = ", ".join(map(repr, get_args(Rule)))
            raise InputError(f"splitter={str(self.rule)[:40]!r} is not one of {listed}.")
        if not isinstance(self.language, str) or self.language not in LANGUAGES:
            raise InputError(_unknown_language(self.language))

    @classmethod
    def read(cls, value: Any) -> Splitter:
        """Return the splitter that a model's file names; older ones name a rule alone.

        Their ``"sentencex"`` ended a sentence at every line end.
        """
        if isinstance(value, str):
            value = {"rule": {"sentencex": "lines"}.get(value, value)}
        return read_record(cls, value)


def _unknown_language(language: Any) -> str:
    codes = {name.lower(): code for code, name in LANGUAGES.items()} | {c: c for c in LANGUAGES}
    given = str(language)[:40]
    near = difflib.get_close_matches(given.lower().split("-")[0], codes, n=1)
    hint = f"did you mean {codes[near[0]]!r}? " if near else ""
    return (
        f"language={given!r} is not one of the {len(LANGUAGES)} that are known, such as 'de'; "
        f"{hint}'en' does for others: it knows the signs that end a sentence in every script."
    )


OnEmpty = Literal["error", "skip"]

# A set of characters comes first, for which `re` looks quickly.
_LINE_END = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029<](?:(?<=<)(?i:br\s*/?>)|(?<!<))")
_PAPER_PIECE = re.compile(r"[^.?!]*[.?!]|[^.?!]+")
_WORD = re.compile(r"[^\W_]")
_ITEM_MARK = re.compile(r"\s*\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.)]\s+(?=\S)")
# No sentence ends within a name such as "AXP.N"; "on TV.I loved it" is two of them.
_CODE = re.compile(r"\.(?<=[A-Z]\.)[B-HJ-Z](?![^\W_])")
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

# Where a sentence is cut, the best points first: after a clause, after a comma, at a space.
_BREAKS = (re.compile(r"[;:](?=\s)|[–—；：؛]"), re.compile(r",(?=\s)|[，、،]"), re.compile(r"\s+"))

# Pieces are planned this full, so that cutting at a comma seldom makes one too long again.
_PIECE_FILL = 0.9


@dataclass(frozen=True)
class Sentences:
    """All sentences of a list of documents, in reading order.

    `texts` is what the encoder reads and `written` what a person does, which differ by the paper's
    rule; `starts` and `ends` are character offsets in the original document, whose index
    `documents` holds; one without sentences has no index there.
    """

    texts: tuple[str, ...]
    written: tuple[str, ...]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    documents: NDArray[np.int64]
    n_documents: int

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of sentences of each document."""
        return np.bincount(self.documents, minlength=self.n_documents).astype(np.int64)

    @property
    def filled(self) -> NDArray[np.bool_]:
        """Which documents hold a sentence."""
        return self.lengths > 0

    def part(self, chosen: NDArray[np.bool_]) -> Sentences:
        """Return the sentences of some of the documents, with these renumbered."""
        return self if chosen.all() else self.take(np.flatnonzero(chosen))[0]

    def take(self, documents: NDArray[np.int64]) -> tuple[Sentences, NDArray[np.int64]]:
        """Return the sentences of documents, which are renumbered, and where they stood here."""
        lengths = self.lengths
        starts = (np.cumsum(lengths) - lengths)[documents]
        steps = map(np.arange, starts, starts + lengths[documents])
        where = np.concatenate([np.zeros(0, np.int64), *steps])
        taken = Sentences(
            tuple(self.texts[sentence] for sentence in where.tolist()),
            tuple(self.written[sentence] for sentence in where.tolist()),
            self.starts[where],
            self.ends[where],
            np.repeat(np.arange(len(documents)), lengths[documents]),
            len(documents),
        )
        return taken, where

    def without_empty(self) -> Sentences:
        """Renumber the documents so that those without a sentence are gone."""
        return self.part(self.filled)


class TokenCounter(Protocol):
    """An encoder's window: how many tokens a text takes, special tokens included."""

    @property
    def window(self) -> int:
        """The most tokens the encoder reads of one text."""

    def count_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return the number of tokens of each text, special tokens included, nothing cut."""


def split_documents(
    texts: Sequence[str],
    *,
    splitter: Splitter = Splitter(),
    counter: TokenCounter | None = None,
    on_empty: OnEmpty = "error",
) -> Sentences:
    """Split every document into sentences.

    - `splitter`: where sentences end, and what the encoder reads of them.
    - `counter`: the encoder's window; longer sentences are cut, at a comma or a space if possible.
    - `on_empty`: raise an `EmptyDocumentError` where a document holds no sentence, or leave it so.

    Examples
    --------
    >>> split_documents(["Good food. Slow service!", "Mr. Hill was kind."]).texts
    ('Good food.', 'Slow service!', 'Mr. Hill was kind.')
    >>> split_documents(["Good food. Slow service!"], splitter=Splitter("paper")).texts
    ('good food', 'slow service')
    """
    if on_empty not in get_args(OnEmpty):
        raise InputError(f"on_empty={on_empty!r} is not one of 'error', 'skip'.")
    documents = check_texts(texts)
    layouts: list[PlainText | None] = [None] * len(documents)
    if splitter.rule == "sentencex":
        layouts = [remove_layout(document) for document in documents]
        documents = [
            document if layout is None else layout.text
            for document, layout in zip(documents, layouts, strict=True)
        ]
    find, reading = (_paper_spans, paper_reading) if splitter.rule == "paper" else (_spans, str)
    spans = [
        _Span(number, start, end)
        for number, document in enumerate(documents)
        for start, end in find(document, splitter)
    ]
    if counter is not None:
        spans = _fit_to_window(spans, documents, counter, reading)
    # A piece cut from a long sentence may be punctuation only, of which the paper reads nothing.
    cut = [(span, documents[span.document][span.start : span.end]) for span in spans]
    kept = [(span, piece) for span, piece in cut if reading(piece)]
    places = [
        (number, start, end) if layout is None else (number, *layout.locate(start, end))
        for (number, start, end), _ in kept
        for layout in [layouts[number]]
    ]
    where = np.array(places, dtype=np.int64).reshape(-1, 3)
    written = tuple(piece for _, piece in kept)
    number, starts, ends = (column.copy() for column in where.T)
    found = Sentences(tuple(map(reading, written)), written, starts, ends, number, len(documents))
    return _check_filled(found, on_empty)


def join_sentences(parts: Sequence[Sentences], *, on_empty: OnEmpty = "skip") -> Sentences:
    """Return the sentences of documents that were split part by part."""
    starts = np.cumsum([0, *(part.n_documents for part in parts)])
    shifted = [part.documents + at for part, at in zip(parts, starts, strict=False)]
    joined = Sentences(
        texts=tuple(itertools.chain.from_iterable(part.texts for part in parts)),
        written=tuple(itertools.chain.from_iterable(part.written for part in parts)),
        starts=np.concatenate([part.starts for part in parts]),
        ends=np.concatenate([part.ends for part in parts]),
        documents=np.concatenate(shifted),
        n_documents=int(starts[-1]),
    )
    return _check_filled(joined, on_empty)


def _check_filled(sentences: Sentences, on_empty: OnEmpty) -> Sentences:
    if on_empty == "error" and not sentences.filled.all():
        raise EmptyDocumentError(np.flatnonzero(~sentences.filled).tolist())
    return sentences


def check_texts(texts: Sequence[str]) -> list[str]:
    """Return documents as a list; one that is no text, or a broken one, is an `InputError`."""
    documents: list[str] = document_list(texts)
    for row, document in enumerate(documents):
        if not isinstance(document, str):
            raise InputError(
                f"the document in row {row} (counted from 0) is {reprlib.repr(document)} of type "
                f"{type(document).__name__}; expected str. Remove the row or convert it to text."
            )
        try:
            document.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"the document in row {row} (counted from 0) holds half a Unicode character "
                f"({document[error.start]!a}) at position {error.start}. Repair it with "
                "text.encode('utf-8', 'replace').decode()."
            ) from None
    return documents


def document_list(documents: Any, *, are_texts: bool = True) -> list[Any]:
    """Return the documents as a list, refusing what is plainly not one."""
    if isinstance(documents, str):
        raise InputError("expected a sequence of texts, but got one text; wrap it in a list.")
    if hasattr(documents, "columns") and hasattr(documents, "iloc"):
        raise InputError(
            f"expected one column of texts, but got a table with columns "
            f"{', '.join(map(str, documents.columns))}; choose one, as in table['text']."
        )
    if getattr(documents, "ndim", 1) == 2 and are_texts:
        if documents.shape[1] != 1:
            raise InputError(f"expected a flat sequence of texts, but got shape {documents.shape}.")
        documents = documents[:, 0]
    try:
        return list(documents)
    except TypeError:
        kind = type(documents).__name__
        raise InputError(f"expected a sequence of texts, but got {kind}.") from None


def sequence_text(length: int) -> str:
    """Return a text that stands for a sequence of steps that are not text: a line for each."""
    return "\n".join(f"step {step}" for step in range(1, length + 1))


def sequence_sentences(lengths: NDArray[np.int64]) -> Sentences:
    """Describe the steps of sequences that are not text; offsets are those in `sequence_text`."""
    written = [line for length in lengths.tolist() for line in sequence_text(length).split("\n")]
    documents = np.repeat(np.arange(len(lengths)), lengths)
    texts = (f"sequence {number}, {line}" for number, line in zip(documents, written, strict=True))
    sizes = np.array([len(line) for line in written], np.int64)
    # Each line is followed by its end, and offsets of each document begin at 0.
    before = np.cumsum(sizes + 1) - sizes - 1
    starts = before - np.repeat(before[np.cumsum(lengths) - lengths], lengths)
    return Sentences(tuple(texts), tuple(written), starts, starts + sizes, documents, len(lengths))


def _paper_spans(document: str, _: Splitter) -> list[tuple[int, int]]:
    """Return start and end of every sentence, each ended by '.', '?', '!' or the end of a line."""
    return [
        _strip_span(match[0], offset + match.start())
        for offset, line in _lines(document)
        for match in _PAPER_PIECE.finditer(line)
        if _READABLE.search(match[0])
    ]


def paper_reading(sentence: str) -> str:
    """Return a sentence as the paper's encoder reads it: lower case, without punctuation."""
    return " ".join(sentence.lower().translate(_NO_PUNCTUATION).split())


def _spans(document: str, splitter: Splitter) -> list[tuple[int, int]]:
    """Return start and end of every sentence, found by the rules of `sentencex`.

    A piece without a word or a symbol, such as ").", joins the sentence before it on its line and
    is dropped where there is none, unless the document holds nothing else.
    """
    cut = [(offset, line, _sentence_ends(line, splitter)) for offset, line in _lines(document)]
    spans: list[tuple[int, int]] = []
    for is_sentence in (_is_meaningful, _is_visible):
        for offset, line, ends in cut:
            before_line = len(spans)
            for begin, end in pairwise([0, *ends]):
                piece = line[begin:end]
                if is_sentence(piece):
                    spans.append(_strip_span(piece, offset + begin))
                elif len(spans) > before_line and not piece.isspace():
                    spans[-1] = (spans[-1][0], _strip_span(piece, offset + begin)[1])
        if spans:
            break
    return spans


def _lines(document: str) -> Iterator[tuple[int, str]]:
    begin = 0
    for match in _LINE_END.finditer(document):
        if match.start() > begin:
            yield begin, document[begin : match.start()]
        begin = match.end()
    if begin < len(document):
        yield begin, document[begin:]


def _sentence_ends(line: str, splitter: Splitter) -> list[int]:
    readable = line if line.isascii() else line.translate(_WIDE_SPACES)
    ends: list[int] = []
    # The number of a list's item belongs to its first sentence.
    mark = _ITEM_MARK.match(line) if splitter.rule == "sentencex" else None
    position = mark.end() if mark else 0
    while position < len(line):
        pieces = _segment(readable[position : position + _CHARACTERS_PER_BLOCK], splitter.language)
        found = list(accumulate(map(len, pieces)))
        if position + _CHARACTERS_PER_BLOCK < len(line):
            # A sentence or a quotation near the block's edge may go on beyond it, so that part is
            # read again. A sentence that fills the whole block ends in a later one.
            found = [end for end in found if end <= _SETTLED_CHARACTERS] or found[:-1]
        ends += [position + end for end in found]
        position += found[-1] if found else _CHARACTERS_PER_BLOCK
    if splitter.rule == "lines" or not _CODE.search(line):
        return ends
    inside = {match.start() + 1 for match in _CODE.finditer(line)}
    return [end for end in ends if end not in inside]


def _segment(block: str, language: str) -> list[str]:
    try:
        pieces: list[str] = segment(language, block)
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


class _Span(NamedTuple):
    """A sentence's span: its document, and its first and last character there."""

    document: int
    start: int
    end: int


def _fit_to_window(
    spans: list[_Span],
    documents: Sequence[str],
    counter: TokenCounter,
    reading: Callable[[str], str],
) -> list[_Span]:
    """Return the spans in order, with every one over the window cut into pieces that fit.

    `reading` gives what the encoder reads of a piece of a document.
    """
    fitting: list[_Span] = []
    while spans:
        texts = [reading(documents[span.document][span.start : span.end]) for span in spans]
        # No tokeniser makes more than one token of a byte, so short texts need not be tokenised.
        counts = np.array([len(text.encode()) + 2 for text in texts], np.int64)
        if (unsure := np.flatnonzero(counts > counter.window)).size:
            counts[unsure] = counter.count_tokens([texts[index] for index in unsure])
        too_long: list[_Span] = []
        for span, count in zip(spans, counts.tolist(), strict=True):
            if count <= counter.window or span.end - span.start == 1:
                fitting.append(span)
            else:
                n_pieces = int(-(-count // max(1, _PIECE_FILL * counter.window)))
                too_long += _cut(span, documents[span.document], n_pieces)
        spans = too_long
    return sorted(fitting)


def _cut(span: _Span, document: str, n_pieces: int) -> list[_Span]:
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
            pieces.append(_Span(span.document, *_strip_span(piece, begin)))
    return pieces


def _nearest_break(document: str, target: int, slack: int) -> int:
    for pattern in _BREAKS:
        breaks = [m.end() for m in pattern.finditer(document, target - slack, target + slack)]
        if breaks:
            return min(breaks, key=lambda position: abs(position - target))
    return target
