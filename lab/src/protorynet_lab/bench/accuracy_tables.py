"""Tables 1, 2 and 4 of the paper, and all models on a table of the user's own."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from protorynet.errors import InputError
from protorynet.explain import PERTURBATIONS
from protorynet_lab.bench.bench_blocks import Block, Cell, Grid, Heading, Prose, make_grid
from protorynet_lab.bench.bench_experiment import Experiment
from protorynet_lab.bench.bench_jobs import ModelKind, find_data_set, find_model, paper_figure
from protorynet_lab.bench.bench_records import Record
from protorynet_lab.bench.bench_results import MISSING, Group, Results, format_figure
from protorynet_lab.bench.bench_significance import (
    Comparison,
    Flags,
    compare,
    correct_p_values,
    unpack_flags,
)

_SAME_PAPER_FIGURE = {"paper-full": "full", "paper": "none"}
_OWN_HEADER = (
    "model",
    "accuracy",
    "against the best black box",
    "ours against it",
    "what one can read",
    "time",
)


@dataclass(frozen=True)
class _Row:
    """A model on all data sets: what was measured by data set, and on which it failed."""

    kind: ModelKind
    title: Cell
    groups: dict[str, Group]
    failed: frozenset[str]


def _make_rows(results: Results, models: Sequence[str], encoder: str) -> list[_Row]:
    """Return a row for each model, and one for every transformer that was measured."""
    rows = []
    for model in models:
        kind = find_model(model)
        for each in _transformers(results) if model == "transformer" else [encoder]:
            own = each if kind.uses_encoder else ""
            found = {name: results.group(name, own, model) for name in results.sets}
            groups = {name: group for name, group in found.items() if group is not None}
            failures = [
                record for record in results.failures if record.key[1:4] == (own, model, "")
            ]
            if groups or failures:
                records = [record for group in groups.values() for record in group.records]
                title = Cell(kind.title, _describe_weights(kind, own, records or failures))
                rows.append(_Row(kind, title, groups, frozenset(each.set for each in failures)))
    return rows


def _transformers(results: Results) -> list[str]:
    tried = {(group.kind.name, group.encoder) for group in results.groups}
    tried |= {(record.model, record.encoder) for record in results.failures}
    return sorted(encoder for model, encoder in tried if model == "transformer")


def _describe_weights(kind: ModelKind, encoder: str, records: Sequence[Record]) -> str:
    """Say which weights a rival starts from, where that is not plain."""
    if kind.name == "transformer":
        return f"weights of {encoder}"
    if kind.name == "protoattend":
        return f"{encoder}, frozen" if encoder else "frozen"
    if kind.uses_vectors:
        vectors = sorted({record.vectors for record in records} - {""})
        return f"word vectors {', '.join(vectors)}" if vectors else "word vectors learned"
    return ""


def _make_grid(
    rows: Sequence[_Row],
    sets: Sequence[str],
    cell: Callable[[_Row, str], Cell],
    first: str = "model",
) -> Grid:
    """Return a table with a row per model and a column per data set."""
    header = (first, *(find_data_set(name).starred_title for name in sets))
    return make_grid(header, ((row.title, *(cell(row, name) for name in sets)) for row in rows))


def format_paper(name: str, *figures: str) -> str:
    """Return the paper's own figures for small print; empty where it has none."""
    known = [paper_figure(name, figure) for figure in figures]
    return "" if None in known else f"paper {' / '.join(map(format_figure, known))}"


def compare_groups(ours: Group | None, others: Sequence[Group | None]) -> list[Comparison | None]:
    """Compare a model with others on the same documents; None where that cannot be done.

    The p-values are corrected for the number of comparisons.
    """
    first = None if ours is None else _read_flags(ours)
    found: list[Comparison | None] = []
    for other in others:
        second = None if other is None or other == ours else _read_flags(other)
        if first is None or second is None or first.shape[1] != second.shape[1]:
            found.append(None)
        else:
            found.append(compare(first, second))
    known = iter(correct_p_values([each for each in found if each is not None]))
    return [None if each is None else next(known) for each in found]


