"""The trajectory of a document as a picture: what each prototype says, where the reader stands.

It is part of a page, or stands alone with the text beside it, as SVG or PNG.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len

from protorynet.errors import InputError, MissingExtraError
from protorynet.files import write_atomically
from protorynet.report.conventions import (
    HUES,
    UNFAMILIAR,
    Scale,
    ShownClass,
    break_lines,
    format_percent,
    format_points,
    is_member,
    pick_steps,
    printable,
    read_verdict,
    scale_of_explanation,
    shorten,
    warn_unfamiliar,
)
from protorynet.report.svg import (
    DASHES,
    LETTER_WIDTH,
    canvas,
    element,
    fill,
    line_path,
    mark,
    polyline,
    text,
)

if TYPE_CHECKING:
    from protorynet.explain import Explanation, SentenceExplanation


_SMALLEST = (240, 120)
_TICK_STEPS = (1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000, 2000, 5000)
_MOST_DESCRIBED = 40
_NARROW_STEP = 5  # below so many pixels a sentence, lines are thin and scores are not joined
_NARROWEST, _WIDEST = 320, 4000
_WIDE = 640  # from this width on the text stands beside the trajectory, else beneath it
_MARGIN = 24
_MOST_SENTENCES = 12  # of more, those are written that mattered most
_INK, _PAPER = "#1d2127", "#ffffff"
_EM = 0.53  # width of a character, on average and generously
_SMALL: dict[str, object] = {"font_size": 12, "fill_opacity": 0.75}


def trajectory_svg(explanation: Explanation, *, width: int = 640, height: int = 220) -> str:
    """Return the trajectory as a self-contained SVG of at least 240 × 120 pixels.

    Marks are the scores of the sentences' prototypes, the line is the probability after each
    sentence. Lines and texts take the colour of their surroundings, so the picture fits light and
    dark pages; classes differ in shape as well as in colour.
    """
    if width < _SMALLEST[0] or height < _SMALLEST[1]:
        raise InputError(
            f"a trajectory of {width} × {height} pixels is too small to read; "
            f"give at least {_SMALLEST[0]} × {_SMALLEST[1]}."
        )
    scale = scale_of_explanation(explanation)
    parts = draw_trajectory(explanation, scale, width=width, height=height)
    names = name_picture(explanation, scale)
    return canvas(names, parts, width, height, "pn-trajectory")


def draw_trajectory(
    explanation: Explanation, scale: Scale, *, width: int, height: int
) -> list[str]:
    """Return the elements of a trajectory, for a picture of one's own."""
    frame = _make_frame(scale, len(explanation.sentences), width=width, height=height)
    draw = _draw_axis if scale.pole is not None else _draw_classes
    drawn = draw(explanation, scale, frame) if explanation.sentences else []
    return [*_grid(frame, scale), *_ticks(frame), *_legend(frame, scale), *drawn]


def name_picture(explanation: Explanation, scale: Scale) -> tuple[str, str]:
    """Return title and description, which screen readers read out."""
    shown = explanation.probabilities.get(explanation.label)
    verdict = explanation.label or "no class"
    if shown is not None:
        verdict += f", {format_percent(shown)}"
    steps = explanation.sentences
    count = len(steps)
    title = f"{verdict}: trajectory of {count} sentence{'s' if count != 1 else ''}"
    notes = [_describe(i, step, scale) for i, step in enumerate(steps[:_MOST_DESCRIBED], 1)]
    if count > _MOST_DESCRIBED:
        notes.append(f"and {count - _MOST_DESCRIBED} more sentences")
    return title, "; ".join(notes) + "."


def _describe(number: int, step: SentenceExplanation, scale: Scale) -> str:
    shown, running = scale.shown(step.scores), scale.shown(step.running)
    strange = f"{UNFAMILIAR}, nearest " if step.unfamiliar else ""
    return (
        f"S{number}: {strange}prototype {step.prototype}, score {shown.value:.2f} for "
        f"{shown.label}, so far {running.label} {format_percent(running.value)}"
    )


@dataclass(frozen=True)
class _Frame:
    """The plot's edges within a picture of some width, for n sentences."""

    width: int
    left: float
    right: float
    top: float
    bottom: float
    n: int

    def x(self, position: int) -> float:
        """Return the point of a sentence, counted from 0."""
        if self.n == 1:
            return (self.left + self.right) / 2
        inset = min(14.0, self.step / 2)
        return self.left + inset + (self.right - self.left - 2 * inset) * position / (self.n - 1)

    def y(self, value: float) -> float:
        """Return the height of a value between 0 and 1."""
        return self.bottom - (self.bottom - self.top) * value

    def points(self, values: list[float]) -> list[tuple[float, float]]:
        return [(self.x(position), self.y(value)) for position, value in enumerate(values)]

    @property
    def step(self) -> float:
        """Room for one sentence."""
        return (self.right - self.left) / max(self.n, 1)


