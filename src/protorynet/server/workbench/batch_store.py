"""Tables sent for prediction, kept for a while with their results."""

from __future__ import annotations

import contextlib
import json
import re
import secrets
import shutil
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from protorynet.files import read_limited, write_atomically
from protorynet.records import read_record
from protorynet.server.api_shapes import ApiError
from protorynet.server.background import Job
from protorynet.server.workbench.desk_folders import moment

__all__ = ["Batch", "BatchFolder"]

_ID = re.compile(r"[A-Za-z0-9_-]{22}", re.ASCII)
_MOST_BATCHES, _SECONDS_KEPT = 20, 7 * 24 * 3600
_MOST_UPLOADS, _UPLOAD_SECONDS_KEPT = 20, 3600
_LARGEST_OVERVIEW = 64 * 2**20


@dataclass(frozen=True)
class Batch:
    """A table sent for prediction.

    Parameters
    ----------
    id
        An unguessable name: who knows it may read the results.
    filename
        What the client calls the file; it is only ever shown.
    text, group, time
        The columns of texts, of groups and of moments.
    n_rows
        Rows of the table.
    version
        The version of the model that reads it.
    created
        When it was sent.
    n_documents, n_skipped
        Rows predicted, and rows without a sentence; None until it is done.
    failure
        Why it failed, if it did.
    """

    id: str
    filename: str
    text: str
    group: str | None
    time: str | None
    n_rows: int
    version: str
    created: str
    n_documents: int | None = None
    n_skipped: int | None = None
    failure: str | None = None


