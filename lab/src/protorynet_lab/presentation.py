"""How the laboratory shows things: charts as SVG, and pages made from templates."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from protorynet.report import clean

if TYPE_CHECKING:
    from jinja2 import Environment
    from matplotlib.figure import Figure

INK, FAINT, RULE = "#1f2328", "#59636e", "#dde1e6"
_EVERY_CHART = {
    "font.size": 10,
    "svg.fonttype": "none",  # text that can be searched, selected and read aloud
    "svg.hashsalt": "protorynet",  # the same numbers give the same file
    "text.color": INK,
    "text.parse_math": False,  # a dollar in a name is a dollar
}


@contextmanager
def chart_style(look: Any) -> Iterator[None]:
    """Draw in a style that matplotlib knows the form of: a mapping or the path of a file."""
    from matplotlib import style

    # From the defaults: a matplotlibrc of the user's must not change the charts.
    with style.context(["default", _EVERY_CHART, look]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters that the font lacks; the browser has others
        yield


def chart_svg(figure: Figure, metadata: dict[str, str | None], **options: Any) -> str:
    """Return a chart as SVG, without the date at which it was drawn."""
    written = io.StringIO()
    figure.savefig(written, format="svg", metadata={"Date": None, **metadata}, **options)
    return written.getvalue()


@cache
def page_templates(*packages: str) -> Environment:
    """Return the templates of packages, in which every value that is no markup is escaped."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: clean(value) if type(value) is str else value,
    )