def _make_frame(scale: Scale, n: int, *, width: int, height: int) -> _Frame:
    """Return a frame that leaves room for the names of the classes."""
    names = scale.classes if scale.pole is None else (scale.pole, scale.opposite)
    widest = min(LETTER_WIDTH * max(map(cell_len, names)), width * 0.24)
    left, right = 42.0, widest + 5 * LETTER_WIDTH + 14
    if scale.pole is not None:
        left, right = max(widest, 4 * LETTER_WIDTH) + 14, 46.0
    return _Frame(width, left, width - right, 36.0, height - 30.0, n)


def _grid(frame: _Frame, scale: Scale) -> list[str]:
    """Return the lines at 0, one half and 1 with their names."""
    ends = {0.0: "0%", 0.5: "50%", 1.0: "100%"}
    if scale.pole is not None:
        ends = {0.0: scale.opposite, 0.5: "0.5", 1.0: scale.pole}
    limit = max(int((frame.left - 14) / LETTER_WIDTH), 4)
    parts = []
    for value, name in ends.items():
        y = frame.y(value)
        look: dict[str, object] = {"stroke_opacity": 0.2}
        if value == 0.5:
            look = {"stroke_opacity": 0.5, "stroke_dasharray": "4 4"}
        parts.append(polyline([(frame.left, y), (frame.right, y)], **look))
        # The names of the two classes are what a reader looks for; numbers may stay in the back.
        look = {"text_anchor": "end", "fill_opacity": 0.65}
        if scale.pole is not None and value != 0.5:
            look = {"text_anchor": "end", "font_weight": 600, "fill_opacity": 0.9}
        parts.append(text(shorten(name, limit), frame.left - 8, y + 4, **look))
    return parts


def _ticks(frame: _Frame) -> list[str]:
    """Return the sentences' numbers, thinned out to round ones where they would run together."""
    widest = LETTER_WIDTH * len(f"S{frame.n}") + 10
    every = next((step for step in _TICK_STEPS if step * frame.step >= widest), max(frame.n, 1))
    shown = list(range(every - 1, frame.n, every))
    if every > 1:
        shown = [0, *(step for step in shown if frame.x(step) - frame.x(0) >= widest)]
    look = {"text_anchor": "middle", "fill_opacity": 0.65}
    return [text(f"S{step + 1}", frame.x(step), frame.bottom + 20, **look) for step in shown]


def _legend(frame: _Frame, scale: Scale) -> list[str]:
    """Return the line that says what marks and lines are."""
    hues = (0, 1) if scale.pole is not None else (0, 1, 2)
    points, line = "the prototype’s score", "probability so far"
    taken = 13 * len(hues) + 5 + LETTER_WIDTH * (len(points) + 1) + 26
    x, y, right = frame.left, 16.0, frame.right + 40
    if x + taken + LETTER_WIDTH * len(line) > right:
        x = 4.0
    named = f"probability of {scale.pole} so far"
    if scale.pole is not None and x + taken + LETTER_WIDTH * cell_len(named) <= right:
        line = named
    start = x + taken - 26
    return [
        *(mark(x + 5 + 13 * i, y - 4, 4, hue, points) for i, hue in enumerate(hues)),
        text(points, x + 5 + 13 * len(hues), y, fill_opacity=0.75),
        polyline([(start, y - 4), (start + 20, y - 4)], stroke_width=2.25),
        text(line, x + taken, y, fill_opacity=0.75),
    ]


def _draw_axis(explanation: Explanation, scale: Scale, frame: _Frame) -> list[str]:
    """Draw two classes as the ends of one axis, with the surface on either side of one half."""
    steps = explanation.sentences
    values = [scale.shown(step.running).value for step in steps]
    parts = [_area(frame, values, hue) for hue in (0, 1)]
    # Joined, hundreds of scores would be a black band.
    if len(steps) > 1 and frame.step >= _NARROW_STEP:
        scores = frame.points([scale.shown(step.scores).value for step in steps])
        look = {"stroke_width": 1, "stroke_opacity": 0.45, "stroke_dasharray": "2 3"}
        parts.append(polyline(scores, **look))
    weight = 2.25 if frame.step >= _NARROW_STEP else 1.25
    parts.append(polyline(_running_points(frame, values), stroke_width=weight))
    end = frame.right + 6, frame.y(values[-1]) + 4
    parts.append(text(format_percent(values[-1]), *end, font_weight=700))
    return parts + _marks(explanation, scale, frame)


