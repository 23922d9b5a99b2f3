"""Where the workbench's things of one model lie, and what its routes share."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

from fastapi import APIRouter, Depends, FastAPI, Query, Request
from pydantic import BaseModel

from protorynet.errors import InputError
from protorynet.labels import LabelCode
from protorynet.server.api_keys import require
from protorynet.server.api_shapes import ApiError, ErrorView, refusal
from protorynet.server.background import Computed, Job, JobView, Progress, run_in_pool
from protorynet.server.config import ServerConfig, workbench_folder
from protorynet.server.model_routes import Name
from protorynet.server.served_models import ModelStore, ServedModel, ask
from protorynet.server.workbench.batch_store import BatchFolder
from protorynet.server.workbench.desk_folders import DraftFolder, Marks, VersionFolder
from protorynet.server.workbench.labelled_table import (
    DataTable,
    Prepared,
    known_tables,
    prepare,
    read_data,
)

P = ParamSpec("P")
T = TypeVar("T")
PREDICT = [Depends(require("predict"))]
EDIT = [Depends(require("edit"))]
_WITHOUT_REASONS = ("empty_text", "too_many_sentences")


class WorkingView(BaseModel):
    """The job that computes what was asked for; ask again when it is done."""

    job: JobView


_REFUSALS: dict[int | str, dict[str, Any]] = {
    409: {
        "model": ErrorView,
        "description": "Not now: the server has no table, the draft is busy, or the like.",
    },
    507: {"model": ErrorView, "description": "The server cannot write to its disk."},
}
MAY_WAIT: dict[int | str, dict[str, Any]] = {
    202: {
        "model": WorkingView,
        "description": "It is being computed. Ask again when the job is done.",
    }
}


def make_router() -> APIRouter:
    """Return a router for things of one model."""
    return APIRouter(prefix="/v1/models/{name}", tags=["workbench"], responses=_REFUSALS)


class Workbench:
    """What the workbench holds for all models."""

    def __init__(self, app: FastAPI) -> None:
        self.app = app
        self.computed = Computed(app.state.jobs)
        self._config: ServerConfig = app.state.config
        self._table: DataTable | None = None
        self._lock = threading.Lock()
        self._desks: dict[Path, Desk] = {}

    def table(self) -> DataTable:
        """Return the table that the server was started with, read once, or refuse with 409."""
        path = self._config.data
        if path is None:
            raise refusal("no_data")
        with self._lock:
            if self._table is None:
                try:
                    self._table = read_data(path)
                except InputError as error:
                    raise refusal("data_unusable", why="", error=error) from None
            return self._table

    def desk(self, name: str) -> Desk:
        """Return the desk of a model, or refuse with 404; two names of one model share it."""
        self.app.state.store.get(name)
        models = {each: path.resolve() for each, path in self._config.models.items()}
        names = tuple(each for each, path in models.items() if path == models[name])
        # Made twice at the same time, the first one stays.
        return self._desks.setdefault(models[name], Desk(self, models[name], names))


class Desk:
    """The workbench's things of one model, whatever names it is served under."""

    def __init__(self, workbench: Workbench, model: Path, names: tuple[str, ...]) -> None:
        self.workbench = workbench
        self.app = workbench.app
        self.store: ModelStore = workbench.app.state.store
        self.names = names
        self.home = workbench_folder(model)
        self.lock = threading.RLock()
        self.drafts = DraftFolder(self.home / "draft")
        self.versions = VersionFolder(model, self.home)
        self.marks = Marks(self.home / "marks.db")
        self.batches = BatchFolder(self.home)
        self.retraining: Job | None = None
        self._fitting: LabelCode | None = None  # the classes that the table's labels fit

    @property
    def served(self) -> ServedModel:
        """The present version."""
        return self.store.get(self.names[0])

    def table(self) -> DataTable:
        """Return the table of labelled texts, or refuse with 409 where its labels do not fit."""
        table, labels = self.workbench.table(), self.served.model.labels
        if self._fitting != labels:
            try:
                labels.encode(table.labels)
            except InputError as error:
                why = " does not fit this model"
                raise refusal("data_unusable", why=why, error=error) from None
            self._fitting = labels
        return table

    def ask(self, kind: str, state: object, compute: Callable[[Progress], T]) -> T:
        """Return what a job computes for a state of the model, once it is computed."""
        return self.workbench.computed.ask((kind, self.home, state), kind, compute)

    def prepared(self, served: ServedModel, progress: Progress, share: float = 1.0) -> Prepared:
        """Return the table's documents for a version, which is a share of a job's work."""
        classifier = served.classifier
        encoder = classifier.encoder_
        assert encoder is not None  # the store refuses models that read vectors
        model = classifier.model_
        key = ("prepared", self.home, encoder.fingerprint, model.labels, known_tables(model))
        return self.workbench.computed.now(
            key,
            partial(prepare, classifier, self.table()),
            lambda done, message: progress(share * done, message),
        )


def _find_desk(name: Name, request: Request) -> Desk:
    workbench: Workbench = request.app.state.workbench
    return workbench.desk(name)


AtDesk = Annotated[Desk, Depends(_find_desk)]
"""The desk of the model that a route's path names."""


def in_pool(route: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """Run a route, one of whose parameters is `desk`, on a thread of the app's pool."""

    @wraps(route)
    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        desk = kwargs["desk"]
        assert isinstance(desk, Desk)
        return await run_in_pool(desk.app, route, *args, **kwargs)

    return call


@contextmanager
def writing(what: str) -> Iterator[None]:
    """Answer a client, rather than fail, where the disk is full or may not be written."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise refusal("not_written", what=what, reason=reason) from None


async def explain_text(desk: Desk, name: str, text: str) -> dict[str, Any] | None:
    """Explain a text; one that is too long for it, or holds no sentence, has no reasons."""
    try:
        answer = await ask(desk.app, name, "explain", [text])
    except ApiError as error:
        if error.code not in _WITHOUT_REASONS:
            raise
        return None
    return answer.results[0]


@dataclass(frozen=True)
class Page:
    """Which page of a long list is asked for."""

    page: Annotated[int, Query(ge=1, le=10_000_000, description="Page, counted from 1.")] = 1
    size: Annotated[int, Query(ge=1, le=200, description="Items of a page.")] = 50

    def of(self, items: Sequence[Any]) -> dict[str, Any]:
        """Return the page of a list."""
        start = (self.page - 1) * self.size
        shown = list(items[start : start + self.size])
        return {"items": shown, "page": self.page, "size": self.size, "total": len(items)}


Paged = Annotated[Page, Depends()]
