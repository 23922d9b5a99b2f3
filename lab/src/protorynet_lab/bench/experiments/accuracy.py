"""Tables 1 and 4 of the paper: accuracies, and whether differences are more than chance."""

from __future__ import annotations

from collections.abc import Sequence

from protorynet_lab.bench.blocks import Block, Cell, Heading, Prose
from protorynet_lab.bench.experiments.experiment import BINARY_SETS, MULTICLASS_SETS, Experiment
from protorynet_lab.bench.experiments.rows import (
    Row,
    accuracy_cell,
    compared,
    flags_of,
    grid_of,
    model_rows,
)
from protorynet_lab.bench.figures import MISSING
from protorynet_lab.bench.results import Group, Results

__all__ = ["MULTICLASS", "TABLE1", "accuracy_blocks", "reference_row", "significance_cells"]

_ROWS = (
    "transformer",
    "ceiling-full",
    "full",
    "adapter",
    "none",
    "paper-full",
    "paper",
    "prosenet",
    "protoattend",
    "lstm",
    "bag-of-words-paper",
    "bag-of-words",
)
_BESIDE = ("paper-full",)  # shown where it was measured, but too slow to ask for by default
_MODELS = tuple(name for name in _ROWS if name not in _BESIDE)
_ABOUT = """\
Accuracy on the test documents, the mean over seeds ± the standard deviation, and in brackets the
number of prototypes. The paper's own figure stands beside in small print; a star marks data that
are a slice of the paper's kind, where only our own figures can be compared with each other. The
transformer takes DistilBERT's place; with “no prototypes” the same encoder and LSTM read the
sentences themselves."""
_SIGNIFICANCE = """\
Points by which {ours} is better (+) or worse (−) than each rival on the same test documents, with
half the width of the 95% interval (paired bootstrap). Stars are McNemar's test, corrected after
Holm for the number of rivals: * p < 0.05, ** p < 0.01, *** p < 0.001. Both are about these trained
models on other documents; how much training anew would change is told by the standard deviations
above."""


def accuracy_blocks(results: Results, models: Sequence[str] = _ROWS) -> list[Block]:
    """Return accuracies and their significance, once per encoder."""
    blocks: list[Block] = []
    plain = results.only(variants=("",))
    measured = {group.kind.name for group in plain.groups}
    others = [name for name in sorted(measured) if name not in models]
    for encoder in plain.main_encoders:
        rows = model_rows(plain, [*models, *others], encoder)
        if not rows:
            continue
        if encoder:
            blocks.append(Heading(f"Accuracy, sentence encoder {encoder}"))
        sets = plain.sets_of(encoder)
        blocks.append(grid_of(rows, sets, accuracy_cell))
        blocks += _significance(rows, sets)
    return blocks


def reference_row(rows: Sequence[Row]) -> Row | None:
    """Return our model that the others are compared with.

    It is the first of ours in the table whose records tell which documents it labels rightly.
    """
    ours = [row for row in rows if row.kind.family == "ours" and row.groups]
    told = (
        row for row in ours if any(flags_of(group) is not None for group in row.groups.values())
    )
    return next(told, ours[0] if ours else None)


def significance_cells(ours: Row, rows: Sequence[Row], name: str) -> list[Cell]:
    """Return how much better ours is than each row's model on one data set."""
    group = ours.groups.get(name)
    found = compared(group, [row.groups.get(name) for row in rows])
    cells = []
    for row, each in zip(rows, found, strict=True):
        seeds = [_seeds_told(given) for given in (group, row.groups.get(name)) if given is not None]
        few = " and ".join(filter(None, seeds)) if each is not None else ""
        cells.append(Cell(MISSING if each is None else each.cell, few))
    return cells


def _seeds_told(group: Group) -> str:
    """Say how many seeds are compared, where it is not all of them."""
    told = sum(bool(record.correct) for record in group.records)
    total = len(group.records)
    return "" if told == total else f"{told} of {total} seeds"


def _significance(rows: Sequence[Row], sets: Sequence[str]) -> list[Block]:
    ours = reference_row(rows)
    rivals = [row for row in rows if row is not ours and row.groups]
    if ours is None or not rivals:
        return []
    columns = {name: significance_cells(ours, rivals, name) for name in sets}
    if all(cell.text == MISSING for cells in columns.values() for cell in cells):
        return []

    def cell(row: Row, name: str) -> Cell:
        return columns[name][rivals.index(row)]

    words = " ".join(_SIGNIFICANCE.format(ours=f"“{ours.title.text}”").split())
    return [Prose(words), grid_of(rivals, sets, cell, first="against")]


TABLE1 = Experiment(
    name="table1",
    title="Prediction accuracy",
    about=" ".join(_ABOUT.split()),
    models=_MODELS,
    sets=BINARY_SETS,
    blocks=accuracy_blocks,
    beside=_BESIDE,
)
MULTICLASS = Experiment(
    name="multiclass",
    title="More than two classes",
    about="Accuracy on data sets of four classes, read as the table of prediction accuracy.",
    models=_MODELS,
    sets=MULTICLASS_SETS,
    blocks=accuracy_blocks,
    beside=_BESIDE,
)
