"""The tables of the results page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from protorynet.report import measure_title
from protorynet_lab.bench.catalogue import MODELS, ModelKind, data_set
from protorynet_lab.bench.figures import MISSING, Figure, shown, shown_measure, shown_range
from protorynet_lab.bench.markdown import escaped, table
from protorynet_lab.bench.paper import PAPER, PaperFigures
from protorynet_lab.bench.recipe.goals import accuracy_goals, faithfulness_goals
from protorynet_lab.bench.results import Group, Results

__all__ = [
    "accuracy_goals_table",
    "accuracy_table",
    "best_of_ours",
    "ceiling_table",
    "faithfulness_goals_table",
    "faithfulness_table",
    "prototypes_table",
    "set_title",
    "time_table",
]

_FIRST = (
    "accuracy",
    "n_prototypes",
    "ids_only_accuracy",
    "ids_only_gap",
    "substitution_agreement",
    "match_quality",
    "score_calibration",
    "top_usage",
    "usage_perplexity",
    "unused_prototypes",
    "duplicate_prototypes",
    "fragment_prototypes",
    "stability",
    "prototype_error",
    "shuffled_accuracy",
)
_TITLES = {"n_prototypes": "Prototypes"}
_OF_THE_PAPER: dict[str, Callable[[PaperFigures], str]] = {
    "fine-tuned": lambda paper: _with_count(shown(paper.fine_tuned), str(paper.n_prototypes)),
    "frozen": lambda paper: shown(paper.frozen),
    "DistilBERT": lambda paper: shown(paper.distilbert),
    "bag of words": lambda paper: shown(paper.bag_of_words),
}


def accuracy_table(results: Results, encoder: str) -> str:
    """Return the accuracy of each model on each data set, with its number of prototypes."""
    kinds = _measured_kinds(results, encoder, lambda kind: kind.family != "ceiling")
    rows = []
    for name in results.sets_of(encoder):
        cells = [_accuracy(results.group(name, encoder, kind.name)) for kind in kinds]
        paper = PAPER.get(name)
        theirs = [MISSING if paper is None else cell(paper) for cell in _OF_THE_PAPER.values()]
        rows.append([set_title(name), *cells, *theirs])
    titles = [kind.title for kind in kinds]
    return table(["data", *titles, *(f"*paper: {title}*" for title in _OF_THE_PAPER)], rows)


def ceiling_table(results: Results, encoder: str) -> str:
    """Return what prototypes cost against the same encoder without any."""
    ceilings = _measured_kinds(results, encoder, lambda kind: kind.family == "ceiling")
    trainings = [kind.name.removeprefix("ceiling-") for kind in ceilings]
    rows = []
    for name in results.sets_of(encoder):
        row = [set_title(name)]
        for training in trainings:
            ceiling = results.figure(name, encoder, f"ceiling-{training}", "accuracy")
            row += [shown(ceiling), shown(results.ceiling_gap(name, encoder, training))]
        rows.append(row)
    header = [f"{training}: {part}" for training in trainings for part in ("ceiling", "gap")]
    return table(["data", *header], rows)


def faithfulness_table(groups: Sequence[Group]) -> str:
    """Return all measures of the models of one data set and encoder."""
    names = {name for group in groups for record in group.records for name in record.faithfulness}
    measures = [*_FIRST, *sorted(names - set(_FIRST))]
    rows = [
        [
            _TITLES.get(name) or escaped(measure_title(name)),
            *(_measure(name, group) for group in groups),
        ]
        for name in measures
    ]
    return table(["measure", *(group.kind.title for group in groups)], rows)


def accuracy_goals_table(results: Results) -> str:
    """Return the goals about accuracy and time, and by how much they were missed."""
    rows = [
        [each.goal, each.model, escaped(each.encoder), each.measured, each.verdict]
        for each in accuracy_goals(results)
    ]
    return table(["goal", "model", "encoder", "measured", "verdict"], rows)


def faithfulness_goals_table(results: Results) -> str:
    """Return the goals that hold for every data set: one row each, one column per model."""
    cells: dict[str, list[str]] = {}
    models = {}
    for each in faithfulness_goals(results):
        models[f"{each.model}, {escaped(each.encoder)}"] = True
        worst = f"; worst: {each.measured}" if each.measured != MISSING else ""
        cells.setdefault(each.goal, []).append(each.verdict + worst)
    return table(["goal", *models], [[goal, *row] for goal, row in cells.items()])


def time_table(results: Results, encoder: str) -> str:
    """Return the seconds of training; encoding and measuring are not counted."""
    kinds = _measured_kinds(results, encoder, lambda kind: kind.encoder_training is not None)
    rows = []
    for name in results.sets_of(encoder):
        figures = (results.figure(name, encoder, kind.name, "training_seconds") for kind in kinds)
        rows.append(
            [
                set_title(name),
                *(shown_measure("training_seconds", _mean(figure)) for figure in figures),
            ]
        )
    return table(["data", *(kind.title for kind in kinds)], rows)


def best_of_ours(results: Results, name: str) -> Group | None:
    """Return our most accurate model of a data set; None where there is none."""
    ours = [group for group in results.of(name) if group.kind.family == "ours"]
    accuracies = [(_mean(group.figure("accuracy")) or 0.0) for group in ours]
    if not ours:
        return None
    return ours[accuracies.index(max(accuracies))]


def prototypes_table(group: Group) -> str:
    """Return the prototypes of a group's first seed, by falling score.

    Of two classes the second is shown; of several, the strongest of each prototype, class after
    class.
    """
    known = data_set(group.set)
    items = [item for item in group.records[0].prototypes if _scores(item)]
    classes = list(_scores(items[0])) if items else []
    only = classes[-1] if len(classes) == 2 else None
    rows = []
    for item in sorted(items, key=lambda item: _rank(item, only, classes)):
        label = only or _strongest(item)
        row = [
            shown(_scores(item).get(label), 2),
            shown(_numbers(item.get("class_rate")).get(label), 2),
            shown(_numbers(item).get("usage")),
            escaped(str(item.get("sentence", ""))),
        ]
        rows.append(row if only else [escaped(known.class_name(label)), *row])
    header = ["score", "class rate", "usage", "prototype"]
    if only is None:
        return table(["class", *header], rows)
    name = escaped(known.class_name(only))
    return table([f"score, {name}", f"rate, {name}", *header[2:]], rows)


def set_title(name: str) -> str:
    """Return a data set's title; a star marks one that is not the paper's own data."""
    known = data_set(name)
    return escaped(known.title) + ("" if known.exact else r" \*")


def _measured_kinds(
    results: Results, encoder: str, wanted: Callable[[ModelKind], bool]
) -> list[ModelKind]:
    measured = {group.kind for group in results.groups if group.encoder in (encoder, "")}
    return [kind for kind in MODELS if kind in measured and wanted(kind)]


def _accuracy(group: Group | None) -> str:
    if group is None:
        return MISSING
    counts = shown_range(record.figure("n_prototypes") for record in group.records)
    return _with_count(shown(group.figure("accuracy")), counts)


def _with_count(accuracy: str, count: str) -> str:
    return accuracy if MISSING in (accuracy, count) else f"{accuracy} ({count})"


def _measure(name: str, group: Group) -> str:
    if name == "n_prototypes":
        return shown_range(record.figure(name) for record in group.records)
    return shown_measure(name, group.figure(name))


def _mean(figure: Figure | None) -> float | None:
    return None if figure is None else figure.mean


def _numbers(values: Any) -> dict[str, float]:
    pairs = values.items() if isinstance(values, dict) else ()
    return {str(key): float(value) for key, value in pairs if type(value) in (int, float)}


def _scores(item: dict[str, Any]) -> dict[str, float]:
    return _numbers(item.get("scores"))


def _strongest(item: dict[str, Any]) -> str:
    scores = _scores(item)
    return max(scores, key=lambda label: scores[label])


def _rank(item: dict[str, Any], label: str | None, classes: list[str]) -> tuple[Any, ...]:
    """Order by falling score; with several classes, class after class."""
    shown_class = label or _strongest(item)
    place = classes.index(shown_class) if shown_class in classes else len(classes)
    return place, -_scores(item).get(shown_class, 0.0), str(item.get("sentence"))
