"""The jobs of a benchmark, and the order in which they are done."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from protorynet.errors import InputError
from protorynet.settings import Settings
from protorynet_lab.bench.catalogue import ModelKind, job_settings, model_kind, rival_options
from protorynet_lab.bench.documents import Source

__all__ = ["PLAIN", "Job", "Plan", "Variant", "job_group", "short_name"]


@dataclass(frozen=True)
class Variant:
    """A model with some settings changed.

    Parameters
    ----------
    name
        What records and tables call it, such as ``"n_prototypes=50"``; empty for the model as it
        is.
    changes
        The settings changed.
    thresholds
        Usages below which prototypes are pruned, one after the other, once the model is trained.
    """

    name: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)
    thresholds: tuple[float, ...] = ()


PLAIN = Variant()
"""The model as it is."""


@dataclass(frozen=True)
class Job:
    """One model on one data set with one seed.

    Parameters
    ----------
    set, encoder, model, seed
        What is measured. The encoder is its short name; empty for a model without one.
    variant
        How the model differs from what it usually is.
    settings
        The hyper-parameters of ours, of the paper's procedure and of the ceilings.
    options
        What a rival is built with, where it is not its default.
    quick
        Whether it reads only a few documents.
    """

    set: str
    encoder: str
    model: str
    seed: int
    variant: Variant
    settings: Settings
    options: Mapping[str, Any]
    quick: bool = False

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What tells one job from another, as `Record.key` does."""
        return self.set, self.encoder, self.model, self.variant.name, self.seed

    @property
    def kind(self) -> ModelKind:
        """The model's kind."""
        return model_kind(self.model)

    @property
    def changes(self) -> dict[str, Any]:
        """The settings or options that differ from the defaults."""
        quick = {"quick": True} if self.quick else {}
        if self.kind.family == "rival":
            return {**self.options, **quick}
        default = Settings().to_dict()
        given = self.settings.to_dict()
        return {name: given[name] for name in given if given[name] != default[name]} | quick

    @property
    def recipe(self) -> str:
        """A digest of all settings, so that a change of the defaults shows; a rival's options."""
        is_rival = self.kind.family == "rival"
        text = json.dumps(self.options if is_rival else self.settings.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def __str__(self) -> str:
        words = " ".join(filter(None, (self.set, self.encoder, self.model, self.variant.name)))
        return f"{words}, seed {self.seed}"


@dataclass(frozen=True)
class Plan:
    """All that is to be measured.

    Parameters
    ----------
    sources
        Where the documents of each data set are.
    records
        Folder of the records, one NAME.jsonl per data set.
    groups
        The jobs; those of a group differ in their seed only.
    encoders, judges
        Encoders by name or path. Of the judges the first that is not the model's own is asked
        how well sentences and prototypes match.
    device
        ``"auto"``, ``"cpu"`` or ``"cuda"``.
    vectors
        Word vectors for the rivals that read word by word.
    notes
        What a person should know before it begins.
    is_own
        Whether it is about a table of the user's own.
    """

    sources: Mapping[str, Source]
    records: Path
    groups: tuple[tuple[Job, ...], ...]
    encoders: tuple[str, ...]
    judges: tuple[str, ...] = ()
    device: str = "auto"
    vectors: Path | None = None
    notes: tuple[str, ...] = ()
    is_own: bool = False

    def __post_init__(self) -> None:
        if len({short_name(spec) for spec in self.encoders}) < len(self.encoders):
            raise InputError(
                f"the encoders {', '.join(self.encoders)} would have the same short name in the "
                "records; rename one's folder."
            )

    @property
    def jobs(self) -> list[Job]:
        """All jobs, in their order."""
        return [job for group in self.groups for job in group]

    def file(self, name: str) -> Path:
        """Return the path of a data set's records."""
        return self.records / f"{name}.jsonl"


def job_group(
    name: str,
    encoder: str,
    model: str,
    variant: Variant,
    seeds: Iterable[int],
    *,
    quick: bool = False,
    vectors: Path | None = None,
) -> tuple[Job, ...]:
    """Return the jobs of a model that differ in their seed only.

    Examples
    --------
    >>> [str(job) for job in job_group("imdb", "minilm", "full", PLAIN, (0, 1))]
    ['imdb minilm full, seed 0', 'imdb minilm full, seed 1']
    """
    kind = model_kind(model)
    settings = job_settings(kind, quick=quick).replace(**variant.changes)
    options = rival_options(kind, quick=quick)
    if vectors is not None and kind.uses_vectors:
        options["vectors"] = vectors.name
    return tuple(
        Job(name, encoder, model, seed, variant, settings, options, quick) for seed in seeds
    )


def short_name(encoder: str) -> str:
    """Return what records call an encoder: the last part of its name or path.

    Examples
    --------
    >>> short_name("minilm"), short_name("models/gte-small/")
    ('minilm', 'gte-small')
    """
    return Path(encoder).name or encoder
