"""Table 2 of the paper: short and long documents."""

from __future__ import annotations

from protorynet_lab.bench.blocks import Block, Cell, Grid, Heading
from protorynet_lab.bench.experiments.accuracy import TABLE1
from protorynet_lab.bench.experiments.experiment import BINARY_SETS, Experiment
from protorynet_lab.bench.experiments.rows import (
    Row,
    grid_of,
    model_rows,
)
from protorynet_lab.bench.figures import MISSING, shown
from protorynet_lab.bench.paper import PAPER
from protorynet_lab.bench.results import Results

__all__ = ["TABLE2"]

_ABOUT = (
    "Accuracy on documents of less than 25 words, then on all longer ones. ProSeNet's prototypes "
    "are whole documents, ours are sentences: the longer the documents, the more that should "
    "matter. Where few documents are short, the first figure is a matter of luck."
)


def _blocks(results: Results) -> list[Block]:
    plain = results.only(variants=("",))
    blocks: list[Block] = []
    for encoder in plain.main_encoders:
        rows = model_rows(plain, TABLE1.models, encoder)
        rows = [row for row in rows if any(_is_measured(row, name) for name in row.groups)]
        if rows and any(row.kind.uses_encoder or not encoder for row in rows):
            if encoder:
                blocks.append(Heading(f"Short and long documents, sentence encoder {encoder}"))
            sets = plain.sets_of(encoder)
            grid = grid_of(rows, sets, _cell)
            blocks.append(Grid(grid.header, (_shares(rows, sets), *grid.rows)))
    return blocks


def _is_measured(row: Row, name: str) -> bool:
    return row.groups[name].figure("n_short") is not None


def _shares(rows: list[Row], sets: tuple[str, ...]) -> tuple[Cell, ...]:
    """Return the row that says how many documents are short."""
    cells = [Cell("share of short documents")]
    for name in sets:
        groups = [row.groups[name] for row in rows if name in row.groups]
        records = [record for group in groups for record in group.records]
        pairs = [(record.figure("n_short"), record.figure("n_test")) for record in records]
        shares = [short / n for short, n in pairs if short is not None and n]
        paper = PAPER.get(name)
        theirs = None if paper is None else paper.short_share
        cells.append(
            Cell(
                f"{100 * shares[0]:.1f}%" if shares else MISSING,
                "" if theirs is None else f"paper {100 * theirs:.1f}%",
            )
        )
    return tuple(cells)


def _cell(row: Row, name: str) -> Cell:
    group = row.groups.get(name)
    words = MISSING
    if group is not None:
        short, long = group.figure("short_accuracy"), group.figure("long_accuracy")
        words = f"{shown(short)} / {shown(long)}"
    paper = PAPER.get(name)
    theirs = {
        "prosenet": None if paper is None else paper.prosenet_by_length,
        "none": None if paper is None else paper.frozen_by_length,
    }.get(row.kind.name)
    return Cell(words, "" if theirs is None else f"paper {shown(theirs[0])} / {shown(theirs[1])}")


TABLE2 = Experiment(
    name="table2",
    title="Short and long documents",
    about=_ABOUT,
    models=TABLE1.models,
    sets=BINARY_SETS,
    blocks=_blocks,
)
