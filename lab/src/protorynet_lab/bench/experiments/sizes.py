"""The number of prototypes: how many to begin with, and how many pruning leaves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from protorynet_lab.bench.blocks import Block, Cell, Grid, Heading, Plot
from protorynet_lab.bench.experiments.experiment import Experiment
from protorynet_lab.bench.experiments.rows import set_title
from protorynet_lab.bench.figures import MISSING, figure_of, shown, shown_range
from protorynet_lab.bench.jobs import Variant
from protorynet_lab.bench.paper import PAPER
from protorynet_lab.bench.plots import Curve, curves_svg
from protorynet_lab.bench.results import Group, Results
from protorynet_lab.bench.thresholds import THRESHOLDS

__all__ = ["PROTOTYPES", "PRUNING", "unpruned"]

_NAME = "n_prototypes="
_SIZES, _QUICK_SIZES = (5, 20, 50, 100, 200, 400), (5, 20)
_PRUNED_SIZES, _QUICK_PRUNED_SIZES = (100, 200, 400), (20,)
_QUICK_THRESHOLDS = (0.02, 0.1)
_PRUNING = (
    "A model is trained with K prototypes and keeps them all; then those that are active for less "
    "than a share θ of the training sentences are removed and the LSTM is trained again. Every "
    "cell has the accuracy on the test documents, and in brackets how many prototypes are left."
)
_LEFT = "Prototypes that are left without hurting the accuracy on held-out documents"
_PROTOTYPES = "Accuracy on the test documents by the number of prototypes K, without any pruning."


def unpruned(size: int, *, quick: bool = False) -> Variant:
    """Return the variant that begins with so many prototypes and keeps them.

    Examples
    --------
    >>> unpruned(50).name
    'n_prototypes=50'
    """
    sizes = dict.fromkeys(("n_prototypes", "min_prototypes", "max_prototypes"), size)
    return Variant(f"{_NAME}{size}", sizes, _QUICK_THRESHOLDS if quick else THRESHOLDS)


def _size(group: Group) -> int:
    """Return K of a group; 0 where it is no such variant."""
    words = group.variant.removeprefix(_NAME)
    return int(words) if group.variant.startswith(_NAME) and words.isdecimal() else 0


def _by_size(results: Results) -> list[Group]:
    return sorted((group for group in results.groups if _size(group)), key=_size)


def _models(groups: Iterable[Group]) -> list[tuple[str, str, str]]:
    return list(dict.fromkeys((g.set, g.encoder, g.kind.name) for g in groups))


def _pruning(results: Results) -> list[Block]:
    groups = [g for g in _by_size(results) if any(record.pruning for record in g.records)]
    # Few prototypes leave little to prune; they are shown where there is nothing else.
    groups = [g for g in groups if _size(g) >= min(_PRUNED_SIZES)] or groups
    blocks: list[Block] = []
    panels: dict[str, list[Curve]] = {}
    for key in _models(groups):
        own = [group for group in groups if (group.set, group.encoder, group.kind.name) == key]
        title = f"{set_title(key[0])}, {own[0].kind.title}, {key[1]}"
        tried = [θ for θ in THRESHOLDS if any(_points(group, θ) for group in own)]
        rows = tuple(
            (Cell(f"K = {_size(group)}"), *(_at(group, θ) for θ in (0.0, *tried))) for group in own
        )
        header = ("prototypes", "all", *(f"θ = {100 * θ:g}%" for θ in tried))
        blocks += [Heading(title), Grid(header, rows)]
        panels[title] = [Curve(f"K = {_size(group)}", _pruned_curve(group)) for group in own]
    if panels:
        svg = curves_svg("Accuracy after pruning", "prototypes left", panels)
        blocks.append(Plot("pruning", svg, "Accuracy by the number of prototypes left."))
        blocks += _left(results)
    return blocks


def _left(results: Results) -> list[Block]:
    """Return how many prototypes the paper's procedure keeps by itself, data set by data set."""
    groups = [g for g in results.groups if g.kind.family == "paper" and not g.variant]
    keys = list(dict.fromkeys((group.kind.title, group.encoder) for group in groups))
    rows = []
    for name in dict.fromkeys(group.set for group in groups):
        by_key = {(g.kind.title, g.encoder): g for g in groups if g.set == name}
        paper = PAPER.get(name)
        cells = [Cell(MISSING if key not in by_key else _kept(by_key[key])) for key in keys]
        rows.append(
            (
                Cell(set_title(name)),
                *cells,
                Cell(MISSING if paper is None else str(paper.n_prototypes)),
            )
        )
    if not rows:
        return []
    header = ("data", *(f"{title}, {encoder}" for title, encoder in keys), "the paper")
    return [Heading(_LEFT), Grid(header, tuple(rows))]


