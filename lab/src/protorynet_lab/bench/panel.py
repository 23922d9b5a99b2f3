"""One panel of a plot: its place, its scales, its ticks and its goal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from protorynet.report import element, text
from protorynet_lab.bench.figures import shown

__all__ = ["FAINT", "RULE", "Axis", "Panel", "Span", "round_steps", "span_of", "ticks"]

FAINT, RULE = "#59636e", "#dde1e6"
_STEPS = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True)
class Axis:
    """What a panel shows from left to right.

    Parameters
    ----------
    measure, title
        The measure's key, and its name above the panel.
    goal, is_least
        The goal, and whether figures should be at least or at most that.
    """

    measure: str
    title: str
    goal: float
    is_least: bool


@dataclass(frozen=True)
class Span:
    """A range of values."""

    low: float
    high: float

    def share(self, value: float) -> float:
        """Return where a value lies between low (0) and high (1)."""
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Panel:
    """A panel's edges and scales.

    Parameters
    ----------
    left, right, top, bottom
        The edges.
    across, up
        The values from left to right, and the accuracies from bottom to top.
    """

    left: float
    right: float
    top: float
    bottom: float
    across: Span
    up: Span

    def x(self, value: float) -> float:
        """Return the place of a measure's value."""
        return self.left + (self.right - self.left) * self.across.share(value)

    def y(self, accuracy: float) -> float:
        """Return the height of an accuracy."""
        return self.bottom - (self.bottom - self.top) * self.up.share(accuracy)

    def scaffold(self, axis: Axis, *, with_accuracy: bool) -> Iterator[str]:
        """Yield title, base line, ticks and goal; the leftmost panel also has the accuracies."""
        yield text(axis.title, self.left, self.top - 10, font_weight=600)
        yield _line(self.left, self.right, self.bottom, self.bottom, stroke=FAINT)
        for value, words in ticks(self.across):
            x = self.x(value)
            yield _line(x, x, self.bottom, self.bottom + 4, stroke=FAINT)
            yield text(words, x, self.bottom + 17, text_anchor="middle", fill_opacity=0.75)
        if with_accuracy:
            for value, words in ticks(self.up):
                y = self.y(value)
                yield _line(self.left - 4, self.left, y, y, stroke=FAINT)
                yield text(words, self.left - 8, y + 4, text_anchor="end", fill_opacity=0.75)
        yield from self._goal(axis)

    def _goal(self, axis: Axis) -> Iterator[str]:
        x = self.x(axis.goal)
        yield _line(x, x, self.top, self.bottom, stroke=FAINT, stroke_dasharray="3 3")
        words, anchor = ("goal →", "start") if axis.is_least else ("← goal", "end")
        aside = -4 if axis.is_least else 4
        look = {"text_anchor": anchor, "font_size": 11, "fill_opacity": 0.75}
        yield text(words, x + aside, self.bottom + 33, **look)


def span_of(values: Iterable[float], *, always: float) -> Span:
    """Return a range with some air around the values and one that must be seen."""
    seen = [*values, always]
    low, high = min(seen), max(seen)
    air = 0.07 * (high - low) or 0.1 * abs(high) or 1.0
    return Span(low - air, high + air)


def round_steps(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers within a range, not more than some.

    Examples
    --------
    >>> round_steps(0.87, 0.96)
    [0.88, 0.9, 0.92, 0.94, 0.96]
    >>> round_steps(3, 21)
    [5.0, 10.0, 15.0, 20.0]
    """
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    # A hair of slack, since neither 0.96 nor its multiples are binary fractions.
    step = next(unit * power for unit in _STEPS if unit * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 10) for number in range(first, last + 1)]


def ticks(span: Span) -> list[tuple[float, str]]:
    """Return round numbers of a scale, each as it is written, all with as many decimals.

    Examples
    --------
    >>> [words for _, words in ticks(Span(0.88, 0.91))]
    ['.880', '.885', '.890', '.895', '.900', '.905', '.910']
    """
    steps = round_steps(span.low, span.high)
    decimals = next((d for d in range(5) if all(round(s, d) == s for s in steps)), 5)
    return [(value, shown(value, decimals)) for value in steps]


def _line(x1: float, x2: float, y1: float, y2: float, **look: object) -> str:
    return element("line", x1=x1, x2=x2, y1=y1, y2=y2, **look)
