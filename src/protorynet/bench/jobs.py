"""The jobs of a benchmark, and the order in which they are done."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protorynet.bench.catalogue import ModelKind, job_settings, model_kind
from protorynet.errors import InputError
from protorynet.settings import Settings

__all__ = ["Job", "Plan", "short_name"]


@dataclass(frozen=True)
class Job:
    """One model on one data set with one seed.

    Parameters
    ----------
    set, encoder, model, seed
        What is measured. The encoder is its short name; empty for a model without one.
    settings
        The hyper-parameters.
    """

    set: str
    encoder: str
    model: str
    seed: int
    settings: Settings

    @property
    def kind(self) -> ModelKind:
        """The model's kind."""
        return model_kind(self.model)

    @property
    def changes(self) -> dict[str, Any]:
        """The settings that differ from the defaults."""
        if self.kind.family == "floor":
            return {}
        default = Settings().to_dict()
        return {
            name: value for name, value in self.settings.to_dict().items() if value != default[name]
        }

    @property
    def recipe(self) -> str:
        """A digest of all settings, so that a change of the defaults shows."""
        text = json.dumps(self.settings.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def __str__(self) -> str:
        words = [self.set, *([self.encoder] if self.encoder else []), self.model]
        return f"{' '.join(words)}, seed {self.seed}"


@dataclass(frozen=True)
class Plan:
    """All that `run` is asked to measure.

    Parameters
    ----------
    data
        Folder of the tables, one NAME.parquet per data set.
    out
        Folder of the records, one NAME.jsonl per data set.
    sets, encoders, models, seeds
        What to measure; encoders by name or path.
    judges
        Encoders that judge matches; the first that is not the model's own is asked.
    device
        ``"auto"``, ``"cpu"`` or ``"cuda"``.
    quick
        Train for a moment only, to see that everything works.
    """

    data: Path
    out: Path
    sets: tuple[str, ...]
    encoders: tuple[str, ...]
    models: tuple[str, ...]
    seeds: tuple[int, ...]
    judges: tuple[str, ...] = ()
    device: str = "auto"
    quick: bool = False

    def __post_init__(self) -> None:
        for name in ("sets", "encoders", "models", "seeds"):
            given = getattr(self, name)
            if not given:
                raise InputError(f"no {name} were given; name at least one with --{name}.")
            if len(set(given)) < len(given):
                raise InputError(f"--{name} names one of {', '.join(map(str, given))} twice.")
        if len({short_name(spec) for spec in self.encoders}) < len(self.encoders):
            raise InputError(
                f"the encoders {', '.join(self.encoders)} would have the same short name in the "
                "records; rename one's folder."
            )
        for model in self.models:
            model_kind(model)

    def table(self, name: str) -> Path:
        """Return the path of a data set's table."""
        path = self.data / f"{name}.parquet"
        if not path.is_file():
            known = sorted(found.stem for found in self.data.glob("*.parquet"))
            listed = ", ".join(known) or "nothing"
            raise InputError(f"there is no table {path}; {self.data} holds {listed}.")
        return path

    def records(self, name: str) -> Path:
        """Return the path of a data set's records."""
        return self.out / f"{name}.jsonl"

    def groups(self, name: str) -> Iterator[tuple[Job, ...]]:
        """Yield a data set's jobs that differ in their seed only, one encoder after the other."""
        for encoder in (*(short_name(spec) for spec in self.encoders), ""):
            for model in self.models:
                kind = model_kind(model)
                if (kind.encoder_training is None) != (encoder == ""):
                    continue
                settings = job_settings(kind, quick=self.quick)
                yield tuple(Job(name, encoder, model, seed, settings) for seed in self.seeds)


def short_name(encoder: str) -> str:
    """Return what records call an encoder: the last part of its name or path.

    Examples
    --------
    >>> short_name("minilm"), short_name("models/gte-small/")
    ('minilm', 'gte-small')
    """
    return Path(encoder).name or encoder
