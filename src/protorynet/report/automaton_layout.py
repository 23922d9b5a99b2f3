"""Where states and edges of an automaton lie: an arc diagram, from doubt to belief."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from protorynet.report.wording import columns

if TYPE_CHECKING:
    from protorynet.automaton import Automaton, Edge

__all__ = ["RADIUS", "Arc", "Box", "Label", "Layout", "lay_out"]

RADIUS = 20.0
_SPACING = 112.0
_MARGIN = 64.0
_LOOP = 30.0  # height of a loop over its state
_FIRST = 42.0  # height of the lowest arcs over the labels of the loops, and of each further lane
_LANE = 17.0
_ROW = 14.0  # height of a label
_COLUMN = 6.2  # width of a character of a label, also of a bold one
_LABEL = _SPACING - 6  # width of a label, where it can be cut
_FAINT = 0.01  # edges with less of the busiest one's traffic have no label
_HEADER = 66.0
_SIDE = 16.0  # arcs leave and reach a circle at most so far from its middle, and no nearer than
_INNER = 5.0  # so far, where the loop stands


class Box(NamedTuple):
    """A rectangle."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class Label:
    """What stands at an edge, the middle of its line of text, and the height of that line."""

    text: str
    x: float
    y: float

    @property
    def box(self) -> Box:
        """The room it takes."""
        half = _width(self.text) / 2
        return Box(self.x - half, self.y - 10, self.x + half, self.y + 3)


@dataclass(frozen=True)
class Arc:
    """One drawn edge.

    Parameters
    ----------
    edge
        The edge.
    path
        The curve, as SVG writes it.
    tip
        Where its arrow ends, and whether it points down.
    label
        Its label; none where hardly any sentence goes this way.
    share
        Its traffic as a share of that of the busiest edge.
    """

    edge: Edge
    path: str
    tip: tuple[float, float, bool]
    label: Label | None
    share: float


@dataclass(frozen=True)
class Layout:
    """The size of the picture, the axis, the place of every state and the arcs, faintest first."""

    width: float
    bottom: float
    axis: float
    places: tuple[float, ...]
    arcs: tuple[Arc, ...]


def lay_out(automaton: Automaton) -> Layout:
    """Place the states side by side by rising belief.

    Edges to a stronger belief run above the states, edges to a weaker one below, each in a lane
    over all that it spans, and so high that no two labels touch. Edges that no document took are
    left out.
    """
    n = len(automaton.states)
    taken = sorted(
        (edge for edge in automaton.edges if sum(edge.traffic)),
        key=lambda edge: sum(edge.traffic),
    )
    most = max((sum(edge.traffic) for edge in taken), default=1)
    drawn = [_Drawn(edge, sum(edge.traffic) / most) for edge in taken]
    lanes = {**_rows(drawn), **_lanes(drawn, n, rising=True), **_lanes(drawn, n, rising=False)}
    up, down, loops = (
        1 + max((lanes[each.way] for each in drawn if each.side == side), default=-1)
        for side in (1, -1, 0)
    )
    ground = _FIRST + _ROW * max(loops, 1)
    axis = _HEADER + RADIUS + (ground + _LANE * (up - 1) if up else _LOOP + _ROW * loops) + 20
    width = max(2 * _MARGIN + _SPACING * (n - 1), 560.0)
    first = (width - _SPACING * (n - 1)) / 2
    places = tuple(first + _SPACING * number for number in range(n))
    ports = _ports(taken)
    arcs = tuple(
        _arc(each, places, axis, ports[each.way], ground + _LANE * lanes[each.way])
        if each.side
        else _loop(each, places[each.edge.source], axis, _ROW * lanes[each.way])
        for each in drawn
    )
    bottom = axis + RADIUS + (ground + _LANE * (down - 1) if down else 0) + 28
    return Layout(width, bottom, axis, places, arcs)


@dataclass(frozen=True)
class _Drawn:
    """An edge to be drawn, with its share of the busiest one's traffic."""

    edge: Edge
    share: float

    @property
    def way(self) -> tuple[int, int]:
        return self.edge.source, self.edge.target

    @property
    def side(self) -> int:
        """Above the states (1), below (−1), or a loop (0)."""
        return (self.edge.target > self.edge.source) - (self.edge.target < self.edge.source)

    @property
    def label(self) -> str:
        return _listed(self.edge) if self.share >= _FAINT else ""


def _listed(edge: Edge) -> str:
    """Name the prototypes of an edge, the most frequent first, as many as there is room for."""
    taken = [
        str(number) for number, count in zip(edge.prototypes, edge.traffic, strict=True) if count
    ]
    for shown in range(len(taken), 0, -1):
        more = len(taken) - shown
        text = ", ".join(taken[:shown]) + (f" and {more} more" if more else "")
        if _width(text) <= _LABEL:
            break
    return text


def _width(text: str) -> float:
    return columns(text) * _COLUMN


