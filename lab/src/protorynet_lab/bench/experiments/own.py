"""All models on a table of the user's own."""

from __future__ import annotations

from collections.abc import Sequence

from protorynet_lab.bench.blocks import Block, Cell, Grid, Heading, Prose
from protorynet_lab.bench.catalogue import MODELS
from protorynet_lab.bench.experiments.accuracy import TABLE1, reference_row, significance_cells
from protorynet_lab.bench.experiments.experiment import Experiment
from protorynet_lab.bench.experiments.rows import Row, compared, model_rows
from protorynet_lab.bench.figures import MISSING, shown, shown_range
from protorynet_lab.bench.results import Group, Results

__all__ = ["own_comparison", "own_grid"]

_MODELS = (
    *TABLE1.models,
    *(kind.name for kind in MODELS if kind.name not in TABLE1.models),
)
_HEADER = (
    "model",
    "accuracy",
    "against the best black box",
    "ours against it",
    "what one can read",
    "time",
)
_ABOUT = "Models that learnt from the same documents and were tested on the same others."
_GUIDE = (
    "The most accurate stands first. “Against the best black box” is what a model that can be read "
    "gains (+) or loses (−), in points, with half the width of the 95% interval; “ours against it” "
    "is the same for our first model against each. Stars are McNemar's test, corrected after Holm: "
    "* p < 0.05, ** p < 0.01, *** p < 0.001. Without a star, the difference may be chance. All "
    "this is about these trained models on other documents; what training anew changes, several "
    "--seeds tell."
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
    if not rows:
        return None
    ours = reference_row(measured)
    measured.sort(key=lambda row: -_mean(row.groups[name], "accuracy"))
    gained = [MISSING] * len(measured)
    if ours is not None:
        gained = [cell.text for cell in significance_cells(ours, measured, name)]
    cells = [
        _cells(row, name, against_box, "this is ours" if row is ours else gain)
        for row, against_box, gain in zip(
            measured, _against_box(measured, name), gained, strict=True
        )
    ]
    failed = [
        (row.title, Cell("failed"), *(Cell(MISSING) for _ in _HEADER[2:]))
        for row in rows
        if name in row.failed and name not in row.groups
    ]
    return Grid(_HEADER, (*cells, *failed))


def _cells(row: Row, name: str, against_box: str, gain: str) -> tuple[Cell, ...]:
    group = row.groups[name]
    accuracy = shown(group.figure("accuracy"))
    others = (accuracy, against_box, gain, _readable(row, group), _time(group))
    return row.title, *map(Cell, others)


def _blocks(results: Results, name: str) -> list[Block]:
    blocks: list[Block] = []
    encoders = results.main_encoders
    for encoder in encoders:
        grid = own_grid(results, name, encoder)
        if grid is not None:
            heading = [Heading(f"Sentence encoder {encoder}")] if len(encoders) > 1 else []
            blocks += [*heading, grid]
    counts = [record.figure("n_test") for group in results.groups for record in group.records]
    n = next((count for count in counts if count), None)
    return [*blocks, Prose(f"{n:,.0f} test documents. {_GUIDE}")] if blocks and n else blocks


def _against_box(rows: Sequence[Row], name: str) -> list[str]:
    """Return by how much each model that can be read is better or worse than the best black box.

    Parameters
    ----------
    rows
        The models, the most accurate first.
    name
        The data set.
    """
    best = next((row for row in rows if not row.kind.reads), None)
    readable = [row for row in rows if row.kind.reads]
    found = compared(
        None if best is None else best.groups[name], [r.groups[name] for r in readable]
    )
    lost = iter(MISSING if each is None else each.turned.cell for each in found)
    boxes = {True: "the best black box", False: "black box"}
    return [next(lost) if row.kind.reads else boxes[row is best] for row in rows]


def _readable(row: Row, group: Group) -> str:
    """Say what a person can read of a model."""
    if not row.kind.reads:
        return "nothing"
    counts = shown_range(record.figure("n_prototypes") for record in group.records)
    return row.kind.reads if counts == MISSING else f"{counts} {row.kind.reads}"


def _time(group: Group) -> str:
    seconds = group.figure("training_seconds")
    if seconds is None:
        return MISSING
    return "< 1 s" if seconds.mean < 1 else f"{seconds.mean:,.0f} s"


def _mean(group: Group, measure: str) -> float:
    figure = group.figure(measure)
    return 0.0 if figure is None else figure.mean
