"""The plot of accuracy against faithfulness: one row of panels per encoder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from protorynet.report import clean, element, line_path, picture, shorten, spread, text
from protorynet_lab.bench.catalogue import MODELS, ModelKind, data_set
from protorynet_lab.bench.figures import shown
from protorynet_lab.bench.panel import FAINT, RULE, Axis, Panel, Span, span_of
from protorynet_lab.bench.results import Group, Results

__all__ = ["frontier_svg"]

_WIDTH, _LEFT, _RIGHT, _GAP = 1120, 56.0, 132.0, 28.0
_HEAD, _ROW, _TOP, _PLOT = 44.0, 316.0, 56.0, 208.0
_RADIUS = 4.6
# Dark circles are ours, light diamonds the paper's: apart in shape and tone, also without colour.
_OUTLINES = {"ours": "#123f68", "paper": "#a8601a"}
_FILLS = {
    "full": "#123f68",
    "adapter": "#8fb6d8",
    "none": "#ffffff",
    "paper-full": "#f4bd80",
    "paper": "#ffffff",
}
_AXES = (
    Axis("ids_only_gap", "accuracy lost with ids only", 0.005, is_least=False),
    Axis("usage_perplexity", "usage perplexity", 10, is_least=True),
    Axis("n_prototypes", "number of prototypes", 20, is_least=False),
    Axis("match_quality", "match quality", 0.95, is_least=True),
)
_TITLE = "Accuracy against faithfulness, ours and the paper's procedure"


@dataclass(frozen=True)
class _Point:
    """A model's place in a panel."""

    group: Group
    value: float
    accuracy: float


def frontier_svg(results: Results) -> str:
    """Return the plot as a self-contained SVG."""
    groups = [group for group in results.groups if group.kind.has_prototypes]
    groups = [group for group in groups if group.figure("accuracy") is not None]
    encoders = sorted({group.encoder for group in groups})
    height = _HEAD + _ROW * max(1, len(encoders))
    parts = list(_legend(groups))
    for number, encoder in enumerate(encoders):
        own = [group for group in groups if group.encoder == encoder]
        parts += _row(own, encoder, _HEAD + _ROW * number, _scales(groups))
    return picture(_TITLE, parts or [text("Nothing was measured yet.", 24, 40)], _WIDTH, height)


def _scales(groups: Sequence[Group]) -> dict[str, Span]:
    """Return one scale per measure, so that the rows can be compared."""
    means = [_mean(group, "accuracy") for group in groups]
    accuracies = [mean for mean in means if mean is not None]
    scales = {"accuracy": span_of(accuracies, always=max(accuracies))}
    for axis in _AXES:
        values = (point.value for point in _points(groups, axis))
        scales[axis.measure] = span_of(values, always=axis.goal)
    return scales


def _row(
    groups: Sequence[Group], encoder: str, top: float, scales: dict[str, Span]
) -> Iterator[str]:
    room = (_WIDTH - _LEFT - _RIGHT - _GAP * (len(_AXES) - 1)) / len(_AXES)
    panels = [
        Panel(
            left=_LEFT + (room + _GAP) * number,
            right=_LEFT + (room + _GAP) * number + room,
            top=top + _TOP,
            bottom=top + _TOP + _PLOT,
            across=scales[axis.measure],
            up=scales["accuracy"],
        )
        for number, axis in enumerate(_AXES)
    ]
    yield text(encoder, _LEFT, top + 20, font_weight=700, font_size=15)
    middle = top + _TOP + _PLOT / 2
    upright = {"transform": f"rotate(-90 12 {middle:.0f})", "text_anchor": "middle"}
    yield text("accuracy", 12, middle, font_weight=600, **upright)
    yield from _names_of_sets(groups, panels)
    for number, (panel, axis) in enumerate(zip(panels, _AXES, strict=True)):
        yield from panel.scaffold(axis, with_accuracy=number == 0)
        yield from _marks(_points(groups, axis), panel, axis)


