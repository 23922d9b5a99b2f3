"""What all pages are made of, and how it is written: as Markdown, as HTML and in a terminal."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING

from protorynet.report import printable
from protorynet_lab.presentation import page_templates

if TYPE_CHECKING:
    from rich.console import Console

_SPECIAL = re.compile(r"([\\`*_\[\]|~$])")
_HEADER_WIDTH = 12  # letters of a header in a terminal before it is broken
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


def make_grid(header: Iterable[str], rows: Iterable[Iterable[object]]) -> Grid:
    """Return a table of cells, and of texts that become cells."""
    cells = ((each if isinstance(each, Cell) else Cell(str(each)) for each in row) for row in rows)
    return Grid(tuple(header), tuple(map(tuple, cells)))


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
    """Return a text that Markdown shows as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", escape(printable(text), quote=False))


def render_markdown(blocks: Sequence[Block], *, level: int = 2, pictures: str = "") -> str:
    """Return blocks as Markdown; `level` is that of headings, `pictures` the folder of plots."""
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
    templates = page_templates("protorynet_lab.bench", "protorynet.report")
    page = templates.get_template("bench_page.html")
    return page.render(title=title, about=about, parts=parts)


def print_blocks(title: str, blocks: Sequence[Block], console: Console) -> None:
    """Print tables and remarks; pictures and commands are in the files."""
    from rich.text import Text

    console.print(Text(printable(title), "bold"))
    for block in blocks:
        match block:
            case Heading(text) | Prose(text):
                style = "bold" if isinstance(block, Heading) else "dim"
                console.print(Text(printable(text), style))
            case Items(texts):
                for text in texts:
                    console.print(Text(f"  {printable(text)}"))
            case Grid():
                _print_grid(block, console)


def _print_grid(grid: Grid, console: Console) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for number, name in enumerate(grid.header):
        # Names stay whole in a narrow terminal. (A least width would push the last column out.)
        table.add_column(fill(printable(name), _HEADER_WIDTH), overflow="fold", no_wrap=number == 0)
    for first, *others in grid.rows:
        small = f"\n{fill(printable(first.small), _SMALL_WIDTH)}" if first.small else ""
        cells = [Text.assemble(printable(first.text), (small, "dim"))]
        for cell in others:
            beside = f" {printable(cell.small)}" if cell.small else ""
            cells.append(Text.assemble(printable(cell.text), (beside, "dim")))
        table.add_row(*cells)
    console.print(table)