def _read_flags(group: Group) -> Flags | None:
    """Return which test documents a model labels as it should, for each seed that says so."""
    flags = []
    for record in group.records:
        with suppress(InputError):
            if record.correct:
                flags.append(unpack_flags(record.correct, int(record.figure("n_test") or 0)))
    is_whole = bool(flags) and len(flags[0]) > 0 and len({len(each) for each in flags}) == 1
    return np.stack(flags) if is_whole else None


def _blocks_by_encoder(
    results: Results,
    models: Sequence[str],
    title: str,
    make: Callable[[list[_Row], tuple[str, ...]], list[Block]],
) -> list[Block]:
    """Return what is made of the rows of plain models and their data sets, once per encoder."""
    plain = results.only(variants=("",))
    blocks: list[Block] = []
    for encoder in plain.main_encoders:
        rows = _make_rows(plain, models, encoder)
        found = make(rows, plain.sets_of(encoder)) if rows else []
        heading = [Heading(f"{title} {encoder}")] if title and encoder else []
        blocks += [*heading, *found] if found else []
    return blocks


def _accuracy_blocks(results: Results) -> list[Block]:
    """Return accuracies and their significance."""

    def make(rows: list[_Row], sets: tuple[str, ...]) -> list[Block]:
        return [_make_grid(rows, sets, _accuracy_cell), *_significance_blocks(rows, sets)]

    others = {group.kind.name for group in results.groups if not group.variant}
    models = [*TABLE1.rows, *sorted(others - set(TABLE1.rows))]
    return _blocks_by_encoder(results, models, "Accuracy, sentence encoder", make)


def _accuracy_cell(row: _Row, name: str) -> Cell:
    small = format_paper(name, _SAME_PAPER_FIGURE.get(row.kind.name, row.kind.name))
    group = row.groups.get(name)
    if group is None:
        return Cell("failed" if name in row.failed else MISSING, small)
    return Cell(group.counted_accuracy, small)


def _find_reference(rows: Sequence[_Row]) -> _Row | None:
    """Return our model that the others are compared with: the first that can be compared."""
    ours = [row for row in rows if row.kind.family == "ours" and row.groups]
    comparable = (
        row for row in ours if any(_read_flags(group) is not None for group in row.groups.values())
    )
    return next(comparable, ours[0] if ours else None)


def _significance_blocks(rows: Sequence[_Row], sets: Sequence[str]) -> list[Block]:
    ours = _find_reference(rows)
    rivals = [row for row in rows if row is not ours and row.groups]
    if ours is None or not rivals:
        return []
    columns = {name: _significance_cells(ours, rivals, name) for name in sets}
    if all(cell.text == MISSING for cells in columns.values() for cell in cells):
        return []
    words = TABLE1.text("significance").format(ours=ours.title.text)
    grid = _make_grid(
        rivals, sets, lambda row, name: columns[name][rivals.index(row)], first="against"
    )
    return [Prose(words), grid]


def _significance_cells(ours: _Row, rows: Sequence[_Row], name: str) -> list[Cell]:
    """Return how much better ours is than each row's model on one data set."""
    group = ours.groups.get(name)
    cells = []
    others = [row.groups.get(name) for row in rows]
    for other, found in zip(others, compare_groups(group, others), strict=True):
        if found is None:
            cells.append(Cell(MISSING))
        else:
            few = [_count_compared(each) for each in (group, other) if each is not None]
            cells.append(Cell(found.cell, " and ".join(filter(None, few))))
    return cells


def _count_compared(group: Group) -> str:
    """Say how many seeds are compared, where it is not all of them."""
    known, total = sum(bool(record.correct) for record in group.records), len(group.records)
    return "" if known == total else f"{known} of {total} seeds"


def _length_blocks(results: Results) -> list[Block]:
    def make(rows: list[_Row], sets: tuple[str, ...]) -> list[Block]:
        rows = [row for row in rows if any(g.figure("n_short") for g in row.groups.values())]
        is_of_encoder = any(row.kind.uses_encoder for row in rows)
        if not rows or (not is_of_encoder and results.main_encoders != ("",)):
            return []
        grid = _make_grid(rows, sets, _length_cell)
        shares = (_share_of_short(rows, name) for name in sets)
        first = (Cell("share of short documents"), *shares)
        return [Grid(grid.header, (first, *grid.rows))]

    title = "Short and long documents, sentence encoder"
    return _blocks_by_encoder(results, TABLE2.models, title, make)


