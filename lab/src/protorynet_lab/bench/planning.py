"""From what a person asks for to the jobs that answer it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from protorynet.errors import InputError
from protorynet_lab.bench.catalogue import DATA_SETS, model_kind
from protorynet_lab.bench.documents import Source
from protorynet_lab.bench.experiments import EXPERIMENTS
from protorynet_lab.bench.experiments.experiment import Measurements
from protorynet_lab.bench.experiments.own import own_comparison
from protorynet_lab.bench.jobs import Job, Plan, job_group, short_name
from protorynet_lab.bench.recipe import RECIPE

__all__ = ["EVERYTHING", "NAMES", "Request", "make_plan", "measurements_of"]

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
    out
        Folder of the records and pages.
    data
        Folder of the paper's data sets, one NAME.parquet each.
    sets, models, seeds
        What to measure; None leaves it to the experiment.
    encoders, judges
        Encoders by name or path.
    device
        ``"auto"``, ``"cpu"`` or ``"cuda"``.
    vectors
        Word vectors for the rivals that read word by word.
    text, label, split
        Columns of the tables.
    quick
        Train for a moment on a few documents, to see that everything works.
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
            model_kind(model)
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
        """What the user's table is called in records and pages.

        Examples
        --------
        >>> Request("data/my reviews.csv.gz", Path("out")).own_name
        'my_reviews'

        It never is that of an experiment, or of one of the paper's data sets:

        >>> Request("imdb.csv", Path("out")).own_name
        'own_imdb'
        """
        stem = Path(self.what).name.removesuffix(".gz").rpartition(".")[0] or self.what
        name = re.sub(r"[^\w-]", "_", stem) or "table"
        reserved = {*NAMES, *(each.name for each in DATA_SETS)}
        return f"own_{name}" if name.lower() in reserved else name

    @property
    def records(self) -> Path:
        """The folder of the records."""
        return self.out / "records"


def measurements_of(request: Request) -> tuple[Measurements, ...]:
    """Return the experiments asked for."""
    if request.is_own:
        return (own_comparison(request.own_name, request.what),)
    every: tuple[Measurements, ...] = (RECIPE, *EXPERIMENTS)
    if request.what == EVERYTHING:
        return every
    return tuple(each for each in every if each.name == request.what)


def make_plan(request: Request) -> Plan:
    """Return all jobs of a request: each once, the cheap ones first."""
    if request.vectors is not None and not request.vectors.exists():
        raise InputError(f"there are no word vectors {request.vectors}; check --vectors.")
    groups: dict[tuple[str, ...], tuple[Job, ...]] = {}
    for measured in measurements_of(request):
        for group in _groups(request, measured):
            key = group[0].key[:4]
            # Of two that differ in being pruned only, the one that is pruned does for both.
            if key not in groups or not groups[key][0].variant.thresholds:
                groups[key] = group
    if not groups:
        _refuse(request)
    names = list(dict.fromkeys(key[0] for key in groups))
    ordered = sorted(groups.values(), key=lambda g: (g[0].kind.cost, names.index(g[0].set)))
    return Plan(
        sources={name: _source(request, name) for name in names},
        records=request.records,
        groups=tuple(ordered),
        encoders=request.encoders,
        judges=request.judges,
        device=request.device,
        vectors=request.vectors,
        notes=_notes(request, names),
        is_own=request.is_own,
    )


def _groups(request: Request, measured: Measurements) -> Iterator[tuple[Job, ...]]:
    seeds = request.seeds or ((0,) if request.quick else _SEEDS)
    if request.is_own and request.seeds is None:
        seeds = _OWN_SEEDS
    for name in _sets(request, measured):
        for model in _models(request, measured):
            kind = model_kind(model)
            encoders = map(short_name, request.encoders) if kind.uses_encoder else ("",)
            for encoder in encoders:
                for variant in measured.variants(request.quick):
                    if kind.has_prototypes or not variant.name:
                        yield job_group(
                            *(name, encoder, model, variant, seeds),
                            quick=request.quick,
                            vectors=request.vectors,
                        )


def _sets(request: Request, measured: Measurements) -> list[str]:
    if request.is_own:
        return list(measured.sets)
    if request.sets is None:
        return [name for name in measured.sets if _path(request, name).is_file()]
    if request.what != EVERYTHING:
        return list(request.sets)
    own = [name for name in request.sets if name in measured.sets]
    return own or [name for name in request.sets if measured.suits(name)]


def _models(request: Request, measured: Measurements) -> list[str]:
    if request.models is None:
        return list(measured.models)
    if request.what != EVERYTHING:
        return list(request.models)
    return [name for name in request.models if name in measured.models]


def _source(request: Request, name: str) -> Source:
    if request.is_own:
        path = Path(request.what)
        if not path.exists():
            listed = ", ".join(NAMES)
            raise InputError(
                f"{request.what!r} is neither an experiment ({listed}) nor a table that exists."
            )
        return Source(path, request.text, request.label, request.split)
    path = _path(request, name)
    if not path.is_file():
        raise InputError(f"there is no table {path}; {path.parent} holds {_held(path.parent)}.")
    return Source(path, request.text or "text", request.label or "label", request.split)


def _path(request: Request, name: str) -> Path:
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


def _notes(request: Request, names: list[str]) -> tuple[str, ...]:
    """Tell of data sets that are left out because there is no table of them."""
    if request.is_own or request.sets is not None:
        return ()
    usual = dict.fromkeys(name for each in measurements_of(request) for name in each.sets)
    missing = ", ".join(name for name in usual if name not in names)
    return (f"left out, for there is no table in {request.data}: {missing}",) if missing else ()


def _held(folder: Path) -> str:
    return ", ".join(sorted(found.stem for found in folder.glob("*.parquet"))) or "nothing"


def _refuse(request: Request) -> None:
    if request.sets is None and request.data is not None:
        raise InputError(
            f"{request.data} holds none of the tables that {request.what!r} is about, but "
            f"{_held(request.data)}; choose with --sets."
        )
    raise InputError(
        f"there is nothing to measure for {request.what!r} with these sets and models."
    )
