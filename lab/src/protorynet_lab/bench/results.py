"""All records of a benchmark, ordered and grouped by what differs in the seed only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protorynet.errors import InputError
from protorynet_lab.bench.catalogue import DATA_SETS, MODELS, ModelKind, data_set
from protorynet_lab.bench.figures import Figure, figure_of
from protorynet_lab.bench.records import DOCUMENTS, Record, Stability, read_records

__all__ = ["Group", "Results", "read_results", "seeds_of"]

_NAMED_EXCEPTIONS = 3  # groups with fewer or more seeds than the others; more are only counted


@dataclass(frozen=True)
class Group:
    """The seeds of one model with one encoder on one data set.

    Parameters
    ----------
    set, encoder, kind
        What was measured.
    variant
        How the model differs from what it usually is; empty where it does not.
    records
        One record per seed that went well, by rising seed.
    stability
        How far the prototypes of the seeds agree; None where it was not measured.
    """

    set: str
    encoder: str
    kind: ModelKind
    records: tuple[Record, ...]
    stability: float | None
    variant: str = ""

    @property
    def title(self) -> str:
        """The data set, the model and the encoder as the tables name them."""
        parts = (data_set(self.set).title, self.kind.title, self.encoder, self.variant)
        return ", ".join(filter(None, parts))

    @property
    def is_quick(self) -> bool:
        """Whether some seed was measured for a moment only, to see that everything works."""
        return any(record.is_quick for record in self.records)

    def figure(self, name: str) -> Figure | None:
        """Return a figure over the seeds."""
        if name == "stability":
            return None if self.stability is None else Figure(self.stability, None, 1)
        return figure_of(record.figure(name) for record in self.records)


@dataclass(frozen=True)
class Results:
    """Everything that was measured.

    Parameters
    ----------
    groups
        The groups, in the order of the tables.
    failures
        The records of jobs that failed.
    outdated
        Records of other documents or weights than the latest under the same name, or of a quick run
        where there are figures measured in earnest; no table shows them.
    """

    groups: tuple[Group, ...]
    failures: tuple[Record, ...]
    outdated: tuple[Record, ...] = ()

    @property
    def sets(self) -> tuple[str, ...]:
        """The data sets, those of the paper first and in its order."""
        return tuple(dict.fromkeys(group.set for group in self.groups))

    @property
    def encoders(self) -> tuple[str, ...]:
        """The encoders, by name."""
        return tuple(sorted({group.encoder for group in self.groups if group.encoder}))

    @property
    def main_encoders(self) -> tuple[str, ...]:
        """The encoders that more than a transformer was made with; one table is made for each.

        The one that most was measured with comes first, and those with which all failed last.
        Where there are none, one without a name stands for all models that have no encoder.
        """
        measured = Counter(
            group.encoder for group in self.groups if group.kind.name != "transformer"
        )
        names = {record.encoder for record in self.failures if record.model != "transformer"}
        names = (names | set(measured)) - {""}
        return tuple(sorted(names, key=lambda name: (-measured[name], name))) or ("",)

    def sets_of(self, encoder: str) -> tuple[str, ...]:
        """Return the data sets of an encoder's table: those tried with it, or with no encoder."""
        measured = {(group.set, group.encoder) for group in self.groups}
        tried = measured | {(record.set, record.encoder) for record in self.failures}
        encoders = self.main_encoders
        return tuple(
            name
            for name in self.sets
            if (name, encoder) in tried or not any((name, other) in measured for other in encoders)
        )

    @property
    def is_quick(self) -> bool:
        """Whether some of it was measured for a moment only, to see that everything works."""
        return any(group.is_quick for group in self.groups)

    @property
    def failed_jobs(self) -> tuple[str, ...]:
        """The jobs that failed and why; a reason that many share is told once."""
        reasons: dict[str, dict[str, list[str]]] = {}
        for record in self.failures:
            names = (record.set, record.encoder, record.model, record.variant)
            jobs = reasons.setdefault(record.error or "", {})
            jobs.setdefault(" ".join(filter(None, names)), []).append(str(record.seed))
        return tuple(
            f"{'; '.join(_numbered(name, seeds) for name, seeds in jobs.items())}: {why}"
            for why, jobs in reasons.items()
        )

    def only(
        self,
        *,
        sets: Collection[str] | None = None,
        models: Collection[str] | None = None,
        variants: Collection[str] | None = None,
    ) -> Results:
        """Return what concerns some data sets, models and variants; None stands for all."""

        def is_wanted(name: str, model: str, variant: str) -> bool:
            pairs = ((name, sets), (model, models), (variant, variants))
            return all(wanted is None or value in wanted for value, wanted in pairs)

        return Results(
            tuple(g for g in self.groups if is_wanted(g.set, g.kind.name, g.variant)),
            tuple(r for r in self.failures if is_wanted(r.set, r.model, r.variant)),
            tuple(r for r in self.outdated if is_wanted(r.set, r.model, r.variant)),
        )

    def without_own(self, asked_for: Collection[str] = ()) -> Results:
        """Leave out the tables of the user's own, but for those asked for by name."""
        measured = (record for group in self.groups for record in group.records)
        records = [*measured, *self.failures, *self.outdated]
        own = {record.set for record in records if record.is_own} - set(asked_for)
        return self.only(sets={record.set for record in records} - own)

    def group(self, name: str, encoder: str, model: str, variant: str = "") -> Group | None:
        """Return a group; None where nothing was measured."""
        for group in self.groups:
            same_encoder = group.encoder in (encoder, "")
            same_model = group.kind.name == model and group.variant == variant
            if group.set == name and same_encoder and same_model:
                return group
        return None

    def of(self, name: str) -> tuple[Group, ...]:
        """Return the groups of one data set."""
        return tuple(group for group in self.groups if group.set == name)

    def figure(self, name: str, encoder: str, model: str, measure: str) -> Figure | None:
        """Return a figure of a group; None where it was not measured."""
        group = self.group(name, encoder, model)
        return None if group is None else group.figure(measure)

    def ceiling_gap(self, name: str, encoder: str, training: str) -> Figure | None:
        """Return the accuracy that our prototypes cost against the same encoder without any.

        Compared seed by seed, since a seed stands for the same documents held out.
        """
        ours = self.group(name, encoder, training)
        ceiling = self.group(name, encoder, f"ceiling-{training}")
        if ours is None or ceiling is None:
            return None
        lost = []
        for record in ours.records:
            for other in ceiling.records:
                mine, best = record.figure("accuracy"), other.figure("accuracy")
                if record.seed == other.seed and mine is not None and best is not None:
                    lost.append(best - mine)
        return figure_of(lost)


