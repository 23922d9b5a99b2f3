"""What the workbench keeps of a model on disk, and what its routes share.

::

    MODEL                          version 1: the directory as given, which nothing here changes
    MODEL.workbench/versions.json  which versions there are, and which of them is served
    MODEL.workbench/versions/2     a model directory, as are the following ones
    MODEL.workbench/draft/         the draft
    MODEL.workbench/marks.db       marks of doubtful labels
    MODEL.workbench/uploads/       tables sent to be looked at first
    MODEL.workbench/batches/       tables sent for prediction, and the results
    MODEL.workbench/trust/         measures and findings by version

Every state of the draft and every version is a complete model directory of its own; draft.json
and versions.json, each written atomically after it, say which one holds. So a confirmed edit
outlives a kill, and whatever else is there was never confirmed, or is no longer needed. If the
directory as given is trained again, it is served and the versions made from the old one are
passed over.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

from fastapi import APIRouter, Depends, FastAPI, Query, Request
from pydantic import BaseModel

from protorynet.errors import InputError, ModelFormatError
from protorynet.files import read_limited, write_atomically
from protorynet.labels import LabelCode
from protorynet.model import Model
from protorynet.prototypes import EditEntry
from protorynet.records import moment, read_record
from protorynet.server.api_keys import require
from protorynet.server.api_shapes import ApiError, ErrorView, refusal
from protorynet.server.background import Computed, Job, JobView, Progress, WorkPool
from protorynet.server.config import ServerConfig, workbench_folder
from protorynet.server.model_routes import Name
from protorynet.server.served_models import ModelStore, ServedModel, ask, folder_version
from protorynet.server.workbench.batch_store import BatchFolder
from protorynet.server.workbench.labelled_table import (
    DataTable,
    Prepared,
    known_tables,
    prepare,
    read_data,
)
from protorynet.storage import is_model_directory, load_model, save_model

_Record = TypeVar("_Record")
_LARGEST_JSON = 16 * 2**20
_MARKS_TABLE = """
CREATE TABLE IF NOT EXISTS marks (
    text TEXT PRIMARY KEY, row INTEGER NOT NULL, wrong_label INTEGER NOT NULL,
    note TEXT NOT NULL, "when" TEXT NOT NULL
)
"""


def _read_json(kind: type[_Record], path: Path) -> _Record | None:
    """Return what a file holds, or None where it is missing or damaged."""
    try:
        return read_record(kind, json.loads(read_limited(path, _LARGEST_JSON)))
    except (FileNotFoundError, NotADirectoryError, ValueError, TypeError, RecursionError):
        return None
    except OSError as error:
        # Not the same as missing: what is there would be written over.
        raise refusal("disk_unreadable", name=path.name, reason=error.strerror) from None


@dataclass(frozen=True)
class Version:
    """A published version: its number and digest, and the id of the draft it was made from."""

    number: int
    version: str
    when: str
    note: str
    n_prototypes: int
    draft: str


@dataclass(frozen=True)
class Ledger:
    """All versions: the digest of the directory as given, the number served, those published."""

    base: str
    current: int = 1
    versions: tuple[Version, ...] = ()


class VersionFolder:
    """The versions of one model on disk."""

    def __init__(self, model: Path, home: Path) -> None:
        self._model = model
        self._file = home / "versions.json"
        self._versions = home / "versions"

    def read(self) -> Ledger:
        """Return what versions there are, or refuse with 409 where the model is gone.

        Those made from another base are passed over.
        """
        try:
            base = folder_version(self._model)
        except ModelFormatError:
            raise refusal("model_gone") from None
        ledger = _read_json(Ledger, self._file)
        if ledger is None or ledger.base != base:
            return Ledger(base)
        there = tuple(
            each for each in ledger.versions if is_model_directory(self.path(each.number))
        )
        is_there = any(each.number == ledger.current for each in there)
        return replace(ledger, versions=there, current=ledger.current if is_there else 1)

    def write(self, ledger: Ledger) -> None:
        """Make a version the one that is served."""
        write_atomically(self._file, json.dumps(asdict(ledger), ensure_ascii=False, indent=2))

    def sweep(self) -> None:
        """Remove what a kill left half written; call it before anything is published."""
        for path in self._versions.glob(".*"):
            shutil.rmtree(path, ignore_errors=True)

    def path(self, number: int) -> Path:
        """Return the model directory of a version."""
        return self._model if number == 1 else self._versions / str(number)

    def next_number(self) -> int:
        """Return a number that no version has, not even one that was never made known."""
        there = self._versions.iterdir() if self._versions.is_dir() else ()
        return max([1, *(int(path.name) for path in there if path.name.isdecimal())]) + 1


@dataclass(frozen=True)
class _DraftRecord:
    """What ``draft.json`` says."""

    id: str
    base_version: str  # that it was begun from
    n_base_edits: int  # in that one's log; those that follow are the draft's own
    revision: int


@dataclass(frozen=True)
class Draft(_DraftRecord):
    """A model being edited; its undo is that of the model's own log of edits."""

    model: Model

    @classmethod
    def begin(cls, base_version: str, model: Model) -> Draft:
        """Return a draft without edits."""
        return cls(secrets.token_hex(8), base_version, len(model.edits.entries), 0, model)

    @property
    def entries(self) -> tuple[EditEntry, ...]:
        """The draft's own edits, the undone ones included."""
        return self.model.edits.entries[self.n_base_edits :]

    @property
    def can_undo(self) -> bool:
        """Whether the last standing edit is the draft's own and its state is kept."""
        states = self.model.edits.states
        return bool(states) and states[-1].number > self.n_base_edits

    def change(self, model: Model) -> Draft:
        """Return the next revision."""
        return replace(self, model=model, revision=self.revision + 1)


