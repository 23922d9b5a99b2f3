"""Pictures of the laboratory and the benchmarks; to be deleted once they draw by themselves."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from protorynet.report.conventions import clean
from protorynet.report.svg import element


def picture(title: str, parts: Iterable[str], width: float, height: float) -> str:
    """Return a picture that stands alone in a file: dark on white, whatever page it is put on.

    Examples
    --------
    >>> from protorynet.report import text
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