def _names_of_sets(groups: Sequence[Group], panels: Sequence[Panel]) -> Iterator[str]:
    """Yield a thin line per data set through all panels, at our accuracy, with its name."""
    heights = {}
    for name in dict.fromkeys(group.set for group in groups):
        ours = _first(groups, name, "ours") or _first(groups, name, "paper")
        if ours is not None:
            heights[name] = panels[-1].y(_mean(ours, "accuracy") or 0.0)
    edge = panels[-1].right
    places = spread([*heights.values()], 14, panels[-1].top + 4, panels[-1].bottom)
    for (name, y), place in zip(heights.items(), places, strict=True):
        for panel in panels:
            yield _rule([(panel.left, y), (panel.right, y)])
        yield _rule([(edge, y), (edge + 6, y), (edge + 16, place), (edge + 20, place)])
        yield text(shorten(data_set(name).title, 17), edge + 24, place + 4)


def _marks(points: Sequence[_Point], panel: Panel, axis: Axis) -> Iterator[str]:
    for name in dict.fromkeys(point.group.set for point in points):
        ends = [
            next((p for p in points if p.group == _first_of(points, name, family)), None)
            for family in ("paper", "ours")
        ]
        if ends[0] is not None and ends[1] is not None:
            places = [(panel.x(end.value), panel.y(end.accuracy)) for end in ends if end]
            yield element(
                "path", d=line_path(places), fill="none", stroke=FAINT, stroke_opacity=0.55
            )
    # The darkest last, so that ours in full lies on top.
    order = [kind.name for kind in MODELS]
    for point in sorted(points, key=lambda p: -order.index(p.group.kind.name)):
        place = (panel.x(point.value), panel.y(point.accuracy))
        yield _mark(point.group.kind, *place, note=_note(point, axis))


def _mark(kind: ModelKind, x: float, y: float, *, note: str = "") -> str:
    look = {
        "fill": _FILLS[kind.name],
        "stroke": _OUTLINES[kind.family],
        "stroke_width": 1.4,
    }
    title = element("title", escape(clean(note))) if note else ""
    if kind.family == "ours":
        return element("circle", title, cx=x, cy=y, r=_RADIUS, **look)
    reach = 1.3 * _RADIUS
    corners = [(x, y - reach), (x + reach, y), (x, y + reach), (x - reach, y)]
    return element("path", title, d=line_path(corners) + "Z", **look)


def _legend(groups: Sequence[Group]) -> Iterator[str]:
    present = {group.kind for group in groups}
    x = _LEFT
    for kind in MODELS:
        if kind in present:
            yield _mark(kind, x + 5, 24)
            yield text(kind.title, x + 16, 28)
            x += 16 + 6.4 * len(kind.title) + 22
    if len({kind.family for kind in present}) > 1:
        yield element("path", d=line_path([(x, 24), (x + 20, 24)]), stroke=FAINT)
        yield text("the same data", x + 27, 28)


def _points(groups: Sequence[Group], axis: Axis) -> list[_Point]:
    found = []
    for group in groups:
        value, accuracy = _mean(group, axis.measure), _mean(group, "accuracy")
        if value is not None and accuracy is not None:
            found.append(_Point(group, value, accuracy))
    return found


def _first(groups: Sequence[Group], name: str, family: str) -> Group | None:
    """Return a family's first model of a data set: that in full, where it was measured."""
    own = (group for group in groups if group.set == name and group.kind.family == family)
    return next(own, None)


def _first_of(points: Sequence[_Point], name: str, family: str) -> Group | None:
    return _first([point.group for point in points], name, family)


def _note(point: _Point, axis: Axis) -> str:
    group = point.group
    return (
        f"{data_set(group.set).title}, {group.kind.title}, {group.encoder}: "
        f"accuracy {shown(group.figure('accuracy'))}, {axis.title} {point.value:.4g}"
    )


def _mean(group: Group, measure: str) -> float | None:
    figure = group.figure(measure)
    return None if figure is None else figure.mean


def _rule(places: list[tuple[float, float]]) -> str:
    return element("path", d=line_path(places), fill="none", stroke=RULE)
