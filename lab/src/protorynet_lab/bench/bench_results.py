"""All records of a benchmark, grouped by what differs in the seed only, and their figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from protorynet.errors import InputError
from protorynet_lab.bench.bench_jobs import DATA_SETS, MODELS, ModelKind, find_data_set, find_model
from protorynet_lab.bench.bench_records import DOCUMENTS, Record, read_records
from protorynet_lab.bench.bench_significance import compare_assignments

MISSING = "–"
_DECIMALS = {"n_prototypes": 1, "n_members": 0, "training_seconds": 0, "usage_perplexity": 1}
_NAMED_EXCEPTIONS = 3  # groups with fewer or more seeds than the others; more are only counted


@dataclass(frozen=True)
class Figure:
    """Mean and standard deviation over `n` seeds; a single one has no spread."""

    mean: float
    spread: float | None
    n: int


def figure_of(values: Iterable[float | None]) -> Figure | None:
    """Return mean and spread of what was measured; None where nothing was."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return Figure(fmean(known), stdev(known) if len(known) > 1 else None, len(known))


def format_figure(value: Figure | float | None, decimals: int = 3) -> str:
    """Return a figure as the tables print it.

    Examples
    --------
    >>> format_figure(0.934), format_figure(Figure(0.934, 0.0021, 3)), format_figure(-0.0021)
    ('.934', '.934 ± .002', '−.002')
    >>> format_figure(Figure(12.41, 0.3, 3), decimals=1), format_figure(None), format_figure(3e-8)
    ('12.4 ± .3', '–', '.000')
    """
    if value is None:
        return MISSING
    if isinstance(value, Figure):
        mean = format_figure(value.mean, decimals)
        return mean if value.spread is None else f"{mean} ± {format_figure(value.spread, decimals)}"
    digits = f"{abs(value):.{decimals}f}"
    sign = "−" if value < 0 and float(digits) else ""
    return sign + (digits[1:] if digits.startswith("0.") else digits)


def format_measure(name: str, value: Figure | None) -> str:
    """Return a figure with the decimals that suit its measure."""
    if name == "prototype_error" and value is not None:
        return f"{value.mean:.0e}".replace("e-0", "e-") if value.mean else "0"
    return format_figure(value, _DECIMALS.get(name, 3))


def format_range(values: Iterable[float | None]) -> str:
    """Return whole numbers as one, or as the lowest and the highest."""
    known = [value for value in values if value is not None]
    if not known:
        return MISSING
    low, high = round(min(known)), round(max(known))
    return str(low) if low == high else f"{low}–{high}"


@dataclass(frozen=True)
class Group:
    """The seeds that went well of one model with one encoder on one data set."""

    set: str
    encoder: str
    kind: ModelKind
    records: tuple[Record, ...]
    stability: float | None
    variant: str = ""

    @property
    def title(self) -> str:
        """The data set, the model and the encoder as the tables name them."""
        parts = (find_data_set(self.set).title, self.kind.title, self.encoder, self.variant)
        return ", ".join(filter(None, parts))

    @property
    def model_title(self) -> str:
        """The model and the encoder as the tables name them."""
        return ", ".join(filter(None, (self.kind.title, self.encoder)))

    @property
    def model(self) -> tuple[str, str, str]:
        """What it has in common with its variants: the data set, the encoder and the model."""
        return self.set, self.encoder, self.kind.name

    @property
    def is_quick(self) -> bool:
        """Whether some seed was measured in a quick run, to see that everything works."""
        return any(record.is_quick for record in self.records)

    def figure(self, name: str) -> Figure | None:
        """Return a figure over the seeds."""
        if name == "stability":
            return None if self.stability is None else Figure(self.stability, None, 1)
        if name == "seed_agreement":
            return figure_of(compare_assignments([record.assigned for record in self.records]))
        return figure_of(record.figure(name) for record in self.records)

    def mean(self, name: str) -> float | None:
        """Return the mean of a figure over the seeds."""
        figure = self.figure(name)
        return None if figure is None else figure.mean

    @property
    def prototype_counts(self) -> str:
        """How many prototypes the models of the seeds have."""
        return format_range(record.figure("n_prototypes") for record in self.records)

    @property
    def counted_accuracy(self) -> str:
        """The accuracy, and in brackets the number of prototypes."""
        accuracy, counts = format_figure(self.figure("accuracy")), self.prototype_counts
        return accuracy if MISSING in (accuracy, counts) else f"{accuracy} ({counts})"


