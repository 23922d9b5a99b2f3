"""Tables sent for prediction: read within bounds, described, and kept with their results."""

import contextlib
import json
import re
import secrets
import shutil
import time
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from protorynet.data import open_table, read_table
from protorynet.errors import InputError, TableError
from protorynet.files import read_limited, write_atomically
from protorynet.inference import values
from protorynet.records import moment, read_record
from protorynet.server.api_shapes import refusal
from protorynet.server.background import Job

_ID = re.compile(r"[A-Za-z0-9_-]{22}", re.ASCII)
_MOST_BATCHES, _SECONDS_KEPT = 20, 7 * 24 * 3600
_MOST_UPLOADS, _UPLOAD_SECONDS_KEPT = 20, 3600
_LARGEST_OVERVIEW = 64 * 2**20
_EXCEL = (".xlsx",) if find_spec("openpyxl") else ()
UPLOAD_ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", *_EXCEL, ".parquet")
_MOST_ROWS = 200_000
_MOST_COLUMNS = 500
_MOST_BYTES = 512 * 2**20
_ROWS_LOOKED_AT, _EXAMPLES, _EXAMPLE_LENGTH = 200, 3, 120
_MOST_GROUPS, _MOST_DISTINCT = 50, 0.6
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?")
_TIME = re.compile(r"\d{4}-\d{2}(-\d{2}.{0,25})?|\d{1,4}[./]\d{1,2}[./]\d{2,4}.{0,20}")


@dataclass(frozen=True)
class Batch:
    """A table sent for prediction.

    Its id cannot be guessed: who knows it may read the results. The client's name of the file is
    only ever shown. Rows predicted and skipped are None until it is done.
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

    def receive(self, file: BinaryIO, filename: str) -> tuple[str, Path]:
        """Write what is sent to a file of our own name, and return its id and path."""
        upload_id, path = _make_folder(self._uploads, f"table{_check_ending(filename)}")
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
            raise refusal("unknown_upload")
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
            raise refusal("unknown_upload") from None
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
            raise refusal("unknown_batch") from None
        if is_done and found.n_documents is None:
            state = self.view(found)["state"]
            raise refusal("batch_not_done", state=state)
        return found

    def write(self, batch: Batch) -> None:
        """Keep what is known of a batch."""
        write_atomically(self.path(batch.id, "batch.json"), json.dumps(asdict(batch)))

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
            raise refusal("batch_running")
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
            raise refusal(f"no_{by}")
        try:
            content = read_limited(self.path(batch_id, f"overview-{by}.json"), _LARGEST_OVERVIEW)
        except OSError:
            raise refusal("too_large") from None
        overview: dict[str, Any] = json.loads(content)
        return overview


def _clean_name(filename: str) -> str:
    """Return a client's name of a file without folders and control characters."""
    name = re.split(r"[/\\]", filename)[-1]
    return "".join(char for char in name if char.isprintable())[:120] or "table"


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


def _check_ending(filename: str) -> str:
    """Return the ending of a file's name, or refuse it."""
    ending = Path(filename).suffix.lower()
    if ending not in UPLOAD_ENDINGS:
        raise InputError(
            f"the file should end in {', '.join(UPLOAD_ENDINGS[:-1])} or {UPLOAD_ENDINGS[-1]}, and "
            "not be compressed. Save it so, and send it again."
        )
    return ending


def read_upload(path: Path) -> pa.Table:
    """Read a file of unknown origin, which may unfold into far more; errors call it "the file"."""
    batches: list[pa.RecordBatch] = []
    n_rows = n_bytes = 0
    try:
        reader = open_table(path)
        if len(reader.schema) > _MOST_COLUMNS:
            raise TableError(
                f"the file has more than the {_MOST_COLUMNS} columns allowed. Leave out those that "
                "are not needed."
            )
        for batch in reader.batches(0):
            batches.append(batch)
            n_rows, n_bytes = n_rows + batch.num_rows, n_bytes + batch.nbytes
            if n_rows > _MOST_ROWS or n_bytes > _MOST_BYTES:
                raise TableError(
                    f"the file unfolds to more than {_MOST_ROWS:,} rows or "
                    f"{_MOST_BYTES // 2**20} MiB. Send it in parts, or use `protorynet predict`."
                )
    except TableError as error:
        raise TableError(str(error).replace(str(path), "the file")) from None
    except (pa.ArrowException, OSError, MemoryError, OverflowError):
        raise TableError("the file cannot be read; it may be damaged.") from None
    if not n_rows:
        raise TableError("the file holds no rows.")
    return pa.Table.from_batches(batches, reader.schema)


def preview(table: pa.Table) -> dict[str, Any]:
    """Describe the columns of a table, and guess what they are for."""
    columns = [_describe_column(table, name) for name in table.column_names]
    try:
        text = read_table(table, labelled=False, skip_empty=True).text_column
    except TableError:
        text = None
    times = [each["name"] for each in columns if each["kind"] == "time"]
    named = (n for n in times if re.search(r"date|time|day|created|when", n, re.IGNORECASE))
    time = next(named, times[0] if times else None)
    groups = (n for n in table.column_names if n not in (text, time) and _may_group(table, n))
    return {
        "n_rows": table.num_rows,
        "columns": columns,
        "guess": {"text": text, "group": next(groups, None), "time": time},
    }


def _describe_column(table: pa.Table, name: str) -> dict[str, Any]:
    some = values(table.column(name).slice(0, _ROWS_LOOKED_AT).combine_chunks())
    given = [value for value in some if value not in (None, "")]
    shown = [text[:_EXAMPLE_LENGTH] for text in dict.fromkeys(map(str, given))]
    kind = _kind_of_column(table.schema.field(name).type, given)
    return {"name": name, "kind": kind, "examples": shown[:_EXAMPLES]}


def _kind_of_column(kind: pa.DataType, given: list[Any]) -> str:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
        return "time"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if not all(isinstance(value, str) for value in given):
        return "other"
    texts = [value.strip() for value in given]
    if texts and all(_NUMBER.fullmatch(text[:50]) for text in texts):
        return "number"
    return "time" if texts and all(_TIME.fullmatch(text) for text in texts) else "text"


def _may_group(table: pa.Table, name: str) -> bool:
    column = table.column(name)
    if pa.types.is_nested(column.type) or pa.types.is_null(column.type):
        return False
    try:
        distinct = int(pc.count_distinct(column).as_py())
    except pa.ArrowException:
        return False
    return 2 <= distinct <= min(_MOST_GROUPS, int(table.num_rows * _MOST_DISTINCT))
