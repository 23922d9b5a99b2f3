"""Where a trajectory's plot lies in its picture, with grid, names, ticks and legend."""

from __future__ import annotations

from dataclasses import dataclass

from protorynet.report.scale import Scale
from protorynet.report.svg import element, line_path, mark, stroke, text
from protorynet.report.wording import columns, shorten

__all__ = ["Frame", "frame_of", "grid", "legend", "ticks"]

_COLUMN = 6.6  # width of a character of the font, on average and generously
_STEPS = (1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000, 2000, 5000)


@dataclass(frozen=True)
class Frame:
    """The plot's edges within a picture of some width, for n sentences."""

    width: int
    left: float
    right: float
    top: float
    bottom: float
    n: int

    def x(self, position: int) -> float:
        """Return the place of a sentence, counted from 0."""
        if self.n == 1:
            return (self.left + self.right) / 2
        inset = min(14.0, self.step / 2)
        return self.left + inset + (self.right - self.left - 2 * inset) * position / (self.n - 1)

    def y(self, value: float) -> float:
        """Return the height of a value between 0 and 1."""
        return self.bottom - (self.bottom - self.top) * value

    @property
    def step(self) -> float:
        """Room for one sentence."""
        return (self.right - self.left) / max(self.n, 1)

    @property
    def left_columns(self) -> int:
        """Characters that fit left of the plot."""
        return max(int((self.left - 14) / _COLUMN), 4)

    @property
    def right_columns(self) -> int:
        """Characters that fit right of the plot, after a mark."""
        return int((self.width - self.right - 12) / _COLUMN)


def frame_of(scale: Scale, n: int, *, width: int, height: int) -> Frame:
    """Return a frame that leaves room for the names of the classes."""
    room = width * 0.24
    if scale.pole is not None:
        widest = max(columns(scale.pole), columns(scale.opposite))
        left, right = max(min(_COLUMN * widest, room), 4 * _COLUMN) + 14, 46.0
    else:
        widest = max(columns(name) for name in scale.classes)
        left, right = 42.0, min(_COLUMN * widest, room) + 5 * _COLUMN + 14
    return Frame(width, left, width - right, 36.0, height - 30.0, n)


def grid(frame: Frame, scale: Scale) -> list[str]:
    """Return the lines at 0, one half and 1 with their names."""
    ends = {0.0: "0%", 0.5: "50%", 1.0: "100%"}
    if scale.pole is not None:
        ends = {0.0: scale.opposite, 0.5: "0.5", 1.0: scale.pole}
    parts = []
    for value, name in ends.items():
        y = frame.y(value)
        parts.append(
            element(
                "line",
                x1=frame.left,
                x2=frame.right,
                y1=y,
                y2=y,
                stroke="currentColor",
                stroke_opacity=0.5 if value == 0.5 else 0.2,
                stroke_dasharray="4 4" if value == 0.5 else "",
            )
        )
        # The names of the two classes are what a reader looks for; numbers may stay in the back.
        named = scale.pole is not None and value != 0.5
        parts.append(
            text(
                shorten(name, frame.left_columns),
                frame.left - 8,
                y + 4,
                text_anchor="end",
                font_weight=600 if named else "",
                fill_opacity=0.9 if named else 0.65,
            )
        )
    return parts


def ticks(frame: Frame) -> list[str]:
    """Return the sentences' numbers, thinned out to round ones where they would run together."""
    widest = _COLUMN * len(f"S{frame.n}") + 10
    every = next((step for step in _STEPS if step * frame.step >= widest), max(frame.n, 1))
    places = list(range(every - 1, frame.n, every))
    if every > 1:
        places = [0, *(place for place in places if frame.x(place) - frame.x(0) >= widest)]
    look = {"text_anchor": "middle", "fill_opacity": 0.65}
    return [text(f"S{place + 1}", frame.x(place), frame.bottom + 20, **look) for place in places]


def legend(frame: Frame, scale: Scale) -> list[str]:
    """Return the line that says what marks and lines are."""
    hues = (0, 1) if scale.pole is not None else (0, 1, 2)
    points, line = "the prototype’s score", "probability so far"
    taken = 13 * len(hues) + 5 + _COLUMN * (len(points) + 1) + 26
    x, y, right = frame.left, 16.0, frame.right + 40
    if x + taken + _COLUMN * len(line) > right:
        x = 4.0
    named = f"probability of {scale.pole} so far"
    if scale.pole is not None and x + taken + _COLUMN * columns(named) <= right:
        line = named
    start = x + taken - 26
    rule = line_path([(start, y - 4), (start + 20, y - 4)])
    return [
        *(mark(x + 5 + 13 * i, y - 4, 4, hue, points) for i, hue in enumerate(hues)),
        text(points, x + 5 + 13 * len(hues), y, fill_opacity=0.75),
        element("path", d=rule, **stroke(None), stroke_width=2.25),
        text(line, x + taken, y, fill_opacity=0.75),
    ]
