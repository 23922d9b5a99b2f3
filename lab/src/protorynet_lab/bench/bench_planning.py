"""From what a person asks for to the jobs that answer it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from protorynet.errors import InputError
from protorynet_lab.bench.accuracy_tables import MULTICLASS, TABLE1, TABLE2, make_own_experiment
from protorynet_lab.bench.bench_experiment import Experiment
from protorynet_lab.bench.bench_jobs import DATA_SETS, Job, Source, find_model
from protorynet_lab.bench.bench_recipe import RECIPE
from protorynet_lab.bench.bench_studies import (
    AUTOMATA,
    PROTOTYPES,
    PRUNING,
    SENSITIVITY,
    SPARSITY,
    SUBSTITUTES,
)

EXPERIMENTS = (
    *(TABLE1, TABLE2, PRUNING, SUBSTITUTES, AUTOMATA),
    *(MULTICLASS, PROTOTYPES, SENSITIVITY, SPARSITY),
)
"""The paper's tables and figures, in its order."""

EVERYTHING = "all"
NAMES = (RECIPE.name, *(each.name for each in EXPERIMENTS), EVERYTHING)
"""What can be asked for by name; anything else is the path of a table."""

_SEEDS, _OWN_SEEDS = (0, 1, 2), (0,)


@dataclass(frozen=True)
class Request:
    """What a person asks for.

    Parameters
    ----------
    what
        One of `NAMES`, or the path of a table.
    out, data
        Folders of the records and pages, and of the paper's data sets, one NAME.parquet each.
    sets, models, seeds
        What to measure; None leaves it to the experiment.
    encoders, judges, vectors
        Encoders by name or path, and word vectors for the rivals that read word by word. The first
        judge that is not the model's own encoder says how well sentences and prototypes match.
    text, label, split
        Columns of the tables.
    quick
        Hardly train, on a few documents, to see that everything works.
    """

    what: str
    out: Path
    data: Path | None = None
    sets: tuple[str, ...] | None = None
    models: tuple[str, ...] | None = None
    seeds: tuple[int, ...] | None = None
    encoders: tuple[str, ...] = ("minilm",)
    judges: tuple[str, ...] = ()
    device: str = "auto"
    vectors: Path | None = None
    text: str | None = None
    label: str | None = None
    split: str = "split"
    quick: bool = False

    def __post_init__(self) -> None:
        for name in ("sets", "encoders", "models", "seeds"):
            given = getattr(self, name)
            if given is None:
                continue
            if not given:
                raise InputError(f"no {name} were given; name at least one with --{name}.")
            if len(set(given)) < len(given):
                raise InputError(f"--{name} names one of {', '.join(map(str, given))} twice.")
        for model in self.models or ():
            find_model(model)
        is_table = self.is_own and Path(self.what).exists()
        if is_table and (self.data is not None or self.sets is not None):
            raise InputError(
                f"{self.what!r} is a table of your own; --data and --sets are for the paper's "
                f"experiments ({', '.join(NAMES)})."
            )

    @property
    def is_own(self) -> bool:
        """Whether it is about a table of the user's own."""
        return self.what not in NAMES

    @property
    def own_name(self) -> str:
        """What records and pages call the user's table: never like one of the paper's."""
        stem = Path(self.what).name.removesuffix(".gz").rpartition(".")[0] or self.what
        name = re.sub(r"[^\w-]", "_", stem) or "table"
        reserved = {*NAMES, *(each.name for each in DATA_SETS)}
        return f"own_{name}" if name.lower() in reserved else name

    @property
    def records(self) -> Path:
        """The folder of the records, one NAME.jsonl per data set."""
        return self.out / "records"


@dataclass(frozen=True)
class Plan:
    """All that is to be measured; the jobs of a group differ in their seed only."""

    request: Request
    sources: Mapping[str, Source]
    groups: tuple[tuple[Job, ...], ...]
    notes: tuple[str, ...] = ()

    @property
    def jobs(self) -> list[Job]:
        """All jobs, in their order."""
        return [job for group in self.groups for job in group]

    def file(self, name: str) -> Path:
        """Return the path of a data set's records."""
        return self.request.records / f"{name}.jsonl"


def select_experiments(request: Request) -> tuple[Experiment, ...]:
    """Return the experiments asked for."""
    if request.is_own:
        return (make_own_experiment(request.own_name, request.what),)
    every = (RECIPE, *EXPERIMENTS)
    return tuple(each for each in every if request.what in (EVERYTHING, each.name))


