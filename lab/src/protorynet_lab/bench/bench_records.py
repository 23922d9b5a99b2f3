"""The records of a benchmark: JSON lines that neither a kill nor another run can spoil."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from protorynet.errors import InputError
from protorynet.records import finite

DOCUMENTS = "documents"
"""Kind of a line, and model of its record, that says which documents a run was about."""

_JOB, _STABILITY = "job", "stability"
_FORMAT = 2
# What models were called in records of format 1, when every prototype was one sentence.
_FORMER = {"full": "single-full", "adapter": "single", "none": "single-none"}
# Time that is not training: reading, splitting and encoding before it, measuring after it.
_NOT_TRAINING = ("prepare", "evaluate")


@dataclass(frozen=True)
class Record:
    """What was measured in one job; what was not, or not kept by an old record, is empty."""

    set: str
    encoder: str
    model: str
    seed: int
    variant: str = ""
    data: str = ""  # digest of the documents
    columns: dict[str, str] = field(default_factory=dict)  # by option of the command
    figures: dict[str, float] = field(default_factory=dict)
    faithfulness: tuple[str, ...] = ()  # which of the figures are its measures
    seconds: dict[str, float] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)  # that differ from the defaults
    recipe: str = ""  # digest of all settings
    weights: str = ""  # digest of the encoder or word vectors it starts from
    substitutes: dict[str, float] = field(default_factory=dict)  # accuracies
    correct: str = ""  # as `pack_flags` makes it
    pruning: tuple[dict[str, float], ...] = ()
    automata: tuple[dict[str, Any], ...] = ()
    prototypes: tuple[dict[str, Any], ...] = ()
    assigned: str = ""  # prototypes of some test sentences, as `pack_numbers` makes it
    judge: str = ""
    device: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    error: str | None = None
    is_own: bool = False

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What distinguishes one job from another."""
        return self.set, self.encoder, self.model, self.variant, self.seed

    @property
    def vectors(self) -> str:
        """Name of the word vectors it was given; empty where it was given none."""
        return str(self.settings.get("vectors") or "")

    @property
    def is_quick(self) -> bool:
        """Whether it was measured in a quick run, to see that everything works."""
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


def append_record(path: Path, values: Mapping[str, Any]) -> None:
    """Add one line to a file of records, complete and on disk before this returns.

    Of two runs that write to the same file, one waits for the other. A figure that is no number,
    which JSON does not know, is written as not measured.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    values = {"format": _FORMAT, **values}
    line = json.dumps(finite(values), ensure_ascii=False, allow_nan=False, sort_keys=True) + "\n"
    with path.open("a+b") as file:
        with suppress(ImportError, OSError):
            import fcntl  # not on Windows

            fcntl.flock(file, fcntl.LOCK_EX)
        if end := file.seek(0, os.SEEK_END):
            file.seek(end - 1)
            if file.read() != b"\n":  # what a kill has torn stays a line of its own
                line = "\n" + line
        file.write(line.encode("utf-8", "backslashreplace"))
        file.flush()
        os.fsync(file.fileno())


def read_records(path: Path) -> tuple[list[Record], dict[Any, float]]:
    """Return the latest record of every job in a file, and how far the seeds of models agree.

    That stability is by data set, encoder, model and digest of the documents. A line that is no
    record is passed over.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return [], {}
    except OSError as error:
        raise InputError(f"the records {path} cannot be read: {error}.") from None
    records: dict[Any, Record] = {}
    stabilities: dict[Any, float] = {}
    for line in lines:
        found = _parse_line(line)
        if isinstance(found, Record):
            earlier = records.get(found.key)
            if earlier is not None and _would_hide(found, earlier):
                continue
            records.pop(found.key, None)  # the latest comes last
            records[found.key] = found
        elif found is not None:
            stabilities |= found
    return list(records.values()), stabilities


def _would_hide(failure: Record, earlier: Record) -> bool:
    """Say whether a failure would hide figures of the same settings and documents."""
    return (
        failure.error is not None
        and earlier.error is None
        and earlier.settings == failure.settings
        and failure.data in ("", earlier.data)
        and failure.weights in ("", earlier.weights)
    )


def _parse_line(line: bytes) -> Record | dict[Any, float] | None:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, dict):
        return None
    names = [values.get("set"), values.get("encoder") or "", values.get("model")]
    if not all(isinstance(name, str) for name in names):
        return None
    name, encoder, model = map(str, names)
    if "format" not in values:
        model = _FORMER.get(model, model)
    digest = values.get("data") or ""
    if values.get("kind") == DOCUMENTS:
        quick = {"quick": True} if values.get("quick") is True else {}
        return Record(name, "", DOCUMENTS, 0, "".join(quick), digest, settings=quick)
    if values.get("kind") == _JOB and type(values.get("seed")) is int:
        return _make_record(name, encoder, model, values)
    value = _number(values.get("value"))
    if values.get("kind") == _STABILITY and value is not None:
        return {(name, encoder, model, digest): value}
    return None


def _make_record(name: str, encoder: str, model: str, values: dict[str, Any]) -> Record:
    measures = read_numbers(values.get("faithfulness"))
    others = {each.name: values[each.name] for each in fields(Record)[4:] if values.get(each.name)}
    others |= {each: read_numbers(values.get(each)) for each in ("seconds", "substitutes")}
    others |= {each: tuple(values.get(each) or ()) for each in ("automata", "prototypes")}
    others["pruning"] = tuple(map(read_numbers, values.get("pruning") or ()))
    others |= {"figures": read_numbers(values) | measures, "faithfulness": tuple(measures)}
    return Record(name, encoder, model, values["seed"], **others, is_own=values.get("own") is True)


def _number(value: Any) -> float | None:
    return float(value) if type(value) in (int, float) else None


def read_numbers(values: Mapping[str, Any] | None) -> dict[str, float]:
    """Return those values of a mapping that are numbers."""
    numbers = {name: _number(value) for name, value in (values or {}).items()}
    return {name: number for name, number in numbers.items() if number is not None}
