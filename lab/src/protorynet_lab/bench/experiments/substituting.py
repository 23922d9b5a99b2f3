"""Simpler readers in the LSTM's place."""

from __future__ import annotations

from protorynet_lab.bench.blocks import Block, Cell, Grid
from protorynet_lab.bench.experiments.experiment import BINARY_SETS, Experiment
from protorynet_lab.bench.experiments.rows import set_title
from protorynet_lab.bench.figures import MISSING, figure_of, shown
from protorynet_lab.bench.paper import PAPER
from protorynet_lab.bench.results import Group, Results

__all__ = ["SUBSTITUTING"]

_READERS = {
    "average": "average",
    "logistic_regression": "logistic regression",
    "decision_tree": "decision tree",
}
_ABOUT = (
    "Accuracy when a simpler model reads the scores of the prototypes in place of the LSTM: their "
    "average against a threshold, or a logistic regression or a decision tree over the first ten "
    "sentences. The LSTM also sees which prototypes they are, and all sentences."
)


def _blocks(results: Results) -> list[Block]:
    groups = [
        group
        for group in results.only(variants=("",)).groups
        if any(record.substitutes for record in group.records)
    ]
    rows = tuple(_row(group) for group in groups)
    header = ("data", "model", *_READERS.values(), "LSTM (ProtoryNet)")
    return [Grid(header, rows)] if rows else []


def _row(group: Group) -> tuple[Cell, ...]:
    paper = PAPER.get(group.set) if group.kind.name == "full" else None
    theirs = (None,) * 3 if paper is None or paper.substitutes is None else paper.substitutes
    cells = [
        Cell(
            shown(figure_of(record.substitutes.get(name) for record in group.records)),
            _small(figure),
        )
        for name, figure in zip(_READERS, theirs, strict=True)
    ]
    whole = Cell(
        shown(group.figure("accuracy")), _small(None if paper is None else paper.fine_tuned)
    )
    title = f"{group.kind.title}, {group.encoder}" if group.encoder else group.kind.title
    return Cell(set_title(group.set)), Cell(title), *cells, whole


def _small(figure: float | None) -> str:
    words = shown(figure)
    return "" if words == MISSING else f"paper {words}"


SUBSTITUTING = Experiment(
    name="substitutes",
    title="Simpler models in the LSTM's place",
    about=_ABOUT,
    models=("full", "adapter", "none"),
    sets=BINARY_SETS,
    blocks=_blocks,
)
