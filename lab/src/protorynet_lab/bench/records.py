"""The records of a benchmark, and how they are read back from JSON lines."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from protorynet.errors import InputError

__all__ = ["DOCUMENTS", "Record", "Stability", "read_records"]

DOCUMENTS = "documents"
"""Kind of a line, and model of its record, that says which documents a run was about."""

_JOB, _STABILITY = "job", "stability"
_FIGURES = (
    "accuracy",
    "macro_f1",
    "n_prototypes",
    "validation_accuracy",
    "n_train",
    "n_test",
    "n_short",
    "short_accuracy",
    "long_accuracy",
    "fragment_prototypes",
)
_LARGEST = 1e9  # no figure is; what is beyond, or no number, was not measured
# Time that is not training: reading, splitting and encoding before it, measuring after it.
_NOT_TRAINING = ("prepare", "evaluate")


@dataclass(frozen=True)
class Record:
    """What was measured in one job.

    Parameters
    ----------
    set, encoder, model, seed
        The job; the encoder is empty for a model without one.
    variant
        How the model differs from what it usually is; empty where it does not.
    data, columns
        Digest of the documents, and the columns they were read from, by option of the command;
        both empty in records from before they were kept.
    figures
        Accuracy, macro F1, numbers of documents and prototypes, and the faithfulness measures.
    faithfulness
        Names of those that measure faithfulness, in the order in which they came.
    seconds
        Time taken by each stage.
    settings, recipe
        Settings that differ from the defaults, and a digest of all.
    weights
        Digest of the encoder or word vectors it starts from; empty where there are none, and in
        records from before it was kept.
    substitutes
        Accuracy of simpler readers of the same trajectories.
    correct
        Which test documents were labelled rightly, packed by `pack_flags`.
    pruning
        Threshold, number of prototypes left and accuracy after pruning to several thresholds.
    automata
        Class, fidelity, states and transitions of each automaton.
    prototypes
        The prototypes as `protorynet prototypes --json` prints them.
    judge, device, versions
        Who judged the matches, where it ran, with which packages.
    error
        Why there are no figures; None where all went well.
    is_own
        Whether it is about a table of the user's own.
    """

    set: str
    encoder: str
    model: str
    seed: int
    variant: str = ""
    data: str = ""
    columns: dict[str, str] = field(default_factory=dict)
    figures: dict[str, float] = field(default_factory=dict)
    faithfulness: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    recipe: str = ""
    weights: str = ""
    substitutes: dict[str, float] = field(default_factory=dict)
    correct: str = ""
    pruning: tuple[dict[str, float], ...] = ()
    automata: tuple[dict[str, Any], ...] = ()
    prototypes: tuple[dict[str, Any], ...] = ()
    judge: str = ""
    device: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    error: str | None = None
    is_own: bool = False

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What tells one job from another."""
        return self.set, self.encoder, self.model, self.variant, self.seed

    @property
    def vectors(self) -> str:
        """Name of the word vectors it was given; empty where it was given none."""
        return str(self.settings.get("vectors") or "")

    @property
    def is_quick(self) -> bool:
        """Whether it was measured for a moment only, to see that everything works."""
        return bool(self.settings.get("quick"))

    def figure(self, name: str) -> float | None:
        """Return a figure, or one that follows from others; None where it was not measured."""
        if name == "ids_only_gap":
            accuracy, ids_only = self.figure("accuracy"), self.figure("ids_only_accuracy")
            return None if accuracy is None or ids_only is None else accuracy - ids_only
        if name == "training_seconds":
            stages = [time for stage, time in self.seconds.items() if stage not in _NOT_TRAINING]
            return sum(stages) if stages else None
        return self.figures.get(name)