def _share_of_short(rows: Sequence[_Row], name: str) -> Cell:
    groups = [row.groups[name] for row in rows if name in row.groups]
    records = [record for group in groups for record in group.records]
    pairs = [(record.figure("n_short"), record.figure("n_test")) for record in records]
    shares = [short / n for short, n in pairs if short is not None and n]
    theirs = paper_figure(name, "short_share")
    return Cell(
        f"{100 * shares[0]:.1f}%" if shares else MISSING,
        "" if theirs is None else f"paper {100 * theirs:.1f}%",
    )


def _length_cell(row: _Row, name: str) -> Cell:
    group = row.groups.get(name)
    words = MISSING
    if group is not None:
        figures = (group.figure("short_accuracy"), group.figure("long_accuracy"))
        words = " / ".join(map(format_figure, figures))
    return Cell(words, format_paper(name, f"{row.kind.name}_short", f"{row.kind.name}_long"))


def make_own_experiment(name: str, table: str) -> Experiment:
    """Return the experiment that compares all models on a table of the user's own."""
    own = Experiment(name, lambda results: _own_blocks(own, results), table=table)
    return own


def _own_blocks(own: Experiment, results: Results) -> list[Block]:
    title = "Sentence encoder" if len(results.main_encoders) > 1 else ""
    blocks = _blocks_by_encoder(
        results, own.rows, title, lambda rows, _: list(_own_grids(rows, own.name))
    )
    counts = [record.figure("n_test") for group in results.groups for record in group.records]
    n = next((count for count in counts if count), None)
    return [*blocks, Prose(own.text("guide").format(n=n))] if blocks and n else blocks


def _own_grids(rows: Sequence[_Row], name: str) -> Iterator[Grid]:
    yield _own_grid(rows, name)
    groups = [row.groups[name] for row in rows if name in row.groups]
    figures = {
        group.model_title: [group.figure(f"{noise}_noise") for noise in ("none", *PERTURBATIONS)]
        for group in groups
    }
    if any(map(any, figures.values())):
        cells = [(title, *map(format_figure, some)) for title, some in figures.items()]
        yield make_grid(("Accuracy under noise", "none", *PERTURBATIONS), cells)


def _own_grid(rows: Sequence[_Row], name: str) -> Grid:
    measured = [row for row in rows if name in row.groups]
    ours = _find_reference(measured)
    measured.sort(key=lambda row: -(row.groups[name].mean("accuracy") or 0.0))
    groups = [row.groups[name] for row in measured]
    box = next((row for row in measured if not row.kind.reads), None)
    readable = [row.groups[name] for row in measured if row.kind.reads]
    lost = iter(compare_groups(None if box is None else box.groups[name], readable))
    gained = compare_groups(None if ours is None else ours.groups[name], groups)
    cells = []
    for row, group, gain in zip(measured, groups, gained, strict=True):
        against = "the best black box" if row is box else "black box"
        if row.kind.reads:
            loss = next(lost)
            against = MISSING if loss is None else loss.reverse.cell
        own_gain = "this is ours" if row is ours else MISSING if gain is None else gain.cell
        accuracy, time = format_figure(group.figure("accuracy")), _format_time(group)
        cells.append((row.title, accuracy, against, own_gain, _describe(group), time))
    missing = [MISSING] * len(_OWN_HEADER[2:])
    failed = [
        (row.title, "failed", *missing)
        for row in rows
        if name in row.failed and name not in row.groups
    ]
    return make_grid(_OWN_HEADER, [*cells, *failed])


def _describe(group: Group) -> str:
    """Say what a person can read of a model."""
    reads, counts = group.kind.reads, group.prototype_counts
    return f"{counts} {reads}" if reads and counts != MISSING else reads or "nothing"


def _format_time(group: Group) -> str:
    seconds = group.mean("training_seconds")
    if seconds is None:
        return MISSING
    return "< 1 s" if seconds < 1 else f"{seconds:,.0f} s"


TABLE1 = Experiment("table1", _accuracy_blocks)
TABLE2 = Experiment("table2", _length_blocks)
MULTICLASS = Experiment("multiclass", _accuracy_blocks)