def make_plan(request: Request) -> Plan:
    """Return all jobs of a request: each once, the cheap ones first."""
    if request.vectors is not None and not request.vectors.exists():
        raise InputError(f"there are no word vectors {request.vectors}; check --vectors.")
    if len(set(map(short_name, request.encoders))) < len(request.encoders):
        raise InputError(
            f"the encoders {', '.join(request.encoders)} would have the same short name in the "
            "records; rename one's folder."
        )
    experiments = select_experiments(request)
    groups: dict[tuple[str, ...], tuple[Job, ...]] = {}
    for experiment in experiments:
        for group in _make_groups(request, experiment):
            key = group[0].key[:4]
            # Of two that differ in being pruned only, the one that is pruned does for both.
            if key not in groups or not groups[key][0].variant.thresholds:
                groups[key] = group
    if not groups:
        if request.sets is None and request.data is not None:
            raise InputError(
                f"{request.data} holds none of the tables that {request.what!r} is about, but "
                f"{_list_tables(request.data)}; choose with --sets."
            )
        raise InputError(
            f"there is nothing to measure for {request.what!r} with these sets and models."
        )
    names = list(dict.fromkeys(key[0] for key in groups))
    ordered = sorted(groups.values(), key=lambda g: (g[0].kind.cost, names.index(g[0].set)))
    usual = dict.fromkeys(name for each in experiments for name in each.sets)
    missing = ", ".join(name for name in usual if name not in names)
    notes = (f"left out, for there is no table in {request.data}: {missing}",)
    return Plan(
        request,
        sources={name: _make_source(request, name) for name in names},
        groups=tuple(ordered),
        notes=notes if missing and request.sets is None and not request.is_own else (),
    )


def short_name(encoder: str) -> str:
    """Return what records call an encoder: the last part of its name or path."""
    return Path(encoder).name or encoder


def _make_groups(request: Request, experiment: Experiment) -> Iterator[tuple[Job, ...]]:
    is_one_seed = request.quick or request.is_own
    seeds = request.seeds or (_OWN_SEEDS if is_one_seed else _SEEDS)
    vectors = "" if request.vectors is None else request.vectors.name
    models = list(request.models or experiment.models)
    if request.what == EVERYTHING:
        models = [name for name in models if name in experiment.models]
    for name in _select_sets(request, experiment):
        for kind in map(find_model, models):
            own_vectors = vectors if kind.uses_vectors else ""
            for encoder in map(short_name, request.encoders) if kind.uses_encoder else ("",):
                for variant in experiment.variants(request.quick):
                    if kind.has_prototypes or not variant.name:
                        job = (name, encoder, kind.name, variant)
                        yield tuple(Job(*job, seed, request.quick, own_vectors) for seed in seeds)


def _select_sets(request: Request, experiment: Experiment) -> list[str]:
    if request.is_own:
        return list(experiment.sets)
    if request.sets is None:
        return [name for name in experiment.sets if _table_path(request, name).is_file()]
    if request.what != EVERYTHING:
        return list(request.sets)
    own = [name for name in request.sets if name in experiment.sets]
    return own or [name for name in request.sets if experiment.suits(name)]


def _make_source(request: Request, name: str) -> Source:
    if request.is_own:
        path = Path(request.what)
        if not path.exists():
            raise InputError(
                f"{request.what!r} is neither an experiment ({', '.join(NAMES)}) nor a table that "
                "exists."
            )
        return Source(path, request.text, request.label, request.split)
    path = _table_path(request, name)
    if not path.is_file():
        tables = _list_tables(path.parent)
        raise InputError(f"there is no table {path}; {path.parent} holds {tables}.")
    return Source(path, request.text or "text", request.label or "label", request.split)


def _table_path(request: Request, name: str) -> Path:
    if request.data is None:
        raise InputError(
            "name the folder of the paper's data sets with --data; `protorynet datasets` says how "
            "to make them."
        )
    if not request.data.is_dir():
        what = "is a file" if request.data.exists() else "does not exist"
        raise InputError(
            f"--data {request.data} {what}; give the folder of the paper's data sets. A table of "
            "your own is compared with `protorynet bench TABLE`."
        )
    if Path(name).name != name:
        raise InputError(f"--sets names {name!r}; give names without folders, such as 'imdb'.")
    return request.data / f"{name}.parquet"


def _list_tables(folder: Path) -> str:
    return ", ".join(sorted(found.stem for found in folder.glob("*.parquet"))) or "nothing"
