"""The results page: what was measured, table by table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from protorynet_lab.bench.catalogue import data_set
from protorynet_lab.bench.commands import Run, runs_of
from protorynet_lab.bench.markdown import escaped, provenance
from protorynet_lab.bench.recipe.tables import (
    accuracy_goals_table,
    accuracy_table,
    best_of_ours,
    ceiling_table,
    faithfulness_goals_table,
    faithfulness_table,
    prototypes_table,
    set_title,
    time_table,
)
from protorynet_lab.bench.results import Group, Results, seeds_of

__all__ = ["results_page"]

_SHOWN_PROTOTYPES = ("yelp", "hotel", "imdb")
_NO_ENCODER = {"", "word pieces"}
_HEAD = """\
# What was measured

<!-- Written by `protorynet bench recipe --from-records`; discussion goes into results-notes.md. -->

Every figure is the mean over seeds ± the standard deviation, on a test split that each job reads
once. The command under each table trains, measures and writes this page, [`results/`](results) and
the plot; with `--from-records` it only writes. `DATA` is a folder of Parquet tables with the
columns `text`, `label`, `split`. The paper's tables with all rivals are in
[paper-tables.md](paper-tables.md). A star marks data that are a slice of
the paper's kind, not its own data and split: there, compare models with each other, not with the
paper. Columns in *italics* are the paper's own figures. What the measures mean is in
[method.md](method.md); speed is in [performance.md](performance.md)."""
_ACCURACY = """\
Accuracy, and in brackets the number of prototypes. *Full*, *adapter* and *frozen* say how much of
the encoder learns; "paper's procedure" is the preset `paper`, whose prototypes are free vectors
shown by their nearest sentences."""
_CEILING = """\
The ceiling is the same encoder and reader with no prototypes in between, trained as long. The gap
is the ceiling's accuracy minus ours, seed by seed."""
_FRONTIER = """\
![Accuracy against four measures of faithfulness, ours and the paper's procedure.](frontier.svg)

One mark per data set and model, the mean over seeds. A line joins the paper's procedure to ours on
the same data; dashes mark the goals."""
_GOALS = "Means over seeds; where a goal is about several data sets, the worst of them is shown."
_EVERY_SET = "On every data set:"
_PROTOTYPES = """\
All prototypes of our most accurate model, first seed. Score: the model's probability of the class
for the prototype read alone; class rate: the share of that class among the documents of the
sentences matched to it; usage: its share of all training sentences."""
_TIME = "Seconds of training: all steps of Algorithm 1, without encoding texts and measuring."
_GOAL_MODELS = ("full", "adapter", "ceiling-full")


def results_page(results: Results, notes: str | None) -> str:
    """Return the page in Markdown.

    Parameters
    ----------
    results
        What was measured.
    notes
        Hand-written discussion, which goes under "What falls short".
    """
    parts = [_HEAD, *_machine(results), *_goals(results), *_accuracy(results)]
    parts += [*_ceilings(results), "## Accuracy and faithfulness together", _FRONTIER]
    parts += [*_faithfulness(results), *_prototypes(results), *_time(results)]
    if notes is not None:
        parts += ["## What falls short", notes.strip()]
    parts += _failures(results)
    return "\n\n".join(parts) + "\n"


def _machine(results: Results) -> Iterator[str]:
    records = [record for group in results.groups for record in group.records]
    devices = sorted({record.device for record in records if record.device})
    versions = sorted({pair for record in records for pair in record.versions.items()})
    if devices or versions:
        packages = ", ".join(f"{escaped(name)} {escaped(version)}" for name, version in versions)
        yield f"Measured on {escaped(', '.join(devices)) or 'an unknown machine'} with {packages}."
    mixed = [group for group in results.groups if len({r.recipe for r in group.records}) > 1]
    if mixed:
        names = ", ".join(escaped(group.title) for group in mixed)
        yield f"**The seeds of these models were trained with different settings:** {names}."


def _goals(results: Results) -> list[str]:
    groups = [group for group in results.groups if group.kind.name in _GOAL_MODELS]
    tables = [accuracy_goals_table(results), faithfulness_goals_table(results)]
    return ["## Goals", _GOALS, tables[0], _EVERY_SET, tables[1], _provenance(groups)]


def _accuracy(results: Results) -> Iterator[str]:
    yield "## Accuracy"
    yield _ACCURACY
    for encoder in results.encoders or ("",):
        sets = {group.set for group in results.groups if group.encoder == encoder}
        groups = [
            group
            for group in results.groups
            if group.encoder in (encoder, "") and group.kind.family != "ceiling"
            if group.set in sets
        ]
        if encoder:
            yield f"### {escaped(encoder)}"
        yield accuracy_table(results, encoder)
        yield _provenance(groups)


def _ceilings(results: Results) -> Iterator[str]:
    yield "## Against a black box"
    yield _CEILING
    for encoder in results.encoders:
        own = [group for group in results.groups if group.encoder == encoder]
        ceilings = {group.kind.name for group in own if group.kind.family == "ceiling"}
        if not ceilings:
            continue
        compared = {*ceilings, *(name.removeprefix("ceiling-") for name in ceilings)}
        groups = [group for group in own if group.kind.name in compared]
        yield f"### {escaped(encoder)}, with and without prototypes"
        yield ceiling_table(results, encoder)
        yield _provenance(groups)


def _faithfulness(results: Results) -> Iterator[str]:
    yield "## Faithfulness"
    yield "Stability is the share of prototypes that the models of other seeds have as well."
    for name in results.sets:
        for encoder in results.encoders:
            groups = [
                group
                for group in results.of(name)
                if group.encoder == encoder and group.kind.has_prototypes
            ]
            if groups:
                yield f"### {set_title(name)}, {escaped(encoder)}"
                yield faithfulness_table(groups) + _judges(groups)
                yield _provenance(groups)


def _judges(groups: list[Group]) -> str:
    judges = sorted({record.judge for group in groups for record in group.records} - {""})
    return f"\n\nMatches judged by {escaped(', '.join(judges))}." if judges else ""


def _prototypes(results: Results) -> Iterator[str]:
    yield "## The prototypes"
    yield _PROTOTYPES
    for name in _SHOWN_PROTOTYPES:
        group = best_of_ours(results, name)
        yield f"### {data_set(name).title}"
        if group is None:
            yield "Nothing was measured yet."
            continue
        first = replace(group, records=group.records[:1])
        yield f"{escaped(group.title)}, seed {first.records[0].seed}."
        yield prototypes_table(first)
        yield _provenance([first])


def _time(results: Results) -> Iterator[str]:
    yield "## Time"
    yield _TIME
    for encoder in results.encoders:
        groups = [group for group in results.groups if group.encoder == encoder]
        yield f"### {escaped(encoder)}, seconds"
        yield time_table(results, encoder)
        yield _provenance(groups)


def _failures(results: Results) -> Iterator[str]:
    if results.failures:
        yield "## Jobs that failed"
        yield "\n".join(f"- {escaped(text)}" for text in results.failed_jobs)


def _provenance(groups: Sequence[Group]) -> str:
    if not groups:
        return "Nothing was measured yet."
    return provenance(seeds_of(groups), [_command(run) for run in runs_of(groups)])


def _command(run: Run) -> str:
    judges = {record.judge for group in run.groups for record in group.records} - _NO_ENCODER
    options = {**run.options, "judge": sorted(judges)}
    return run.command("protorynet bench recipe --data DATA", options, "docs/results")
