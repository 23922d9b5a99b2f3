"""Work of minutes: started by one request, watched by others."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Request
from pydantic import BaseModel, Field

from protorynet.errors import ProtoryNetError
from protorynet.server.failures import ApiError
from protorynet.server.keyfile import Scope
from protorynet.server.keys import check_scope, require

__all__ = ["Job", "JobStopped", "JobView", "Jobs", "Progress", "router"]

Progress = Callable[[float, str], None]
State = Literal["queued", "running", "done", "failed"]

_KEPT = 200  # finished jobs that can still be asked for
_LOG = logging.getLogger("protorynet.server")


class JobStopped(BaseException):
    """The server is stopping; raised in a job's thread when it tells its progress."""


@dataclass
class Job:
    """One piece of work and how far it is.

    Parameters
    ----------
    id
        An unguessable name.
    kind
        What is done, such as ``"retrain"``.
    scope
        The scope that is needed to see it.
    state, progress, message
        How far it is: the share done, from 0 to 1, and a line for people.
    result
        What it returned, ready for JSON; None until it is done.
    """

    id: str
    kind: str
    scope: Scope
    state: State = "queued"
    progress: float = 0.0
    message: str = ""
    result: Any = None

    @property
    def ended(self) -> bool:
        """Whether it is done or failed."""
        return self.state in ("done", "failed")


class JobView(BaseModel):
    """A job as clients see it."""

    id: str = Field(examples=["h1Kx0uJmZk2Jb0Q7Xn3fWg"])
    kind: str = Field(examples=["retrain"])
    state: State = Field(examples=["running"])
    progress: float = Field(ge=0, le=1, examples=[0.4])
    message: str = Field(examples=["Epoch 4 of 10"])
    result: Any = Field(default=None, examples=[None])


class Jobs:
    """The jobs of a server, a few at a time, in the order they came.

    Parameters
    ----------
    max_jobs
        Jobs that may wait or run; further ones are refused with 429.
    threads
        Jobs that run at the same time.
    """

    def __init__(self, *, max_jobs: int = 16, threads: int = 1) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="protorynet-job")
        self._max_jobs = max_jobs
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()

    def start(
        self, kind: str, function: Callable[[Progress], Any], *, scope: Scope = "predict"
    ) -> Job:
        """Queue a function; it is called with one to tell its progress, ``progress(0.5, "…")``."""
        job = Job(secrets.token_urlsafe(16), kind, scope)
        with self._lock:
            waiting = sum(not other.ended for other in self._jobs.values())
            if waiting >= self._max_jobs:
                raise ApiError(
                    429,
                    "too_many_jobs",
                    f"{waiting} jobs are waiting or running, and no more may. Try again later.",
                    headers={"Retry-After": "30"},
                )
            self._forget_old()
            self._jobs[job.id] = job
        self._threads.submit(self._run, job, function)
        return job

    def get(self, job_id: str) -> Job:
        """Return a job by its id, or refuse with 404."""
        job = self._jobs.get(job_id)
        if job is None:
            raise ApiError(404, "unknown_job", "there is no job of this id, or it is long over.")
        return job

    def close(self) -> None:
        """Stop: jobs end when they next tell their progress."""
        self._stopping.set()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _run(self, job: Job, function: Callable[[Progress], Any]) -> None:
        def tell(share: float, message: str = "") -> None:
            if self._stopping.is_set():
                raise JobStopped
            job.progress, job.message = min(max(float(share), 0.0), 1.0), message

        job.state = "running"
        try:
            job.result = function(tell)
            job.progress, job.state = 1.0, "done"
        except JobStopped:
            job.message, job.state = "the server was stopped.", "failed"
        except (ProtoryNetError, ApiError) as error:
            job.message, job.state = str(error), "failed"
        except Exception as error:
            # The message may hold a user's text, so only the kind of the error is told and logged.
            _LOG.error("job failed", extra={"kind": job.kind, "error": type(error).__name__})
            job.message, job.state = "something unexpected went wrong on the server.", "failed"

    def _forget_old(self) -> None:
        ended = [job.id for job in self._jobs.values() if job.ended]
        for job_id in ended[: max(0, len(ended) - _KEPT)]:
            del self._jobs[job_id]


router = APIRouter(prefix="/v1/jobs", tags=["jobs"])


@router.get("/{job_id}", dependencies=[Depends(require("predict"))])
def job(job_id: Annotated[str, Path(max_length=64)], request: Request) -> JobView:
    """Say how far a job is, and what it gave once it is done."""
    found: Job = request.app.state.jobs.get(job_id)
    check_scope(request, found.scope)
    return JobView.model_validate(found, from_attributes=True)
