"""Sections 5.2 to 5.5 of the paper: pruning, simpler readers, automata, sizes, losses, sparsity."""

from collections.abc import Iterable

from protorynet_lab.bench.accuracy_tables import compare_groups, format_paper
from protorynet_lab.bench.bench_blocks import Block, Cell, Heading, Plot, Prose, make_grid
from protorynet_lab.bench.bench_experiment import Experiment
from protorynet_lab.bench.bench_jobs import PLAIN, Variant, find_data_set, paper_figure
from protorynet_lab.bench.bench_plots import Curves, draw_curves, draw_heat_map
from protorynet_lab.bench.bench_records import read_numbers
from protorynet_lab.bench.bench_results import (
    MISSING,
    Figure,
    Group,
    Results,
    figure_of,
    format_figure,
    format_range,
)

_SIZE_NAME = "n_prototypes="
_SIZES, _QUICK_SIZES = (5, 20, 50, 100, 200, 400), (5, 20)
_PRUNED_SIZES, _QUICK_PRUNED_SIZES = (100, 200, 400), (20,)
# The paper's thresholds θ: shares of the sentences.
_THRESHOLDS, _QUICK_THRESHOLDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1), (0.02, 0.1)
_ALPHAS, _QUICK_ALPHAS = (0.0, 1e-3, 1e-2, 1e-1, 1.0), (0.0, 0.1)
_BETAS, _QUICK_BETAS = (0.0, 1e-5, 1e-4, 1e-3, 1e-2), (0.0, 1e-4)
_SENSITIVITY_SIZE, _QUICK_SENSITIVITY_SIZE = 100, 8
# Reading ids alone, with every similarity at 1, would hide all from a reader that sees all.
_DENSE = Variant("selection=dense", {"selection": "dense", "ids_only_share": 0.0})
_READERS = ("average", "logistic_regression", "decision_tree")


def _name_data(group: Group) -> str:
    return find_data_set(group.set).starred_title


def _make_title(group: Group) -> str:
    return f"{_name_data(group)}, {group.model_title}"


def _keep_all(size: int) -> dict[str, int]:
    """Return the settings that begin with so many prototypes and keep them."""
    return dict.fromkeys(("n_prototypes", "min_prototypes", "max_prototypes"), size)


def _size_variants(sizes: Iterable[int], *, quick: bool) -> tuple[Variant, ...]:
    thresholds = _QUICK_THRESHOLDS if quick else _THRESHOLDS
    return tuple(Variant(f"{_SIZE_NAME}{size}", _keep_all(size), thresholds) for size in sizes)


def _size(group: Group) -> int:
    """Return K of a group; 0 where it is no such variant."""
    words = group.variant.removeprefix(_SIZE_NAME)
    return int(words) if group.variant.startswith(_SIZE_NAME) and words.isdecimal() else 0


def _group_by_model(groups: Iterable[Group]) -> dict[tuple[str, str, str], list[Group]]:
    by_model: dict[tuple[str, str, str], list[Group]] = {}
    for group in groups:
        by_model.setdefault(group.model, []).append(group)
    return by_model


def _pruning_blocks(results: Results) -> list[Block]:
    groups = [g for g in results.groups if _size(g) and any(r.pruning for r in g.records)]
    # Few prototypes leave little to prune; they are shown where there is nothing else.
    groups = [g for g in groups if _size(g) >= min(_PRUNED_SIZES)] or groups
    blocks: list[Block] = []
    panels: dict[str, Curves] = {}
    for members in _group_by_model(sorted(groups, key=_size)).values():
        title = _make_title(members[0])
        tried = [θ for θ in _THRESHOLDS if any(_points(group, θ) for group in members)]
        rows = (
            (f"K = {_size(group)}", *(_pruned_cell(group, θ) for θ in (0.0, *tried)))
            for group in members
        )
        header = ("prototypes", "all", *(f"θ = {100 * θ:g}%" for θ in tried))
        blocks += [Heading(title), make_grid(header, rows)]
        panels[title] = {f"K = {_size(group)}": _pruned_curve(group) for group in members}
    if panels:
        svg = draw_curves("prototypes left", panels)
        blocks.append(Plot("pruning", svg, "Accuracy by the number of prototypes left."))
        blocks += _kept_blocks(results)
    return blocks


