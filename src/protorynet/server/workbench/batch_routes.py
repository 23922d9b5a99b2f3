"""Routes for tables of texts: sent, predicted as a job, given back with an overview."""

from __future__ import annotations

import shutil
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal

from fastapi import APIRouter, File, Form, Path, Request, Response, UploadFile
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse

from protorynet.errors import InputError
from protorynet.server.failures import ApiError
from protorynet.server.jobs import Job, JobView
from protorynet.server.work import run_in_pool
from protorynet.server.workbench.batches import Batch
from protorynet.server.workbench.bodies import PREDICT, REFUSALS
from protorynet.server.workbench.desk import AtDesk, Desk, writing
from protorynet.server.workbench.scoring import check_columns, result_csv, score_batch
from protorynet.server.workbench.uploads import ending_of, preview, read_upload

__all__ = ["router"]

router = APIRouter(prefix="/v1/models/{name}", tags=["workbench"], responses=REFUSALS)

_Id = Annotated[str, Path(max_length=64, description="Id of the batch.")]
_Column = Annotated[str | None, Form(max_length=1_000)]


@router.post("/batches/preview", dependencies=PREDICT)
async def batch_preview(
    desk: AtDesk, request: Request, file: Annotated[UploadFile, File()]
) -> dict[str, Any]:
    """Describe a table before it is predicted; it is kept for an hour."""
    return await run_in_pool(request.app, _previewed, desk, file)


@router.post("/batches", dependencies=PREDICT, status_code=202)
async def batch_begin(
    desk: AtDesk,
    request: Request,
    text: Annotated[str, Form(min_length=1, max_length=1_000, description="Column of texts.")],
    upload: Annotated[str | None, Form(max_length=64, description="Id from a preview.")] = None,
    file: Annotated[UploadFile | None, File()] = None,
    group: _Column = None,
    time: _Column = None,
) -> JSONResponse:
    """Predict a table: a file, or the upload of a preview.

    The table and the results are kept for seven days, or until the batch is removed.
    """
    columns = (text, group or None, time or None)
    batch, job = await run_in_pool(request.app, _begun, desk, upload, file, columns)
    view = JobView.model_validate(job, from_attributes=True).model_dump()
    return JSONResponse({"batch": batch.id, "job": view}, 202)


@router.get("/batches/{batch}", dependencies=PREDICT)
def batch_state(desk: AtDesk, batch: _Id) -> dict[str, Any]:
    """Say how far a batch is."""
    return desk.batches.view(desk.batches.read(batch))


@router.get("/batches/{batch}/result.csv", dependencies=PREDICT)
def batch_csv(desk: AtDesk, batch: _Id) -> Response:
    """Give the rows with their predictions and trajectories as CSV."""
    path = _result(desk, batch)
    return StreamingResponse(
        result_csv(path),
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="predictions.csv"'},
    )


@router.get("/batches/{batch}/result.parquet", dependencies=PREDICT)
def batch_parquet(desk: AtDesk, batch: _Id) -> Response:
    """Give the rows with their predictions and trajectories as Parquet."""
    return FileResponse(
        _result(desk, batch),
        media_type="application/vnd.apache.parquet",
        filename="predictions.parquet",
    )


@router.get("/batches/{batch}/overview", dependencies=PREDICT)
def batch_overview(
    desk: AtDesk, batch: _Id, by: Literal["all", "group", "time"] = "all"
) -> Response:
    """Tell what a batch is about: the prototypes by frequency, by group or over time."""
    return JSONResponse(desk.batches.overview(desk.batches.read(batch), by))


@router.delete("/batches/{batch}", dependencies=PREDICT, status_code=204)
def batch_forget(desk: AtDesk, batch: _Id) -> None:
    """Remove a batch and its results."""
    desk.batches.delete(batch)


def _previewed(desk: Desk, file: UploadFile) -> dict[str, Any]:
    upload_id, path = _received(desk, file)
    try:
        described = preview(read_upload(path))
    except InputError:
        desk.batches.forget_upload(path)
        raise
    return {"upload": upload_id, "filename": desk.batches.filename(path), **described}


def _begun(
    desk: Desk,
    upload: str | None,
    file: UploadFile | None,
    columns: tuple[str, str | None, str | None],
) -> tuple[Batch, Job]:
    if (upload is None) == (file is None):
        raise ApiError(422, "one_table", "send either `file` or `upload`, the id from a preview.")
    folder, served = desk.batches, desk.served
    path = folder.upload(upload) if upload is not None else None
    if path is None:
        assert file is not None
        _, path = _received(desk, file)
    try:
        table = read_upload(path)
        check_columns(table, *columns)
    except InputError:
        if upload is None:  # nobody knows its id, so nobody could use it again
            folder.forget_upload(path)
        raise
    text, group, time = columns
    with writing("the batch"):
        batch = folder.begin(
            path, text=text, group=group, time=time, n_rows=table.num_rows, version=served.version
        )
    state = desk.workbench.app.state
    most = state.config.limits.max_characters
    try:
        job: Job = state.jobs.start(
            "batch", lambda tell: score_batch(folder, batch, served, tell, max_characters=most)
        )
    except ApiError:
        folder.delete(batch.id)
        raise
    folder.watch(batch, job)
    return batch, job


def _received(desk: Desk, file: UploadFile) -> tuple[str, FilePath]:
    """Write what is sent to a file of our own name; the client's name is only shown."""
    filename = file.filename or ""
    ending = ending_of(filename)
    with writing("the file"):
        upload_id, path = desk.batches.new_upload(ending)
        with path.open("wb") as out:
            shutil.copyfileobj(file.file, out, 2**20)
        desk.batches.name_upload(path, filename)
    return upload_id, path


def _result(desk: Desk, batch_id: str) -> FilePath:
    batch = desk.batches.read(batch_id)
    desk.batches.require_done(batch)
    return desk.batches.file(batch.id, "result.parquet")
