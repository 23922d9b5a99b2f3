"""What an experiment is: the jobs it needs, what it shows, and the commands that measure it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from shlex import quote
from typing import Any

from protorynet_lab.bench.bench_blocks import Block, Command, Items, Prose
from protorynet_lab.bench.bench_jobs import DESCRIPTIONS, PLAIN, Variant, find_data_set
from protorynet_lab.bench.bench_results import Group, Results, format_seeds

_BUILT_IN_JUDGES = {"", "word pieces"}  # no encoders that a command could name


def _text(key: str) -> str:
    return " ".join(DESCRIPTIONS["page"][key].split())


@dataclass(frozen=True)
class Experiment:
    """One table or figure of the paper, or a page of several, as experiments.toml describes it."""

    name: str  # on the command line; that of the table where it is about the user's own
    blocks: Callable[[Results], list[Block]]
    variants: Callable[[bool], tuple[Variant, ...]] = lambda quick: (PLAIN,)
    table: str = ""  # path of the user's own table

    @property
    def _description(self) -> dict[str, Any]:
        return DESCRIPTIONS["own" if self.table else self.name]

    @property
    def rows(self) -> list[str]:
        """The models that it shows, in their order."""
        return list(self._description["rows"])

    @property
    def models(self) -> list[str]:
        """The models that are measured unless others are asked for."""
        return [name for name in self.rows if name not in self._description.get("beside", ())]

    @property
    def sets(self) -> list[str]:
        """The data sets that are measured unless others are asked for."""
        return [self.name] if self.table else list(self._description["sets"])

    @property
    def title(self) -> str:
        """Its heading."""
        return str(self._description["title"]).format(name=self.name)

    def text(self, key: str = "about") -> str:
        """Return what it says of one of its tables, or of all."""
        return " ".join(self._description[key].split())

    def suits(self, name: str) -> bool:
        """Whether a data set belongs into this experiment, where all are made at once."""
        own = {find_data_set(each).is_multiclass for each in self.sets}
        return find_data_set(name).is_multiclass in own

    def select(
        self, results: Results, *, sets: Collection[str] = (), models: Collection[str] = ()
    ) -> Results:
        """Return the results that concern it, and those of sets and models asked for by name."""
        measured = [*results.sets, *(record.set for record in results.failures)]
        suitable = [name for name in measured if name in sets or self.suits(name)]
        return results.only(
            sets=self.sets if self.table else suitable, models=(*self.rows, *models)
        )

    def page(
        self, results: Results, *, sets: Collection[str] = (), models: Collection[str] = ()
    ) -> list[Block]:
        """Return all that it shows, with what failed and the command to measure it."""
        own = self.select(results, sets=sets, models=models)
        blocks, groups = self.blocks(own), self._shown_groups(own)
        failed: list[Block] = []
        if own.failures:
            failed = [Prose("Jobs that failed:"), Items(own.failed_jobs)]
        if own.outdated:
            outdated = ", ".join(dict.fromkeys(record.model for record in own.outdated))
            failed.append(Prose(_text("outdated").format(models=outdated)))
        if not blocks or not groups:
            return [Prose("Nothing was measured yet."), *failed]
        quick = [Prose(_text("quick"))] if any(group.is_quick for group in own.groups) else []
        has_commands = any(isinstance(block, Command) for block in blocks)
        command = [] if has_commands else [make_command(self, groups)]
        return [*quick, *blocks, *failed, *command]

    def _shown_groups(self, results: Results) -> list[Group]:
        names = {quick: {each.name for each in self.variants(quick)} for quick in (False, True)}
        groups = [group for group in results.groups if group.variant in names[group.is_quick]]
        varied = {group.model for group in groups if group.variant}
        # Where variants are compared with the model itself, one without them is not shown.
        return [g for g in groups if len(names[g.is_quick]) == 1 or g.model in varied]


def make_command(
    experiment: Experiment, groups: Collection[Group], *, name_judges: bool = False
) -> Command:
    """Return the commands that measure some groups, the one that measures most first."""
    runs = _find_runs(groups)
    lines = []
    for run in runs:
        options = run.options
        if len(runs) == 1 and set(options["models"]) == set(experiment.models):
            del options["models"]
        start = f"protorynet bench {experiment.name} --data DATA"
        if experiment.table:
            start = f"protorynet bench {quote(experiment.table)}"
            del options["sets"]
            options = {**_column_options(run.groups), **options}
        if name_judges:
            judges = {record.judge for group in run.groups for record in group.records}
            options["judge"] = sorted(judges - _BUILT_IN_JUDGES)
        given = {name: ",".join(map(quote, words)) for name, words in options.items()}
        words = [f"--{name} {values}" for name, values in given.items() if values]
        quick = ["--quick"] if run.is_quick else []
        lines.append(" ".join([start, *words, *quick, "--out OUT"]))
    return Command(tuple(lines), format_seeds(groups))


def _column_options(groups: Collection[Group]) -> dict[str, list[str]]:
    records = [record for group in groups for record in group.records if record.columns]
    options = {"split": "split-column"}  # others are called as their column is
    columns = records[0].columns if records else {}
    return {options.get(name, name): [word] for name, word in columns.items()}


@dataclass
class _Run:
    """Groups that one command measures: all models, with all their variants, sets and seeds."""

    groups: list[Group]
    sets: tuple[str, ...]
    seeds: tuple[int, ...]
    is_quick: bool
    vectors: str | None  # empty where words are learned, None where no model reads words

    @property
    def options(self) -> dict[str, list[str]]:
        """The options of the command; those without values are left out of it."""
        return {
            "sets": list(self.sets),
            "models": list(dict.fromkeys(group.kind.name for group in self.groups)),
            "encoders": sorted({group.encoder for group in self.groups} - {""}),
            "seeds": [str(seed) for seed in self.seeds],
            "vectors": [self.vectors] if self.vectors else [],
        }

    def takes(self, other: _Run) -> bool:
        """Whether models without an encoder can go along."""
        same = (self.sets, self.seeds, self.is_quick) == (other.sets, other.seeds, other.is_quick)
        return same and (None in (self.vectors, other.vectors) or self.vectors == other.vectors)


def _find_runs(groups: Collection[Group]) -> list[_Run]:
    """Return a run for each encoder, several where sets or seeds differ, the largest first."""
    seeds = defaultdict[tuple[str, str, str], set[int]](set)
    for group in groups:
        seeds[group.model] |= {record.seed for record in group.records}
    by_model = defaultdict[tuple[Any, ...], list[Group]](list)
    for group in groups:
        vectors = None
        if group.kind.uses_vectors:
            vectors = ",".join(sorted({record.vectors for record in group.records}))
        own_seeds = tuple(sorted(seeds[group.model]))
        key = (group.encoder, group.kind.name, own_seeds, group.is_quick, vectors)
        by_model[key].append(group)
    by_encoder: dict[tuple[Any, ...], _Run] = {}
    for (encoder, _, *common), members in by_model.items():
        sets = tuple(dict.fromkeys(group.set for group in members))
        run = by_encoder.setdefault((encoder, sets, *common), _Run([], sets, *common))
        run.groups += members
    runs: list[_Run] = []
    for run in sorted(by_encoder.values(), key=lambda r: (not r.groups[0].encoder, -len(r.groups))):
        host = None if run.groups[0].encoder else next((r for r in runs if r.takes(run)), None)
        if host is None:
            runs.append(run)
        else:
            host.groups += run.groups
            host.vectors = run.vectors if host.vectors is None else host.vectors
    return runs
