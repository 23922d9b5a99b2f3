"""The page of the recipe: ours against the paper's procedure, ceilings and floor, by encoder."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from protorynet.report import measure_title
from protorynet_lab.bench.bench_blocks import Block, Command, Grid, Heading, Plot, Prose, make_grid
from protorynet_lab.bench.bench_experiment import Experiment, make_command
from protorynet_lab.bench.bench_jobs import (
    DESCRIPTIONS,
    MODELS,
    ModelKind,
    find_data_set,
    paper_figure,
)
from protorynet_lab.bench.bench_plots import draw_frontier
from protorynet_lab.bench.bench_records import read_numbers
from protorynet_lab.bench.bench_results import (
    MISSING,
    Group,
    Results,
    format_figure,
    format_measure,
    format_range,
)

_COUNTS = {"n_prototypes": "Prototypes", "n_members": "Their sentences"}
_OF_MEMBERS = ("n_members", "seed_agreement", "family_coherence", "family_spread")
_SHOWN_PROTOTYPES = ("yelp", "hotel", "imdb")
_PAPER_COLUMNS = {
    "full": "fine-tuned",
    "none": "frozen",
    "transformer": "DistilBERT",
    "bag-of-words-paper": "bag of words",
}


def _recipe_blocks(results: Results) -> list[Block]:
    plain = results.only(variants=("",))
    if not plain.groups:
        return []
    return [
        *_machine_blocks(plain),
        *_accuracy_blocks(plain),
        *_ceiling_blocks(plain),
        *_frontier_blocks(plain),
        *_faithfulness_blocks(plain),
        *_prototype_blocks(plain),
        *_time_blocks(plain),
    ]


def _command(groups: Sequence[Group]) -> Command:
    return make_command(RECIPE, groups, name_judges=True)


def _measured_kinds(
    results: Results, encoder: str, is_wanted: Callable[[ModelKind], bool]
) -> list[ModelKind]:
    measured = {group.kind for group in results.groups if group.encoder in (encoder, "")}
    return [kind for kind in MODELS if kind in measured and is_wanted(kind)]


def _machine_blocks(results: Results) -> Iterator[Block]:
    records = [record for group in results.groups for record in group.records]
    devices = sorted({record.device for record in records if record.device})
    versions = sorted({pair for record in records for pair in record.versions.items()})
    if devices or versions:
        packages = ", ".join(f"{name} {version}" for name, version in versions)
        yield Prose(f"Measured on {', '.join(devices) or 'an unknown machine'} with {packages}.")
    mixed = [group.title for group in results.groups if len({r.recipe for r in group.records}) > 1]
    if mixed:
        words = "The seeds of these models were trained with different settings"
        yield Prose(f"{words}: {', '.join(mixed)}.")


def _accuracy_blocks(results: Results) -> Iterator[Block]:
    yield Heading("Accuracy")
    yield Prose(RECIPE.text("accuracy"))
    for encoder in results.encoders or ("",):
        sets = {group.set for group in results.groups if group.encoder == encoder}
        groups = [
            group
            for group in results.groups
            if group.encoder in (encoder, "") and group.kind.family != "ceiling"
            if group.set in sets
        ]
        kinds = _measured_kinds(results, encoder, lambda kind: kind.family != "ceiling")
        rows = []
        for name in results.sets_of(encoder):
            own = (results.group(name, encoder, kind.name) for kind in kinds)
            cells = [MISSING if group is None else group.counted_accuracy for group in own]
            theirs = [format_figure(paper_figure(name, figure)) for figure in _PAPER_COLUMNS]
            if theirs[0] != MISSING:
                theirs[0] += f" ({format_range([paper_figure(name, 'n_prototypes')])})"
            rows.append([_title(name), *cells, *theirs])
        if encoder:
            yield Heading(encoder, 1)
        theirs = [f"paper: {title}" for title in _PAPER_COLUMNS.values()]
        yield make_grid(["data", *(kind.title for kind in kinds), *theirs], rows)
        yield _command(groups)


def _ceiling_blocks(results: Results) -> Iterator[Block]:
    yield Heading("Against a black box")
    yield Prose(RECIPE.text("ceiling"))
    for encoder in results.encoders:
        own = [group for group in results.groups if group.encoder == encoder]
        kinds = dict.fromkeys(group.kind for group in own if group.kind.family == "ceiling")
        trainings = [kind.name.removeprefix("ceiling-") for kind in MODELS if kind in kinds]
        if not trainings:
            continue
        rows = []
        for name in results.sets_of(encoder):
            row = [_title(name)]
            for training in trainings:
                ceiling = results.figure(name, encoder, f"ceiling-{training}", "accuracy")
                gap = results.ceiling_gap(name, encoder, training)
                row += [format_figure(ceiling), format_figure(gap)]
            rows.append(row)
        header = [f"{training}: {part}" for training in trainings for part in ("ceiling", "gap")]
        yield Heading(f"{encoder}, with and without prototypes", 1)
        yield make_grid(["data", *header], rows)
        yield _command([g for g in own if g.kind.name.removeprefix("ceiling-") in trainings])


def _frontier_blocks(results: Results) -> Iterator[Block]:
    groups = [g for g in results.groups if g.kind.has_prototypes and g.figure("accuracy")]
    if not groups:
        return
    alt = "Accuracy against four measures of faithfulness, ours and the paper's procedure."
    yield Heading("Accuracy and faithfulness together")
    yield Plot("frontier", draw_frontier(groups), alt)
    yield Prose(RECIPE.text("frontier"))


def _faithfulness_blocks(results: Results) -> Iterator[Block]:
    yield Heading("Faithfulness")
    yield Prose(RECIPE.text("faithfulness"))
    first = DESCRIPTIONS[RECIPE.name]["measures"]
    models = [group for group in results.groups if group.kind.has_prototypes]
    for name, encoder in dict.fromkeys((group.set, group.encoder) for group in models):
        groups = [group for group in models if (group.set, group.encoder) == (name, encoder)]
        records = [record for group in groups for record in group.records]
        others = {measure for record in records for measure in record.faithfulness}
        measures = [*first, *sorted(others.difference(first))]
        # Records of before know nothing of members.
        measures = [m for m in measures if m not in _OF_MEMBERS or any(g.figure(m) for g in groups)]
        rows = [
            [
                _COUNTS.get(measure, measure_title(measure)),
                *(_format_measure(measure, group) for group in groups),
            ]
            for measure in measures
        ]
        yield Heading(f"{_title(name)}, {encoder}", 1)
        yield make_grid(["measure", *(group.kind.title for group in groups)], rows)
        judges = ", ".join(sorted({record.judge for record in records} - {""}))
        if judges:
            yield Prose(f"Matches judged by {judges}.")
        yield _command(groups)


def _format_measure(measure: str, group: Group) -> str:
    if measure in _COUNTS:
        return format_range(record.figure(measure) for record in group.records)
    return format_measure(measure, group.figure(measure))


def _prototype_blocks(results: Results) -> Iterator[Block]:
    yield Heading("The prototypes")
    yield Prose(RECIPE.text("prototypes"))
    for name in _SHOWN_PROTOTYPES:
        own = [group for group in results.groups if group.set == name]
        ours = [group for group in own if group.kind.family == "ours"]
        ours = ours or [group for group in own if group.kind.family == "single"]
        yield Heading(find_data_set(name).title, 1)
        if not ours:
            yield Prose("Nothing was measured yet.")
            continue
        best = max(ours, key=lambda group: group.mean("accuracy") or 0.0)
        first = replace(best, records=best.records[:1])
        yield Prose(f"{best.title}, seed {first.records[0].seed}.")
        yield _prototype_grid(first)
        yield _command([first])


def _prototype_grid(group: Group) -> Grid:
    """Return the prototypes of a group's first seed, by falling score.

    Of two classes the second is shown; of several, the strongest, class after class.
    """
    items = [(item, read_numbers(item.get("scores"))) for item in group.records[0].prototypes]
    items = [(item, scores) for item, scores in items if scores]
    classes = list(items[0][1]) if items else []
    has_members = any(read_numbers(item).get("n_members", 1) > 1 for item, _ in items)
    only = classes[-1] if len(classes) == 2 else None
    ranked = []
    for item, scores in items:
        label = only or max(scores, key=lambda label: scores[label])
        rank = classes.index(label) if label in classes else len(classes)
        ranked.append((rank, -scores.get(label, 0.0), str(item.get("sentence", "")), label, item))
    named = find_data_set(group.set).class_name
    rows = []
    for _, _, sentence, label, item in sorted(ranked, key=lambda each: each[:3]):
        row = [
            format_figure(read_numbers(item.get("scores")).get(label), 2),
            format_figure(read_numbers(item.get("class_rate")).get(label), 2),
            format_figure(read_numbers(item).get("usage")),
            sentence,
        ]
        if has_members:
            others = [text for text in item.get("members") or () if text != sentence]
            count = format_figure(read_numbers(item).get("n_members"), 0)
            row += [count, ", ".join(item.get("words") or ()), " / ".join(others[:3])]
        rows.append(row if only else [named(label), *row])
    header = ["class", "score", "class rate", "usage", "prototype"]
    if only is not None:
        header = [f"score, {named(only)}", f"rate, {named(only)}", "usage", "prototype"]
    return make_grid([*header, *(["members", "words", "such as"] if has_members else [])], rows)


def _time_blocks(results: Results) -> Iterator[Block]:
    yield Heading("Time")
    yield Prose(RECIPE.text("time"))
    for encoder in results.encoders:
        kinds = _measured_kinds(results, encoder, lambda kind: kind.encoder_training is not None)
        rows = []
        for name in results.sets_of(encoder):
            figures = [results.figure(name, encoder, k.name, "training_seconds") for k in kinds]
            seconds = (format_figure(each and each.mean, 0) for each in figures)
            rows.append([_title(name), *seconds])
        yield Heading(f"{encoder}, seconds", 1)
        yield make_grid(["data", *(kind.title for kind in kinds)], rows)
        yield _command([group for group in results.groups if group.encoder == encoder])


def _title(name: str) -> str:
    return find_data_set(name).starred_title


RECIPE = Experiment("recipe", _recipe_blocks)
"""Ours, the paper's procedure, the ceilings and the floor."""
