"""How well small automata summarise what the LSTM does."""

from __future__ import annotations

from protorynet_lab.bench.blocks import Block, Cell, Grid, Prose
from protorynet_lab.bench.catalogue import DATA_SETS, data_set
from protorynet_lab.bench.experiments.experiment import Experiment
from protorynet_lab.bench.experiments.rows import set_title
from protorynet_lab.bench.figures import figure_of, shown, shown_range
from protorynet_lab.bench.paper import PAPER_AUTOMATON_FIDELITY
from protorynet_lab.bench.results import Group, Results

__all__ = ["AUTOMATA"]

_ABOUT = (
    "For every class a deterministic automaton reads the prototypes' ids and says whether the "
    "document is of the class. Fidelity is the share of documents on which it decides as the "
    f"model does; the paper reports {shown(PAPER_AUTOMATON_FIDELITY)} for the positive class of "
    "Yelp."
)


def _blocks(results: Results) -> list[Block]:
    groups = [
        group
        for group in results.only(variants=("",)).groups
        if group.figure("automaton_fidelity") is not None
    ]
    if not groups:
        return []
    over_all = Grid(
        ("data", "model", "fidelity on test documents", "states of the largest"),
        tuple(_over_all(group) for group in groups),
    )
    by_class = tuple(row for group in groups for row in _by_class(group))
    if not by_class:
        return [over_all]
    header = ("data", "model", "class", "fidelity held out", "states", "transitions")
    words = "By class, on the documents held out in training:"
    return [over_all, Prose(words), Grid(header, by_class)]


def _over_all(group: Group) -> tuple[Cell, ...]:
    states = shown_range(record.figure("automaton_states") for record in group.records)
    fidelity = Cell(shown(group.figure("automaton_fidelity")))
    return Cell(set_title(group.set)), _model(group), fidelity, Cell(states)


def _by_class(group: Group) -> list[tuple[Cell, ...]]:
    found: dict[str, list[dict[str, object]]] = {}
    for record in group.records:
        for item in record.automata:
            found.setdefault(str(item.get("label")), []).append(item)
    return [
        (
            Cell(set_title(group.set)),
            _model(group),
            Cell(data_set(group.set).class_name(label)),
            Cell(shown(figure_of(_number(item.get("fidelity")) for item in items))),
            Cell(shown_range(_number(item.get("n_states")) for item in items)),
            Cell(shown_range(_number(item.get("n_transitions")) for item in items)),
        )
        for label, items in found.items()
    ]


def _model(group: Group) -> Cell:
    return Cell(f"{group.kind.title}, {group.encoder}")


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and abs(value) < 1e9
    return float(value) if is_number and isinstance(value, int | float) else None


AUTOMATA = Experiment(
    name="automata",
    title="Automata that explain the LSTM",
    about=_ABOUT,
    models=("full", "adapter", "none"),
    sets=tuple(each.name for each in DATA_SETS),
    blocks=_blocks,
)
