"""Tables of texts: sent, predicted as a job, given back with an overview of what they are about."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fastapi import File, Form, Path, Query, UploadFile
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from numpy.typing import NDArray

from protorynet.errors import HEADINGS, InputError, name_rows
from protorynet.explain import ModelFacts, Neighbour, nearest_sentences
from protorynet.files import sync_file, write_atomically
from protorynet.inference import Predictor, check_columns, column_texts, values, writer_for
from protorynet.reading import Reading
from protorynet.server.api_shapes import ApiError, csv_download, refusal
from protorynet.server.background import Progress
from protorynet.server.workbench.batch_store import (
    Batch,
    BatchFolder,
    preview,
    read_upload,
)
from protorynet.server.workbench.desk import (
    PREDICT,
    AtDesk,
    Desk,
    Paged,
    in_pool,
    make_router,
    writing,
)
from protorynet.server.workbench.labelled_table import holds_words, shorten

_ROWS_PER_STEP = 16  # between two reports of progress
_CSV_ROWS_AT_ONCE = 256
_MOST_GROUPS, _LONGEST_GROUP = 20, 200
_OTHER, _NONE = "(other)", "(none)"
_SENTENCES_SHOWN = 5
_OF_PROTOTYPES = ("id", "sentence", "name", "words", "scores")
_LONGEST_ROW = 20_000
_LEAST_READABLE = 0.5
_FIRST, _LAST = np.datetime64("1000-01-01"), np.datetime64("3000-01-01")
_MOST_DAYS = {"day": 31, "week": 7 * 30, "month": 366 * 5}
_Id = Annotated[str, Path(max_length=64, description="Id of the batch.")]
_Column = Annotated[str | None, Form(max_length=1_000)]

router = make_router()


@router.post("/batches/preview", dependencies=PREDICT)
@in_pool
def batch_preview(desk: AtDesk, file: Annotated[UploadFile, File()]) -> dict[str, Any]:
    """Describe a table before it is predicted; it is kept for an hour."""
    upload_id, path = _receive(desk, file)
    try:
        described = preview(read_upload(path))
    except InputError:
        desk.batches.forget_upload(path)
        raise
    return {"upload": upload_id, "filename": desk.batches.filename(path), **described}


@router.post("/batches", dependencies=PREDICT, status_code=202)
@in_pool
def batch_begin(
    desk: AtDesk,
    text: Annotated[str, Form(min_length=1, max_length=1_000, description="Column of texts.")],
    upload: Annotated[str | None, Form(max_length=64, description="Id from a preview.")] = None,
    file: Annotated[UploadFile | None, File()] = None,
    group: _Column = None,
    time: _Column = None,
) -> JSONResponse:
    """Predict a table: a file, or the upload of a preview.

    The table and the results are kept for seven days, or until the batch is removed.
    """
    if upload is not None and file is None:
        path = desk.batches.upload(upload)
    elif file is not None and upload is None:
        path = _receive(desk, file)[1]
    else:
        raise refusal("one_table")
    served, folder = desk.served, desk.batches
    predictor = served.predictor  # it keeps nothing of what clients send in its cache
    about = {"text": text, "group": group or None, "time": time or None, "version": served.version}
    try:
        table = read_upload(path)
        _check_table(table, predictor, about)
    except InputError:
        if upload is None:  # nobody knows its id, so nobody could use it again
            folder.forget_upload(path)
        raise
    with writing("the batch"):
        batch = folder.begin(path, n_rows=table.num_rows, **about)
    most = desk.app.state.config.limits.max_characters
    try:
        job = desk.app.state.jobs.start(
            "batch", lambda progress: score_batch(folder, batch, predictor, progress, most)
        )
    except ApiError:
        folder.delete(batch.id)
        raise
    folder.watch(batch, job)
    return JSONResponse({"batch": batch.id, "job": job.model_dump()}, 202)


@router.get("/batches/{batch}", dependencies=PREDICT)
def batch_state(desk: AtDesk, batch: _Id) -> dict[str, Any]:
    """Say how far a batch is."""
    return desk.batches.view(desk.batches.read(batch))


@router.get("/batches/{batch}/result.csv", dependencies=PREDICT)
def batch_csv(desk: AtDesk, batch: _Id) -> StreamingResponse:
    """Give the rows with their predictions and trajectories as CSV."""
    path = _find_result(desk, batch)

    def read() -> Iterator[tuple[Any, ...]]:
        with pq.ParquetFile(path) as file:
            for rows in file.iter_batches(batch_size=_CSV_ROWS_AT_ONCE):
                yield from zip(*map(values, rows.columns), strict=True)

    return csv_download("predictions.csv", pq.read_schema(path).names, read())


@router.get("/batches/{batch}/result.parquet", dependencies=PREDICT)
def batch_parquet(desk: AtDesk, batch: _Id) -> FileResponse:
    """Give the rows with their predictions and trajectories as Parquet."""
    return FileResponse(
        _find_result(desk, batch),
        media_type="application/vnd.apache.parquet",
        filename="predictions.parquet",
    )


@router.get("/batches/{batch}/rows", dependencies=PREDICT)
@in_pool
def batch_rows(
    desk: AtDesk,
    batch: _Id,
    paged: Paged,
    label: Annotated[str | None, Query(max_length=1_000)] = None,
    prototype: Annotated[int | None, Query(ge=0, le=2**53)] = None,
    search: Annotated[str, Query(max_length=200)] = "",
) -> dict[str, Any]:
    """List the texts of a batch with their predictions: those of a label, prototype or words."""
    found = desk.batches.read(batch, is_done=True)
    names = [found.text, "prediction", "probability", "trajectory"]
    columns = pq.read_table(desk.batches.path(batch, "result.parquet"), columns=names).columns
    rows = (
        {
            "text": str(text)[:_LONGEST_ROW],
            "label": str(said),
            "probability": sure,
            "trajectory": path,
        }
        for text, said, sure, path in zip(*map(values, columns), strict=True)
        if (label is None or str(said) == label)
        and (prototype is None or str(prototype) in path.split())
        and holds_words(str(text), search)
    )
    return paged.of(list(rows))


@router.get("/batches/{batch}/overview", dependencies=PREDICT)
def batch_overview(
    desk: AtDesk, batch: _Id, by: Literal["all", "group", "time"] = "all"
) -> JSONResponse:
    """Tell what a batch is about: the prototypes by frequency, by group or over time."""
    return JSONResponse(desk.batches.overview(batch, by))


@router.delete("/batches/{batch}", dependencies=PREDICT, status_code=204)
def batch_forget(desk: AtDesk, batch: _Id) -> None:
    """Remove a batch and its results."""
    desk.batches.delete(batch)


def _receive(desk: Desk, file: UploadFile) -> tuple[str, FilePath]:
    with writing("the file"):
        return desk.batches.receive(file.file, file.filename or "")


def _check_table(table: pa.Table, predictor: Predictor, about: dict[str, Any]) -> None:
    """Refuse a table that lacks a column, or whose rows with predictions cannot be written."""
    for column in (about["text"], about["group"], about["time"]):
        if column is not None and column not in table.column_names:
            names = ", ".join(map(repr, table.column_names[:10]))
            raise InputError(f"the file has no column {column[:100]!r}; it has {names}.")
    check_columns(predictor.output_schema(table.schema, text=about["text"]), ".parquet")


def _find_result(desk: Desk, batch_id: str) -> FilePath:
    return desk.batches.path(desk.batches.read(batch_id, is_done=True).id, "result.parquet")


def score_batch(
    folder: BatchFolder, batch: Batch, predictor: Predictor, progress: Progress, most: int
) -> dict[str, Any]:
    """Predict every row of a batch, and keep the results; inside of a job."""
    try:
        with writing("the results"):
            progress(0.0, "Reading the file")
            table = read_upload(folder.table(batch.id))
            n_documents = _score_table(folder, batch, table, predictor, progress, most)
            skipped = table.num_rows - n_documents
            folder.write(replace(batch, n_documents=n_documents, n_skipped=skipped))
    except (InputError, ApiError) as error:
        folder.write(replace(batch, failure=str(error)))
        raise
    return {"batch": batch.id, "n_documents": n_documents}


def _score_table(
    folder: BatchFolder,
    batch: Batch,
    table: pa.Table,
    predictor: Predictor,
    progress: Progress,
    most: int,
) -> int:
    texts = column_texts(table.column(batch.text), batch.text)
    for row, text in enumerate(texts):
        if len(text) > most:
            raise InputError(
                f"{name_rows([row])} {HEADINGS} has a text of {len(text):,} characters; at most "
                f"{most:,} are allowed. Cut it, and send the file again."
            )
    rows = np.flatnonzero([bool(text.strip()) for text in texts])
    texts = [texts[row] for row in rows.tolist()]
    table = table.take(rows).combine_chunks()
    tally = Tally(predictor.facts, _make_keys(batch, table), rows, texts)
    n_documents = 0
    part = folder.path(batch.id, "result.part")
    with part.open("wb") as file, writer_for(file, ".parquet") as writer:
        for start in range(0, len(texts), _ROWS_PER_STEP):
            progress(start / len(texts), f"Predicting: {start:,} of {len(texts):,} rows")
            sentences, embeddings = predictor.prepare(texts[start : start + _ROWS_PER_STEP])
            if not len(sentences):
                continue
            reading = predictor.read_prepared(sentences, embeddings)
            (some,) = table.slice(start, _ROWS_PER_STEP).to_batches()
            writer.write(predictor.label_batch(some, reading, text=batch.text))
            tally.add(start + np.flatnonzero(reading.filled), reading, sentences.texts)
            n_documents += len(reading.lengths)
    if not n_documents:
        raise InputError("no row of the file holds a sentence.")
    for by in tally.keys:
        overview = json.dumps(tally.view(by), ensure_ascii=False)
        write_atomically(folder.path(batch.id, f"overview-{by}.json"), overview)
    sync_file(part)
    part.rename(part.with_suffix(".parquet"))
    return n_documents


def _make_keys(batch: Batch, table: pa.Table) -> dict[str, Keys]:
    keys = {"all": Keys(("all",), np.zeros(table.num_rows, np.int64))}
    if batch.group is not None:
        groups = table.column(batch.group).combine_chunks()
        keys["group"] = group_keys(values(groups), batch.group)
    if batch.time is not None:
        keys["time"] = time_keys(values(table.column(batch.time).combine_chunks()), batch.time)
    return keys


@dataclass(frozen=True)
class Keys:
    """What documents are counted by: keys of a column, or buckets of the moments in it."""

    names: tuple[str, ...]  # in the order they are shown
    of: NDArray[np.int64]  # which of these each document has
    column: str | None = None
    bucket: str | None = None


def group_keys(values: Sequence[Any], column: str) -> Keys:
    """Return the largest groups, then one for the others."""
    texts = [
        " ".join(str(value).split())[:_LONGEST_GROUP] if value is not None else ""
        for value in values
    ]
    texts = [text or _NONE for text in texts]
    counts = Counter(text for text in texts if text != _NONE)
    largest = sorted(counts, key=lambda text: (-counts[text], text))[:_MOST_GROUPS]
    names = [*largest, _OTHER] if len(counts) > len(largest) else largest
    names = [*names, _NONE] if _NONE in texts else names
    number = {name: at for at, name in enumerate(names)}
    of = [number.get(text, number.get(_OTHER, 0)) for text in texts]
    return Keys(tuple(names), np.array(of, np.int64), column)


def time_keys(values: Sequence[Any], column: str) -> Keys:
    """Return the days, weeks, months or years that moments lie in, those between them included.

    Moments are written in any usual way; numbers are years, or seconds or milliseconds since
    1970. Weeks begin on Monday.
    """
    import pandas as pd

    texts = [_write_moment(value) for value in values]
    read = pd.to_datetime(pd.Series(texts, dtype=object), errors="coerce", utc=True, format="mixed")
    days = read.dt.tz_localize(None).astype("datetime64[s]")
    days = days.where((days >= _FIRST) & (days < _LAST))
    known = days.dropna()
    if len(known) < max(1, _LEAST_READABLE * sum(text is not None for text in texts)):
        raise InputError(
            f"column {column!r} holds no dates that can be read; write them as 2026-03-01, or "
            "choose another column."
        )
    span = (known.max().normalize() - known.min().normalize()).days
    bucket = next((name for name, most in _MOST_DAYS.items() if span <= most), "year")
    periods = days.dt.to_period(bucket[0].upper())
    between = pd.period_range(periods.min(), periods.max())
    names = [str(period.asfreq("D", how="start")) for period in between]
    of = between.get_indexer(pd.PeriodIndex(periods))
    if (of < 0).any():
        of = np.where(of < 0, len(names), of)
        names.append(_NONE)
    return Keys(tuple(names), np.asarray(of, np.int64), column, bucket)


def _write_moment(value: Any) -> str | None:
    if value is None or isinstance(value, bool) or str(value).strip() == "":
        return None
    text = str(value).strip()[:60]
    number = re.fullmatch(r"(\d{4,13})(\.\d+)?", text)
    if number is None:
        return text
    whole = int(number[1])
    if 1_000 <= whole < 3_000:
        return f"{whole:04}-01-01"
    if len(number[1]) == 8 and number[2] is None:  # 20260301
        return f"{number[1][:4]}-{number[1][4:6]}-{number[1][6:]}"
    seconds = whole // 1000 if whole >= 10**11 else whole
    return str(np.datetime64(seconds, "s"))


class Tally:
    """What is counted of documents, of which the rising rows in the file and texts are known."""

    def __init__(
        self,
        model: ModelFacts,
        keys: dict[str, Keys],
        rows: NDArray[np.int64],
        texts: Sequence[str],
    ) -> None:
        self.keys = keys
        self._model, self._rows, self._texts = model, rows, texts
        self._documents: list[NDArray[np.int64]] = []
        self._labels: dict[int, str] = {}
        self._owners: list[NDArray[np.int64]] = []
        self._prototypes: list[NDArray[np.int64]] = []
        self._unfamiliar: list[NDArray[np.bool_]] = []
        self._top: list[list[Neighbour]] = [[] for _ in model.prototypes]

    def add(self, documents: NDArray[np.int64], reading: Reading, sentences: Sequence[str]) -> None:
        """Count what was read in documents, given by their positions in the batch."""
        self._documents.append(documents)
        self._owners.append(np.repeat(documents, reading.lengths))
        self._prototypes.append(reading.prototypes)
        self._unfamiliar.append(reading.unfamiliar)
        for document, each in zip(documents.tolist(), reading.probabilities, strict=True):
            self._labels[document] = self._model.labels.name_of(each)
        k = len(self._top)
        rows = self._rows[documents]
        found = nearest_sentences(reading, sentences, rows, k, most=_SENTENCES_SHOWN)
        for position, new in enumerate(found):
            worst_first = sorted(
                (*self._top[position], *new), key=lambda near: (near.similarity, -near.rows[0])
            )
            best = {near.text: near for near in worst_first}.values()
            best_first = sorted(best, key=lambda near: (-near.similarity, near.rows[0]))
            self._top[position] = best_first[:_SENTENCES_SHOWN]

    def view(self, by: str) -> dict[str, Any]:
        """Return the overview by one kind of key."""
        keys, k = self.keys[by], len(self._top)
        n_keys = len(keys.names)
        documents, owners, matched = map(
            np.concatenate, (self._documents, self._owners, self._prototypes)
        )
        strange = keys.of[owners[np.concatenate(self._unfamiliar)]]
        pairs = np.unique(np.stack([owners, matched]), axis=1)
        holding = np.zeros((k, n_keys), np.int64)
        np.add.at(holding, (pairs[1], keys.of[pairs[0]]), 1)
        names, which = np.unique([self._labels[n] for n in documents.tolist()], return_inverse=True)
        labels = np.zeros((len(names), n_keys), np.int64)
        np.add.at(labels, (which, keys.of[documents]), 1)
        n_sentences = np.bincount(matched, minlength=k).tolist()
        order = np.argsort(-holding.sum(axis=1), kind="stable").tolist()
        return {
            "by": by,
            "column": keys.column,
            "bucket": keys.bucket,
            "keys": list(keys.names),
            "n_documents": len(documents),
            "n_sentences": len(matched),
            "n_unfamiliar": len(strange) if self._model.familiar else None,
            "documents": np.bincount(keys.of[documents], minlength=n_keys).tolist(),
            "sentences": np.bincount(keys.of[owners], minlength=n_keys).tolist(),
            "unfamiliar": np.bincount(strange, minlength=n_keys).tolist(),
            "labels": [
                {"label": str(names[n]), "n": int(labels[n].sum()), "counts": labels[n].tolist()}
                for n in np.argsort(-labels.sum(axis=1), kind="stable").tolist()
            ],
            "prototypes": [
                {
                    **{name: getattr(self._model.prototypes[at], name) for name in _OF_PROTOTYPES},
                    "n_documents": int(holding[at].sum()),
                    "counts": holding[at].tolist(),
                    "top": [self._view_sentence(near) for near in self._top[at]],
                    "n_sentences": n_sentences[at],
                }
                for at in order
            ],
        }

    def _view_sentence(self, near: Neighbour) -> dict[str, Any]:
        document = int(np.searchsorted(self._rows, near.rows[0]))
        return {
            "row": near.rows[0],
            "sentence": near.text,
            "similarity": near.similarity,
            "member_sentence": self._model.prototypes.members[near.member].sentence,
            "label": self._labels[document],
            "text": shorten(self._texts[document]),
        }
