"""Where states and edges of an automaton lie: an arc diagram, from doubt to belief."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from protorynet.automaton import Automaton, Edge

__all__ = ["RADIUS", "Arc", "Layout", "lay_out"]

RADIUS = 20.0
_MARGIN = 64.0
_LOOP = 30.0  # height of a loop over its state
_FIRST = 56.0  # height of an arc to the next state, and how much higher each further one goes
_FURTHER = 21.0
_HEADER = 66.0
_SIDE = 16.0  # arcs leave and reach a circle at most so far from its middle, and no nearer than
_INNER = 5.0  # so far, where the loop stands


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
        Where its label stands.
    share
        Its traffic as a share of that of the busiest edge.
    """

    edge: Edge
    path: str
    tip: tuple[float, float, bool]
    label: tuple[float, float]
    share: float


@dataclass(frozen=True)
class Layout:
    """The size of the picture, the axis, the place of every state and the arcs, faintest first."""

    width: float
    bottom: float
    axis: float
    spacing: float
    places: tuple[float, ...]
    arcs: tuple[Arc, ...]


def lay_out(automaton: Automaton) -> Layout:
    """Place the states side by side by rising belief.

    Edges to a stronger belief run above the states, edges to a weaker one below; the further they
    go, the higher they rise, so that no two labels share a place. Edges that no document took are
    left out.
    """
    n = len(automaton.states)
    spacing = 104.0 if n <= 11 else 84.0
    taken = [edge for edge in automaton.edges if sum(edge.traffic)]
    up = max((edge.target - edge.source for edge in taken), default=0)
    down = max((edge.source - edge.target for edge in taken), default=0)
    axis = _HEADER + RADIUS + max(_height(up), _LOOP + 6) + 20
    width = max(2 * _MARGIN + spacing * (n - 1), 560.0)
    first = (width - spacing * (n - 1)) / 2
    places = tuple(first + spacing * number for number in range(n))
    most = max((sum(edge.traffic) for edge in taken), default=1)
    ports = _ports(taken)
    arcs = [
        _arc(edge, places, axis, ports[edge.source, edge.target], sum(edge.traffic) / most)
        for edge in sorted(taken, key=lambda edge: sum(edge.traffic))
    ]
    bottom = axis + RADIUS + (_height(down) if down else 0) + 28
    return Layout(width, bottom, axis, spacing, places, tuple(arcs))


def _height(span: int) -> float:
    return _FIRST + _FURTHER * (span - 1) if span else 0.0


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
    edge: Edge, places: tuple[float, ...], axis: float, ports: tuple[float, float], share: float
) -> Arc:
    span = edge.target - edge.source
    if not span:
        return _loop(edge, places[edge.source], axis, share)
    up = 1 if span > 0 else -1
    x1, x2 = places[edge.source] + ports[0], places[edge.target] + ports[1]
    y1, y2 = axis - up * _edge_of_circle(ports[0]), axis - up * _edge_of_circle(ports[1])
    apex = axis - up * (RADIUS + _height(abs(span)))
    # A cubic curve rises to three quarters of the way to its handles.
    handle = (apex - (y1 + y2) / 8) * 4 / 3
    path = f"M{x1:.1f} {y1:.1f}C{x1:.1f} {handle:.1f} {x2:.1f} {handle:.1f} {x2:.1f} {y2:.1f}"
    return Arc(edge, path, (x2, y2, up > 0), ((x1 + x2) / 2, apex + 4 - up * 9), share)


def _loop(edge: Edge, x: float, axis: float, share: float) -> Arc:
    y = axis - _edge_of_circle(_INNER)
    top = axis - RADIUS - _LOOP * 4 / 3
    left, right = f"{x - _INNER:.1f}", f"{x + _INNER:.1f}"
    path = f"M{left} {y:.1f}C{x - 20:.1f} {top:.1f} {x + 20:.1f} {top:.1f} {right} {y:.1f}"
    return Arc(edge, path, (x + _INNER, y, True), (x, axis - RADIUS - _LOOP - 5), share)


def _edge_of_circle(dx: float) -> float:
    return math.sqrt(RADIUS**2 - dx**2)
