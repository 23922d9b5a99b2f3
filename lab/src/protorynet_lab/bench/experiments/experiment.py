"""What an experiment is: the jobs it needs, and the blocks it makes of their records."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from shlex import quote

from protorynet_lab.bench.blocks import Block, Command, Items, Prose
from protorynet_lab.bench.catalogue import DATA_SETS, data_set
from protorynet_lab.bench.commands import Run, runs_of
from protorynet_lab.bench.jobs import PLAIN, Variant
from protorynet_lab.bench.results import Group, Results, seeds_of

__all__ = ["BINARY_SETS", "MULTICLASS_SETS", "Experiment", "Measurements", "command_of"]

BINARY_SETS = tuple(each.name for each in DATA_SETS if not each.multiclass)
MULTICLASS_SETS = tuple(each.name for each in DATA_SETS if each.multiclass)
_QUICK = (
    "This was a quick run on a few shortened documents: it shows that everything works, and its "
    "figures mean nothing."
)
_OUTDATED = (
    "Left out, since they were measured on other documents, from other weights or in a quick run: "
    "{models}. Measure them again to see them here."
)


def _plain(_: bool) -> tuple[Variant, ...]:
    return (PLAIN,)


@dataclass(frozen=True, kw_only=True)
class Measurements:
    """Which jobs an experiment needs.

    Parameters
    ----------
    name
        Its name on the command line.
    models, sets
        What is measured unless something else is asked for.
    variants
        The variants of each model; fewer in a quick run.
    """

    name: str
    models: tuple[str, ...]
    sets: tuple[str, ...]
    variants: Callable[[bool], tuple[Variant, ...]] = _plain

    def suits(self, name: str) -> bool:
        """Whether a data set belongs into this experiment, where all are made at once.

        Examples
        --------
        >>> from protorynet_lab.bench.experiments import experiment
        >>> experiment("multiclass").suits("imdb"), experiment("table1").suits("mine")
        (False, True)
        """
        return data_set(name).multiclass in {data_set(each).multiclass for each in self.sets}


@dataclass(frozen=True, kw_only=True)
class Experiment(Measurements):
    """One table or figure of the paper.

    Parameters
    ----------
    name, models, sets, variants
        As for `Measurements`.
    title, about
        Its heading; what is measured, and how to read it.
    blocks
        Tables and pictures from the records of these models.
    beside
        Models that other experiments measure and that its tables show as well.
    table
        Path of the user's own table, where it is about one.
    """

    title: str
    about: str
    blocks: Callable[[Results], list[Block]]
    beside: tuple[str, ...] = ()
    table: str = ""

    def page(
        self, results: Results, *, sets: Collection[str] = (), models: Collection[str] = ()
    ) -> list[Block]:
        """Return all blocks of the experiment, with what failed and the command to measure it.

        Parameters
        ----------
        results
            Everything that was measured.
        sets, models
            Data sets to show beside those that suit, and models beside the experiment's own.
        """
        named = _names(results)
        wanted = [name for name in named if name in sets or (not self.table and self.suits(name))]
        own = results.only(
            sets=self.sets if self.table else wanted,
            models=(*self.models, *self.beside, *models),
        )
        blocks = self.blocks(own)
        shown = self._shown(own)
        if not blocks or not shown:
            return [Prose("Nothing was measured yet."), *_not_measured(own), *_left_out(own)]
        quick = [Prose(_QUICK)] if own.is_quick else []
        command = command_of(self, shown)
        return [*quick, *blocks, *_not_measured(own), *_left_out(own), command]

    def _shown(self, results: Results) -> list[Group]:
        names = {quick: {each.name for each in self.variants(quick)} for quick in (False, True)}
        groups = [group for group in results.groups if group.variant in names[group.is_quick]]
        varied = {_model(group) for group in groups if group.variant}
        # Where variants are compared with the model itself, one without them is not shown.
        return [g for g in groups if len(names[g.is_quick]) == 1 or _model(g) in varied]


def command_of(experiment: Experiment, groups: Collection[Group]) -> Command:
    """Return the commands that measure some groups."""
    runs = runs_of(groups)
    lines = tuple(_line(experiment, run, is_all=len(runs) == 1) for run in runs)
    return Command(lines, seeds_of(groups))


def _line(experiment: Experiment, run: Run, *, is_all: bool) -> str:
    options = run.options
    if is_all and set(options["models"]) == set(experiment.models):
        del options["models"]
    start = f"protorynet bench {experiment.name} --data DATA"
    if experiment.table:
        start = f"protorynet bench {quote(experiment.table)}"
        del options["sets"]
        options = {**_columns(run.groups), **options}
    return run.command(start, options, "OUT")


def _columns(groups: Collection[Group]) -> dict[str, Iterable[str]]:
    """Return the options that name the columns of the user's table."""
    records = [record for group in groups for record in group.records if record.columns]
    return {name: [word] for record in records[:1] for name, word in record.columns.items()}


def _model(group: Group) -> tuple[str, str, str]:
    return group.set, group.encoder, group.kind.name


def _left_out(results: Results) -> list[Block]:
    models = ", ".join(dict.fromkeys(record.model for record in results.outdated))
    return [Prose(_OUTDATED.format(models=models))] if models else []


def _names(results: Results) -> list[str]:
    failed = (record.set for record in results.failures)
    return list(dict.fromkeys([*results.sets, *failed]))


def _not_measured(results: Results) -> list[Block]:
    texts = results.failed_jobs
    return [Prose("Jobs that failed:"), Items(texts)] if texts else []
