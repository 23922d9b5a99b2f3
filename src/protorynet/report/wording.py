"""How numbers and untrusted texts are written in every view."""

from __future__ import annotations

import re
import unicodedata

__all__ = [
    "clean",
    "columns",
    "lines",
    "measure_title",
    "measure_value",
    "percent",
    "points",
    "printable",
    "score",
    "shorten",
    "signed",
]

# XML and HTML cannot carry these, not even escaped; a lone surrogate cannot even be written.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
# Left in, these would turn around the numbers that follow on a terminal's line.
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")


def percent(value: float) -> str:
    """Return a probability for reading, never rounded to a certainty it is not.

    Examples
    --------
    >>> percent(0.934), percent(0.9991), percent(0.0004), percent(1.0)
    ('93%', '>99%', '<1%', '100%')
    """
    if 0 < value < 0.005:
        return "<1%"
    if 0.995 < value < 1:
        return ">99%"
    return f"{100 * value:.0f}%"


def score(value: float) -> str:
    """Return a score or a similarity with two decimals."""
    return f"{value:.2f}"


def signed(effect: float) -> str:
    """Return a difference of similarities with its sign and two decimals, or three if small.

    Examples
    --------
    >>> signed(0.314), signed(-0.05), signed(0.0042)
    ('+0.31', '-0.05', '+0.004')
    """
    return f"{effect:+.2f}" if abs(effect) >= 0.01 else f"{effect:+.3f}"


def points(effect: float) -> str:
    """Return a difference of probabilities in signed percentage points.

    Examples
    --------
    >>> points(0.123), points(-0.04), points(-0.001)
    ('+12', '-4', '0')
    """
    rounded = round(100 * effect)
    return f"{rounded:+d}" if rounded else "0"


def measure_title(name: str) -> str:
    """Return a measure's key as words.

    Examples
    --------
    >>> measure_title("ids_only_accuracy")
    'Ids only accuracy'
    """
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def measure_value(value: float | None) -> str:
    """Return a measure's figure; large ones need fewer decimals.

    Examples
    --------
    >>> measure_value(0.91372), measure_value(9.8123), measure_value(None)
    ('0.914', '9.8', 'n/a')
    """
    if value is None:
        return "n/a"
    return f"{value:.3f}" if abs(value) <= 1 else f"{value:.1f}"


def clean(text: str) -> str:
    """Return the text with what no HTML or SVG file can hold replaced by U+FFFD."""
    return _UNWRITABLE.sub("\ufffd", text)


def printable(text: str, encoding: str = "utf-8") -> str:
    r"""Return the text on one line, without anything that could steer a terminal.

    Examples
    --------
    >>> printable("two\nlines \x1b[31mred")
    'two lines \ufffd[31mred'
    >>> printable("café", "ascii")
    'caf?'
    """
    line = _DIRECTION.sub("", clean(" ".join(text.split())))
    return line.encode(encoding, "replace").decode(encoding)


def columns(text: str) -> int:
    """Return the width of a text in columns; East Asian characters take two."""
    return sum(
        0 if unicodedata.combining(mark) else 1 + (unicodedata.east_asian_width(mark) in "WF")
        for mark in text
    )


def shorten(text: str, limit: int) -> str:
    """Return the text cut to a number of columns, with an ellipsis where it was cut.

    Examples
    --------
    >>> shorten("NaturalPlace", 8), shorten("Animal", 8)
    ('Natural…', 'Animal')
    """
    if columns(text) <= limit:
        return text
    while text and columns(text) > limit - 1:
        text = text[:-1]
    return text.rstrip() + "…"


def lines(text: str, limit: int, most: int) -> list[str]:
    """Return the text broken into lines of at most `limit` columns, the last one cut if need be.

    Examples
    --------
    >>> lines("The light over the harbour alone is worth the ticket.", 20, most=2)
    ['The light over the', 'harbour alone is wo…']
    """
    broken, line = [], ""
    for word in text.split():
        joined = f"{line} {word}" if line else word
        if columns(joined) <= limit:
            line = joined
            continue
        if line:
            broken.append(line)
        *full, line = _cut(word, limit)
        broken += full
    broken.append(line)
    if len(broken) > most:
        broken[most - 1 :] = [shorten(" ".join(broken[most - 1 : most + 1]), limit)]
    return broken


def _cut(word: str, limit: int) -> list[str]:
    """Cut a word, or a text without spaces, that is too long for a line."""
    parts = [""]
    for mark in word:
        if parts[-1] and columns(parts[-1] + mark) > limit:
            parts.append("")
        parts[-1] += mark
    return parts
