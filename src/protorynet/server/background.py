"""Work off the event loop: calls on a few threads, jobs of minutes, and values computed once."""

import asyncio
import logging
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, Literal, ParamSpec, TypeVar

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from protorynet.errors import ProtoryNetError
from protorynet.server.api_keys import Scope, check_scope, require
from protorynet.server.api_shapes import ApiError, refusal

P = ParamSpec("P")
T = TypeVar("T")
Progress = Callable[[float, str], None]
State = Literal["queued", "running", "done", "failed"]

_THREADS = 4
_ENDED_JOBS_KEPT = 200
_VALUES_KEPT = 24
_LOG = logging.getLogger("protorynet.server")


class WorkPool:
    """A few threads, and a bounded number of calls that wait for them."""

    def __init__(self, *, max_waiting: int, seconds: float) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="protorynet")
        self._max_waiting = max_waiting
        self._room = threading.BoundedSemaphore(max_waiting)
        self._seconds = seconds

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function on a thread; 429 if too many wait, 503 if it takes too long."""
        if not self._room.acquire(blocking=False):
            raise refusal("too_busy", waiting=self._max_waiting)
        future = self._threads.submit(function, *args, **kwargs)
        future.add_done_callback(lambda _: self._room.release())
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._seconds)
        except TimeoutError:
            raise refusal("timeout", seconds=self._seconds) from None

    def close(self) -> None:
        """Let what runs come to its end, and drop what has not begun."""
        self._threads.shutdown(wait=True, cancel_futures=True)


class _JobStopped(BaseException):
    """The server is stopping; raised in a job's thread when it reports progress."""


class JobView(BaseModel):
    """A job as clients see it."""

    id: str = Field(examples=["h1Kx0uJmZk2Jb0Q7Xn3fWg"])
    kind: str = Field(examples=["retrain"])
    state: State = Field(examples=["running"])
    progress: float = Field(ge=0, le=1, examples=[0.4])
    message: str = Field(examples=["Epoch 4 of 10"])
    result: Any = Field(default=None, examples=[None])


class Job(JobView):
    """One piece of work and how far it is; the scope is what is needed to see it."""

    scope: Scope = Field(exclude=True)

    @property
    def ended(self) -> bool:
        """Whether it is done or failed."""
        return self.state in ("done", "failed")


class Jobs:
    """The jobs of a server, one at a time, in the order they came."""

    def __init__(self, *, max_jobs: int = 16) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="protorynet-job")
        self._max_jobs = max_jobs
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()

    def start(
        self, kind: str, function: Callable[[Progress], Any], *, scope: Scope = "predict"
    ) -> Job:
        """Queue a function; it is called with one to report progress, ``progress(0.5, "…")``."""
        new_id = secrets.token_urlsafe(16)
        job = Job(id=new_id, kind=kind, scope=scope, state="queued", progress=0.0, message="")
        with self._lock:
            waiting = sum(not other.ended for other in self._jobs.values())
            if waiting >= self._max_jobs:
                raise refusal("too_many_jobs", waiting=waiting)
            ended = [other.id for other in self._jobs.values() if other.ended]
            for job_id in ended[: max(0, len(ended) - _ENDED_JOBS_KEPT)]:
                del self._jobs[job_id]
            self._jobs[job.id] = job
        self._thread.submit(self._run, job, function)
        return job

    def get(self, job_id: str) -> Job:
        """Return a job by its id, or refuse with 404."""
        job = self._jobs.get(job_id)
        if job is None:
            raise refusal("unknown_job")
        return job

    def close(self) -> None:
        """Stop: jobs end when they next report progress."""
        self._stopping.set()
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _run(self, job: Job, function: Callable[[Progress], Any]) -> None:
        def report(share: float, message: str = "") -> None:
            if self._stopping.is_set():
                raise _JobStopped
            job.progress, job.message = min(max(float(share), 0.0), 1.0), message

        job.state = "running"
        try:
            job.result = function(report)
            job.progress, job.state = 1.0, "done"
        except _JobStopped:
            job.message, job.state = "the server was stopped.", "failed"
        except (ProtoryNetError, ApiError) as error:
            job.message, job.state = str(error), "failed"
        except Exception as error:
            # The message may hold a user's text, so only the kind of the error is shown and logged.
            _LOG.error("job failed", extra={"kind": job.kind, "error": type(error).__name__})
            job.message, job.state = "something unexpected went wrong on the server.", "failed"


router = APIRouter(prefix="/v1/jobs", tags=["jobs"])


@router.get("/{job_id}", dependencies=[Depends(require("predict"))])
def job(job_id: Annotated[str, Path(max_length=64)], request: Request) -> JobView:
    """Say how far a job is, and what it gave once it is done."""
    found: Job = request.app.state.jobs.get(job_id)
    check_scope(request, found.scope)
    return found


class InProgress(Exception):  # noqa: N818 -- it is no error, and clients get a 202
    """What was asked for is being computed by a job; the client asks again when that is done."""

    def __init__(self, job: Job) -> None:
        super().__init__(job.id)
        self.job = job


def answer_in_progress(request: Request, wait: Exception) -> JSONResponse:
    """Give a client the job to wait for."""
    assert isinstance(wait, InProgress)
    return JSONResponse({"job": wait.job.model_dump()}, 202)


class Computed:
    """Values that jobs compute once, by key; the least recently used ones are forgotten."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._values: OrderedDict[Hashable, Any] = OrderedDict()
        self._running: dict[Hashable, Job] = {}
        self._lock = threading.RLock()

    def ask(self, key: Hashable, kind: str, compute: Callable[[Progress], T]) -> T:
        """Return a value, or raise `InProgress` with the job that computes it."""

        def work(progress: Progress) -> None:  # the value is no result for clients to see
            self.now(key, compute, progress)

        with self._lock:
            known: T | None = self._find(key)
            if known is not None:
                return known
            self._running = {each: job for each, job in self._running.items() if not job.ended}
            if key not in self._running:
                self._running[key] = self._jobs.start(kind, work)
            raise InProgress(self._running[key])

    def now(self, key: Hashable, compute: Callable[[Progress], T], progress: Progress) -> T:
        """Return a value, computed here if need be; for use inside of jobs, one of which runs."""
        known: T | None = self._find(key)
        if known is not None:
            return known
        value = compute(progress)
        with self._lock:
            self._values[key] = value
            if len(self._values) > _VALUES_KEPT:
                self._values.popitem(last=False)
        return value

    def _find(self, key: Hashable) -> Any:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)
