"""An automaton as an SVG: levels of belief, and the sentences that lead from one to another."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from rich.cells import cell_len

from protorynet.report.conventions import break_lines, format_percent, shorten
from protorynet.report.svg import (
    LETTER_WIDTH,
    canvas,
    element,
    fill,
    line_path,
    polyline,
    stroke,
    text,
    tooltip,
)

if TYPE_CHECKING:
    from protorynet.automaton import Automaton, Edge, State
    from protorynet.prototypes import Prototypes

_RADIUS = 20.0  # of a state's circle
_SPACING = 112.0  # between the middles of two states
_MARGIN = 64.0
_LOOP = 30.0  # height of a loop over its state
_FIRST = 56.0  # height of the lowest arcs, over the labels of the loops, and of each further lane
_LANE = 17.0
_LABEL_LETTER = 6.2  # width of a character of a label, also of a bold one
_WIDEST_LABEL = _SPACING - 6
_FAINT = 0.01  # edges with less of the busiest one's traffic have no label
_HEADER = 66.0
_SIDE = 16.0  # arcs leave and reach a circle at most so far from its middle, and no nearer than
_INNER = 5.0  # so far, where the loop stands

_MOST_NAMED = 40
_LINE = 18.0
_PAPER = "var(--pn-panel,var(--pn-paper,Canvas))"
_HALO = f"paint-order:stroke;stroke:{_PAPER};stroke-width:4px"
_ALONE = "color-scheme:light dark;color:CanvasText;background:Canvas"


def automaton_svg(
    automaton: Automaton, prototypes: Prototypes, *, standalone: bool = False, listed: bool = True
) -> str:
    """Return an automaton as a self-contained SVG.

    States stand side by side by rising belief in the class; arcs above them are sentences that
    raise it, arcs below are sentences that lower it. Colour only repeats what the position says.
    A `standalone` file brings its background; if `listed`, the prototypes' sentences stand below.
    """
    layout = _lay_out(automaton)
    sentences = {item.id: item.caption for item in prototypes}
    key, height = _legend(automaton, layout)
    if listed:
        names, height = _list_sentences(automaton, sentences, layout, height + 12)
        key += names
    parts = [
        *_header(automaton, layout),
        element("g", *(_draw_arc(arc, sentences) for arc in layout.arcs)),
        *_draw_start(layout.points[automaton.start] - _RADIUS - 2, layout.axis),
        *(
            _draw_state(state, x, layout.axis, automaton.label)
            for state, x in zip(automaton.states, layout.points, strict=True)
        ),
        *(_write_label(arc, sentences) for arc in layout.arcs if arc.label),
        *key,
    ]
    return canvas(
        (_headline(automaton), _describe(automaton)),
        parts,
        layout.width,
        height,
        "pn-automaton",
        style=f"--pn-width:{layout.width:.0f}px" + f";{_ALONE}" * standalone,
    )


class _Arc:
    """One edge to be drawn: above the states (`side` 1), below (-1), or a loop (0).

    `share` is its traffic as a share of the busiest edge's. The layout adds the rest: which lane
    it runs in, how far from the middle of the two states it leaves and reaches them, and its path.
    """

    def __init__(self, edge: Edge, most: int) -> None:
        self.edge = edge
        self.side = (edge.target > edge.source) - (edge.target < edge.source)
        self.share = sum(edge.traffic) / most
        self.label = _name_prototypes(edge) if self.share >= _FAINT else ""
        self.lane = 0
        self.offsets = [0.0, 0.0]
        self.path = ""
        self.tip = self.label_at = 0.0, 0.0

    @property
    def hue(self) -> int | None:
        return {1: 0, -1: 1}.get(self.side)

    @property
    def span(self) -> tuple[int, int]:
        """The leftmost and the rightmost state."""
        return min(self.edge.source, self.edge.target), max(self.edge.source, self.edge.target)

    def bend(self, points: list[float], axis: float) -> None:
        """Rise as high as the lane over the circles of the two states, and leave and reach them."""
        ends = points[self.edge.source], points[self.edge.target]
        x1, x2 = (end + offset for end, offset in zip(ends, self.offsets, strict=True))
        y1, y2 = (axis - self.side * math.sqrt(_RADIUS**2 - each**2) for each in self.offsets)
        apex = axis - self.side * (_RADIUS + _FIRST + _LANE * self.lane)
        # A cubic curve rises to three quarters of the way to its handles.
        top = (apex - (y1 + y2) / 8) * 4 / 3
        self.path = f"M{x1:.1f} {y1:.1f}C{x1:.1f} {top:.1f} {x2:.1f} {top:.1f} {x2:.1f} {y2:.1f}"
        self.tip = x2, y2
        self.label_at = sum(ends) / 2, apex + 4 - self.side * 9

    def bend_to_loop(self, x: float, axis: float) -> None:
        y, top = axis - math.sqrt(_RADIUS**2 - _INNER**2), axis - _RADIUS - _LOOP * 4 / 3
        left, right = f"{x - _INNER:.1f}", f"{x + _INNER:.1f}"
        self.path = f"M{left} {y:.1f}C{x - 20:.1f} {top:.1f} {x + 20:.1f} {top:.1f} {right} {y:.1f}"
        self.tip = x + _INNER, y
        self.label_at = x, axis - _RADIUS - _LOOP - 5


@dataclass(frozen=True)
class _Layout:
    """The size of the picture, the axis, the point of every state and the arcs, faintest first."""

    width: float
    bottom: float
    axis: float
    points: list[float]
    arcs: list[_Arc]


def _lay_out(automaton: Automaton) -> _Layout:
    """Place the states by rising belief, and edges in lanes so high that no two labels touch.

    Edges to a stronger belief run above the states, others below; those never taken are left out.
    """
    n = len(automaton.states)
    taken = sorted(
        (edge for edge in automaton.edges if sum(edge.traffic)), key=lambda edge: sum(edge.traffic)
    )
    arcs = [_Arc(edge, sum(taken[-1].traffic)) for edge in taken]
    up, down = (_assign_lanes(arcs, n, side=side) for side in (1, -1))
    _assign_ports(arcs)
    above = _FIRST + _LANE * (up - 1) if up else _LOOP + 14
    axis = _HEADER + _RADIUS + above + 20
    width = max(2 * _MARGIN + _SPACING * (n - 1), 560.0)
    first = (width - _SPACING * (n - 1)) / 2
    points = [first + _SPACING * number for number in range(n)]
    for arc in arcs:
        if arc.side:
            arc.bend(points, axis)
        else:
            arc.bend_to_loop(points[arc.edge.source], axis)
    bottom = axis + _RADIUS + (_FIRST + _LANE * (down - 1) if down else 0) + 28
    return _Layout(width, bottom, axis, points, arcs)


def _name_prototypes(edge: Edge) -> str:
    """Name the prototypes of an edge, the most frequent first, as many as there is room for."""
    taken = [
        str(number) for number, count in zip(edge.prototypes, edge.traffic, strict=True) if count
    ]
    for shown in range(len(taken), 0, -1):
        more = len(taken) - shown
        label = ", ".join(taken[:shown]) + (f" and {more} more" if more else "")
        if cell_len(label) * _LABEL_LETTER <= _WIDEST_LABEL:
            break
    return label


def _assign_lanes(arcs: list[_Arc], n: int, *, side: int) -> int:
    """Put every edge of one side in a lane above all edges that it spans; return how many."""
    spans = {arc.span: arc for arc in arcs if arc.side == side}
    labels: dict[int, list[tuple[float, float]]] = defaultdict(list)  # their ends in each lane
    highest = [-1] * n  # by left end, of all edges up to the present length
    for length in range(1, n):
        for left in range(n - length):
            lane = max(highest[left], highest[left + 1])
            arc = spans.get((left, left + length))
            if arc is not None:
                lane += 1
                middle = _SPACING * (left + length / 2)
                half = cell_len(arc.label) * _LABEL_LETTER / 2 + 3
                low, high = middle - half, middle + half
                while arc.label and any(low < end and start < high for start, end in labels[lane]):
                    lane += 1
                if arc.label:
                    labels[lane].append((low, high))
                arc.lane = lane
            highest[left] = lane
    return 1 + max(highest)


def _assign_ports(arcs: list[_Arc]) -> None:
    """Give every edge its own point on both circles, so that short arcs lie inside long ones."""
    bundles: dict[tuple[int, int, int], list[_Arc]] = defaultdict(list)
    for arc in arcs:
        if arc.side:
            bundles[arc.edge.source, 0, arc.side].append(arc)
            bundles[arc.edge.target, 1, arc.side].append(arc)
    for (_, end, side), bundle in bundles.items():
        # Arcs leave towards their target; that is to the right for those that rise.
        direction = side if end == 0 else -side
        bundle.sort(key=lambda arc: arc.span[1] - arc.span[0])
        for rank, arc in enumerate(bundle):
            away = _SIDE - (_SIDE - _INNER) * (rank / max(len(bundle) - 1, 1))
            arc.offsets[end] = direction * away


def _headline(automaton: Automaton) -> str:
    states = len(automaton.states)
    return f"How the model comes to “{automaton.label}”: {states} state{'s' * (states != 1)}"


def _describe(automaton: Automaton) -> str:
    ways = (
        f"from {edge.source} to {edge.target} by {', '.join(map(str, edge.prototypes))}"
        for edge in automaton.edges
        if sum(edge.traffic)
    )
    accepting = ", ".join(str(state.number) for state in automaton.states if state.accepting)
    return (
        f"Start in state {automaton.start}. Texts that end in {accepting or 'no state'} are given "
        f"the class. Transitions by prototype: {'; '.join(ways)}."
    )


def _header(automaton: Automaton, layout: _Layout) -> list[str]:
    unseen = automaton.fidelity_held_out is not None
    documents = f"{automaton.n_held_out if unseen else automaton.n_train:,}"
    fidelity = (
        f"It decides as the model does for {100 * automaton.fidelity:.1f}% of {documents} "
        f"{'texts held out' if unseen else 'texts it was learned from'}."
    )
    limit = int((layout.width - 32) / LETTER_WIDTH)
    return [
        text(shorten(_headline(automaton), limit - 14), 16, 24, font_size=15, font_weight=700),
        text(shorten(fidelity, limit), 16, 44, fill_opacity=0.75),
    ]


def _draw_arc(arc: _Arc, sentences: dict[int, str]) -> str:
    x, y = arc.tip
    # Most sentences change nothing; drawn to scale, loops would hide everything else.
    weight = 1 + (6 if arc.side else 2) * arc.share**0.5 if arc.label else 0.8
    size = 3 + weight
    back = size * 1.5 if arc.side < 0 else -size * 1.5
    head = line_path([(x, y), (x - size * 0.8, y + back), (x + size * 0.8, y + back)]) + "Z"
    look = {"stroke_width": weight, "stroke_dasharray": "" if arc.label else "3 3"}
    return element(
        "g",
        tooltip(_list_traffic(arc.edge, sentences)),
        element("path", d=arc.path, **stroke(arc.hue), **look, stroke_linecap="butt"),
        element("path", d=head, **({"fill": "currentColor"} if arc.hue is None else fill(arc.hue))),
        opacity=0.55 + 0.35 * arc.share**0.5 if arc.label else 0.45,
    )


def _list_traffic(edge: Edge, sentences: dict[int, str]) -> str:
    lines = [f"from state {edge.source} to state {edge.target}: {sum(edge.traffic):,} sentences"]
    for number, count in zip(edge.prototypes, edge.traffic, strict=True):
        if count:
            lines.append(f"{number} ({count:,}): {shorten(sentences[number], 100)}")
    return "\n".join(lines)


def _write_label(arc: _Arc, sentences: dict[int, str]) -> str:
    return element(
        "text",
        tooltip(_list_traffic(arc.edge, sentences)),
        escape(arc.label),
        x=arc.label_at[0],
        y=arc.label_at[1],
        fill="currentColor",
        text_anchor="middle",
        font_size=11,
        font_weight=600 if arc.share > 0.25 else "",
        style=_HALO,
    )


def _draw_state(state: State, x: float, y: float, label: str) -> str:
    hue = 0 if state.accepting else 1
    verdict = label if state.accepting else f"not {label}"
    belief = format_percent(state.belief)
    note = (
        f"state {state.number}: mean belief in {label} {belief}, "
        f"visited {state.visits:,} times; a text that ends here is {verdict}"
    )
    rings = [_RADIUS, _RADIUS - 3.5] if state.accepting else [_RADIUS]
    return element(
        "g",
        tooltip(note),
        element("circle", cx=x, cy=y, r=_RADIUS, fill="none", style=f"fill:{_PAPER}"),
        element("circle", cx=x, cy=y, r=_RADIUS, **fill(hue), fill_opacity=0.18),
        *(element("circle", cx=x, cy=y, r=r, **stroke(hue), stroke_width=1.75) for r in rings),
        text(str(state.number), x, y + 1, text_anchor="middle", font_size=14, font_weight=700),
        text(belief, x, y + 12, text_anchor="middle", font_size=9, fill_opacity=0.8),
    )


def _draw_start(tip: float, y: float) -> list[str]:
    head = line_path([(tip, y), (tip - 9, y - 5), (tip - 9, y + 5)]) + "Z"
    return [
        polyline([(tip - 24, y), (tip - 7, y)], stroke_width=2),
        element("path", d=head, fill="currentColor"),
        text("start", tip - 14, y - 8, text_anchor="middle", font_size=10, font_weight=600),
    ]


def _legend(automaton: Automaton, layout: _Layout) -> tuple[list[str], float]:
    """Return how to read the picture, and where that ends."""
    legend = (
        f"Circles: levels of belief in “{shorten(automaton.label, 24)}”, with the model’s mean "
        "probability; double if a text that ends there is given the class.",
        "Arcs above: sentences that raise the belief, by the ids of their prototypes; below: that "
        "lower it; loops: that leave it.",
        "The thicker, the more sentences; dashed: hardly any. Ways that no text took are left out.",
    )
    y = layout.bottom + 14
    parts = []
    limit = int((layout.width - 32) / LETTER_WIDTH)
    for line in (piece for entry in legend for piece in break_lines(entry, limit)):
        parts.append(text(line, 16, y, fill_opacity=0.75))
        y += 16
    return parts, y


def _list_sentences(
    automaton: Automaton, sentences: dict[int, str], layout: _Layout, y: float
) -> tuple[list[str], float]:
    """Return the sentences of the busiest prototypes from some height on, and where they end."""
    traffic: Counter[int] = Counter()
    for edge in automaton.edges:
        traffic.update(dict(zip(edge.prototypes, edge.traffic, strict=True)))
    used = sorted(number for number, count in traffic.most_common(_MOST_NAMED) if count)
    two = layout.width >= 700
    lines = -(-len(used) // 2) if two else len(used)
    wide = (layout.width - 32) / (2 if two else 1)
    parts = []
    for at, number in enumerate(used):
        x = 16 + wide * (at // lines)
        height = y + _LINE * (at % lines)
        parts.append(text(str(number), x + 20, height, text_anchor="end", font_weight=700))
        caption = shorten(sentences[number], int((wide - 44) / LETTER_WIDTH))
        parts.append(text(caption, x + 28, height))
    return parts, y + _LINE * lines