class DraftFolder:
    """The draft of one model on disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / "draft.json"
        self._known: Draft | None = None

    def read(self, *, device: str) -> Draft | None:
        """Return the draft, if there is one."""
        record = _read_json(_DraftRecord, self._file)
        if record is None or not record.id.isalnum():
            return None
        known = self._known
        if known is None or (known.id, known.revision) != (record.id, record.revision):
            model, _ = load_model(self._state(record), device=device)
            known = self._known = Draft(**vars(record), model=model)
        return known

    def write(self, draft: Draft, *, encoder: Path | None) -> None:
        """Keep a draft, with the fine-tuned encoder of a folder; then it is on disk."""
        state = self._state(draft)
        save_model(draft.model, state, tuned=encoder)
        values = {name: value for name, value in vars(draft).items() if name != "model"}
        write_atomically(self._file, json.dumps(values))
        self._known = draft
        for path in self._folder.iterdir():
            if path.is_dir() and path != state:
                shutil.rmtree(path, ignore_errors=True)
            elif path.is_file() and path != self._file:  # left by a kill
                path.unlink(missing_ok=True)

    def delete(self) -> None:
        """Forget the draft."""
        # First the record, so that a kill in between leaves no draft without its model.
        self._file.unlink(missing_ok=True)
        self._known = None
        shutil.rmtree(self._folder, ignore_errors=True)

    def _state(self, record: _DraftRecord) -> Path:
        return self._folder / f"{record.id}-{record.revision}"


class Marks:
    """What people say of labels they doubt, in an SQLite file; on disk before it is confirmed.

    A mark belongs to a text, not to a row, so that it stays right when the table changes.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def put(self, text: str, row: int, *, wrong_label: bool, note: str) -> dict[str, Any] | None:
        """Mark a text; without a doubt and a note, its mark is taken away."""
        is_marked = bool(wrong_label or note)
        if not is_marked and not self._path.exists():
            return None
        mark = {"wrong_label": wrong_label, "note": note, "when": moment()}
        key = _hash_text(text)
        with self._connect() as connection:
            if is_marked:
                connection.execute(
                    "INSERT OR REPLACE INTO marks VALUES (?, ?, ?, ?, ?)",
                    (key, row, *mark.values()),
                )
            else:
                connection.execute("DELETE FROM marks WHERE text = ?", (key,))
        return mark if is_marked else None

    def add_to(self, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return objects that have a ``"text"``, each with the mark of it, or None."""
        marks: dict[str, dict[str, Any]] = {}
        if self._path.exists():
            with self._connect() as connection:
                found = connection.execute('SELECT text, wrong_label, note, "when" FROM marks')
                marks = {
                    key: {"wrong_label": bool(wrong), "note": note, "when": when}
                    for key, wrong, note, when in found
                }
        return [{**item, "mark": marks.get(_hash_text(item["text"]))} for item in items]

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with closing(sqlite3.connect(self._path, timeout=10)) as connection:
                connection.execute("PRAGMA synchronous = FULL")
                with connection:  # one transaction, written when the block ends
                    connection.execute(_MARKS_TABLE)
                    yield connection
        except sqlite3.Error:
            raise refusal("marks_unusable", name=self._path.name) from None


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


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

    def find_folder(self, name: str) -> Path:
        """Return the directory that a model is served from: as given, or the version published."""
        versions = self.desk(name).versions
        try:
            return versions.path(versions.read().current)
        except ApiError:  # it is gone, which whoever reads the directory as given says best
            return versions.path(1)


class Desk:
    """The workbench's things of one model, whatever names it is served under."""

    def __init__(self, workbench: Workbench, model: Path, names: tuple[str, ...]) -> None:
        self.workbench = workbench
        self.app = workbench.app
        self.store: ModelStore = workbench.app.state.store
        self.pool: WorkPool = workbench.app.state.pool
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
        return await desk.pool.run(route, *args, **kwargs)

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