def _kept_blocks(results: Results) -> list[Block]:
    """Return how many prototypes the paper's procedure keeps by itself, data set by data set."""
    groups = [g for g in results.groups if g.kind.family == "paper" and not g.variant]
    titles = list(dict.fromkeys(group.model_title for group in groups))
    rows = []
    for name in dict.fromkeys(group.set for group in groups):
        counts = {g.model_title: g.prototype_counts for g in groups if g.set == name}
        theirs = format_range([paper_figure(name, "n_prototypes")])
        ours = (counts.get(title, MISSING) for title in titles)
        rows.append((find_data_set(name).starred_title, *ours, theirs))
    title = "Prototypes that are left without hurting the accuracy on held-out documents"
    header = ("data", *titles, "the paper")
    return [Heading(title), make_grid(header, rows)] if rows else []


def _points(group: Group, threshold: float) -> list[dict[str, float]]:
    return [
        point
        for record in group.records
        for point in record.pruning
        if point.get("threshold") == threshold and {"n_prototypes", "accuracy"} <= set(point)
    ]


def _count_pruned(group: Group) -> int:
    return sum(bool(record.pruning) for record in group.records)


def _pruned_cell(group: Group, threshold: float) -> Cell:
    points, n_seeds = _points(group, threshold), _count_pruned(group)
    if not points:
        return Cell(MISSING)
    accuracy = format_figure(figure_of(point["accuracy"] for point in points))
    counts = format_range(point["n_prototypes"] for point in points)
    few = "" if len(points) == n_seeds else f"{len(points)} of {n_seeds} seeds"
    return Cell(f"{accuracy} ({counts})", few)


def _pruned_curve(group: Group) -> dict[float, float]:
    """Return the mean accuracy by the mean number of prototypes left."""
    curve = {}
    for threshold in (0.0, *_THRESHOLDS):
        points = _points(group, threshold)
        if len(points) < _count_pruned(group):
            break  # a seed has nothing left, and the others alone would mislead
        left = figure_of(point["n_prototypes"] for point in points)
        accuracy = figure_of(point["accuracy"] for point in points)
        if left is not None and accuracy is not None and left.mean > 0:
            curve[left.mean] = accuracy.mean
    return curve


def _size_blocks(results: Results) -> list[Block]:
    sizes = sorted({_size(group) for group in results.groups} - {0})
    rows = []
    panels: dict[str, Curves] = {}
    for members in _group_by_model(results.groups).values():
        by_size = {_size(group): group for group in members if _size(group)}
        if by_size:
            name, title = _name_data(members[0]), members[0].model_title
            figures = {size: group.figure("accuracy") for size, group in by_size.items()}
            rows.append((name, title, *(format_figure(figures.get(size)) for size in sizes)))
            curve = {float(size): figure.mean for size, figure in figures.items() if figure}
            panels.setdefault(name, {})[title] = curve
    if not rows:
        return []
    svg = draw_curves("prototypes K", panels)
    plot = Plot("prototypes", svg, "Accuracy by the number of prototypes.")
    header = ("data", "model", *(f"K = {size}" for size in sizes))
    return [make_grid(header, rows), plot]


def _sensitivity_variants(quick: bool) -> tuple[Variant, ...]:
    kept = _keep_all(_QUICK_SENSITIVITY_SIZE if quick else _SENSITIVITY_SIZE)
    return tuple(
        Variant(_name_losses(alpha, beta), {**kept, "alpha": alpha, "beta": beta})
        for alpha in (_QUICK_ALPHAS if quick else _ALPHAS)
        for beta in (_QUICK_BETAS if quick else _BETAS)
    )


def _name_losses(alpha: float, beta: float) -> str:
    return f"alpha={alpha:g} beta={beta:g}"


def _sensitivity_blocks(results: Results) -> list[Block]:
    names = {_name_losses(alpha, beta): (alpha, beta) for alpha in _ALPHAS for beta in _BETAS}
    by_model = _group_by_model(group for group in results.groups if group.variant in names)
    blocks: list[Block] = []
    for number, members in enumerate(by_model.values(), start=1):
        figures = {names[group.variant]: group.figure("accuracy") for group in members}
        alphas, betas = (sorted(set(values)) for values in zip(*figures, strict=True))
        rows = (
            (f"α = {a:g}", *(format_figure(figures.get((a, b))) for b in betas)) for a in alphas
        )
        means = {key: figure.mean for key, figure in figures.items() if figure is not None}
        svg = draw_heat_map(("α", alphas), ("β", betas), means)
        file = "sensitivity" if len(by_model) == 1 else f"sensitivity-{number}"
        blocks += [
            Heading(_make_title(members[0])),
            make_grid(("", *(f"β = {beta:g}" for beta in betas)), rows),
            Plot(file, svg, "Accuracy by the weights of two losses, as a heat map."),
        ]
    return blocks