class BatchFolder:
    """The batches of one model on disk, and uploads that may become batches."""

    def __init__(self, home: Path) -> None:
        self._batches = home / "batches"
        self._uploads = home / "uploads"
        self._jobs: dict[str, Job] = {}

    def sweep(self) -> None:
        """Remove what is old, and the oldest of what is too many."""
        running = frozenset(name for name, job in self._jobs.items() if not job.ended)
        _sweep(self._uploads, _MOST_UPLOADS, _UPLOAD_SECONDS_KEPT, frozenset())
        _sweep(self._batches, _MOST_BATCHES, _SECONDS_KEPT, running)

    def receive(self, file: BinaryIO, filename: str, ending: str) -> tuple[str, Path]:
        """Write what is sent to a file of our own name, and return its id and path."""
        upload_id, path = _make_folder(self._uploads, f"table{ending}")
        self.sweep()
        with path.open("wb") as out:
            shutil.copyfileobj(file, out, 2**20)
        write_atomically(path.parent / "name.json", json.dumps(_clean_name(filename)))
        return upload_id, path

    def upload(self, upload_id: str) -> Path:
        """Return the file of an upload, or refuse with 404."""
        self.sweep()
        folder = self._uploads / upload_id
        files = sorted(folder.glob("table.*")) if _ID.fullmatch(upload_id) else []
        if not files:
            raise _unknown_upload()
        return files[0]

    def filename(self, upload: Path) -> str:
        """Return what the client calls the file of an upload."""
        try:
            return str(json.loads((upload.parent / "name.json").read_bytes()))
        except (OSError, ValueError):
            return upload.name

    def forget_upload(self, upload: Path) -> None:
        """Remove an upload."""
        shutil.rmtree(upload.parent, ignore_errors=True)

    def begin(self, upload: Path, **about: Any) -> Batch:
        """Turn an upload into a batch."""
        filename = self.filename(upload)
        batch_id, table = _make_folder(self._batches, f"table{upload.suffix}")
        try:
            upload.rename(table)
        except FileNotFoundError:  # two requests made use of it at the same time
            table.parent.rmdir()
            raise _unknown_upload() from None
        self.forget_upload(upload)
        batch = Batch(id=batch_id, filename=filename, created=moment(), **about)
        self.write(batch)
        return batch

    def watch(self, batch: Batch, job: Job) -> None:
        """Remember the job that computes a batch."""
        self._jobs = {name: each for name, each in self._jobs.items() if self.path(name).is_dir()}
        self._jobs[batch.id] = job

    def read(self, batch_id: str, *, is_done: bool = False) -> Batch:
        """Return a batch, or refuse: with 404, or 409 if it must be done and is not."""
        try:
            self.sweep()
            if not _ID.fullmatch(batch_id):
                raise ValueError("no id")
            found = read_record(Batch, json.loads(self.path(batch_id, "batch.json").read_bytes()))
        except (OSError, ValueError, TypeError, RecursionError):
            raise ApiError(
                404, "unknown_batch", "there is no such batch, or it is over; send it again."
            ) from None
        if is_done and found.n_documents is None:
            state = self.view(found)["state"]
            raise ApiError(
                409, "batch_not_done", f"the batch is {state}; it has no results to give."
            )
        return found

    def write(self, batch: Batch) -> None:
        """Keep what is known of a batch."""
        write_atomically(self.path(batch.id, "batch.json"), json.dumps(asdict(batch)))

    def fail(self, batch: Batch, why: str) -> None:
        """Keep why a batch failed."""
        self.write(replace(batch, failure=why))

    def path(self, batch_id: str, name: str = "") -> Path:
        """Return the folder of a batch, or a file of it."""
        return self._batches / batch_id / name

    def table(self, batch_id: str) -> Path:
        """Return the table that was sent."""
        return next(self.path(batch_id).glob("table.*"))

    def delete(self, batch_id: str) -> None:
        """Remove a batch."""
        self.read(batch_id)
        job = self._jobs.get(batch_id)
        if job is not None and not job.ended:
            raise ApiError(409, "batch_running", "the batch is being computed. Wait for its end.")
        shutil.rmtree(self.path(batch_id), ignore_errors=True)

    def view(self, batch: Batch) -> dict[str, Any]:
        """Return what clients see of a batch."""
        job = self._jobs.get(batch.id)
        state, progress, message = "done", 1.0, ""
        if batch.failure is not None:
            state, message = "failed", batch.failure
        elif batch.n_documents is None:
            state, progress, message = "failed", 0.0, "the server was stopped. Send it again."
            if job is not None:
                state, progress, message = job.state, job.progress, job.message
        values = {name: value for name, value in asdict(batch).items() if name != "failure"}
        return {**values, "state": state, "progress": progress, "message": message}

    def overview(self, batch_id: str, by: str) -> dict[str, Any]:
        """Return the overview of a batch that is done."""
        batch = self.read(batch_id, is_done=True)
        if by != "all" and getattr(batch, by) is None:
            raise ApiError(
                409,
                f"no_{by}",
                f"the batch was sent without a column for {by}. Send it again and name one.",
            )
        try:
            content = read_limited(self.path(batch_id, f"overview-{by}.json"), _LARGEST_OVERVIEW)
        except OSError:
            raise ApiError(409, "too_large", "the overview is too large to show.") from None
        overview: dict[str, Any] = json.loads(content)
        return overview


def _clean_name(filename: str) -> str:
    """Return a client's name of a file without folders and control characters."""
    name = re.split(r"[/\\]", filename)[-1]
    return "".join(char for char in name if char.isprintable())[:120] or "table"


def _unknown_upload() -> ApiError:
    return ApiError(404, "unknown_upload", "there is no such upload, or it is over; send it again.")


def _make_folder(parent: Path, name: str) -> tuple[str, Path]:
    new_id = secrets.token_urlsafe(16)
    parent.mkdir(parents=True, exist_ok=True)
    (parent / new_id).mkdir(mode=0o700)  # for the server alone: it holds people's texts
    return new_id, parent / new_id / name


def _sweep(folder: Path, most: int, seconds: float, kept: frozenset[str]) -> None:
    if not folder.is_dir():
        return
    ages: dict[Path, float] = {}
    for path in folder.iterdir():
        # Another request may be removing it at the same time.
        with contextlib.suppress(FileNotFoundError):
            ages[path] = time.time() - path.lstat().st_mtime
    newest = sorted(ages, key=lambda path: ages[path])
    for number, path in enumerate(newest):
        if path.name not in kept and (number >= most or ages[path] > seconds):
            shutil.rmtree(path, ignore_errors=True)
