"""Elements, marks and labels of our own SVG; every text and attribute is escaped here."""

from collections.abc import Iterable
from html import escape

from protorynet.report.conventions import HUES, clean

_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif"
LETTER_WIDTH = 6.6  # of a character of 12 pixels, on average and generously

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
# One dash pattern per hue, for the same reason.
DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 3", "12 4", "1 4", "9 2 1 2 1 2")


def element(name: str, /, *children: str, **attributes: object) -> str:
    """Return an element; children are markup already, attributes are escaped."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value != ""
    )
    inner = "".join(children)
    return f"<{name}{written}>{inner}</{name}>" if inner else f"<{name}{written}/>"


def canvas(
    names: tuple[str, str],
    parts: Iterable[str],
    width: float,
    height: float,
    kind: str = "",
    **look: object,
) -> str:
    """Return a picture of a kind with the title and description that screen readers read out."""
    return element(
        "svg",
        tooltip(names[0]),
        element("desc", escape(clean(names[1]))),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        class_=kind,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=round(width),
        height=round(height),
        role="img",
        font_family=_FONTS,
        font_size=12,
        **look,
    )


def tooltip(note: str) -> str:
    """Return what is shown when the element around it is pointed at."""
    return element("title", escape(clean(note)))


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


def line_path(points: list[tuple[float, float]]) -> str:
    """Return the path through points."""
    return "M" + "L".join(f"{_value(x)} {_value(y)}" for x, y in points)


def polyline(
    points: list[tuple[float, float]], hue: int | None = None, note: str = "", /, **look: object
) -> str:
    """Return the line through points in a hue, or in the colour of the text."""
    children = [tooltip(note)] if note else []
    return element("path", *children, d=line_path(points), **stroke(hue), **look)


def mark(x: float, y: float, radius: float, hue: int, title: str) -> str:
    """Return a hue's mark with its tooltip."""
    shape = _SHAPES[hue]
    if not shape:
        return element("circle", tooltip(title), cx=x, cy=y, r=radius, **fill(hue))
    path = line_path([(x + radius * dx, y + radius * dy) for dx, dy in shape]) + "Z"
    return element("path", tooltip(title), d=path, **fill(hue))


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return escape(clean(str(value)))
