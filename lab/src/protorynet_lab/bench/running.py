"""All jobs of a plan, one after the other; what is measured already is not measured again."""

from __future__ import annotations

import gc
import os
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.encoders import Encoder, load_encoder, split_variant
from protorynet.errors import InputError, ProtoryNetError, UnknownEncoderError
from protorynet_lab.bench.appending import append_record
from protorynet_lab.bench.documents import Documents, Source
from protorynet_lab.bench.forecast import Forecast
from protorynet_lab.bench.jobs import Job, Plan, short_name
from protorynet_lab.bench.measuring import Material, measure
from protorynet_lab.bench.records import DOCUMENTS, Record, read_records
from protorynet_lab.bench.stability import corpus_mean, stability
from protorynet_lab.bench.weights import weights_of

__all__ = ["run_plan"]

_LONGEST_ERROR = 300


def run_plan(plan: Plan) -> int:
    """Measure what is not measured yet, and return the number of jobs that failed.

    Every record is on disk before the next job begins, so a run that was killed goes on where it
    stopped. A job that fails leaves a record that says why, and is tried again by the next run.
    """
    library = _Library(plan.sources, quick=any(job.quick for job in plan.jobs))
    if len(plan.sources) == 1:
        library.of(*plan.sources)  # where there is no other, a table that cannot be read ends it
    known: dict[Any, Record] = {}
    for name in plan.sources:
        known |= _records(plan, name)
    _keep_real_records(plan.jobs, known)
    _mark_documents(plan, library)
    encoders = _Encoders(plan)
    pending = [job for job in plan.jobs if not _is_measured(job, known, library, encoders)]
    for line in plan.notes:
        _say(f"note: {line}")
    _say(f"{len(pending)} of {len(plan.jobs)} jobs to do")
    _tell_of_old_recipes([job for job in plan.jobs if job not in pending], known)
    encoders.load(pending)
    # How long a quick run took says nothing about one in earnest.
    like = [each for each in known.values() if each.is_quick == library.quick]
    forecast = Forecast(like)
    own = {"own": True} if plan.is_own else {}
    failed = 0
    for group in plan.groups:
        fresh = [job for job in group if job in pending]
        for job in fresh:
            place = pending.index(job)
            if _is_measured(job, _records(plan, job.set), library, encoders):
                _say(f"[{place + 1}/{len(pending)}] {job}: measured by another run meanwhile")
                continue
            _say(f"[{place + 1}/{len(pending)}] {job} …{forecast.words(pending[place:])}")
            begin = time.perf_counter()
            record = _do(plan, job, library, encoders)
            failed += "error" in record
            append_record(plan.file(job.set), {**_names(job), **own, **record})
            forecast.add(job, time.perf_counter() - begin)
            _say(_outcome(record))
        if fresh:
            _compare_seeds(plan, group, library, encoders)
    return failed


@dataclass
class _Library:
    """The documents of all data sets, each read once."""

    sources: Mapping[str, Source]
    quick: bool
    read: dict[str, Documents] = field(default_factory=dict)
    means: dict[tuple[str, str], NDArray[np.float32]] = field(default_factory=dict)
    unreadable: set[str] = field(default_factory=set)

    def of(self, name: str) -> Documents:
        """Return the documents of a data set."""
        if name not in self.read:
            self.read[name] = self.sources[name].read(quick=self.quick)
            for line in self.read[name].notes:
                _say(f"{name}: {line}")
        return self.read[name]

    def digest(self, name: str) -> str | None:
        """Return the digest of a data set's documents; None where they cannot be read."""
        try:
            return self.of(name).digest
        except (ProtoryNetError, OSError) as error:
            if name not in self.unreadable:
                self.unreadable.add(name)
                _say(f"note: {name} cannot be read, so only its records count: {_line(error)}")
            return None

    def mean(self, name: str, encoder: Encoder) -> NDArray[np.float32]:
        """Return the mean vector of the training sentences."""
        key = name, encoder.fingerprint
        if key not in self.means:
            self.means[key] = corpus_mean(encoder, self.of(name).train.texts)
        return self.means[key]


class _Encoders:
    """The encoders of a plan by short name, each loaded once; one that cannot be had says why."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._specs = {short_name(spec): spec for spec in (*plan.judges, *plan.encoders)}
        self._loaded: dict[str, Encoder] = {}
        self._errors: dict[str, ProtoryNetError] = {}

    def of(self, name: str) -> Encoder:
        """Return an encoder."""
        if name in self._errors:
            raise self._errors[name]
        if name not in self._loaded:
            try:
                self._loaded[name] = load_encoder(self._specs[name], device=self._plan.device)
            except ProtoryNetError as error:
                self._errors[name] = error
                raise
        return self._loaded[name]

    def load(self, jobs: Sequence[Job]) -> None:
        """Load what jobs need before the first begins, so that a wrong name shows at once.

        A judge that cannot be had stops everything, and so does a name that nothing is known by;
        an encoder that cannot be had stops the jobs that need it.
        """
        if any(job.kind.has_prototypes for job in jobs):
            for spec in self._plan.judges:
                self.of(short_name(spec))
        for name in sorted({job.encoder for job in jobs if job.encoder}):
            try:
                self.of(name)
            except UnknownEncoderError:
                raise  # most likely misspelt
            except ProtoryNetError as error:
                _say(f"note: models with the encoder {name} will fail: {_line(error)}")

    def judge(self, encoder: Encoder) -> str | None:
        """Return the first judge that is not the model's own encoder, whatever it is called."""
        for name in map(short_name, self._plan.judges):
            if name in self._loaded and self._loaded[name].fingerprint != encoder.fingerprint:
                return name
        return None

    def weights(self, job: Job) -> str | None:
        """Return the digest of what a job would start from; None where it cannot be had."""
        vectors = self._plan.vectors
        try:
            encoder = self.of(job.encoder) if job.encoder else None
            return weights_of(job, encoder, vectors)
        except (ProtoryNetError, OSError):
            return None


