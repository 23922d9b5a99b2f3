"""Where the workbench's things of one model lie, and what they share."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar

from fastapi import Depends, FastAPI, Request

from protorynet.errors import InputError
from protorynet.labels import LabelCode
from protorynet.server.config import ServerConfig
from protorynet.server.failures import ApiError
from protorynet.server.jobs import Job, Progress
from protorynet.server.models import Name
from protorynet.server.store import ModelStore, ServedModel
from protorynet.server.workbench.batches import BatchFolder
from protorynet.server.workbench.computed import Computed
from protorynet.server.workbench.drafts import DraftFolder
from protorynet.server.workbench.marks import Marks
from protorynet.server.workbench.prepared import Prepared, prepare
from protorynet.server.workbench.table import DataTable, read_data
from protorynet.server.workbench.versions import VersionFolder, workbench_folder

__all__ = ["AtDesk", "Desk", "Workbench", "workbench_of", "writing"]

T = TypeVar("T")


class Workbench:
    """What the workbench holds for all models.

    Parameters
    ----------
    app
        The application.
    """

    def __init__(self, app: FastAPI) -> None:
        self.app = app
        self.computed = Computed(app.state.jobs)
        self._config: ServerConfig = app.state.config
        self._table: DataTable | None = None
        self._reading, self._making = threading.Lock(), threading.Lock()
        self._desks: dict[Path, Desk] = {}

    def table(self) -> DataTable:
        """Return the table that the server was started with, read once, or refuse with 409."""
        path = self._config.data
        if path is None:
            raise ApiError(
                409,
                "no_data",
                "this needs labelled texts, but the server was started without any. Start it with "
                "`protorynet serve MODEL --data TABLE`, a CSV, TSV, JSONL or Parquet file.",
            )
        with self._reading:
            if self._table is None:
                try:
                    self._table = read_data(path)
                except InputError as error:
                    raise ApiError(409, "data_unusable", f"--data: {error}") from None
            return self._table

    def desk(self, name: str) -> Desk:
        """Return the desk of a model, or refuse with 404; two names of one model share it."""
        self.app.state.store.get(name)
        model = self._config.models[name].resolve()
        with self._making:
            if model not in self._desks:
                models = self._config.models.items()
                names = tuple(other for other, path in models if path.resolve() == model)
                self._desks[model] = Desk(self, model, names)
            return self._desks[model]


class Desk:
    """The workbench's things of one model.

    Parameters
    ----------
    workbench
        What all models share.
    model
        The model directory as given.
    names
        The names that it is served under.
    """

    def __init__(self, workbench: Workbench, model: Path, names: tuple[str, ...]) -> None:
        self.workbench = workbench
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
    def store(self) -> ModelStore:
        """The models being served."""
        store: ModelStore = self.workbench.app.state.store
        return store

    @property
    def served(self) -> ServedModel:
        """The present version."""
        return self.store.get(self.names[0])

    @property
    def computed(self) -> Computed:
        """What was computed by jobs."""
        return self.workbench.computed

    def table(self) -> DataTable:
        """Return the table of labelled texts, or refuse with 409 where its labels do not fit."""
        table, labels = self.workbench.table(), self.served.classifier.model_.labels
        if self._fitting != labels:
            try:
                labels.encode(table.labels)
            except InputError as error:
                raise ApiError(
                    409, "data_unusable", f"--data does not fit this model: {error}"
                ) from None
            self._fitting = labels
        return table

    def prepared(self, served: ServedModel, progress: Progress) -> Prepared:
        """Return the table's documents for a version; inside of jobs."""
        classifier = served.classifier
        encoder = classifier.encoder_
        assert encoder is not None  # the store refuses models that read vectors
        key = ("prepared", self.home, encoder.fingerprint, classifier.model_.labels)
        return self.computed.now(key, partial(prepare, served.classifier, self.table()), progress)


def workbench_of(app: FastAPI) -> Workbench:
    """Return the workbench of an application."""
    state = app.state
    if not hasattr(state, "workbench"):
        state.workbench = Workbench(app)
    workbench: Workbench = state.workbench
    return workbench


def _desk(name: Name, request: Request) -> Desk:
    return workbench_of(request.app).desk(name)


AtDesk = Annotated[Desk, Depends(_desk)]
"""The desk of the model that a route's path names."""


@contextmanager
def writing(what: str) -> Iterator[None]:
    """Tell a client, rather than fail, where the disk is full or may not be written."""
    try:
        yield
    except OSError as error:
        raise ApiError(
            507,
            "not_written",
            f"{what} could not be written: {error.strerror or type(error).__name__}. Whoever runs "
            "the server should make room, or let it write beside the model directory.",
        ) from None
