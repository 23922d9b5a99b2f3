"""What all pages are made of, and how it is written: as Markdown, as HTML and in a terminal."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING

from protorynet.report import clean, printable

if TYPE_CHECKING:
    from jinja2 import Environment
    from rich.console import Console

_SPECIAL = re.compile(r"([\\`*_\[\]|~$])")
_HEADER_WIDTH = 12  # columns of a header in a terminal before it is broken
_SMALL_WIDTH = 24  # and of what stands under a row's name


@dataclass(frozen=True)
class Cell:
    """What stands in a cell of a table, and beside it in small print: plain text."""

    text: str
    small: str = ""


@dataclass(frozen=True)
class Heading:
    """A heading; the depth is counted from the level of the page."""

    text: str
    depth: int = 0


@dataclass(frozen=True)
class Prose:
    """A paragraph of plain text."""

    text: str


@dataclass(frozen=True)
class Items:
    """A list of remarks."""

    texts: tuple[str, ...]


@dataclass(frozen=True)
class Grid:
    """A table; the first column names the rows."""

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Plot:
    """A picture: its file without the ending, its content, and what it shows in words."""

    name: str
    svg: str
    alt: str

    @property
    def data_url(self) -> str:
        """The picture as an address that holds all of it."""
        return f"data:image/svg+xml;base64,{b64encode(self.svg.encode()).decode()}"


@dataclass(frozen=True)
class Command:
    """The commands that measure what stands above, and with how many seeds that was done."""

    lines: tuple[str, ...]
    seeds: str


Block = Heading | Prose | Items | Grid | Plot | Command


def escape_markdown(text: str) -> str:
    r"""Return a text that Markdown shows as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", escape(printable(text), quote=False))


def render_markdown(blocks: Sequence[Block], *, level: int = 2, pictures: str = "") -> str:
    """Return blocks as Markdown, with the level of their headings and the folder of the pictures.

    Examples
    --------
    >>> grid = Grid(("data", "ours"), ((Cell("IMDB"), Cell(".934", "paper .914")),))
    >>> print(render_markdown([Heading("Accuracy"), grid]))
    ## Accuracy
    <BLANKLINE>
    | data | ours |
    |---|---|
    | IMDB | .934 <sub>paper .914</sub> |
    """
    return "\n\n".join(_render_block(block, level, pictures) for block in blocks)


def _render_block(block: Block, level: int, pictures: str) -> str:
    match block:
        case Heading(text, depth):
            return f"{'#' * (level + depth)} {escape_markdown(text)}"
        case Prose(text):
            return escape_markdown(text)
        case Items(texts):
            return "\n".join(f"- {escape_markdown(text)}" for text in texts)
        case Grid(header, rows):
            lines = [map(escape_markdown, header), *(map(_render_cell, row) for row in rows)]
            written = ["| " + " | ".join(line) + " |" for line in lines]
            return "\n".join([written[0], "|" + "---|" * len(header), *written[1:]])
        case Plot(name, _, alt):
            return f"![{escape_markdown(alt)}]({pictures}{name}.svg)"
        case Command(lines, seeds):
            code = [f"`{printable(command).replace('`', '')}`" for command in lines]
            if len(code) == 1:
                return f"{escape_markdown(seeds)}. {code[0]}"
            return "\n".join([f"{escape_markdown(seeds)}.", "", *(f"- {each}" for each in code)])


def _render_cell(cell: Cell) -> str:
    small = f" <sub>{escape_markdown(cell.small)}</sub>" if cell.small else ""
    return escape_markdown(cell.text) + small


def render_html(title: str, about: str, blocks: Sequence[Block]) -> str:
    """Return a page that needs nothing else, in the style of the reports."""
    parts = [(type(block).__name__, block) for block in blocks]
    page = _make_environment().get_template("bench_page.html")
    return page.render(title=title, about=about, parts=parts)


@cache
def _make_environment() -> Environment:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    loaders = [PackageLoader(room) for room in ("protorynet_lab.bench", "protorynet.report")]
    return Environment(
        loader=ChoiceLoader(loaders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: clean(value) if type(value) is str else value,
    )


def print_blocks(title: str, blocks: Sequence[Block], console: Console) -> None:
    """Print tables and remarks; pictures and commands are in the files."""
    from rich.text import Text

    console.print(Text(printable(title), "bold"))
    for block in blocks:
        match block:
            case Heading(text):
                console.print(Text(printable(text), "bold"))
            case Prose(text):
                console.print(Text(printable(text), "dim"))
            case Items(texts):
                for text in texts:
                    console.print(Text(f"  {printable(text)}"))
            case Grid():
                _print_grid(block, console)
            case _:
                pass


def _print_grid(grid: Grid, console: Console) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for place, name in enumerate(grid.header):
        # Names stay whole in a narrow terminal. (A least width would push the last column out.)
        table.add_column(fill(printable(name), _HEADER_WIDTH), overflow="fold", no_wrap=place == 0)
    for first, *others in grid.rows:
        small = f"\n{fill(printable(first.small), _SMALL_WIDTH)}" if first.small else ""
        cells = [Text.assemble(printable(first.text), (small, "dim"))]
        for cell in others:
            beside = f" {printable(cell.small)}" if cell.small else ""
            cells.append(Text.assemble(printable(cell.text), (beside, "dim")))
        table.add_row(*cells)
    console.print(table)
