"""Elements, marks and labels of our own SVG; every text and attribute is escaped here."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from protorynet.report.scale import HUES
from protorynet.report.wording import clean

__all__ = [
    "dashes",
    "element",
    "fill",
    "line_path",
    "mark",
    "picture",
    "spread",
    "stroke",
    "text",
]

# One shape per hue, so that classes are told apart without colour. Unit paths, scaled by a radius.
_SHAPES: tuple[tuple[tuple[float, float], ...], ...] = (
    (),
    ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    ((0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
    ((0, 1.2), (1.15, -0.9), (-1.15, -0.9)),
    ((0, -1.2), (1.15, -0.35), (0.7, 1), (-0.7, 1), (-1.15, -0.35)),
    ((-1.2, -0.6), (1.2, -0.6), (1.2, 0.6), (-1.2, 0.6)),
    ((-0.6, -1.2), (0.6, -1.2), (0.6, 1.2), (-0.6, 1.2)),
)
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 3", "12 4", "1 4", "9 2 1 2 1 2")


def element(name: str, /, *children: str, **attributes: object) -> str:
    """Return an element; children are markup already, attributes are escaped.

    Examples
    --------
    >>> element("circle", r=2.5, stroke_width=1, class_="a<b")
    '<circle r="2.5" stroke-width="1" class="a&lt;b"/>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value != ""
    )
    inner = "".join(children)
    return f"<{name}{written}>{inner}</{name}>" if inner else f"<{name}{written}/>"


def picture(title: str, parts: Iterable[str], width: float, height: float) -> str:
    """Return a picture that stands alone in a file: dark on white, whatever page it is put on.

    Examples
    --------
    >>> picture("Speed", [text("fast", 2, 12)], 40, 20)  # doctest: +ELLIPSIS
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20" ...><title>Speed</title>...</svg>'
    """
    return element(
        "svg",
        element("title", escape(clean(title))),
        element("rect", width="100%", height="100%", fill="#ffffff"),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=round(width),
        height=round(height),
        role="img",
        color="#1f2328",
        font_family="system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
        font_size=12,
    )


def text(content: str, x: float, y: float, **attributes: object) -> str:
    """Return a text element in the colour of its surroundings."""
    return element("text", escape(clean(content)), x=x, y=y, fill="currentColor", **attributes)


def fill(hue: int) -> dict[str, object]:
    """Return the attributes of a surface in a hue, which a page's styles may override."""
    return {"fill": HUES[hue], "class_": f"pn-fill pn-hue-{hue}"}


def stroke(hue: int | None) -> dict[str, object]:
    """Return the attributes of a line in a hue, or in the colour of the text."""
    if hue is None:
        return {"fill": "none", "stroke": "currentColor"}
    return {"fill": "none", "stroke": HUES[hue], "class_": f"pn-stroke pn-hue-{hue}"}


def dashes(hue: int) -> str:
    """Return the dash pattern that tells a hue's line from others without colour."""
    return _DASHES[hue]


def line_path(points: list[tuple[float, float]]) -> str:
    """Return the path through points.

    Examples
    --------
    >>> line_path([(0, 1), (2.25, 3)])
    'M0 1L2.25 3'
    """
    return "M" + "L".join(f"{_value(x)} {_value(y)}" for x, y in points)


def mark(x: float, y: float, radius: float, hue: int, title: str) -> str:
    """Return a hue's mark with its tooltip."""
    note = element("title", escape(clean(title)))
    shape = _SHAPES[hue]
    if not shape:
        return element("circle", note, cx=x, cy=y, r=radius, **fill(hue))
    path = line_path([(x + radius * dx, y + radius * dy) for dx, dy in shape]) + "Z"
    return element("path", note, d=path, **fill(hue))


def spread(places: list[float], gap: float, low: float, high: float) -> list[float]:
    """Return the places moved apart by at least a gap, kept in order and within bounds.

    Examples
    --------
    >>> spread([10, 11, 50], gap=8, low=0, high=52)
    [10, 18, 50]
    >>> spread([50, 51], gap=8, low=0, high=52)
    [44, 52]
    """
    order = sorted(range(len(places)), key=lambda index: places[index])
    moved = list(places)
    floor = low
    for index in order:
        moved[index] = floor = max(moved[index], floor)
        floor += gap
    ceiling = high
    for index in reversed(order):
        moved[index] = ceiling = min(moved[index], ceiling)
        ceiling -= gap
    return moved


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return escape(clean(str(value)))