def _records(plan: Plan, name: str) -> dict[Any, Record]:
    return {record.key: record for record in read_records(plan.file(name))[0]}


def _is_measured(
    job: Job, known: Mapping[Any, Record], library: _Library, encoders: _Encoders
) -> bool:
    record = known.get(job.key)
    if record is None or record.error is not None or record.settings != job.changes:
        return False
    if job.variant.thresholds and not record.pruning:
        return False
    if record.weights and encoders.weights(job) not in (None, record.weights):
        return False
    # Where the documents cannot be read now, what was measured on them stands.
    return not record.data or library.digest(job.set) in (None, record.data)


def _mark_documents(plan: Plan, library: _Library) -> None:
    """Write down which documents this run is about, where the last one was about others.

    Pages show the figures of the documents marked or measured last, even if all jobs fail now, or
    were done before the last run.
    """
    for name in plan.sources:
        last = [
            record.data
            for record in _records(plan, name).values()
            if record.data and record.error is None and record.is_quick == library.quick
        ]
        digest = library.digest(name) if last else None
        if digest is not None and digest != last[-1]:
            mark = {"set": name, "model": DOCUMENTS, "data": digest, "quick": library.quick}
            append_record(plan.file(name), {"kind": DOCUMENTS, **mark})


def _keep_real_records(jobs: list[Job], known: Mapping[Any, Record]) -> None:
    """Refuse to put the figures of a quick run in the place of real ones."""
    for job in jobs:
        record = known.get(job.key)
        is_real = record is not None and record.error is None and not record.is_quick
        if job.quick and is_real:
            raise InputError(
                f"{job} was measured in earnest already, and --quick would hide it; give another "
                "folder with --out."
            )


def _tell_of_old_recipes(jobs: list[Job], known: Mapping[Any, Record]) -> None:
    """Say which records were made when the defaults were others."""
    ours = [job for job in jobs if job.kind.family != "rival"]
    old = [job for job in ours if known[job.key].recipe != job.recipe]
    if old:
        _say(
            f"note: {len(old)} jobs were measured with other default settings (such as {old[0]}); "
            "to measure them again, write to a new folder with --out"
        )


def _material(plan: Plan, job: Job, library: _Library, encoders: _Encoders) -> Material:
    encoder = encoders.of(job.encoder) if job.encoder else None
    judge = None if encoder is None else encoders.judge(encoder)
    # Whom `evaluate` asks where nobody is named.
    is_minilm = encoder is not None and split_variant(encoder.name)[0] == "minilm"
    usual = "word pieces" if is_minilm else "minilm"
    return Material(
        documents=library.of(job.set),
        encoder=encoder,
        judge=None if judge is None else encoders.of(judge),
        judge_name=judge or usual,
        device=plan.device,
        vectors=plan.vectors,
    )


def _do(plan: Plan, job: Job, library: _Library, encoders: _Encoders) -> dict[str, Any]:
    """Return a job's record; where it fails, one that says why."""
    names = {"kind": "job", "seed": job.seed}
    try:
        return {**names, **measure(job, _material(plan, job, library, encoders))}
    except Exception as error:
        told = {"error": _line(error), "settings": job.changes, "recipe": job.recipe}
        start = {"weights": encoders.weights(job) or "", "data": library.digest(job.set)}
        return {**names, **told, **start}
    finally:
        _free_memory()


def _compare_seeds(
    plan: Plan, group: tuple[Job, ...], library: _Library, encoders: _Encoders
) -> None:
    """Record how far the prototypes of a group's seeds agree, where there are two or more."""
    first = group[0]
    if first.variant.name:
        return
    digest = library.digest(first.set)
    own = [each for each in _records(plan, first.set).values() if each.key[:4] == first.key[:4]]
    models = [each for each in own if each.prototypes and each.data == digest]
    if not first.encoder or len(models) < 2:
        return
    sentences = [[str(item.get("sentence")) for item in each.prototypes] for each in models]
    try:
        encoder = encoders.of(first.encoder)
        value = stability(encoder, sentences, library.mean(first.set, encoder))
    except Exception as error:
        _say(f"note: the seeds of {first.model} could not be compared: {_line(error)}")
        return
    seeds = [record.seed for record in models]
    values = {"kind": "stability", "seeds": seeds, "value": value, "data": digest}
    append_record(plan.file(first.set), {**_names(first), **values})


def _names(job: Job) -> dict[str, Any]:
    names = {"set": job.set, "encoder": job.encoder or None, "model": job.model}
    return {**names, "variant": job.variant.name} if job.variant.name else names


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
