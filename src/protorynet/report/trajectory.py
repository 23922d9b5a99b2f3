"""The trajectory of a document as an SVG: what each prototype says, and where the reader stands."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from protorynet.errors import InputError
from protorynet.report.axes import Frame, frame_of, grid, legend, ticks
from protorynet.report.scale import Reading, Scale, scale_of_explanation
from protorynet.report.svg import dashes, element, fill, line_path, mark, spread, stroke, text
from protorynet.report.wording import clean, percent, score, shorten

if TYPE_CHECKING:
    from protorynet.explain import Explanation, SentenceExplanation

__all__ = ["FONTS", "picture_names", "trajectory_parts", "trajectory_svg", "verdict_reading"]

_SMALLEST = (240, 120)
_FONT = 12
FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif"


def trajectory_svg(explanation: Explanation, *, width: int = 640, height: int = 220) -> str:
    """Return the trajectory as a self-contained SVG.

    Marks are the scores of the sentences' prototypes, the line is the probability after each
    sentence. Lines and texts take the colour of their surroundings, so the picture fits light and
    dark pages; classes differ in shape as well as in colour.

    Parameters
    ----------
    explanation
        The document's explanation.
    width, height
        Size in pixels, at least 240 × 120.

    Examples
    --------
    >>> from protorynet.explain import Explanation, SentenceExplanation
    >>> sure = {"negative": 0.07, "positive": 0.93}
    >>> step = SentenceExplanation(
    ...     "A joy!", 0, 6, 7, "What a delight.", 0.8, None, None, sure, sure, effect=0.43)
    >>> trajectory_svg(Explanation("A joy!", "positive", sure, (step,)))
    '<svg xmlns="http://www.w3.org/2000/svg" ... role="img"...><title>positive, 93%: ...</svg>'
    """
    if width < _SMALLEST[0] or height < _SMALLEST[1]:
        raise InputError(
            f"a trajectory of {width} × {height} pixels is too small to read; "
            f"give at least {_SMALLEST[0]} × {_SMALLEST[1]}."
        )
    scale = scale_of_explanation(explanation)
    return element(
        "svg",
        *picture_names(explanation, scale),
        *trajectory_parts(explanation, scale, width=width, height=height),
        xmlns="http://www.w3.org/2000/svg",
        class_="pn-trajectory",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        font_family=FONTS,
        font_size=_FONT,
    )


def trajectory_parts(
    explanation: Explanation, scale: Scale, *, width: int, height: int
) -> list[str]:
    """Return the elements of a trajectory, for a picture of one's own."""
    frame = frame_of(scale, len(explanation.sentences), width=width, height=height)
    draw = _two_ends if scale.pole is not None else _several_classes
    drawn = draw(explanation, scale, frame) if explanation.sentences else []
    return [*grid(frame, scale), *ticks(frame), *legend(frame, scale), *drawn]


def verdict_reading(explanation: Explanation, scale: Scale) -> Reading:
    """Return the predicted class in the hue of its side, which at one half is no other's."""
    probability = explanation.probabilities.get(explanation.label)
    if probability is None:
        return scale.shown(explanation.probabilities)
    reading = scale.reading(explanation.label, probability)
    if scale.pole is None:
        return reading
    return replace(reading, hue=0 if explanation.label == scale.pole else 1)


def picture_names(explanation: Explanation, scale: Scale) -> tuple[str, str]:
    """Return title and description, which screen readers read out."""
    shown = explanation.probabilities.get(explanation.label)
    verdict = explanation.label or "no class"
    if shown is not None:
        verdict += f", {percent(shown)}"
    count = len(explanation.sentences)
    title = f"{verdict}: trajectory of {count} sentence{'s' if count != 1 else ''}"
    steps = [
        _note(number, step, scale) for number, step in enumerate(explanation.sentences[:40], 1)
    ]
    more = [f"and {count - 40} more sentences"] if count > 40 else []
    description = "; ".join(steps + more) + "."
    return (
        element("title", escape(clean(title))),
        element("desc", escape(clean(description))),
    )


def _note(number: int, step: SentenceExplanation, scale: Scale) -> str:
    shown, running = scale.shown(step.scores), scale.shown(step.running)
    return (
        f"S{number}: prototype {step.prototype}, score {score(shown.value)} for {shown.label}, "
        f"so far {running.label} {percent(running.value)}"
    )


