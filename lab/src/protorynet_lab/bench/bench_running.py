"""All jobs of a plan, one after the other; what is measured already is not measured again."""

import gc
import os
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.encoders import Encoder, load_encoder, split_variant
from protorynet.errors import InputError, ProtoryNetError, UnknownEncoderError
from protorynet_lab.bench.bench_jobs import Documents, Job
from protorynet_lab.bench.bench_measuring import (
    Material,
    digest_weights,
    mean_sentence,
    measure,
    measure_stability,
)
from protorynet_lab.bench.bench_planning import Plan, short_name
from protorynet_lab.bench.bench_records import DOCUMENTS, Record, append_record, read_records

_LONGEST_ERROR = 300
_COST_STEP = 1.7  # from one rank in the order of models to the next, time nearly doubles


def run_plan(plan: Plan) -> int:
    """Measure what is not measured yet, and return the number of jobs that failed.

    Every record is on disk before the next job begins, so a run that was killed resumes where it
    stopped. A job that fails leaves a record that says why, and is tried again by the next run.
    """
    library = _Library(plan)
    if len(plan.sources) == 1:
        library.documents(*plan.sources)  # where there is no other, an unreadable table ends it
    known: dict[Any, Record] = {}
    for name in plan.sources:
        known |= _read_known(plan, name)
    _keep_real_records(plan.jobs, known)
    _mark_documents(plan, library)
    pending = [job for job in plan.jobs if not _is_measured(job, known, library)]
    for line in plan.notes:
        _say(f"note: {line}")
    _say(f"{len(pending)} of {len(plan.jobs)} jobs to do")
    _note_old_recipes([job for job in plan.jobs if job not in pending], known)
    library.load_encoders(pending)
    # How long a quick run took says nothing about a real one.
    forecast = _Forecast(each for each in known.values() if each.is_quick == plan.request.quick)
    failed = 0
    for group in plan.groups:
        fresh = [job for job in group if job in pending]
        for job in fresh:
            number = pending.index(job)
            if _is_measured(job, _read_known(plan, job.set), library):
                _say(f"[{number + 1}/{len(pending)}] {job}: measured by another run meanwhile")
                continue
            _say(f"[{number + 1}/{len(pending)}] {job} …{forecast.describe(pending[number:])}")
            begin = time.perf_counter()
            record = _run_job(job, library)
            failed += "error" in record
            own = {"own": True} if plan.request.is_own else {}
            append_record(plan.file(job.set), {**_name_job(job), **own, **record})
            forecast.add(job, time.perf_counter() - begin)
            _say(_describe_outcome(record))
        if fresh:
            _compare_seeds(plan, group, library)
    return failed


