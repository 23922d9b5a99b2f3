"""The pieces of terminal views: bars, and paragraphs with a hanging indent."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.text import Text

from protorynet.report.scale import HUES, Reading, Scale

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["bar_width", "bold", "print_hanging", "score_bar", "view_width"]

# Longer lines are tiring to read, however wide the terminal is.
_WIDEST = 100


class _Marks(NamedTuple):
    full: str
    empty: str
    middle: str


def score_bar(reading: Reading, scale: Scale, width: int, console: Console) -> Text:
    """Return a bar of so many cells; on an axis it grows from the middle to either side."""
    marks = _Marks("#", ".", "|") if console.options.ascii_only else _Marks("█", "·", "│")
    hue = HUES[reading.hue]
    if scale.pole is None:
        filled = round(reading.value * width)
        return Text.assemble((marks.full * filled, hue), (marks.empty * (width - filled), "dim"))
    half = (width - 1) // 2
    filled = round(abs(reading.value - 0.5) * 2 * half)
    middle, blank = (marks.middle, "dim"), (marks.empty * half, "dim")
    side = [(marks.full * filled, hue), (marks.empty * (half - filled), "dim")]
    if reading.value >= 0.5:
        return Text.assemble(blank, middle, *side)
    return Text.assemble(*reversed(side), middle, blank)


def print_hanging(console: Console, lead: Text, body: Text) -> None:
    """Print a text after a lead, wrapped so that further lines begin where the first one did."""
    room = max(view_width(console) - lead.cell_len, 10)
    for line in body.wrap(console, room, overflow="fold"):
        line.rstrip()
        console.print(Text.assemble(lead, line), soft_wrap=True)
        lead = Text(" " * lead.cell_len)


def view_width(console: Console) -> int:
    """Return the width that a view takes of the console."""
    return min(console.width, _WIDEST)


def bar_width(console: Console) -> int:
    """Return the cells of a bar that stands beside a sentence."""
    return 21 if console.width >= 90 else 13


def bold(reading: Reading) -> str:
    """Return the style of a figure in its hue."""
    return f"bold {HUES[reading.hue]}"