def _tooltip(number: int, step: SentenceExplanation, scale: Scale) -> str:
    sentence, prototype = shorten(step.text, 160), shorten(step.prototype_sentence, 160)
    return f"{_note(number, step, scale)}\n{sentence}\nlike: {prototype}"


def _two_ends(explanation: Explanation, scale: Scale, frame: Frame) -> list[str]:
    steps = explanation.sentences
    running = [scale.shown(step.running) for step in steps]
    scores = [scale.shown(step.scores) for step in steps]
    values = [reading.value for reading in running]
    parts = [_area(frame, values, hue) for hue in (0, 1)]
    parts.append(_score_line(frame, scores))
    weight = 2.25 if frame.step >= 5 else 1.25
    line = _running_line(frame, values)
    parts.append(element("path", d=line, **stroke(None), stroke_width=weight))
    parts.append(
        text(
            percent(values[-1]),
            frame.right + 6,
            frame.y(values[-1]) + 4,
            font_weight=700,
        )
    )
    return parts + _marks(explanation, scale, frame)


def _several_classes(explanation: Explanation, scale: Scale, frame: Frame) -> list[str]:
    steps = explanation.sentences
    final = explanation.probabilities
    winner = explanation.leading_class
    by_probability = sorted(final, key=lambda name: -final[name])
    parts = []
    for name in reversed(by_probability):
        hue = scale.reading(name, 0).hue
        values = [scale.reading(name, step.running[name]).value for step in steps]
        strong = name == winner
        parts.append(
            element(
                "path",
                element("title", escape(clean(f"{name}: {percent(final[name])}"))),
                d=_running_line(frame, values),
                **stroke(hue),
                stroke_width=2.75 if strong else 1.25,
                stroke_opacity=1 if strong else 0.65,
                stroke_dasharray="" if strong else dashes(hue),
            )
        )
    named = by_probability[: int((frame.bottom - frame.top + 20) // 14)]
    last = [scale.reading(name, steps[-1].running[name]) for name in named]
    return parts + _marks(explanation, scale, frame) + _line_labels(frame, last, winner)


def _line_labels(frame: Frame, last: list[Reading], winner: str) -> list[str]:
    ends = [frame.y(reading.value) for reading in last]
    places = spread(ends, 14, frame.top - 8, frame.bottom + 8)
    parts = []
    for reading, y in zip(last, places, strict=True):
        strong = reading.label == winner
        parts.append(mark(frame.right + 4, y, 3.5, reading.hue, reading.label))
        name = shorten(reading.label, frame.right_columns - 5)
        parts.append(
            text(
                f"{name} {percent(reading.value)}",
                frame.right + 12,
                y + 4,
                font_weight=700 if strong else "",
                fill_opacity=1 if strong else 0.75,
            )
        )
    return parts


def _running_line(frame: Frame, values: list[float]) -> str:
    if len(values) == 1:
        x, y = frame.x(0), frame.y(values[0])
        return line_path([(x - 24, y), (x + 24, y)])
    return line_path([(frame.x(i), frame.y(value)) for i, value in enumerate(values)])


def _area(frame: Frame, values: list[float], hue: int) -> str:
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


def _score_line(frame: Frame, scores: list[Reading]) -> str:
    # Joined, hundreds of scores would be a black band.
    if len(scores) < 2 or frame.step < 5:
        return ""
    path = line_path([(frame.x(i), frame.y(reading.value)) for i, reading in enumerate(scores)])
    return element(
        "path",
        d=path,
        **stroke(None),
        stroke_width=1,
        stroke_opacity=0.45,
        stroke_dasharray="2 3",
    )


def _marks(explanation: Explanation, scale: Scale, frame: Frame) -> list[str]:
    parts = []
    radius = min(max(frame.step / 3, 1.6), 4.5)
    for i, step in enumerate(explanation.sentences):
        shown = scale.shown(step.scores)
        tooltip = _tooltip(i + 1, step, scale)
        parts.append(mark(frame.x(i), frame.y(shown.value), radius, shown.hue, tooltip))
    return parts