def _draw_classes(explanation: Explanation, scale: Scale, frame: _Frame) -> list[str]:
    """Draw a line per class, that of the predicted class in front."""
    steps = explanation.sentences
    final = explanation.probabilities
    winner = explanation.leading_class
    by_probability = sorted(final, key=lambda name: -final[name])
    parts = []
    for name in reversed(by_probability):
        hue = scale.reading(name, 0).hue
        values = [scale.reading(name, step.running[name]).value for step in steps]
        look: dict[str, object] = {"stroke_width": 2.75, "stroke_opacity": 1}
        if name != winner:
            look = {"stroke_width": 1.25, "stroke_opacity": 0.65, "stroke_dasharray": DASHES[hue]}
        note = f"{name}: {format_percent(final[name])}"
        parts.append(polyline(_running_points(frame, values), hue, note, **look))
    named = by_probability[: int((frame.bottom - frame.top + 20) // 14)]
    last = [scale.reading(name, steps[-1].running[name]) for name in named]
    return parts + _marks(explanation, scale, frame) + _line_labels(frame, last, winner)


def _line_labels(frame: _Frame, last: list[ShownClass], winner: str) -> list[str]:
    ends = [frame.y(reading.value) for reading in last]
    limit = int((frame.width - frame.right - 12) / LETTER_WIDTH) - 5
    parts = []
    for reading, y in zip(last, _spread(ends, 14, frame.top - 8, frame.bottom + 8), strict=True):
        parts.append(mark(frame.right + 4, y, 3.5, reading.hue, reading.label))
        look: dict[str, object] = {"fill_opacity": 0.75}
        if reading.label == winner:
            look = {"font_weight": 700, "fill_opacity": 1}
        name = f"{shorten(reading.label, limit)} {format_percent(reading.value)}"
        parts.append(text(name, frame.right + 12, y + 4, **look))
    return parts


def _spread(points: list[float], gap: float, low: float, high: float) -> list[float]:
    """Return the points moved apart by at least a gap, kept in order and within bounds."""
    order = sorted(range(len(points)), key=lambda number: points[number])
    moved = list(points)
    floor = low
    for number in order:
        moved[number] = floor = max(moved[number], floor)
        floor += gap
    ceiling = high
    for number in reversed(order):
        moved[number] = ceiling = min(moved[number], ceiling)
        ceiling -= gap
    return moved


def _running_points(frame: _Frame, values: list[float]) -> list[tuple[float, float]]:
    if len(values) == 1:
        x, y = frame.x(0), frame.y(values[0])
        return [(x - 24, y), (x + 24, y)]
    return frame.points(values)


def _area(frame: _Frame, values: list[float], hue: int) -> str:
    """Return the surface between the running probability and one half, on one side of it."""
    edge: list[tuple[float, float]] = []
    for i, value in enumerate(values):
        before = values[i - 1] if i else value
        if (before - 0.5) * (value - 0.5) < 0:
            part = (0.5 - before) / (value - before)
            edge.append((frame.x(i - 1) + part * (frame.x(i) - frame.x(i - 1)), frame.y(0.5)))
        kept = max(value, 0.5) if hue == 0 else min(value, 0.5)
        edge.append((frame.x(i), frame.y(kept)))
    base = [(frame.x(len(values) - 1), frame.y(0.5)), (frame.x(0), frame.y(0.5))]
    return element("path", d=line_path(edge + base) + "Z", **fill(hue), fill_opacity=0.16)


def _marks(explanation: Explanation, scale: Scale, frame: _Frame) -> list[str]:
    parts = []
    radius = min(max(frame.step / 3, 1.6), 4.5)
    for i, step in enumerate(explanation.sentences):
        shown = scale.shown(step.scores)
        sentence, prototype = shorten(step.text, 160), shorten(step.prototype_sentence, 160)
        note = f"{_describe(i + 1, step, scale)}\n{sentence}\nlike: {prototype}"
        if is_member(step):
            note += f"\nof prototype {step.prototype}: {shorten(step.headline, 160)}"
        parts.append(mark(frame.x(i), frame.y(shown.value), radius, shown.hue, note))
    return parts


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
    )
    parts = [
        element("rect", width=width, height=height, fill=_PAPER),
        element("g", *head, *written, transform=f"translate({_MARGIN} 0)"),
        chart,
    ]
    names = name_picture(explanation, scale)
    return canvas(names, parts, width, height, color=_INK)


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
    numbered, n = pick_steps(explanation, _MOST_SENTENCES), len(explanation.sentences)
    heading = "Sentences, and what each is most like"
    if len(numbered) < n:
        heading = f"The {len(numbered)} of {n} sentences that matter most"
    effect = text("Effect", wide, top + 16, text_anchor="end", **_SMALL)
    parts = [text(heading, 0, top + 16, **_SMALL), effect]
    y = top + 42.0
    indent = 26 + 7 * len(str(n))
    for number, step in numbered:
        drawn, y = _write_sentence(step, number, scale, indent, wide, y)
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
        text(effect, wide, y, text_anchor="end", **_SMALL),
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