@dataclass(frozen=True)
class Stability:
    """How far the prototypes of several seeds agree.

    Parameters
    ----------
    set, encoder, model, seeds
        The models compared.
    value
        Mean share of a model's prototypes with a counterpart in another seed's model.
    data
        Digest of the documents; empty in records from before it was kept.
    """

    set: str
    encoder: str
    model: str
    seeds: tuple[int, ...]
    value: float
    data: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What tells one comparison from another."""
        return self.set, self.encoder, self.model, self.data


def read_records(path: Path) -> tuple[list[Record], list[Stability]]:
    """Return the latest record of every job in a file, and the latest stability of every group.

    Records are in the order in which they were written. A line that is no record, such as one torn
    by a kill, is passed over.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return [], []
    except OSError as error:
        raise InputError(f"the records {path} cannot be read: {error}.") from None
    records: dict[Any, Record] = {}
    stabilities: dict[Any, Stability] = {}
    for line in lines:
        found = _parsed(line)
        if isinstance(found, Record):
            earlier = records.get(found.key)
            if earlier is not None and _would_hide(found, earlier):
                continue
            records.pop(found.key, None)  # the latest comes last
            records[found.key] = found
        elif isinstance(found, Stability):
            stabilities[found.key] = found
    return list(records.values()), list(stabilities.values())


def _would_hide(failure: Record, earlier: Record) -> bool:
    """Say whether a failure would hide figures of the same settings and documents."""
    return (
        failure.error is not None
        and earlier.error is None
        and earlier.settings == failure.settings
        and failure.data in ("", earlier.data)
        and failure.weights in ("", earlier.weights)
    )


def _parsed(line: bytes) -> Record | Stability | None:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, dict):
        return None
    names = [values.get("set"), values.get("encoder") or "", values.get("model")]
    if not all(isinstance(name, str) for name in names):
        return None
    data, encoder, model = names
    if values.get("kind") == DOCUMENTS:
        quick = {"quick": True} if values.get("quick") is True else {}
        digest = str(values.get("data") or "")
        return Record(str(data), "", DOCUMENTS, 0, "".join(quick), digest, settings=quick)
    if values.get("kind") == _JOB and type(values.get("seed")) is int:
        return _record(str(data), str(encoder), str(model), values)
    value, seeds = _number(values.get("value")), values.get("seeds")
    if values.get("kind") == _STABILITY and value is not None and isinstance(seeds, list):
        whole = tuple(seed for seed in seeds if type(seed) is int)
        digest = str(values.get("data") or "")
        return Stability(str(data), str(encoder), str(model), whole, value, digest)
    return None


def _record(data: str, encoder: str, model: str, values: dict[str, Any]) -> Record:
    measures = _numbers(values.get("faithfulness"))
    figures = _numbers({name: values.get(name) for name in _FIGURES})
    error = values.get("error")
    return Record(
        data,
        encoder,
        model,
        values["seed"],
        variant=str(values.get("variant") or ""),
        data=str(values.get("data") or ""),
        columns=_words(values.get("columns")),
        figures={**figures, **measures},
        faithfulness=tuple(measures),
        seconds=_numbers(values.get("seconds")),
        settings=_mapping(values.get("settings")),
        recipe=str(values.get("recipe") or ""),
        weights=str(values.get("weights") or ""),
        substitutes=_numbers(values.get("substitutes")),
        correct=str(values.get("correct") or ""),
        pruning=tuple(_numbers(item) for item in _mappings(values.get("pruning"))),
        automata=_mappings(values.get("automata")),
        prototypes=_mappings(values.get("prototypes")),
        judge=str(values.get("judge") or ""),
        device=str(values.get("device") or ""),
        versions=_words(values.get("versions")),
        error=None if error is None else str(error),
        is_own=values.get("own") is True,
    )


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _mappings(values: Any) -> tuple[dict[str, Any], ...]:
    items = values if isinstance(values, list) else ()
    return tuple(item for item in items if isinstance(item, dict))


def _words(values: Any) -> dict[str, str]:
    return {name: str(value) for name, value in _mapping(values).items()}


def _numbers(values: Any) -> dict[str, float]:
    numbers = {name: _number(value) for name, value in _mapping(values).items()}
    return {name: number for name, number in numbers.items() if number is not None}


def _number(value: Any) -> float | None:
    if type(value) not in (int, float) or not -_LARGEST <= value <= _LARGEST:
        return None
    return float(value)
