"""The layout of plain text: wrapped lines, quotations, e-mail headers and markup.

Sentences are found in the text without it; every character there knows its place in the original.
"""

import re
from bisect import bisect_right
from html import unescape
from itertools import pairwise
from typing import NamedTuple

_BLOCK_TAGS = (
    "address|article|blockquote|body|center|dd|div|dl|dt|form|h[1-6]|head|hr|html|li|ol|p|pre|"
    "section|table|tbody|td|th|thead|title|tr|ul"
)
_INLINE_TAGS = "a|abbr|b|big|cite|code|em|font|i|img|q|s|small|span|strike|strong|sub|sup|tt|u"
# Nothing may be matched in two ways: a tag that never ends would take the square of its length.
_ATTRIBUTES = r"(?:\s+[\w:-]+\s*=[^<>]*|\s*/?)>"
# A set of characters comes first, for which `re` looks quickly.
_TOKEN = re.compile(
    r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029<&](?i:"
    rf"(?<=<)(?:(?P<line>br\s*/?>)|(?P<block>/?(?:{_BLOCK_TAGS}){_ATTRIBUTES})"
    rf"|(?P<inline>/?(?:{_INLINE_TAGS}){_ATTRIBUTES}))"
    r"|(?<=&)(?P<entity>(?:#[0-9]{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,30});)"
    r"|(?<=\r)\n|(?<![<&]))"
)
_PAGE_ENDS = frozenset("\v\f\x1c\x1d\x1e\u2029")

_QUOTE = re.compile(
    r"[ \t]*(?:[|:%#]?>+[ \t]*|[|:](?:[ \t]+|(?=\w{2}))|#[ \t]+|[A-Za-z]{1,3}>[ \t]+)+"
)
_SIGNATURE = "--"
_ITEM = re.compile(r"\s*(?:[-*+•·–—=~o#]+\s|\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,4})[.):]\s)")
_HEADER = re.compile(
    r"(?:From|To|Cc|Bcc|Subject|Date|Organi[sz]ation|Lines|Sender|Newsgroups|Distribution|Keywords|"
    r"Summary|References|Expires|Approved|Received|Tel|Phone|Fax|E-?mail|"
    r"[A-Z][A-Za-z]*(?:-[A-Z][A-Za-z.]*)+):(?:\s|$)"
)
_ENDS, _CLOSERS = frozenset(".!?:…。！？："), "\"'”’»)]*_"
_INITIAL = re.compile(r"[\W_]*([^\W_])")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")

# Lines are wrapped at a width between these; longer ones are paragraphs.
_NARROWEST, _WIDEST = 40, 100

_Edit = tuple[int, int, str]  # start and end of a part of the original, what stands in its place


class _Line(NamedTuple):
    """A line: where it begins, its mark of quotation, and the content after that."""

    begin: int
    mark: str
    start: int
    text: str
    width: int

    @property
    def indent(self) -> int:
        return len(self.text) - len(self.text.lstrip())


class PlainText:
    """A text without its layout, which knows where everything stood in the original."""

    def __init__(self, original: str, edits: list[_Edit]) -> None:
        self._starts: list[int] = []
        self._edits: list[tuple[int, int, int]] = []
        pieces: list[str] = []
        at = length = 0
        for start, end, text in sorted(edits, key=lambda edit: (edit[0], -edit[1])):
            if start < at:  # a tag or a mark of quotation that a join has taken already
                continue
            pieces += [original[at:start], text]
            self._starts.append(length + start - at)
            length += start - at + len(text)
            self._edits.append((length, start, end))
            at = end
        self.text = "".join([*pieces, original[at:]])

    def locate(self, start: int, end: int) -> tuple[int, int]:
        """Return where a part of this text, which is not empty, stood in the original."""
        return self._locate(start)[0], self._locate(end - 1)[1]

    def _locate(self, position: int) -> tuple[int, int]:
        number = bisect_right(self._starts, position) - 1
        length, start, end = self._edits[number] if number >= 0 else (0, 0, 0)
        if position < length:
            return start, end
        return end + position - length, end + position - length + 1


