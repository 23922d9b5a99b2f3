"""All models on a table of the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from protorynet.bench.blocks import Block, Cell, Grid, Heading, Prose
from protorynet.bench.catalogue import MODELS
from protorynet.bench.experiments.accuracy import TABLE1, reference_row, significance_cells
from protorynet.bench.experiments.experiment import Experiment
from protorynet.bench.experiments.rows import Row, compared, main_encoders, model_rows
from protorynet.bench.figures import MISSING, shown
from protorynet.bench.results import Group, Results

__all__ = ["own_comparison", "own_grid"]

_MODELS = (
    *TABLE1.models,
    *(kind.name for kind in MODELS if kind.name not in TABLE1.models),
)
_ABOUT = (
    "The models on the same test documents, the most accurate first. “Against the best black box” "
    "is what one gains (+) or loses (−), in points, by a model that can be read; “ours against "
    "it” compares our first model with each. Stars are McNemar's test, corrected after Holm: "
    "* p < 0.05, ** p < 0.01, *** p < 0.001. Without stars, the difference may be chance."
)


def own_comparison(name: str, table: str) -> Experiment:
    """Return the experiment that compares all models on one table.

    Parameters
    ----------
    name
        What records call the table.
    table
        Its path.
    """
    return Experiment(
        name=name,
        title=f"Models compared on {name}",
        about=_ABOUT,
        models=TABLE1.models,
        sets=(name,),
        blocks=lambda results: _blocks(results, name),
        beside=_MODELS,
        table=table,
    )


def own_grid(results: Results, name: str, encoder: str) -> Grid | None:
    """Return the comparison as a table; None where nothing was measured."""
    rows = model_rows(results.only(variants=("",)), _MODELS, encoder)
    measured = [row for row in rows if name in row.groups]
    if not measured:
        return None
    measured.sort(key=lambda row: -_mean(row.groups[name], "accuracy"))
    boxes = [row for row in measured if not row.kind.reads]
    ours = reference_row(sorted(measured, key=rows.index))
    readable = [row for row in measured if row.kind.reads]
    lost = dict(zip(map(id, readable), _against_box(readable, boxes[:1], name), strict=True))
    gained = [MISSING] * len(measured)
    if ours is not None:
        gained = [cell.text for cell in significance_cells(ours, measured, name)]
    header = (
        "model",
        "accuracy",
        "against the best black box",
        "ours against it",
        "what one can read",
        "time",
    )
    cells = []
    for row, gain in zip(measured, gained, strict=True):
        group = row.groups[name]
        seconds = group.figure("training_seconds")
        cells.append(
            (
                row.title,
                Cell(shown(group.figure("accuracy"))),
                Cell(lost.get(id(row), "black box")),
                Cell("this is ours" if row is ours else gain),
                Cell(_readable(row, group)),
                Cell(MISSING if seconds is None else f"{seconds.mean:,.0f} s"),
            )
        )
    failed = [
        (row.title, Cell("failed"), *(Cell(MISSING) for _ in header[2:]))
        for row in rows
        if name in row.failed and name not in row.groups
    ]
    return Grid(header, (*cells, *failed))


def _blocks(results: Results, name: str) -> list[Block]:
    blocks: list[Block] = []
    encoders = main_encoders(results)
    for encoder in encoders:
        grid = own_grid(results, name, encoder)
        if grid is not None:
            heading = [Heading(f"Sentence encoder {encoder}")] if len(encoders) > 1 else []
            blocks += [*heading, grid]
    counts = [record.figure("n_test") for group in results.groups for record in group.records]
    n = next((count for count in counts if count), None)
    return [*blocks, Prose(f"{n:,.0f} test documents.")] if blocks and n else blocks


def _against_box(readable: Sequence[Row], boxes: Sequence[Row], name: str) -> list[str]:
    """Return by how much each model is better or worse than a black box."""
    if not boxes:
        return [MISSING] * len(readable)
    found = compared(boxes[0].groups.get(name), [row.groups.get(name) for row in readable])
    turned = [
        None if each is None else replace(each, difference=-each.difference) for each in found
    ]
    return [MISSING if each is None else each.cell for each in turned]


def _readable(row: Row, group: Group) -> str:
    """Say what a person can read of a model."""
    if not row.kind.reads:
        return "nothing"
    counts = [record.figure("n_prototypes") for record in group.records]
    known = [count for count in counts if count is not None]
    return f"{known[0]:.0f} {row.kind.reads}" if known else row.kind.reads


def _mean(group: Group, measure: str) -> float:
    figure = group.figure(measure)
    return 0.0 if figure is None else figure.mean
