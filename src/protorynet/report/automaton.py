"""An automaton as an SVG: levels of belief, and the sentences that lead from one to another."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from protorynet.report.automaton_layout import RADIUS, Arc, Label, Layout, lay_out
from protorynet.report.svg import element, fill, line_path, stroke, text
from protorynet.report.wording import clean, columns, percent, shorten

if TYPE_CHECKING:
    from protorynet.automaton import Automaton, Edge, State
    from protorynet.prototypes import Prototypes

__all__ = ["automaton_svg"]

_COLUMN = 6.6  # width of a character of the font, on average and generously
_MOST_NAMED = 40
_LINE = 18.0
_HALO = "paint-order:stroke;stroke:var(--pn-panel,var(--pn-paper,Canvas));stroke-width:4px"
_ALONE = "color-scheme:light dark;color:CanvasText;background:Canvas"


def automaton_svg(
    automaton: Automaton,
    prototypes: Prototypes,
    *,
    standalone: bool = False,
    listed: bool = True,
) -> str:
    """Return an automaton as a self-contained SVG.

    States stand side by side by rising belief in the class; arcs above them are sentences that
    raise it, arcs below are sentences that lower it. Colour only repeats what the place says.

    Parameters
    ----------
    automaton
        The automaton.
    prototypes
        The model's prototypes, whose sentences the picture shows.
    standalone
        Whether the picture is a file of its own, which must bring its background with it.
    listed
        Whether the prototypes' sentences stand below; a page that lists them already needs none.
    """
    layout = lay_out(automaton)
    sentences = {item.id: item.caption for item in prototypes}
    key, height = _legend(automaton, layout)
    if listed:
        names, height = _sentences(automaton, sentences, layout, height + 12)
        key += names
    return element(
        "svg",
        element("title", escape(clean(_headline(automaton)))),
        element("desc", escape(clean(_description(automaton)))),
        *_header(automaton, layout),
        element("g", *(_curve(arc, sentences) for arc in layout.arcs)),
        *_start(automaton, layout),
        *(
            _circle(state, x, layout.axis, automaton.label)
            for state, x in zip(automaton.states, layout.places, strict=True)
        ),
        *(_label(arc, arc.label, sentences) for arc in layout.arcs if arc.label),
        *key,
        xmlns="http://www.w3.org/2000/svg",
        class_="pn-automaton",
        viewBox=f"0 0 {layout.width:.0f} {height:.0f}",
        width=round(layout.width),
        height=round(height),
        role="img",
        font_family="system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
        font_size=12,
        style=f"--pn-width:{layout.width:.0f}px" + f";{_ALONE}" * standalone,
    )


def _headline(automaton: Automaton) -> str:
    states = len(automaton.states)
    return f"How the model comes to “{automaton.label}”: {states} state{'s' * (states != 1)}"


def _description(automaton: Automaton) -> str:
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


def _header(automaton: Automaton, layout: Layout) -> list[str]:
    unseen = automaton.fidelity_held_out is not None
    documents = f"{automaton.n_held_out if unseen else automaton.n_train:,}"
    told = (
        f"It decides as the model does for {100 * automaton.fidelity:.1f}% of {documents} "
        f"{'texts held out' if unseen else 'texts it was learnt from'}."
    )
    room = int((layout.width - 32) / _COLUMN)
    return [
        text(shorten(_headline(automaton), room - 14), 16, 24, font_size=15, font_weight=700),
        text(shorten(told, room), 16, 44, fill_opacity=0.75),
    ]


def _curve(arc: Arc, sentences: dict[int, str]) -> str:
    hue = _hue(arc.edge)
    faint = arc.label is None
    x, y, down = arc.tip
    # Most sentences change nothing; drawn to scale, loops would hide everything else.
    weight = 0.8 if faint else 1 + (2 if hue is None else 6) * arc.share**0.5
    size = 3 + weight
    back = -size * 1.5 if down else size * 1.5
    head = line_path([(x, y), (x - size * 0.8, y + back), (x + size * 0.8, y + back)]) + "Z"
    solid = {"fill": "currentColor"} if hue is None else fill(hue)
    return element(
        "g",
        element("title", escape(clean(_tooltip(arc.edge, sentences)))),
        element(
            "path",
            d=arc.path,
            **stroke(hue),
            stroke_width=weight,
            stroke_dasharray="3 3" if faint else "",
            stroke_linecap="butt",
        ),
        element("path", d=head, **solid),
        opacity=0.45 if faint else 0.55 + 0.35 * arc.share**0.5,
    )


def _hue(edge: Edge) -> int | None:
    if edge.source == edge.target:
        return None
    return 0 if edge.target > edge.source else 1


def _tooltip(edge: Edge, sentences: dict[int, str]) -> str:
    lines = [f"from state {edge.source} to state {edge.target}: {sum(edge.traffic):,} sentences"]
    for number, count in zip(edge.prototypes, edge.traffic, strict=True):
        if count:
            lines.append(f"{number} ({count:,}): {shorten(sentences[number], 100)}")
    return "\n".join(lines)


def _label(arc: Arc, label: Label, sentences: dict[int, str]) -> str:
    return element(
        "text",
        element("title", escape(clean(_tooltip(arc.edge, sentences)))),
        escape(label.text),
        x=label.x,
        y=label.y,
        fill="currentColor",
        text_anchor="middle",
        font_size=11,
        font_weight=600 if arc.share > 0.25 else "",
        style=_HALO,
    )


def _circle(state: State, x: float, y: float, label: str) -> str:
    hue = 0 if state.accepting else 1
    verdict = label if state.accepting else f"not {label}"
    note = (
        f"state {state.number}: mean belief in {label} {percent(state.belief)}, "
        f"visited {state.visits:,} times; a text that ends here is {verdict}"
    )
    paper = "fill:var(--pn-panel,var(--pn-paper,Canvas))"
    rings = [RADIUS, RADIUS - 3.5] if state.accepting else [RADIUS]
    return element(
        "g",
        element("title", escape(clean(note))),
        element("circle", cx=x, cy=y, r=RADIUS, fill="none", style=paper),
        element("circle", cx=x, cy=y, r=RADIUS, **fill(hue), fill_opacity=0.18),
        *(element("circle", cx=x, cy=y, r=r, **stroke(hue), stroke_width=1.75) for r in rings),
        text(str(state.number), x, y + 1, text_anchor="middle", font_size=14, font_weight=700),
        text(percent(state.belief), x, y + 12, text_anchor="middle", font_size=9, fill_opacity=0.8),
    )


def _start(automaton: Automaton, layout: Layout) -> list[str]:
    tip = layout.places[automaton.start] - RADIUS - 2
    y = layout.axis
    return [
        element(
            "path",
            d=line_path([(tip - 24, y), (tip - 7, y)]),
            **stroke(None),
            stroke_width=2,
        ),
        element(
            "path",
            d=line_path([(tip, y), (tip - 9, y - 5), (tip - 9, y + 5)]) + "Z",
            fill="currentColor",
        ),
        text("start", tip - 14, y - 8, text_anchor="middle", font_size=10, font_weight=600),
    ]


def _legend(automaton: Automaton, layout: Layout) -> tuple[list[str], float]:
    """Return how to read the picture, and where that ends."""
    name = shorten(automaton.label, 24)
    legend = (
        f"Circles: levels of belief in “{name}”, with the model’s mean probability; double if a "
        "text that ends there is given the class.",
        "Arcs above: sentences that raise the belief, by the ids of their prototypes; below: that "
        "lower it; loops: that leave it.",
        "The thicker, the more sentences; dashed: hardly any. Ways that no text took are left out.",
    )
    y = layout.bottom + 14
    parts = []
    room = int((layout.width - 32) / _COLUMN)
    for line in (piece for entry in legend for piece in _wrapped(entry, room)):
        parts.append(text(line, 16, y, fill_opacity=0.75))
        y += 16
    return parts, y


def _sentences(
    automaton: Automaton, sentences: dict[int, str], layout: Layout, y: float
) -> tuple[list[str], float]:
    """Return the prototypes' sentences from some height on, and where they end."""
    used = _by_traffic(automaton)[:_MOST_NAMED]
    two = layout.width >= 700
    rows = -(-len(used) // 2) if two else len(used)
    wide = (layout.width - 32) / (2 if two else 1)
    parts = []
    for place, number in enumerate(sorted(used)):
        x = 16 + wide * (place // rows)
        height = y + _LINE * (place % rows)
        parts.append(text(str(number), x + 20, height, text_anchor="end", font_weight=700))
        parts.append(text(shorten(sentences[number], int((wide - 44) / _COLUMN)), x + 28, height))
    return parts, y + _LINE * rows


def _by_traffic(automaton: Automaton) -> list[int]:
    counts = dict.fromkeys(automaton.prototypes, 0)
    for edge in automaton.edges:
        for number, count in zip(edge.prototypes, edge.traffic, strict=True):
            counts[number] += count
    return sorted((number for number in counts if counts[number]), key=lambda i: (-counts[i], i))


def _wrapped(line: str, room: int) -> list[str]:
    lines = [""]
    for word in line.split():
        if lines[-1] and columns(lines[-1]) + 1 + columns(word) > room:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
