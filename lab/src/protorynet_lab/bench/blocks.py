"""What a page is made of: the same blocks are written as Markdown and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from protorynet_lab.bench.markdown import escaped, provenance, table

__all__ = ["Block", "Cell", "Command", "Grid", "Heading", "Items", "Plot", "Prose", "as_markdown"]


@dataclass(frozen=True)
class Cell:
    """What stands in a cell of a table: plain text.

    Parameters
    ----------
    text
        The figure or the words.
    small
        What stands beside it in small print.
    """

    text: str
    small: str = ""


@dataclass(frozen=True)
class Heading:
    """A heading within an experiment."""

    text: str


@dataclass(frozen=True)
class Prose:
    """A paragraph."""

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
    """A picture.

    Parameters
    ----------
    name
        Its file without the ending.
    svg
        The picture.
    alt
        What it shows, for those who cannot see it.
    """

    name: str
    svg: str
    alt: str


@dataclass(frozen=True)
class Command:
    """The commands that measure what stands above, and with how many seeds that was done."""

    lines: tuple[str, ...]
    seeds: str


Block = Heading | Prose | Items | Grid | Plot | Command


def as_markdown(blocks: Sequence[Block], *, level: int = 2, pictures: str = "") -> str:
    """Return blocks as Markdown.

    Parameters
    ----------
    blocks
        The blocks.
    level
        Level of their headings.
    pictures
        The folder of the pictures as seen from the page, with a slash at its end.

    Examples
    --------
    >>> grid = Grid(("data", "ours"), ((Cell("IMDB"), Cell(".934", "paper .914")),))
    >>> print(as_markdown([Heading("Accuracy"), grid]))
    ## Accuracy
    <BLANKLINE>
    | data | ours |
    |---|---|
    | IMDB | .934 <sub>paper .914</sub> |
    """
    return "\n\n".join(_markdown(block, level, pictures) for block in blocks)


def _markdown(block: Block, level: int, pictures: str) -> str:
    match block:
        case Heading(text):
            return f"{'#' * level} {escaped(text)}"
        case Prose(text):
            return escaped(text)
        case Items(texts):
            return "\n".join(f"- {escaped(text)}" for text in texts)
        case Grid(header, rows):
            cells = [[_markdown_cell(cell) for cell in row] for row in rows]
            return table([escaped(name) for name in header], cells)
        case Plot(name, _, alt):
            return f"![{escaped(alt)}]({pictures}{name}.svg)"
        case Command(lines, seeds):
            return provenance(seeds, lines)


def _markdown_cell(cell: Cell) -> str:
    small = f" <sub>{escaped(cell.small)}</sub>" if cell.small else ""
    return escaped(cell.text) + small
