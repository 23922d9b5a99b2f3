"""Charts of a whole model: how often prototypes are used, calibration, and the pruning curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from protorynet.report.scale import Scale
from protorynet.report.svg import element, fill, line_path, mark, stroke, text
from protorynet.report.trajectory import FONTS
from protorynet.report.wording import clean, percent, printable, shorten

if TYPE_CHECKING:
    from protorynet.explain import PrototypeFigures, ReliabilityBin
    from protorynet.prototypes import PruningPoint

__all__ = ["calibration_chart", "picture", "pruning_chart", "usage_chart"]

_COLUMN = 6.6  # width of a character of the font, on average and generously
_WIDE = 560
_MOST_BARS = 40
_SOFT = {"fill_opacity": 0.7}


def picture(title: str, description: str, parts: Sequence[str], width: float, height: float) -> str:
    """Return an SVG with its accessible name; the parts are markup already.

    Examples
    --------
    >>> picture("Usage", "One prototype.", [], 340, 20)
    '<svg xmlns="http://www.w3.org/2000/svg" ...><title>Usage</title><desc>One ...</desc></svg>'
    """
    return element(
        "svg",
        element("title", escape(clean(title))),
        element("desc", escape(clean(description))),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        class_="pn-chart",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=round(width),
        height=round(height),
        role="img",
        font_family=FONTS,
        font_size=12,
    )


def usage_chart(prototypes: Sequence[PrototypeFigures], scale: Scale, *, width: int) -> str:
    """Return a bar per prototype, the most used first: its share of the sentences.

    The tick on a bar is its share of the training sentences; mark and hue tell the class.
    """
    ordered = sorted(prototypes, key=lambda each: (-each.usage, each.prototype.id))[:_MOST_BARS]
    most = max(max(each.usage, each.prototype.usage) for each in ordered) or 1.0
    wide = width >= _WIDE
    step = 24 if wide else 38
    left = round(width * 0.52) if wide else 34
    room = width - left - 46
    parts = []
    for row, each in enumerate(ordered):
        top = step * row + (0 if wide else 18)
        named = int(((left if wide else width) - 58) / _COLUMN)
        parts += _bar(each, scale, left, top, room / most, named, wide=wide)
    said = "; ".join(
        f"prototype {each.prototype.id}: {percent(each.usage)}" for each in ordered[:_MOST_BARS]
    )
    height = step * len(ordered) + 6
    return picture("Share of the sentences by prototype", f"{said}.", parts, width, height)


def calibration_chart(
    bins: Sequence[ReliabilityBin], *, said: str, observed: str, width: int = 340
) -> str:
    """Return how often predictions came true against the probability they were made with.

    Parameters
    ----------
    bins
        Predictions by probability.
    said, observed
        What the two axes are.
    width
        Width in pixels.
    """
    plot = _Plot(width, 250, (0.0, 1.0), (0.0, 1.0))
    total = sum(each.count for each in bins)
    diagonal = line_path([(plot.x(0), plot.y(0)), (plot.x(1), plot.y(1))])
    parts = [
        *plot.frame([0, 0.25, 0.5, 0.75, 1], [0, 0.25, 0.5, 0.75, 1], said, observed),
        element("path", d=diagonal, **stroke(None), stroke_opacity=0.5, stroke_dasharray="4 4"),
    ]
    points = [(plot.x(each.said), plot.y(each.observed)) for each in bins]
    parts.append(element("path", d=line_path(points), **stroke(0), stroke_width=1.5))
    for each, (x, y) in zip(bins, points, strict=True):
        low, high = each.interval
        whisker = line_path([(x, plot.y(low)), (x, plot.y(high))])
        parts.append(element("path", d=whisker, **stroke(None), stroke_opacity=0.6))
        radius = 3 + 5 * (each.count / total) ** 0.5
        parts.append(mark(x, y, radius, 0, _bin_note(each)))
    description = "; ".join(_bin_note(each) for each in bins)
    return picture("Calibration", f"{description}.", parts, width, plot.height)


def pruning_chart(curve: Sequence[PruningPoint], kept: int, *, width: int = 340) -> str:
    """Return the accuracy on held-out training documents by number of prototypes kept.

    Parameters
    ----------
    curve
        The pruning curve, at least one point.
    kept
        How many prototypes the model has; that point is ringed.
    width
        Width in pixels.
    """
    points = sorted(curve, key=lambda each: each.n_prototypes)
    sizes = [math.log(each.n_prototypes) for each in points]
    values = [each.accuracy for each in points]
    low = math.floor(50 * min(values) - 0.25) / 50
    high = max(min(math.ceil(50 * max(values) + 0.25) / 50, 1.0), low + 0.02)
    plot = _Plot(width, 250, (sizes[0], max(sizes[-1], sizes[0] + 1e-9)), (low, high), inset=14)
    places = [(plot.x(size), plot.y(value)) for size, value in zip(sizes, values, strict=True)]
    ticks = [low, (low + high) / 2, high]
    parts = plot.frame([], ticks, "prototypes kept", "accuracy held out")
    parts.append(element("path", d=line_path(places), **stroke(0), stroke_width=1.75))
    taken = -math.inf
    for each, (x, y) in zip(points, places, strict=True):
        note = f"{each.n_prototypes} prototypes: accuracy {each.accuracy:.3f}"
        parts.append(mark(x, y, 4, 0, note))
        if each.n_prototypes == kept:
            parts.append(element("circle", cx=x, cy=y, r=8, **stroke(None), stroke_width=1.5))
        if x - taken >= 24:
            parts.append(text(str(each.n_prototypes), x, plot.bottom + 17, text_anchor="middle"))
            taken = x
    said = "; ".join(f"{each.n_prototypes}: {each.accuracy:.3f}" for each in points)
    described = f"Accuracy by number of prototypes. {said}. The model keeps {kept}."
    return picture("Pruning curve", described, parts, width, plot.height)


class _Plot:
    """Where values lie in a plot with named axes."""

    def __init__(
        self,
        width: int,
        height: int,
        x_range: tuple[float, float],
        y_range: tuple[float, float],
        inset: float = 0,
    ) -> None:
        self.width, self.height = width, height
        self.left, self.right = 46.0, width - 14.0
        self.top, self.bottom = 30.0, height - 42.0
        self._x, self._y, self._inset = x_range, y_range, inset

    def x(self, value: float) -> float:
        low, high = self._x
        room = self.right - self.left - 2 * self._inset
        return self.left + self._inset + room * (value - low) / (high - low)

    def y(self, value: float) -> float:
        low, high = self._y
        return self.bottom - (self.bottom - self.top) * (value - low) / (high - low)

    def frame(
        self, x_ticks: Sequence[float], y_ticks: Sequence[float], across: str, up: str
    ) -> list[str]:
        """Return the lines of the grid, ticks in percent, and the names of the axes."""
        parts = []
        room = int((self.width - 12) / _COLUMN)
        for value in y_ticks:
            y = self.y(value)
            parts.append(
                element(
                    "path",
                    d=line_path([(self.left, y), (self.right, y)]),
                    **stroke(None),
                    stroke_opacity=0.2,
                )
            )
            parts.append(
                text(f"{100 * value:.0f}%", self.left - 6, y + 4, text_anchor="end", **_SOFT)
            )
        for value in x_ticks:
            x = self.x(value)
            anchor = "end" if value == x_ticks[-1] else "middle"
            parts.append(
                text(f"{100 * value:.0f}%", x, self.bottom + 17, text_anchor=anchor, **_SOFT)
            )
        # The name of the upright axis stands above it, where it can be read without a turn.
        parts.append(text(shorten(f"↑ {up}", room), 6, 14, font_weight=600))
        parts.append(
            text(
                shorten(f"{across} →", room),
                self.right,
                self.height - 6,
                text_anchor="end",
                font_weight=600,
            )
        )
        return parts


def _bar(
    each: PrototypeFigures,
    scale: Scale,
    left: float,
    top: float,
    unit: float,
    named: int,
    *,
    wide: bool,
) -> list[str]:
    item, shown = each.prototype, scale.shown(each.prototype.scores)
    note = (
        f"prototype {item.id}, {percent(each.usage)} of the sentences here, {percent(item.usage)} "
        f"in training: {shorten(printable(item.caption), 120)}"
    )
    label = shorten(printable(item.caption), named)
    y = top + 13 if wide else top - 4
    tick = left + item.usage * unit
    return [
        text(str(item.id), 24, y, text_anchor="end", **_SOFT),
        mark(36, y - 4, 4, shown.hue, shown.label),
        text(label, 48, y),
        element(
            "rect",
            element("title", escape(clean(note))),
            x=left,
            y=top + 3,
            width=max(each.usage * unit, 0.5),
            height=13,
            rx=2,
            **fill(shown.hue),
        ),
        element(
            "path",
            d=line_path([(tick, top + 1), (tick, top + 18)]),
            **stroke(None),
            stroke_width=2,
        ),
        text(percent(each.usage), left + max(each.usage, item.usage) * unit + 7, top + 14),
    ]


def _bin_note(each: ReliabilityBin) -> str:
    low, high = (percent(end) for end in each.interval)
    return (
        f"{each.count:,} predictions at {percent(each.said)} on average: {percent(each.observed)} "
        f"came true (95% interval {low} to {high})"
    )