@dataclass(frozen=True)
class Results:
    """Everything that was measured, in the order of the tables.

    Outdated are records of other documents or weights than the latest under the same name, and of a
    quick run where there are real figures; no table shows them.
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
        """The encoders that more than a transformer was made with, the most frequent first.

        One table is made for each; an empty name stands for models without any.
        """
        counts = Counter(g.encoder for g in self.groups if g.kind.name != "transformer")
        names = {record.encoder for record in self.failures if record.model != "transformer"}
        names = (names | set(counts)) - {""}
        return tuple(sorted(names, key=lambda name: (-counts[name], name))) or ("",)

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
    def failed_jobs(self) -> tuple[str, ...]:
        """The jobs that failed and why; a reason that many share is given once."""
        reasons: dict[str, dict[str, list[str]]] = {}
        for record in self.failures:
            names = (record.set, record.encoder, record.model, record.variant)
            jobs = reasons.setdefault(record.error or "", {})
            jobs.setdefault(" ".join(filter(None, names)), []).append(str(record.seed))
        return tuple(
            "; ".join(
                f"{name}, seed{'s' * (len(seeds) > 1)} {', '.join(seeds)}"
                for name, seeds in jobs.items()
            )
            + f": {why}"
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

    def without_own(self, asked_for: Collection[str]) -> Results:
        """Leave out the tables of the user's own, but for those asked for by name."""
        measured = (record for group in self.groups for record in group.records)
        records = [*measured, *self.failures, *self.outdated]
        own = {record.set for record in records if record.is_own} - set(asked_for)
        return self.only(sets={record.set for record in records} - own)

    def group(self, name: str, encoder: str, model: str) -> Group | None:
        """Return the group of a plain model; None where nothing was measured."""
        for group in self.groups:
            is_model = group.kind.name == model and not group.variant
            if is_model and group.set == name and group.encoder in (encoder, ""):
                return group
        return None

    def figure(self, name: str, encoder: str, model: str, measure: str) -> Figure | None:
        """Return a figure of a plain model; None where it was not measured."""
        group = self.group(name, encoder, model)
        return None if group is None else group.figure(measure)

    def ceiling_gap(self, name: str, encoder: str, model: str) -> Figure | None:
        """Return the accuracy that our prototypes cost against the same encoder without any."""
        ours = self.group(name, encoder, model)
        ceiling = self.group(name, encoder, f"ceiling-{find_model(model).encoder_training}")
        if ours is None or ceiling is None:
            return None
        # Seed by seed, since a seed stands for the same documents held out.
        best = {record.seed: record.figure("accuracy") for record in ceiling.records}
        pairs = [(best.get(record.seed), record.figure("accuracy")) for record in ours.records]
        return figure_of(top - own for top, own in pairs if top is not None and own is not None)


def format_seeds(groups: Collection[Group]) -> str:
    """Return with how many seeds some groups were measured, and which of them with others."""
    counts = Counter(len(group.records) for group in groups) or Counter([0])
    usual = max(counts, key=lambda count: (counts[count], count))
    others = [group for group in groups if len(group.records) != usual]
    if len(others) > _NAMED_EXCEPTIONS:
        return f"{min(counts)} to {max(counts)} seeds"
    exceptions = "".join(f"; {group.title}: {len(group.records)}" for group in others)
    return f"{usual} seed{'' if usual == 1 else 's'}{exceptions}"


def read_results(folder: Path) -> Results:
    """Read all records of a folder; a job that is in several files counts once."""
    if not folder.is_dir():
        raise InputError(
            f"there is no folder {folder} of records; measure first, or name the folder that was "
            "measured into with --out."
        )
    records: dict[Any, Record] = {}
    stabilities: dict[Any, float] = {}
    for path in sorted(folder.glob("*.jsonl")):
        found, compared = read_records(path)
        records |= {record.key: record for record in found}
        stabilities |= compared
    return _group_records(list(records.values()), stabilities)


def _group_records(records: Sequence[Record], stabilities: dict[Any, float]) -> Results:
    kinds = {kind.name: kind for kind in MODELS}
    latest = _latest_documents(records)
    weights = {_start(record): record.weights for record in records if record.weights}
    known: list[Record] = []
    outdated: list[Record] = []
    for record in sorted((each for each in records if each.model in kinds), key=_order):
        # Records from before digests were stored count as current.
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
        undated = stabilities.get((name, encoder, model, ""))
        stability = stabilities.get((name, encoder, model, latest.get(name)), undated)
        value = None if variant else stability
        groups.append(Group(name, encoder, kinds[model], tuple(seeds), value, variant))
    failures = tuple(record for record in known if record.error is not None)
    return Results(tuple(groups), failures, tuple(outdated))


def _latest_documents(records: Sequence[Record]) -> dict[str, str]:
    """Return the digest of each data set's documents in the last run, if need be a quick one."""
    good = [record for record in records if record.data and record.error is None]
    measured = {record.set for record in good if not record.is_quick and record.model != DOCUMENTS}
    quick = {record.set: record.data for record in good if record.is_quick}
    real = {r.set: r.data for r in good if not r.is_quick and r.set in measured}
    return quick | real


def _start(record: Record) -> tuple[str, ...]:
    """Return the name of what a model starts from."""
    return record.set, record.encoder, str(record.settings.get("vectors", ""))


def _order(record: Record) -> tuple[Any, ...]:
    sets = [each.name for each in DATA_SETS]
    rank = sets.index(record.set) if record.set in sets else len(sets)
    model = [kind.name for kind in MODELS].index(record.model)
    return rank, record.set, record.encoder or "\uffff", model, record.variant, record.seed