class _Lane:
    """The room that labels take at one height."""

    def __init__(self) -> None:
        self._taken: list[tuple[float, float]] = []

    def take(self, middle: float, text: str) -> bool:
        """Take the room for a label, unless another one would touch it."""
        half = _width(text) / 2 + 3
        if any(middle - half < end and start < middle + half for start, end in self._taken):
            return False
        self._taken.append((middle - half, middle + half))
        return True


def _lowest(lanes: dict[int, _Lane], least: int, middle: float, text: str) -> int:
    """Return the lowest lane, from some one on, that has room for a label."""
    while text and not lanes[least].take(middle, text):
        least += 1
    return least


def _rows(drawn: list[_Drawn]) -> dict[tuple[int, int], int]:
    """Give the label of every loop a row; the first one, unless labels are very wide."""
    rows: dict[int, _Lane] = defaultdict(_Lane)
    loops = sorted((each for each in drawn if not each.side), key=lambda each: each.way)
    return {each.way: _lowest(rows, 0, _SPACING * each.edge.source, each.label) for each in loops}


def _lanes(drawn: list[_Drawn], n: int, *, rising: bool) -> dict[tuple[int, int], int]:
    """Give every edge of one side a lane higher than those of all edges that it spans."""
    spans = {tuple(sorted(each.way)): each for each in drawn if each.side == (1 if rising else -1)}
    lanes: dict[int, _Lane] = defaultdict(_Lane)
    found: dict[tuple[int, int], int] = {}
    highest = [-1] * n  # by left end, of all edges up to the present length
    for length in range(1, n):
        for left in range(n - length):
            below = max(highest[left], highest[left + 1])
            each = spans.get((left, left + length))
            if each is not None:
                middle = _SPACING * (left + length / 2)
                below = found[each.way] = _lowest(lanes, below + 1, middle, each.label)
            highest[left] = below
    return found


def _ports(edges: list[Edge]) -> dict[tuple[int, int], tuple[float, float]]:
    """Give every edge its own place on both circles, so that short arcs lie inside long ones."""
    sides: dict[tuple[int, str, bool], list[tuple[int, Edge]]] = defaultdict(list)
    for edge in edges:
        span = edge.target - edge.source
        if span:
            sides[edge.source, "out", span > 0].append((abs(span), edge))
            sides[edge.target, "in", span > 0].append((abs(span), edge))
    offsets: dict[tuple[int, int, str], float] = {}
    for (_, end, rises), bundle in sides.items():
        # Arcs leave towards their target; that is to the right for those that rise.
        side = 1 if (end == "out") == rises else -1
        bundle.sort(key=lambda item: item[0])
        for rank, (_, edge) in enumerate(bundle):
            away = _SIDE - (_SIDE - _INNER) * (rank / max(len(bundle) - 1, 1))
            offsets[edge.source, edge.target, end] = side * away
    return {
        (edge.source, edge.target): (
            offsets.get((edge.source, edge.target, "out"), 0.0),
            offsets.get((edge.source, edge.target, "in"), 0.0),
        )
        for edge in edges
    }


def _arc(
    drawn: _Drawn, places: tuple[float, ...], axis: float, ports: tuple[float, float], height: float
) -> Arc:
    edge, up = drawn.edge, drawn.side
    x1, x2 = places[edge.source] + ports[0], places[edge.target] + ports[1]
    y1, y2 = axis - up * _edge_of_circle(ports[0]), axis - up * _edge_of_circle(ports[1])
    apex = axis - up * (RADIUS + height)
    # A cubic curve rises to three quarters of the way to its handles.
    handle = (apex - (y1 + y2) / 8) * 4 / 3
    path = f"M{x1:.1f} {y1:.1f}C{x1:.1f} {handle:.1f} {x2:.1f} {handle:.1f} {x2:.1f} {y2:.1f}"
    middle = (places[edge.source] + places[edge.target]) / 2
    label = Label(drawn.label, middle, apex + 4 - up * 9) if drawn.label else None
    return Arc(edge, path, (x2, y2, up > 0), label, drawn.share)


def _loop(drawn: _Drawn, x: float, axis: float, raised: float) -> Arc:
    y = axis - _edge_of_circle(_INNER)
    top = axis - RADIUS - _LOOP * 4 / 3
    left, right = f"{x - _INNER:.1f}", f"{x + _INNER:.1f}"
    path = f"M{left} {y:.1f}C{x - 20:.1f} {top:.1f} {x + 20:.1f} {top:.1f} {right} {y:.1f}"
    text = drawn.label
    label = Label(text, x, axis - RADIUS - _LOOP - 5 - raised) if text else None
    return Arc(drawn.edge, path, (x + _INNER, y, True), label, drawn.share)


def _edge_of_circle(dx: float) -> float:
    return math.sqrt(RADIUS**2 - dx**2)