class _Library:
    """The documents and encoders of a plan, each read once; what cannot be had says why."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._request = plan, plan.request
        self._documents: dict[str, Documents] = {}
        self._unreadable: set[str] = set()
        self._specs = {
            short_name(spec): spec for spec in (*self._request.judges, *self._request.encoders)
        }
        self._encoders: dict[str, Encoder] = {}
        self._errors: dict[str, ProtoryNetError] = {}
        self._means: dict[tuple[str, str], NDArray[np.float32]] = {}

    def documents(self, name: str) -> Documents:
        """Return the documents of a data set."""
        if name not in self._documents:
            self._documents[name] = self._plan.sources[name].read(quick=self._request.quick)
            for line in self._documents[name].notes:
                _say(f"{name}: {line}")
        return self._documents[name]

    def digest(self, name: str) -> str | None:
        """Return the digest of a data set's documents; None where they cannot be read."""
        try:
            return self.documents(name).digest
        except (ProtoryNetError, OSError) as error:
            if name not in self._unreadable:
                self._unreadable.add(name)
                _say(f"note: {name} cannot be read, so only its records count: {_line(error)}")
            return None

    def encoder(self, name: str) -> Encoder:
        """Return an encoder by its short name."""
        if name in self._errors:
            raise self._errors[name]
        if name not in self._encoders:
            try:
                spec = self._specs[name]
                self._encoders[name] = load_encoder(spec, device=self._request.device)
            except ProtoryNetError as error:
                self._errors[name] = error
                raise
        return self._encoders[name]

    def load_encoders(self, jobs: Sequence[Job]) -> None:
        """Load what jobs need before the first begins, so that a wrong name shows at once.

        A missing judge stops everything, a missing encoder only the jobs that need it.
        """
        if any(job.kind.has_prototypes for job in jobs):
            for spec in self._request.judges:
                self.encoder(short_name(spec))
        for name in sorted({job.encoder for job in jobs if job.encoder}):
            try:
                self.encoder(name)
            except UnknownEncoderError:
                raise  # most likely misspelt
            except ProtoryNetError as error:
                _say(f"note: models with the encoder {name} will fail: {_line(error)}")

    def mean(self, name: str, encoder: Encoder) -> NDArray[np.float32]:
        """Return the mean vector of the training sentences."""
        key = name, encoder.fingerprint
        if key not in self._means:
            self._means[key] = mean_sentence(encoder, self.documents(name).train.texts)
        return self._means[key]

    def weights(self, job: Job) -> str | None:
        """Return the digest of what a job would start from; None where it cannot be had."""
        try:
            encoder = self.encoder(job.encoder) if job.encoder else None
            return digest_weights(job, encoder, self._request.vectors)
        except (ProtoryNetError, OSError):
            return None

    def material(self, job: Job) -> Material:
        """Return what a job works on; without a judge, `evaluate` chooses one as named here."""
        encoder = self.encoder(job.encoder) if job.encoder else None
        is_minilm = encoder is not None and split_variant(encoder.name)[0] == "minilm"
        judge, judge_name = None, "word pieces" if is_minilm else "minilm"
        for name in map(short_name, self._request.judges):
            other = self._encoders.get(name)
            if encoder and other and other.fingerprint != encoder.fingerprint:
                judge, judge_name = other, name
                break
        documents, request = self.documents(job.set), self._request
        return Material(documents, encoder, judge, judge_name, request.device, request.vectors)