def _kept(group: Group) -> str:
    return shown_range(record.figure("n_prototypes") for record in group.records)


def _points(group: Group, threshold: float) -> list[dict[str, float]]:
    return [
        point
        for record in group.records
        for point in record.pruning
        if point.get("threshold") == threshold and {"n_prototypes", "accuracy"} <= set(point)
    ]


def _at(group: Group, threshold: float) -> Cell:
    points = _points(group, threshold)
    if not points:
        return Cell(MISSING)
    counts = shown_range(point["n_prototypes"] for point in points)
    told = _n_pruned(group)
    few = "" if len(points) == told else f"{len(points)} of {told} seeds"
    return Cell(f"{shown(figure_of(point['accuracy'] for point in points))} ({counts})", few)


def _n_pruned(group: Group) -> int:
    return sum(bool(record.pruning) for record in group.records)


def _pruned_curve(group: Group) -> tuple[tuple[float, float], ...]:
    """Return the means over seeds at each threshold, one point per number of prototypes.

    A threshold at which some seed has nothing left is no point: the others alone would mislead.
    """
    curve = {}
    for threshold in (0.0, *THRESHOLDS):
        points = _points(group, threshold)
        if len(points) < _n_pruned(group):
            break
        left = figure_of(point["n_prototypes"] for point in points)
        accuracy = figure_of(point["accuracy"] for point in points)
        if left is not None and accuracy is not None and left.mean > 0:
            curve[left.mean] = accuracy.mean
    return tuple(curve.items())


def _prototypes(results: Results) -> list[Block]:
    groups = _by_size(results)
    sizes = list(dict.fromkeys(_size(group) for group in groups))
    rows = []
    panels: dict[str, list[Curve]] = {}
    for key in (key for key in _models(results.groups) if key in _models(groups)):
        own = [group for group in groups if (group.set, group.encoder, group.kind.name) == key]
        title = f"{own[0].kind.title}, {key[1]}"
        rows.append((Cell(set_title(key[0])), Cell(title), *_accuracies(own, sizes)))
        curve = Curve(title, tuple(_curve(own)))
        panels.setdefault(set_title(key[0]), []).append(curve)
    if not rows:
        return []
    header = ("data", "model", *(f"K = {size}" for size in sizes))
    svg = curves_svg("Effect of the number of prototypes", "prototypes K", panels)
    plot = Plot("prototypes", svg, "Accuracy by the number of prototypes.")
    return [Grid(header, tuple(rows)), plot]


def _accuracies(groups: Sequence[Group], sizes: Sequence[int]) -> list[Cell]:
    by_size = {_size(group): group.figure("accuracy") for group in groups}
    return [Cell(shown(by_size.get(size))) for size in sizes]


def _curve(groups: Sequence[Group]) -> Iterable[tuple[float, float]]:
    for group in groups:
        figure = group.figure("accuracy")
        if figure is not None:
            yield float(_size(group)), figure.mean


PRUNING = Experiment(
    name="pruning",
    title="Pruning the prototypes",
    about=_PRUNING,
    models=("full",),
    sets=("amazon",),
    blocks=_pruning,
    beside=("adapter", "paper", "paper-full"),
    variants=lambda quick: tuple(
        unpruned(size, quick=quick) for size in (_QUICK_PRUNED_SIZES if quick else _PRUNED_SIZES)
    ),
)
PROTOTYPES = Experiment(
    name="prototypes",
    title="The number of prototypes",
    about=_PROTOTYPES,
    models=("full", "none"),
    sets=("hotel",),
    blocks=_prototypes,
    beside=("adapter",),
    variants=lambda quick: tuple(
        unpruned(size, quick=quick) for size in (_QUICK_SIZES if quick else _SIZES)
    ),
)
