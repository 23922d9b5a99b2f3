"""Curves and heat maps as SVG that stands alone: dark on white, marks apart in shape."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from protorynet.report import dashes, element, line_path, mark, picture, shorten, stroke, text
from protorynet_lab.bench.figures import shown
from protorynet_lab.bench.panel import FAINT, RULE, Span, span_of, ticks

__all__ = ["Curve", "curves_svg", "heat_map_svg"]

_ROOM, _HEIGHT, _LEFT, _TOP, _GAP = 300.0, 200.0, 56.0, 64.0, 72.0
_CELL_WIDTH, _CELL_HEIGHT = 76.0, 40.0
_MOST_HUES = 8
_LEGEND = 210.0  # room for one name
# Accuracies that hardly differ must not look as if they did.
_LEAST_SPAN, _LEAST_SHADES = 0.02, 0.05


@dataclass(frozen=True)
class Curve:
    """Accuracies by some number.

    Parameters
    ----------
    name
        What the legend calls it.
    points
        Number and accuracy.
    """

    name: str
    points: tuple[tuple[float, float], ...]


def curves_svg(title: str, across: str, panels: Mapping[str, Sequence[Curve]]) -> str:
    """Return one panel per data set, side by side, with all curves of it.

    Parameters
    ----------
    title, across
        Name of the plot, and of the numbers from left to right, which are laid out by their
        logarithm.
    panels
        The curves of each data set.
    """
    # The fullest panel says in which order the names come.
    fullest_first = sorted(panels.values(), key=len, reverse=True)
    names = list(dict.fromkeys(curve.name for curves in fullest_first for curve in curves))
    parts = list(_legend(names))
    for place, (name, curves) in enumerate(panels.items()):
        parts += _panel(name, across, curves, names, _LEFT + place * (_ROOM + _GAP))
    width = _LEFT + len(panels) * (_ROOM + _GAP)
    return picture(title, parts, max(width, 24 + _LEGEND * len(names)), _TOP + _HEIGHT + 54)


def heat_map_svg(
    title: str,
    rows: tuple[str, Sequence[str]],
    columns: tuple[str, Sequence[str]],
    values: Mapping[tuple[str, str], float],
) -> str:
    """Return accuracies by two settings; the darker, the better.

    Parameters
    ----------
    title
        Name of the plot.
    rows, columns
        Each setting's name and its values.
    values
        The accuracy by row and column; what was not measured is left white.
    """
    high = max(values.values(), default=1.0)
    low = min([*values.values(), high - _LEAST_SHADES])
    left, top = 96.0, 70.0
    parts = [
        text(f"{columns[0]} →", left, 24, font_weight=600),
        text(f"{rows[0]} ↓", 16, top - 10, font_weight=600),
    ]
    for place, name in enumerate(columns[1]):
        x = left + _CELL_WIDTH * (place + 0.5)
        parts.append(text(name, x, top - 10, text_anchor="middle"))
    for row, name in enumerate(rows[1]):
        y = top + _CELL_HEIGHT * row
        parts.append(text(name, left - 12, y + 25, text_anchor="end"))
        for column, other in enumerate(columns[1]):
            value = values.get((name, other))
            share = None if value is None else (value - low) / (high - low)
            parts += _cell(left + _CELL_WIDTH * column, y, shown(value), share)
    width = left + _CELL_WIDTH * len(columns[1]) + 24
    return picture(title, parts, width, top + _CELL_HEIGHT * len(rows[1]) + 20)


def _panel(
    name: str, across: str, curves: Sequence[Curve], names: list[str], left: float
) -> Iterator[str]:
    points = [point for curve in curves for point in curve.points]
    accuracies = [accuracy for _, accuracy in points] or [0.0, 1.0]
    numbers = sorted({number for number, _ in points}) or [1.0]
    up = span_of(accuracies, always=max(accuracies) - _LEAST_SPAN)
    wide = span_of([math.log(number) for number in numbers], always=math.log(numbers[0]))
    bottom = _TOP + _HEIGHT
    yield text(shorten(name, 40), left, _TOP - 12, font_weight=700, font_size=14)
    yield element("path", d=line_path([(left, bottom), (left + _ROOM, bottom)]), stroke=FAINT)
    yield from _accuracies(up, left)
    yield from _numbers(wide, left)
    label = {"text_anchor": "middle", "fill_opacity": 0.75}
    yield text(across, left + _ROOM / 2, bottom + 38, **label)
    for curve in curves:
        hue = names.index(curve.name) % _MOST_HUES
        places = [
            (left + _ROOM * wide.share(math.log(number)), bottom - _HEIGHT * up.share(accuracy))
            for number, accuracy in sorted(curve.points)
        ]
        line = line_path(places) if places else ""
        yield element("path", d=line, **stroke(hue), stroke_dasharray=dashes(hue))
        for (x, y), (number, accuracy) in zip(places, sorted(curve.points), strict=True):
            note = f"{name}, {curve.name}: {number:g} {across}, accuracy {shown(accuracy)}"
            yield mark(x, y, 4.2, hue, note)


def _accuracies(up: Span, left: float) -> Iterator[str]:
    for value, words in ticks(up):
        y = _TOP + _HEIGHT - _HEIGHT * up.share(value)
        yield element("path", d=line_path([(left, y), (left + _ROOM, y)]), stroke=RULE)
        yield text(words, left - 8, y + 4, text_anchor="end", fill_opacity=0.75)


def _numbers(wide: Span, left: float) -> Iterator[str]:
    powers = range(math.floor(wide.low / math.log(10)), math.ceil(wide.high / math.log(10)) + 1)
    for number in (step * 10.0**power for power in powers for step in (1, 2, 5)):
        share = wide.share(math.log(number))
        if 0 <= share <= 1:
            look = {"text_anchor": "middle", "fill_opacity": 0.75}
            yield text(f"{number:g}", left + _ROOM * share, _TOP + _HEIGHT + 18, **look)


def _legend(names: Sequence[str]) -> Iterator[str]:
    for place, name in enumerate(names):
        x, hue = 24 + _LEGEND * place, place % _MOST_HUES
        line = line_path([(x, 20), (x + 24, 20)])
        yield element("path", d=line, **stroke(hue), stroke_dasharray=dashes(hue))
        yield mark(x + 12, 20, 4.2, hue, name)
        yield text(shorten(name, 26), x + 32, 24)


def _cell(x: float, y: float, words: str, share: float | None) -> Iterator[str]:
    yield element(
        "rect",
        x=x + 1,
        y=y + 1,
        width=_CELL_WIDTH - 2,
        height=_CELL_HEIGHT - 2,
        fill="#ffffff" if share is None else "#123f68",
        fill_opacity=1.0 if share is None else 0.08 + 0.84 * share,
        stroke=RULE,
    )
    look = {"text_anchor": "middle", "font_weight": 600}
    colour = "#ffffff" if share is not None and share > 0.5 else "#1f2328"
    inner = escape(words)
    yield element(
        "text", inner, x=x + _CELL_WIDTH / 2, y=y + _CELL_HEIGHT / 2 + 4, fill=colour, **look
    )
