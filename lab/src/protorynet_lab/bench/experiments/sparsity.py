"""One active prototype per sentence against all of them."""

from __future__ import annotations

from protorynet_lab.bench.blocks import Block, Cell, Grid
from protorynet_lab.bench.experiments.experiment import BINARY_SETS, Experiment
from protorynet_lab.bench.experiments.rows import compared, set_title
from protorynet_lab.bench.figures import MISSING, shown
from protorynet_lab.bench.jobs import PLAIN, Variant
from protorynet_lab.bench.paper import PAPER
from protorynet_lab.bench.results import Group, Results

__all__ = ["SPARSITY"]

# Reading ids alone, with every similarity at 1, would hide all from a reader that sees all.
_DENSE = Variant("selection=dense", {"selection": "dense", "ids_only_share": 0.0})
_ABOUT = (
    "Accuracy when the LSTM sees the similarities to all prototypes, and when it sees only the "
    "one that each sentence is matched to, which is what makes a trajectory readable. The "
    "difference is sparse minus dense in points, read as the table of significance."
)


def _blocks(results: Results) -> list[Block]:
    dense = [group for group in results.groups if group.variant == _DENSE.name]
    rows = []
    for group in dense:
        sparse = results.group(group.set, group.encoder, group.kind.name)
        rows.append(_row(group, sparse))
    header = ("data", "model", "dense (all prototypes)", "sparse (one active)", "difference")
    return [Grid(header, tuple(rows))] if rows else []


def _row(dense: Group, sparse: Group | None) -> tuple[Cell, ...]:
    paper = PAPER.get(dense.set) if dense.kind.name == "full" else None
    theirs = (None, None) if paper is None else (paper.dense, paper.sparse)
    small = ["" if figure is None else f"paper {shown(figure)}" for figure in theirs]
    difference = compared(sparse, [dense])[0]
    return (
        Cell(set_title(dense.set)),
        Cell(f"{dense.kind.title}, {dense.encoder}"),
        Cell(shown(dense.figure("accuracy")), small[0]),
        Cell(shown(None if sparse is None else sparse.figure("accuracy")), small[1]),
        Cell(MISSING if difference is None else difference.cell),
    )


SPARSITY = Experiment(
    name="sparsity",
    title="The sparsity transformation",
    about=_ABOUT,
    models=("full",),
    sets=BINARY_SETS,
    blocks=_blocks,
    variants=lambda quick: (PLAIN, _DENSE),
)
