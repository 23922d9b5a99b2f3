"""What takes long to compute: done once, as a job, and kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from protorynet.server.jobs import Job, Jobs, Progress

__all__ = ["Computed"]

T = TypeVar("T")

_KEPT = 24


class Computed:
    """Values by key; the least recently used ones are forgotten.

    Parameters
    ----------
    jobs
        Where values are computed.
    kept
        Most values kept.
    """

    def __init__(self, jobs: Jobs, *, kept: int = _KEPT) -> None:
        self._jobs = jobs
        self._kept = kept
        self._values: OrderedDict[Hashable, Any] = OrderedDict()
        self._running: dict[Hashable, Job] = {}
        self._lock = threading.Lock()
        self._computing = threading.RLock()

    def ask(self, key: Hashable, kind: str, compute: Callable[[Progress], T]) -> T | Job:
        """Return a value, or the job that computes it, which is started if there is none."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                value: T = self._values[key]
                return value
            job = self._running.get(key)
            if job is None or job.ended:
                job = self._jobs.start(kind, lambda tell: self._as_job(key, compute, tell))
                self._running[key] = job
            return job

    def now(self, key: Hashable, compute: Callable[[Progress], T], progress: Progress) -> T:
        """Return a value, computed here if need be; for use inside of jobs."""
        with self._computing:
            with self._lock:
                if key in self._values:
                    self._values.move_to_end(key)
                    known: T = self._values[key]
                    return known
            value = compute(progress)
            self.put(key, value)
            return value

    def put(self, key: Hashable, value: object) -> None:
        """Keep a value."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._kept:
                self._values.popitem(last=False)

    def _as_job(self, key: Hashable, compute: Callable[[Progress], object], tell: Progress) -> None:
        try:
            self.now(key, compute, tell)
        finally:
            with self._lock:
                self._running.pop(key, None)
