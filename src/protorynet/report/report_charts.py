"""Charts of a whole model: use of prototypes, calibration, pruning, confusions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from rich.cells import cell_len

from protorynet.report.conventions import Scale, format_percent, printable, shorten
from protorynet.report.svg import (
    LETTER_WIDTH,
    canvas,
    element,
    fill,
    mark,
    polyline,
    stroke,
    text,
    tooltip,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from protorynet.explain import PrototypeFigures
    from protorynet.figures import ReliabilityBin
    from protorynet.prototypes import PruningPoint

MOST_CLASSES = 12
"""With more classes than this a confusion matrix cannot be read."""

_WIDTH, _HEIGHT = 340, 250  # of the charts that stand side by side
_WIDE = 560  # from this width on names stand beside their bars, else above them
_MOST_BARS = 40
_SOFT: dict[str, object] = {"fill_opacity": 0.7}
_ON_DARK = "fill:var(--pn-panel,var(--pn-paper,Canvas))"
_QUARTERS = (0, 0.25, 0.5, 0.75, 1)


def usage_chart(prototypes: Sequence[PrototypeFigures], scale: Scale, *, width: int) -> str:
    """Return a bar per prototype, the most used first, with a tick at its share in training."""
    ordered = sorted(prototypes, key=lambda each: (-each.usage, each.prototype.id))[:_MOST_BARS]
    most = max(max(each.usage, each.prototype.usage) for each in ordered) or 1.0
    wide = width >= _WIDE
    step = 24 if wide else 38
    left = round(width * 0.52) if wide else 34
    unit = (width - left - 46) / most
    name_limit = int(((left if wide else width) - 58) / LETTER_WIDTH)
    parts = []
    for number, each in enumerate(ordered):
        item, shown = each.prototype, scale.shown(each.prototype.scores)
        caption, share = printable(item.caption), format_percent(each.usage)
        note = (
            f"prototype {item.id}, {share} of the sentences here, {format_percent(item.usage)} "
            f"in training: {shorten(caption, 120)}"
        )
        top = step * number + (0 if wide else 18)
        y = top + 13 if wide else top - 4
        tick = left + item.usage * unit
        bar = {"x": left, "y": top + 3, "width": max(each.usage * unit, 0.5), "height": 13}
        parts += [
            text(str(item.id), 24, y, text_anchor="end", **_SOFT),
            mark(36, y - 4, 4, shown.hue, shown.label),
            text(shorten(caption, name_limit), 48, y),
            element("rect", tooltip(note), **bar, rx=2, **fill(shown.hue)),
            polyline([(tick, top + 1), (tick, top + 18)], stroke_width=2),
            text(share, left + max(each.usage, item.usage) * unit + 7, top + 14),
        ]
    described = "; ".join(
        f"prototype {each.prototype.id}: {format_percent(each.usage)}" for each in ordered
    )
    names = "Share of the sentences by prototype", f"{described}."
    return canvas(names, parts, width, step * len(ordered) + 6, "pn-chart")


def calibration_chart(bins: Sequence[ReliabilityBin], *, said: str, observed: str) -> str:
    """Return how often predictions came true against the probability they were made with."""
    plot = _Plot((0.0, 1.0), (0.0, 1.0))
    total = sum(each.count for each in bins)
    points = [(plot.x(each.said), plot.y(each.observed)) for each in bins]
    diagonal = [(plot.x(0), plot.y(0)), (plot.x(1), plot.y(1))]
    parts = [
        *plot.draw_frame(_QUARTERS, _QUARTERS, said, observed),
        polyline(diagonal, stroke_opacity=0.5, stroke_dasharray="4 4"),
        polyline(points, 0, stroke_width=1.5),
    ]
    notes = [_describe_bin(each) for each in bins]
    for each, (x, y), note in zip(bins, points, notes, strict=True):
        low, high = each.interval
        parts.append(polyline([(x, plot.y(low)), (x, plot.y(high))], stroke_opacity=0.6))
        parts.append(mark(x, y, 3 + 5 * (each.count / total) ** 0.5, 0, note))
    return canvas(("Calibration", f"{'; '.join(notes)}."), parts, _WIDTH, _HEIGHT, "pn-chart")


def pruning_chart(curve: Sequence[PruningPoint], kept: int) -> str:
    """Return the held-out accuracy by number of prototypes; the number kept is ringed."""
    points = sorted(curve, key=lambda each: each.n_prototypes)
    sizes = [math.log(each.n_prototypes) for each in points]
    values = [each.accuracy for each in points]
    low = math.floor(50 * min(values) - 0.25) / 50
    high = max(min(math.ceil(50 * max(values) + 0.25) / 50, 1.0), low + 0.02)
    plot = _Plot((sizes[0], max(sizes[-1], sizes[0] + 1e-9)), (low, high), inset=14)
    corners = [(plot.x(size), plot.y(value)) for size, value in zip(sizes, values, strict=True)]
    ticks = [low, (low + high) / 2, high]
    parts = plot.draw_frame([], ticks, "prototypes kept", "accuracy held out")
    parts.append(polyline(corners, 0, stroke_width=1.75))
    last_named = -math.inf
    for each, (x, y) in zip(points, corners, strict=True):
        note = f"{each.n_prototypes} prototypes: accuracy {each.accuracy:.3f}"
        parts.append(mark(x, y, 4, 0, note))
        if each.n_prototypes == kept:
            parts.append(element("circle", cx=x, cy=y, r=8, **stroke(None), stroke_width=1.5))
        if x - last_named >= 24:
            parts.append(text(str(each.n_prototypes), x, plot.bottom + 17, text_anchor="middle"))
            last_named = x
    said = "; ".join(f"{each.n_prototypes}: {each.accuracy:.3f}" for each in points)
    described = f"Accuracy by number of prototypes. {said}. The model keeps {kept}."
    return canvas(("Pruning curve", described), parts, _WIDTH, _HEIGHT, "pn-chart")


def confusion_chart(classes: Sequence[str], counts: NDArray[np.int64]) -> str:
    """Return the confusion matrix: true classes down, predicted classes across.

    The strength of a cell is its share of the true class; the diagonal has a hue of its own.
    """
    n = len(classes)
    names = [printable(name) for name in classes]
    label = min(max(map(cell_len, names)) * LETTER_WIDTH + 14, _WIDTH * 0.3)
    left = label + 18
    cell = (_WIDTH - left - 2) / n
    # Names that are too wide stand on two lines by turns, and so have twice the room.
    in_turns = any(cell_len(name) * LETTER_WIDTH > cell - 4 for name in names)
    top = 66.0 if in_turns else 54.0
    tall = min(max(cell, 26.0), 64.0)
    across_limit = max(int((cell * (1 + in_turns) - 4) / LETTER_WIDTH), 2)
    down_limit = max(int((label + 6) / LETTER_WIDTH), 2)
    parts = [
        text("↓ label", 2, 14, font_weight=600),
        text("the model’s answer →", _WIDTH - 2, 14, text_anchor="end", font_weight=600),
    ]
    for number, name in enumerate(names):
        y = top - 8 - 14 * (in_turns and number % 2 == 0)
        anchor = "end" if in_turns and number == n - 1 else "middle"
        x = left + cell * (number + 0.5) + (cell / 2 if anchor == "end" else 0)
        parts.append(text(shorten(name, across_limit), x, y, text_anchor=anchor))
        halves = _halve(name, down_limit)
        y = top + tall * (number + 0.5) + 4 - 7 * (len(halves) - 1)
        for line, half in enumerate(halves):
            shown = shorten(half, down_limit)
            parts.append(text(shown, left - 8, y + 14 * line, text_anchor="end"))
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    said = []
    for truth, answer in np.ndindex(n, n):
        count, share = int(counts[truth, answer]), float(shares[truth, answer])
        said.append(f"labelled {names[truth]}, answered {names[answer]}: {count:,}")
        x, y = left + cell * answer, top + tall * truth
        # A few mistakes must be seen beside hundreds of right answers.
        strength = share**0.6
        note = f"{said[-1]} ({format_percent(share)})"
        box = {"x": x + 0.5, "y": y + 0.5, "width": cell - 1, "height": tall - 1}
        look: dict[str, object] = {"fill_opacity": 0.04 + 0.9 * strength, "stroke_opacity": 0.15}
        look |= {"stroke": "currentColor", **fill(0 if truth == answer else 1)}
        parts.append(element("rect", tooltip(note), **box, **look))
        if count and cell_len(f"{count}") * LETTER_WIDTH <= cell - 4:
            look = {"text_anchor": "middle", "font_weight": 600, "pointer_events": "none"}
            look |= {"font_size": 12.0, "style": _ON_DARK if strength > 0.55 else ""}
            parts.append(text(f"{count}", x + cell / 2, y + tall / 2 + 4.2, **look))
    described = "; ".join(said) + "."
    return canvas(("Confusion matrix", described), parts, _WIDTH, top + tall * n + 4, "pn-chart")


@dataclass
class _Plot:
    """Where values lie in a plot with named axes."""

    x_range: tuple[float, float]
    y_range: tuple[float, float]
    inset: float = 0

    left, right = 46.0, _WIDTH - 14.0
    top, bottom = 30.0, _HEIGHT - 42.0

    def x(self, value: float) -> float:
        low, high = self.x_range
        room = self.right - self.left - 2 * self.inset
        return self.left + self.inset + room * (value - low) / (high - low)

    def y(self, value: float) -> float:
        low, high = self.y_range
        return self.bottom - (self.bottom - self.top) * (value - low) / (high - low)

    def draw_frame(
        self, x_ticks: Sequence[float], y_ticks: Sequence[float], across: str, up: str
    ) -> list[str]:
        """Return the lines of the grid, ticks in percent, and the names of the axes."""
        parts = []
        for value in y_ticks:
            y = self.y(value)
            parts.append(polyline([(self.left, y), (self.right, y)], stroke_opacity=0.2))
            named = f"{100 * value:.0f}%"
            parts.append(text(named, self.left - 6, y + 4, text_anchor="end", **_SOFT))
        for value in x_ticks:
            anchor = "end" if value == x_ticks[-1] else "middle"
            named = f"{100 * value:.0f}%"
            parts.append(text(named, self.x(value), self.bottom + 17, text_anchor=anchor, **_SOFT))
        limit = int((_WIDTH - 12) / LETTER_WIDTH)
        # The name of the upright axis stands above it, where it can be read without a turn.
        parts.append(text(shorten(f"↑ {up}", limit), 6, 14, font_weight=600))
        look = {"text_anchor": "end", "font_weight": 600}
        parts.append(text(shorten(f"{across} →", limit), self.right, _HEIGHT - 6, **look))
        return parts


def _describe_bin(each: ReliabilityBin) -> str:
    low, high = map(format_percent, each.interval)
    return (
        f"{each.count:,} predictions at {format_percent(each.said)} on average: "
        f"{format_percent(each.observed)} came true (95% interval {low} to {high})"
    )


def _halve(name: str, limit: int) -> list[str]:
    """Return a name on one line, or on two where it is too long for one and has a space."""
    if cell_len(name) <= limit or " " not in name:
        return [name]
    spaces = [at for at, letter in enumerate(name) if letter == " "]
    middle = min(spaces, key=lambda at: abs(2 * at - len(name)))
    return [name[:middle], name[middle + 1 :]]