def _cells(group: Group, figures: dict[str, Figure | None]) -> tuple[Cell | str, ...]:
    """Return data, model and figures, with the paper's own beside those of the model in full."""
    has_paper = group.kind.name in ("full", "single-full")
    cells = (
        Cell(format_figure(figure), format_paper(group.set, name) if has_paper else "")
        for name, figure in figures.items()
    )
    return _name_data(group), group.model_title, *cells


def _sparsity_blocks(results: Results) -> list[Block]:
    rows = []
    for dense in results.groups:
        if dense.variant == _DENSE.name:
            sparse = results.group(*dense.model)
            difference = compare_groups(sparse, [dense])[0]
            figures = {
                "dense": dense.figure("accuracy"),
                "sparse": results.figure(*dense.model, "accuracy"),
            }
            words = MISSING if difference is None else difference.cell
            rows.append((*_cells(dense, figures), words))
    header = ("data", "model", "dense (all prototypes)", "sparse (one active)", "difference")
    return [make_grid(header, rows)] if rows else []


def _substitute_blocks(results: Results) -> list[Block]:
    rows = []
    for group in results.only(variants=("",)).groups:
        if any(record.substitutes for record in group.records):
            figures = {
                name: figure_of(record.substitutes.get(name) for record in group.records)
                for name in _READERS
            }
            rows.append(_cells(group, {**figures, "full": group.figure("accuracy")}))
    readers = (name.replace("_", " ") for name in _READERS)
    header = ("data", "model", *readers, "LSTM (ProtoryNet)")
    return [make_grid(header, rows)] if rows else []


def _automaton_blocks(results: Results) -> list[Block]:
    groups = [
        group
        for group in results.only(variants=("",)).groups
        if group.figure("automaton_fidelity") is not None
    ]
    rows, by_class = [], []
    for group in groups:
        names = (_name_data(group), group.model_title)
        fidelity = format_figure(group.figure("automaton_fidelity"))
        states = format_range(record.figure("automaton_states") for record in group.records)
        rows.append((*names, fidelity, states))
        automata: dict[str, list[dict[str, object]]] = {}
        for record in group.records:
            for automaton in record.automata:
                automata.setdefault(str(automaton.get("label")), []).append(automaton)
        for label, of_label in automata.items():
            numbers = [read_numbers(each) for each in of_label]
            counts = (
                format_range(each.get(name) for each in numbers)
                for name in ("n_states", "n_transitions")
            )
            fidelity = format_figure(figure_of(each.get("fidelity") for each in numbers))
            class_name = find_data_set(group.set).class_name(label)
            by_class.append((*names, class_name, fidelity, *counts))
    header = ("data", "model", "fidelity on test documents", "states of the largest")
    blocks: list[Block] = [make_grid(header, rows)] if rows else []
    if by_class:
        words = "By class, on the documents held out in training:"
        columns = ("data", "model", "class", "fidelity held out", "states", "transitions")
        blocks += [Prose(words), make_grid(columns, by_class)]
    return blocks


PRUNING = Experiment(
    "pruning",
    _pruning_blocks,
    lambda quick: _size_variants(_QUICK_PRUNED_SIZES if quick else _PRUNED_SIZES, quick=quick),
)
SUBSTITUTES = Experiment("substitutes", _substitute_blocks)
AUTOMATA = Experiment("automata", _automaton_blocks)
PROTOTYPES = Experiment(
    "prototypes",
    _size_blocks,
    lambda quick: _size_variants(_QUICK_SIZES if quick else _SIZES, quick=quick),
)
SENSITIVITY = Experiment("sensitivity", _sensitivity_blocks, _sensitivity_variants)
SPARSITY = Experiment("sparsity", _sparsity_blocks, lambda _: (PLAIN, _DENSE))
