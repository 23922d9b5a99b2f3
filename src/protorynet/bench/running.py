"""All jobs of a plan, one after the other; what is measured already is not measured again."""

from __future__ import annotations

import gc
import os
import sys
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.bench.jobs import Job, Plan, short_name
from protorynet.bench.measuring import Material, measure
from protorynet.bench.records import Record, append_record, read_records
from protorynet.bench.stability import corpus_mean, stability
from protorynet.encoders import Encoder, load_encoder
from protorynet.text import Table, read_table

__all__ = ["run_plan"]

_LONGEST_ERROR = 300


def run_plan(plan: Plan) -> int:
    """Measure what is not measured yet, and return the number of jobs that failed.

    Every record is on disk before the next job begins, so a run that was killed goes on where it
    stopped. A job that fails leaves a record that says why, and is tried again by the next run.
    """
    tables = {name: plan.table(name) for name in plan.sets}
    known = {
        record.key: record for name in plan.sets for record in read_records(plan.records(name))[0]
    }
    groups = [group for name in plan.sets for group in plan.groups(name)]
    jobs = [job for group in groups for job in group]
    pending = [job for job in jobs if not _is_measured(job, known)]
    _say(f"{len(pending)} of {len(jobs)} jobs to do")
    _tell_of_old_recipes(jobs, known)
    encoders = _load_encoders(plan, pending)
    splits = _Splits(tables)
    done = failed = 0
    for group in groups:
        fresh = [job for job in group if job in pending]
        for job in fresh:
            done += 1
            _say(f"[{done}/{len(pending)}] {job} …")
            record = _do(plan, job, splits, encoders)
            failed += "error" in record
            append_record(plan.records(job.set), {**_names(job), **record})
            _say(_outcome(record))
        if fresh:
            _compare_seeds(plan, group, splits, encoders)
    return failed


@dataclass
class _Splits:
    """Training and test documents of one data set at a time."""

    paths: Mapping[str, Path]
    name: str = ""
    tables: tuple[Table, ...] = ()
    means: dict[str, NDArray[np.float32]] = field(default_factory=dict)

    def of(self, name: str) -> tuple[Table, ...]:
        """Return the training and the test documents; rows without text are left out."""
        if name != self.name:
            self.tables = tuple(
                read_table(
                    self.paths[name], text="text", label="label", split=split, skip_empty=True
                )
                for split in ("train", "test")
            )
            self.name, self.means = name, {}
        return self.tables

    def mean(self, name: str, encoder: Encoder) -> NDArray[np.float32]:
        """Return the mean vector of the training sentences."""
        train, _ = self.of(name)
        if encoder.fingerprint not in self.means:
            self.means[encoder.fingerprint] = corpus_mean(encoder, train.texts)
        return self.means[encoder.fingerprint]


def _is_measured(job: Job, known: Mapping[Any, Record]) -> bool:
    record = known.get((job.set, job.encoder, job.model, job.seed))
    return record is not None and record.error is None and record.settings == job.changes


def _tell_of_old_recipes(jobs: list[Job], known: Mapping[Any, Record]) -> None:
    """Say which records were made when the defaults were others."""
    old = [
        job
        for job in jobs
        if _is_measured(job, known)
        and known[job.set, job.encoder, job.model, job.seed].recipe != job.recipe
    ]
    if old:
        _say(
            f"note: {len(old)} jobs were measured with other default settings (such as {old[0]}); "
            "to measure them again, write to a new folder with --out"
        )


def _load_encoders(plan: Plan, pending: list[Job]) -> dict[str, Encoder]:
    """Load what the jobs need before the first begins, so that a wrong name shows at once."""
    specs = {short_name(spec): spec for spec in (*plan.judges, *plan.encoders)}
    needed = {job.encoder for job in pending if job.encoder}
    if any(job.kind.has_prototypes for job in pending):
        needed |= {short_name(spec) for spec in plan.judges}
    return {name: load_encoder(specs[name], device=plan.device) for name in sorted(needed)}


def _material(plan: Plan, job: Job, splits: _Splits, encoders: Mapping[str, Encoder]) -> Material:
    train, test = splits.of(job.set)
    encoder = encoders.get(job.encoder)
    judge = None if encoder is None else _judge(plan, encoder, encoders)
    # Whom `evaluate` asks where nobody is named.
    usual = "word pieces" if encoder is not None and encoder.name == "minilm" else "minilm"
    return Material(
        train=train,
        test=test,
        encoder=encoder,
        judge=None if judge is None else encoders[judge],
        judge_name=judge or usual,
        device=plan.device,
    )


def _judge(plan: Plan, encoder: Encoder, encoders: Mapping[str, Encoder]) -> str | None:
    """Return the first judge that is not the model's own encoder, whatever it is called."""
    for name in (short_name(spec) for spec in plan.judges):
        if name in encoders and encoders[name].fingerprint != encoder.fingerprint:
            return name
    return None


def _do(plan: Plan, job: Job, splits: _Splits, encoders: Mapping[str, Encoder]) -> dict[str, Any]:
    """Return a job's record; where it fails, one that says why."""
    names = {"kind": "job", "seed": job.seed}
    try:
        return {**names, **measure(job, _material(plan, job, splits, encoders))}
    except Exception as error:
        told = {"error": _line(error), "settings": job.changes, "recipe": job.recipe}
        return {**names, **told}
    finally:
        _free_memory()


def _compare_seeds(
    plan: Plan, group: tuple[Job, ...], splits: _Splits, encoders: Mapping[str, Encoder]
) -> None:
    """Record how far the prototypes of a group's seeds agree, where there are two or more."""
    first = group[0]
    records = {record.key: record for record in read_records(plan.records(first.set))[0]}
    found = [records.get((job.set, job.encoder, job.model, job.seed)) for job in group]
    models = [record for record in found if record is not None and record.prototypes]
    encoder = encoders.get(first.encoder)
    if encoder is None or len(models) < 2:
        return
    sentences = [[str(item.get("sentence")) for item in each.prototypes] for each in models]
    try:
        value = stability(encoder, sentences, splits.mean(first.set, encoder))
    except Exception as error:
        _say(f"note: the seeds of {first.model} could not be compared: {_line(error)}")
        return
    seeds = [record.seed for record in models]
    values = {"kind": "stability", "seeds": seeds, "value": value}
    append_record(plan.records(first.set), {**_names(first), **values})


def _names(job: Job) -> dict[str, Any]:
    return {"set": job.set, "encoder": job.encoder or None, "model": job.model}


def _outcome(record: Mapping[str, Any]) -> str:
    if "error" in record:
        return f"  failed: {record['error']}"
    parts = [f"accuracy {record['accuracy']:.4f}"]
    if "n_prototypes" in record:
        parts.append(f"{record['n_prototypes']} prototypes")
    parts.append(f"{sum(record['seconds'].values()):.0f} s")
    return f"  {', '.join(parts)}"


def _line(error: Exception) -> str:
    if os.environ.get("PROTORYNET_DEBUG"):
        traceback.print_exception(error)
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words}"[:_LONGEST_ERROR]


def _free_memory() -> None:
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)