def read_results(folder: Path) -> Results:
    """Read all records of a folder; a job that is in several files counts once."""
    if not folder.is_dir():
        raise InputError(
            f"there is no folder {folder} of records; measure first, or name the folder that was "
            "measured into with --out."
        )
    records: dict[Any, Record] = {}
    stabilities: dict[Any, Stability] = {}
    for path in sorted(folder.glob("*.jsonl")):
        found, compared = read_records(path)
        records |= {record.key: record for record in found}
        stabilities |= {each.key: each for each in compared}
    return _grouped(list(records.values()), stabilities)


def _grouped(records: Sequence[Record], stabilities: dict[Any, Stability]) -> Results:
    kinds = {kind.name: kind for kind in MODELS}
    of_models = sorted((record for record in records if record.model in kinds), key=_order)
    latest, weights = _latest_documents(records), _latest_weights(records)
    known: list[Record] = []
    outdated: list[Record] = []
    for record in of_models:
        # Records from before the digest was kept are taken at their word.
        is_latest = not record.data or record.data == latest.get(record.set, record.data)
        is_same = not record.weights or record.weights == weights[_start(record)]
        (known if is_latest and is_same else outdated).append(record)
    members: dict[tuple[str, str, str, str], list[Record]] = {}
    for record in known:
        if record.error is None:
            members.setdefault(record.key[:4], []).append(record)
    groups = []
    for (name, encoder, model, variant), seeds in members.items():
        # The seeds of variants are not compared.
        of_any = [stabilities.get((name, encoder, model, each)) for each in (latest.get(name), "")]
        stability = next(filter(None, of_any), None)
        value = None if variant or stability is None else stability.value
        groups.append(Group(name, encoder, kinds[model], tuple(seeds), value, variant))
    failures = tuple(record for record in known if record.error is not None)
    return Results(tuple(groups), failures, tuple(outdated))


def seeds_of(groups: Collection[Group]) -> str:
    """Return with how many seeds some groups were measured, and which of them with others.

    Examples
    --------
    >>> seeds_of([])
    '0 seeds'
    """
    counts = Counter(len(group.records) for group in groups) or Counter([0])
    usual = max(counts, key=lambda count: (counts[count], count))
    others = [group for group in groups if len(group.records) != usual]
    if len(others) > _NAMED_EXCEPTIONS:
        return f"{min(counts)} to {max(counts)} seeds"
    exceptions = "".join(f"; {group.title}: {len(group.records)}" for group in others)
    return f"{usual} seed{'' if usual == 1 else 's'}{exceptions}"


def _numbered(name: str, seeds: list[str]) -> str:
    return f"{name}, seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)}"


def _latest_documents(records: Sequence[Record]) -> dict[str, str]:
    """Return the digest of each data set's documents that the last run was about.

    A quick run counts only where nothing was measured in earnest.
    """
    told = [record for record in records if record.data and record.error is None]
    measured = {record.set for record in told if not record.is_quick and record.model != DOCUMENTS}
    quick = {record.set: record.data for record in told if record.is_quick}
    earnest = {r.set: r.data for r in told if not r.is_quick and r.set in measured}
    return quick | earnest


def _latest_weights(records: Sequence[Record]) -> dict[tuple[str, ...], str]:
    """Return the digest of what was started from last, under the same name."""
    return {_start(record): record.weights for record in records if record.weights}


def _start(record: Record) -> tuple[str, ...]:
    return record.set, record.encoder, str(record.settings.get("vectors", ""))


def _order(record: Record) -> tuple[Any, ...]:
    sets = [each.name for each in DATA_SETS]
    place = sets.index(record.set) if record.set in sets else len(sets)
    model = [kind.name for kind in MODELS].index(record.model)
    return place, record.set, record.encoder or "\uffff", model, record.variant, record.seed
