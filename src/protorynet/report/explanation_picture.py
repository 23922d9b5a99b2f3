"""One picture that stands alone: the trajectory with the text beside it, as SVG or PNG."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

from protorynet.errors import InputError, MissingExtraError
from protorynet.files import write_atomically
from protorynet.report.conventions import (
    HUES,
    UNFAMILIAR,
    Scale,
    break_lines,
    format_percent,
    format_points,
    is_member,
    printable,
    read_verdict,
    scale_of_explanation,
    shorten,
    warn_unfamiliar,
)
from protorynet.report.svg import FONTS, canvas, element, mark, text
from protorynet.report.trajectory_drawing import draw_trajectory, name_picture

if TYPE_CHECKING:
    from protorynet.explain import Explanation, SentenceExplanation

_NARROWEST, _WIDEST = 320, 4000
_WIDE = 640  # from this width on the text stands beside the trajectory, else beneath it
_MARGIN = 24
_MOST_SENTENCES = 12  # of more, those are written that mattered most
_INK, _PAPER = "#1d2127", "#ffffff"
_EM = 0.53  # width of a character, on average and generously
_SMALL: dict[str, object] = {"font_size": 12, "fill_opacity": 0.75}
_SMALL_AT_END: dict[str, object] = {"font_size": 12, "text_anchor": "end", "fill_opacity": 0.75}


def explanation_svg(explanation: Explanation, *, width: int = 960) -> str:
    """Return the trajectory beside the text as an SVG on white, 320 to 4000 pixels wide."""
    if not _NARROWEST <= width <= _WIDEST:
        raise InputError(
            f"a picture {width} pixels wide is no good; give {_NARROWEST} to {_WIDEST}."
        )
    scale = scale_of_explanation(explanation)
    beside = width >= _WIDE
    room = width - 2 * _MARGIN
    wide = (room - _MARGIN) // 2 if beside else room
    head, top = _draw_headline(explanation, scale, room)
    tall = wide * 5 // 8
    written_from = top + (0 if beside else tall + 16)
    written, bottom = _write_sentences(explanation, wide, scale, written_from)
    if beside:
        tall = int(min(max(bottom - top, tall), wide))
    height = int(max(bottom, top + tall)) + _MARGIN
    chart = element(
        "g",
        *draw_trajectory(explanation, scale, width=wide, height=tall),
        transform=f"translate({_MARGIN + (wide + _MARGIN if beside else 0)} {top})",
        font_size=12,
    )
    parts = [
        element("rect", width=width, height=height, fill=_PAPER),
        element("g", *head, *written, transform=f"translate({_MARGIN} 0)"),
        chart,
    ]
    names = name_picture(explanation, scale)
    return canvas(names, parts, width, height, color=_INK, font_family=FONTS)


def picture_png(picture: str, *, scale: float = 2.0) -> bytes:
    """Return an SVG as a PNG of `scale` times its size."""
    if not 0.25 <= scale <= 8:
        raise InputError(f"scale={scale} should be between 0.25 and 8.")
    try:
        import resvg_py
    except ImportError:
        raise MissingExtraError("Writing PNG files", "resvg_py", extra="png") from None
    return bytes(resvg_py.svg_to_bytes(svg_string=picture, zoom=scale))


def write_view(path: Path, content: str | bytes, kind: str) -> None:
    """Write a page or a picture to a file, or say why that cannot be done."""
    try:
        write_atomically(path, content)
    except OSError as error:
        raise InputError(
            f"the {kind} {path} cannot be written: {error.strerror or error}. "
            "Give the name of a file in a folder you may write to."
        ) from None


def _draw_headline(explanation: Explanation, scale: Scale, room: int) -> tuple[list[str], int]:
    """Return the verdict, and where what follows may begin."""
    hue = HUES[read_verdict(explanation, scale).hue]
    probability = explanation.probabilities.get(explanation.label)
    label = printable(explanation.label) or "none of the classes"
    certainty = "" if probability is None else f" {format_percent(probability)}"
    fitting = max(int(room / (20 * _EM)) - len(certainty), 8)
    verdict = _isolate(shorten(label, fitting)) + certainty
    parts = [text(verdict, 0, 42, font_size=20, font_weight=700, style=f"fill:{hue}")]
    warning = warn_unfamiliar(explanation)
    notes = [f"Warning: {warning}"] if warning else []
    if explanation.level_with:
        others = printable(" and ".join(explanation.level_with))
        notes.append(f"level with {others}: nothing tips the scale")
    top = 60
    for note in notes:
        for line in break_lines(note, int(room / (12 * _EM)), most=2):
            parts.append(text(line, 0, top + 2, **_SMALL))
            top += 20
    return parts, top


def _write_sentences(
    explanation: Explanation, wide: int, scale: Scale, top: float
) -> tuple[list[str], float]:
    """Return the sentences that matter most, in reading order, and where they end."""
    steps = explanation.sentences
    shown = list(range(len(steps)))
    heading = "Sentences, and what each is most like"
    if len(steps) > _MOST_SENTENCES:
        by_effect = sorted(shown, key=lambda step: -abs(steps[step].effect))
        shown = sorted(by_effect[:_MOST_SENTENCES])
        heading = f"The {len(shown)} of {len(steps)} sentences that matter most"
    effect = text("Effect", wide, top + 16, text_anchor="end", **_SMALL)
    parts = [text(heading, 0, top + 16, **_SMALL), effect]
    y = top + 42.0
    indent = 26 + 7 * len(str(len(steps)))
    for step in shown:
        drawn, y = _write_sentence(steps[step], step + 1, scale, indent, wide, y)
        parts += drawn
    return parts, y - 12


def _write_sentence(
    step: SentenceExplanation, number: int, scale: Scale, indent: int, wide: int, y: float
) -> tuple[list[str], float]:
    reading = scale.shown(step.scores)
    effect = format_points(step.effect).replace("-", "\N{MINUS SIGN}")
    parts = [
        mark(5, y - 4, 4, reading.hue, f"Score {reading.value:.2f} for {reading.label}"),
        text(f"S{number}", 14, y, **_SMALL),
        text(effect, wide, y, **_SMALL_AT_END),
    ]
    room = wide - indent - 34
    for line in break_lines(printable(step.text), int(room / (13 * _EM)), most=4):
        if _is_right_to_left(step.text):
            look = {"text_anchor": "end", "font_size": 13}
            parts.append(text(f"\u2067{line}\u2069", indent + room, y, **look))
        else:
            parts.append(text(line, indent, y, font_size=13))
        y += 17
    like, limit = _isolate(printable(step.prototype_sentence)), int(room / (11.5 * _EM))
    lead = "nearest" if step.unfamiliar else "like"
    quoted = f"{lead}: {like}" if is_member(step) else f"{lead} {step.prototype}: {like}"
    written = [(line, "italic") for line in break_lines(quoted, limit, most=2)]
    if step.unfamiliar:
        written.insert(0, (shorten(UNFAMILIAR, limit), "normal"))
    if is_member(step):
        headline = f"prototype {step.prototype}: {_isolate(printable(step.headline))}"
        written.append((shorten(headline, limit), "normal"))
    for line, style in written:
        look = {"font_size": 11.5, "fill_opacity": 0.75, "font_style": style}
        parts.append(text(line, indent, y, **look))
        y += 15
    return parts, y + 12


def _is_right_to_left(content: str) -> bool:
    strong = (unicodedata.bidirectional(mark) for mark in content)
    return next((kind in ("R", "AL") for kind in strong if kind in ("L", "R", "AL")), False)


def _isolate(content: str) -> str:
    # What follows a name in another direction must not be turned around with it.
    return content if content.isascii() else f"\u2068{content}\u2069"