def remove_layout(document: str) -> PlainText | None:
    r"""Join wrapped lines, and remove marks of quotation and markup; None where there are none.

    A line end that remains ends a sentence.

    Examples
    --------
    >>> remove_layout("> It was a <b>good</b>\n> day &amp; night.").text
    'It was a good day & night.'
    """
    tokens = list(_TOKEN.finditer(document))
    if not tokens and not _QUOTE.match(document):
        return None
    paragraphs, edits = _read_lines(document, tokens)
    widths = [line.width for lines in paragraphs for line in lines if line.width <= _WIDEST]
    widest = max(widths, default=0)
    for lines in paragraphs:
        edits += [(line.begin, line.start, "") for line in lines if line.mark]
        if len(lines) > 1 and lines[0].text != _SIGNATURE:
            edits += _joins(lines, widest)
    return PlainText(document, edits) if edits else None


def _read_lines(
    document: str, tokens: list[re.Match[str]]
) -> tuple[list[list[_Line]], list[_Edit]]:
    """Return paragraphs, runs of lines of one quotation, and what to do with the markup."""
    paragraphs: list[list[_Line]] = []
    edits: list[_Edit] = []
    begin, is_open = 0, False
    for match in [*tokens, None]:
        kind = "block" if match is None or match[0] in _PAGE_ENDS else match.lastgroup
        if match is not None and kind in ("inline", "entity"):
            edits.append((*match.span(), unescape(match[0]) if kind == "entity" else ""))
            continue
        line = _line(document, begin, len(document) if match is None else match.start())
        if line is not None:
            if is_open and line.mark == paragraphs[-1][-1].mark and line.text != _SIGNATURE:
                paragraphs[-1].append(line)
            else:
                paragraphs.append([line])
        is_open = line is not None and kind != "block"
        if match is not None:
            begin = match.end()
            if kind == "block":
                edits.append((*match.span(), "\n"))
    return paragraphs, edits


def _line(document: str, begin: int, end: int) -> _Line | None:
    """Return the line at a place; None where there is nothing on it."""
    quote = _QUOTE.match(document, begin, end)
    start = quote.end() if quote else begin
    text = document[start:end].rstrip()
    if not text:
        return None
    width = len(text) if text.isascii() else len(text) + len(_WIDE.findall(text))
    return _Line(begin, "".join(quote[0].split()) if quote else "", start, text, width)


def _joins(lines: list[_Line], widest: int) -> list[_Edit]:
    """Return what joins the wrapped lines of a paragraph; `widest` is of the whole document."""
    width = max([3 * widest // 4, *(line.width for line in lines if line.width <= _WIDEST)])
    pairs = list(pairwise(lines))
    # In Chinese and Japanese a line may end after any character.
    words = [after.text.split(None, 1)[0] for _, after in pairs]
    rooms = [
        width - line.width - 1 - (2 if _WIDE.match(word) else len(word))
        for line, word in zip(lines, words, strict=False)
    ]
    goes_on = [_begins_small(after.text) for line, after in pairs]
    ends = [line.text.rstrip(_CLOSERS)[-1:] in _ENDS for line in lines[:-1]]
    # Most lines of wrapped text go on in lower case or have no room for the next word; the lines
    # of verses and lists begin with capitals and differ in length. Ends of sentences tell nothing.
    signs = [
        small or room < 0 for small, room, end in zip(goes_on, rooms, ends, strict=True) if not end
    ]
    is_wrapped = width >= _NARROWEST and 3 * sum(signs) >= 2 * len(signs)
    return [
        (line.start + len(line.text), after.start + after.indent, _joint(line.text, after.text))
        for (line, after), small, room, end in zip(pairs, goes_on, rooms, ends, strict=True)
        if (
            (is_wrapped and room < width // 8 and line.width <= _WIDEST)
            or (small and not end and (is_wrapped or 5 * line.width >= 2 * width >= _NARROWEST))
        )
        and not _is_apart(line, after)
    ]


def _begins_small(text: str) -> bool:
    initial = _INITIAL.match(text)
    return initial is not None and initial[1].islower()


def _is_apart(line: _Line, after: _Line) -> bool:
    """Say whether two lines do not belong together whatever their width."""
    if _HEADER.match(line.text):
        return not after.indent  # a header goes on in lines that are indented
    if _HEADER.match(after.text) or _ITEM.match(after.text):
        return True
    for text in (line.text.lstrip(), after.text.lstrip()):
        if "    " in text or "\t" in text or not _INITIAL.match(text):  # a table, or a drawn line
            return True
    is_indented = after.indent > line.indent + 2 and not _ITEM.match(line.text)
    return is_indented and not _begins_small(after.text)


def _joint(text: str, after: str) -> str:
    is_hyphen = text[-1] == "-" and text[-2:-1].isalpha()
    are_wide = _WIDE.match(text[-1]) and _WIDE.match(after.lstrip())
    return "" if is_hyphen or are_wide else " "
