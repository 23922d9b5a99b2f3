"""One picture that stands alone: the trajectory with the text beside it, as SVG or PNG."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

from protorynet.errors import InputError, MissingExtraError
from protorynet.files import write_atomically
from protorynet.report.scale import HUES, Scale, scale_of_explanation
from protorynet.report.svg import element, mark, text
from protorynet.report.trajectory import FONTS, picture_names, trajectory_parts, verdict_reading
from protorynet.report.wording import lines, percent, points, printable, score, shorten

if TYPE_CHECKING:
    from protorynet.explain import Explanation, SentenceExplanation

__all__ = ["explanation_svg", "picture_png", "write_picture"]

_NARROWEST, _WIDEST = 320, 4000
_BESIDE = 640  # from this width on the text stands beside the trajectory, else beneath it
_MARGIN = 24
_MOST_SENTENCES = 12  # of more, those are written that mattered most
_INK, _PAPER = "#1d2127", "#ffffff"
_EM = 0.53  # width of a character, on average and generously


def explanation_svg(explanation: Explanation, *, width: int = 960) -> str:
    """Return the trajectory with the text beside it as a self-contained SVG on white.

    Parameters
    ----------
    explanation
        The document's explanation.
    width
        Width in pixels, from 320 to 4000; the height follows from the text.

    Examples
    --------
    >>> from protorynet.explain import Explanation, SentenceExplanation
    >>> sure = {"negative": 0.07, "positive": 0.93}
    >>> step = SentenceExplanation(
    ...     "A joy!", 0, 6, 7, "What a delight.", 0.8, None, None, sure, sure, effect=0.43)
    >>> explanation_svg(Explanation("A joy!", "positive", sure, (step,)))
    '<svg xmlns="http://www.w3.org/2000/svg" ...><title>positive, 93%: ...What a delight...</svg>'
    """
    if not _NARROWEST <= width <= _WIDEST:
        raise InputError(
            f"a picture {width} pixels wide is no good; give {_NARROWEST} to {_WIDEST}."
        )
    scale = scale_of_explanation(explanation)
    beside = width >= _BESIDE
    room = width - 2 * _MARGIN
    column = (room - _MARGIN) // 2 if beside else room
    head, top = _headline(explanation, scale, room)
    tall = column * 5 // 8
    written, bottom = _sentences(explanation, column, scale, top + (0 if beside else tall + 16))
    if beside:
        tall = int(min(max(bottom - top, tall), column))
    chart = element(
        "g",
        *trajectory_parts(explanation, scale, width=column, height=tall),
        transform=f"translate({_MARGIN + (column + _MARGIN if beside else 0)} {top})",
        font_size=12,
    )
    height = int(max(bottom, top + tall)) + _MARGIN
    return element(
        "svg",
        *picture_names(explanation, scale),
        element("rect", width=width, height=height, fill=_PAPER),
        element("g", *head, *written, transform=f"translate({_MARGIN} 0)"),
        chart,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        color=_INK,
        font_family=FONTS,
    )


def picture_png(picture: str, *, scale: float = 2.0) -> bytes:
    """Return an SVG as a PNG of `scale` times its size."""
    if not 0.25 <= scale <= 8:
        raise InputError(f"scale={scale} should be between 0.25 and 8.")
    try:
        import resvg_py
    except ImportError:
        raise MissingExtraError("Writing PNG files", "resvg_py", extra="png") from None
    return bytes(resvg_py.svg_to_bytes(svg_string=picture, zoom=scale))


def write_picture(picture: str | bytes, path: Path) -> None:
    """Write a picture to a file."""
    try:
        write_atomically(path, picture)
    except OSError as error:
        raise InputError(
            f"the picture {path} cannot be written: {error.strerror or error}. "
            "Give the name of a file in a folder you may write to."
        ) from None


def _headline(explanation: Explanation, scale: Scale, room: int) -> tuple[list[str], int]:
    """Return the verdict, and where what follows may begin."""
    reading = verdict_reading(explanation, scale)
    probability = explanation.probabilities.get(explanation.label)
    label = printable(explanation.label) or "none of the classes"
    certainty = "" if probability is None else f" {percent(probability)}"
    fitting = max(int(room / (20 * _EM)) - len(certainty), 8)
    parts = [
        text(
            _isolated(shorten(label, fitting)) + certainty,
            0,
            42,
            font_size=20,
            font_weight=700,
            style=f"fill:{HUES[reading.hue]}",
        )
    ]
    if not explanation.level_with:
        return parts, 60
    others = printable(" and ".join(explanation.level_with))
    note = shorten(f"level with {others}: nothing tips the scale", int(room / (12 * _EM)))
    return [*parts, text(note, 0, 62, font_size=12, fill_opacity=0.75)], 80


def _sentences(
    explanation: Explanation, column: int, scale: Scale, top: float
) -> tuple[list[str], float]:
    """Return the sentences that matter most, in reading order, and where they end."""
    steps = explanation.sentences
    shown = list(range(len(steps)))
    heading = "Sentences, and what each is most like"
    if len(steps) > _MOST_SENTENCES:
        by_effect = sorted(shown, key=lambda place: -abs(steps[place].effect))
        shown = sorted(by_effect[:_MOST_SENTENCES])
        heading = f"The {len(shown)} of {len(steps)} sentences that matter most"
    look = {"font_size": 12, "fill_opacity": 0.75}
    parts = [
        text(heading, 0, top + 16, **look),
        text("Effect", column, top + 16, text_anchor="end", **look),
    ]
    y = top + 42.0
    indent = 26 + 7 * len(str(len(steps)))
    for place in shown:
        drawn, y = _sentence(steps[place], place + 1, scale, indent, column, y)
        parts += drawn
    return parts, y - 12


def _sentence(
    step: SentenceExplanation, number: int, scale: Scale, indent: int, column: int, y: float
) -> tuple[list[str], float]:
    reading = scale.shown(step.scores)
    note = f"Score {score(reading.value)} for {reading.label}"
    parts = [
        mark(5, y - 4, 4, reading.hue, note),
        text(f"S{number}", 14, y, font_size=12, fill_opacity=0.75),
        text(
            points(step.effect).replace("-", "\N{MINUS SIGN}"),
            column,
            y,
            font_size=12,
            text_anchor="end",
            fill_opacity=0.75,
        ),
    ]
    room = column - indent - 34
    for line in lines(printable(step.text), int(room / (13 * _EM)), most=4):
        parts.append(_line(line, step.text, indent, room, y, font_size=13))
        y += 17
    quoted = f"{step.prototype}: {_isolated(printable(step.prototype_sentence))}"
    for line in lines(f"like {quoted}", int(room / (11.5 * _EM)), most=2):
        look = {"font_size": 11.5, "fill_opacity": 0.75, "font_style": "italic"}
        parts.append(text(line, indent, y, **look))
        y += 15
    return parts, y + 12


def _line(content: str, whole: str, x: float, room: float, y: float, **look: object) -> str:
    """Return a line of a sentence, from the right where it is written from the right."""
    if not _is_right_to_left(whole):
        return text(content, x, y, **look)
    return text(f"\u2067{content}\u2069", x + room, y, text_anchor="end", **look)


def _is_right_to_left(content: str) -> bool:
    strong = (unicodedata.bidirectional(mark) for mark in content)
    return next((kind in ("R", "AL") for kind in strong if kind in ("L", "R", "AL")), False)


def _isolated(content: str) -> str:
    # What follows a name in another direction must not be turned around with it.
    return content if content.isascii() else f"\u2068{content}\u2069"