class _Forecast:
    """How long the jobs that are left will take, by those that are done."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._seconds = defaultdict[tuple[str, ...], list[float]](list)
        self._by_cost: list[float] = []
        for record in records:
            if record.error is None and record.seconds:
                self._remember(record.key, sum(record.seconds.values()))

    def add(self, job: Job, seconds: float) -> None:
        """Remember how long a job took."""
        self._remember(job.key, seconds)
        if job.kind.cost:  # what costs nothing says nothing about the others
            self._by_cost.append(seconds / _COST_STEP**job.kind.cost)

    def _remember(self, key: tuple[str, str, str, str, int], seconds: float) -> None:
        for like in (key[:4], key[:3], key[1:3]):
            self._seconds[like].append(seconds)

    def describe(self, jobs: Sequence[Job]) -> str:
        """Return roughly how long some jobs will take; empty where nothing is known yet."""
        seconds = 0.0
        for job in jobs:
            like = (job.key[:4], job.key[:3], job.key[1:3])
            known = next((self._seconds[key] for key in like if key in self._seconds), None)
            if known is None and not self._by_cost:
                return ""
            seconds += mean(known or self._by_cost) * (1 if known else _COST_STEP**job.kind.cost)
        if seconds < 90:
            return f" about {max(round(seconds, -1), 10):.0f} seconds left"
        if seconds < 5_400:
            return f" about {seconds / 60:.0f} minutes left"
        return f" about {seconds / 3_600:.1f} hours left"


def _read_known(plan: Plan, name: str) -> dict[Any, Record]:
    return {record.key: record for record in read_records(plan.file(name))[0]}


def _is_measured(job: Job, known: Mapping[Any, Record], library: _Library) -> bool:
    record = known.get(job.key)
    if record is None or record.error is not None or record.settings != job.changes:
        return False
    if job.variant.thresholds and not record.pruning:
        return False
    if record.weights and library.weights(job) not in (None, record.weights):
        return False
    # Where the documents cannot be read now, what was measured on them stands.
    return not record.data or library.digest(job.set) in (None, record.data)


def _mark_documents(plan: Plan, library: _Library) -> None:
    """Write down which documents this run is about, where the last one was about others.

    Pages show the figures of the documents marked or measured last.
    """
    for name in plan.sources:
        last = [
            record.data
            for record in _read_known(plan, name).values()
            if record.data and record.error is None and record.is_quick == plan.request.quick
        ]
        digest = library.digest(name) if last else None
        if digest is not None and digest != last[-1]:
            mark = {"set": name, "model": DOCUMENTS, "data": digest, "quick": plan.request.quick}
            append_record(plan.file(name), {"kind": DOCUMENTS, **mark})


def _keep_real_records(jobs: list[Job], known: Mapping[Any, Record]) -> None:
    """Refuse to put the figures of a quick run in the place of real ones."""
    for job in jobs:
        record = known.get(job.key)
        is_real = record is not None and record.error is None and not record.is_quick
        if job.quick and is_real:
            raise InputError(
                f"{job} was measured without --quick, which would hide its figures; give another "
                "folder with --out."
            )


def _note_old_recipes(jobs: list[Job], known: Mapping[Any, Record]) -> None:
    """Say which records were made when the defaults were others."""
    ours = [job for job in jobs if job.kind.family != "rival"]
    old = [job for job in ours if known[job.key].recipe != job.recipe]
    if old:
        _say(
            f"note: {len(old)} jobs were measured with other default settings (such as {old[0]}); "
            "to measure them again, write to a new folder with --out"
        )


def _run_job(job: Job, library: _Library) -> dict[str, Any]:
    """Return a job's record; where it fails, one that says why."""
    import torch

    names = {"kind": "job", "seed": job.seed}
    try:
        return {**names, **measure(job, library.material(job))}
    except Exception as error:
        reason = {"error": _line(error), "settings": job.changes, "recipe": job.recipe}
        start = {"weights": library.weights(job) or "", "data": library.digest(job.set)}
        return {**names, **reason, **start}
    finally:
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def _compare_seeds(plan: Plan, group: tuple[Job, ...], library: _Library) -> None:
    """Record how far the prototypes of a group's seeds agree, where there are two or more."""
    first = group[0]
    digest = library.digest(first.set)
    models = [
        record
        for record in _read_known(plan, first.set).values()
        if record.key[:4] == first.key[:4] and record.prototypes and record.data == digest
    ]
    if first.variant.name or len(models) < 2:
        return
    sentences = [[str(item.get("sentence")) for item in each.prototypes] for each in models]
    try:
        encoder = library.encoder(first.encoder)
        value = measure_stability(encoder, sentences, library.mean(first.set, encoder))
    except Exception as error:
        _say(f"note: the seeds of {first.model} could not be compared: {_line(error)}")
        return
    seeds = [record.seed for record in models]
    values = {"kind": "stability", "seeds": seeds, "value": value, "data": digest}
    append_record(plan.file(first.set), {**_name_job(first), **values})


def _name_job(job: Job) -> dict[str, Any]:
    names = {"set": job.set, "encoder": job.encoder or None, "model": job.model}
    return {**names, "variant": job.variant.name} if job.variant.name else names


def _describe_outcome(record: Mapping[str, Any]) -> str:
    if "error" in record:
        return f"  failed: {record['error']}"
    parts = [f"accuracy {record['accuracy']:.4f}"]
    if "n_prototypes" in record:
        parts.append(f"{record['n_prototypes']} prototypes")
        if record.get("n_members", 0) > record["n_prototypes"]:
            parts[-1] += f" of {record['n_members']} sentences"
    parts.append(f"{sum(record['seconds'].values()):.0f} s")
    return f"  {', '.join(parts)}"


def _line(error: Exception) -> str:
    if os.environ.get("PROTORYNET_DEBUG"):
        traceback.print_exception(error)
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words}"[:_LONGEST_ERROR]


def _say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)
