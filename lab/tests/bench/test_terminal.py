"""The tables of an experiment in a terminal."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from protorynet_lab.bench import print_blocks
from protorynet_lab.bench.blocks import Cell, Grid

HEADER = ("model", "accuracy", "against the best black box", "ours against it", "read", "time")
ROW = ("bag of words, the paper's", ".925", "+10.0 ±13.8 ***", "−37.5 ±15.0 *", "words", "987 s")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_narrow_terminal_loses_no_figure(width: int) -> None:
    written = io.StringIO()
    grid = Grid(HEADER, (tuple(map(Cell, ROW)),))
    print_blocks("Models", [grid], Console(width=width, file=written))
    below_header = written.getvalue().split("─")[-1]
    assert ROW[0] in below_header
    # Cells are broken over lines, so the characters come in another order.
    assert sorted(re.sub(r"\s", "", below_header)) == sorted(re.sub(r"\s", "", "".join(ROW)))


def test_what_stands_under_a_name_leaves_room_for_the_figures() -> None:
    written = io.StringIO()
    name = Cell("transformer", "weights of an-encoder-of-a-long-name")
    grid = Grid(HEADER, ((name, *map(Cell, ROW[1:])),))
    print_blocks("Models", [grid], Console(width=80, file=written))
    assert "accuracy" in written.getvalue()
