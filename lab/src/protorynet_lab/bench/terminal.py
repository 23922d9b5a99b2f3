"""The tables of an experiment in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING

from protorynet.report import printable
from protorynet_lab.bench.blocks import Block, Grid, Heading, Items, Prose

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["print_blocks"]

_HEADER = 12  # columns of a header before it is broken
_SMALL = 24  # and of what stands under a row's name


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
        table.add_column(fill(printable(name), _HEADER), overflow="fold", no_wrap=place == 0)
    for first, *others in grid.rows:
        small = f"\n{fill(printable(first.small), _SMALL)}" if first.small else ""
        cells = [Text.assemble(printable(first.text), (small, "dim"))]
        for cell in others:
            beside = f" {printable(cell.small)}" if cell.small else ""
            cells.append(Text.assemble(printable(cell.text), (beside, "dim")))
        table.add_row(*cells)
    console.print(table)
