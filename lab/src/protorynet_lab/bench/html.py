"""Blocks as a page that needs nothing else, in the style of the reports."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from protorynet_lab.bench.blocks import Block, Plot

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["html_page"]


def html_page(title: str, about: str, blocks: Sequence[Block]) -> str:
    """Return a self-contained page.

    Examples
    --------
    >>> from protorynet_lab.bench.blocks import Prose
    >>> "1 &lt; 2" in html_page("Accuracy", "How right.", [Prose("1 < 2")])
    True
    """
    from markupsafe import Markup

    parts = []
    for block in blocks:
        # Every text in a picture was escaped when it was drawn.
        picture = Markup(block.svg) if isinstance(block, Plot) else None  # noqa: S704
        parts.append((type(block).__name__, block, picture))
    page = _environment().get_template("bench_page.html")
    return page.render(title=title, about=about, parts=parts)


@cache
def _environment() -> Environment:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    from protorynet.report import clean

    loaders = [PackageLoader(room) for room in ("protorynet_lab.bench", "protorynet.report")]
    return Environment(
        loader=ChoiceLoader(loaders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: clean(value) if type(value) is str else value,
    )
