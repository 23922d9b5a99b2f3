"""Routes that only look: documents, prototypes, mistakes and trust, and marks on documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from protorynet.server.batching import ask
from protorynet.server.failures import ApiError
from protorynet.server.jobs import Job
from protorynet.server.models import Name
from protorynet.server.spreadsheet import csv_lines
from protorynet.server.work import run_in_pool
from protorynet.server.workbench.bodies import EDIT, MAY_WAIT, PREDICT, REFUSALS, MarkBody
from protorynet.server.workbench.desk import AtDesk, Desk, writing
from protorynet.server.workbench.mistakes import (
    CSV_HEADER,
    Filters,
    csv_rows,
    find_mistakes,
    found_view,
)
from protorynet.server.workbench.paging import Page, Paged, beginning, working
from protorynet.server.workbench.prototypes import MOST_NEAREST, listed_prototypes, nearest_view
from protorynet.server.workbench.table import DataTable, label_text
from protorynet.server.workbench.trust import trust_view

__all__ = ["router"]

router = APIRouter(prefix="/v1/models/{name}", tags=["workbench"], responses=REFUSALS)

_Row = Annotated[int, Path(ge=0, le=2**53, description="Row of the table, counted from 0.")]
_Id = Annotated[int, Path(ge=0, le=2**53, description="Id of the prototype.")]
_Words = Annotated[str, Query(max_length=200)]
_NO_REASONS = ("empty_text", "too_many_sentences")


@router.get("/documents", dependencies=PREDICT)
async def documents(
    desk: AtDesk,
    request: Request,
    paged: Paged,
    search: _Words = "",
    split: Annotated[str | None, Query(max_length=20)] = None,
) -> dict[str, Any]:
    """List the documents of the table that the server was started with."""
    return await run_in_pool(request.app, _documents, desk, paged, search, split)


@router.get("/documents/{row}", dependencies=PREDICT)
async def document(name: Name, desk: AtDesk, request: Request, row: _Row) -> dict[str, Any]:
    """Show one document of the table, with the model's reasons."""
    table = await run_in_pool(request.app, desk.workbench.table)
    place = _place(table, row)
    return {
        "row": row,
        "text": table.texts[place],
        "label": label_text(table.labels[place]),
        "split": table.splits[place],
        "explanation": await _reasons(request, name, table.texts[place]),
    }


@router.get("/prototypes/page", dependencies=PREDICT)
async def prototypes_page(
    desk: AtDesk,
    request: Request,
    paged: Paged,
    search: _Words = "",
    sort: Annotated[str, Query(max_length=1_000)] = "usage",
    draft: bool = False,
) -> dict[str, Any]:
    """List the prototypes, searched and ordered; those of the draft, if asked for."""
    found = await run_in_pool(
        request.app, listed_prototypes, desk, draft=draft, search=search, sort=sort
    )
    return {**found, **paged.of(found["items"])}


@router.get("/prototypes/{prototype}/nearest", dependencies=PREDICT, responses=MAY_WAIT)
async def nearest(
    desk: AtDesk,
    request: Request,
    prototype: _Id,
    n: Annotated[int, Query(ge=1, le=MOST_NEAREST)] = 10,
    draft: bool = False,
) -> Response:
    """Show the training sentences most like a prototype, and where they stand."""
    return _answer(await run_in_pool(request.app, nearest_view, desk, prototype, n, draft=draft))


@router.get("/mistakes", dependencies=PREDICT, responses=MAY_WAIT)
async def mistakes(desk: AtDesk, request: Request, filters: Filters, paged: Paged) -> Response:
    """List the documents held out that the model labels wrongly."""

    def look() -> dict[str, Any] | Job:
        found = find_mistakes(desk)
        if isinstance(found, Job):
            return found
        chosen = filters.chosen(found.marked(desk.marks.all()))
        return {**paged.of(chosen), **found_view(found)}

    return _answer(await run_in_pool(request.app, look))


@router.get("/mistakes.csv", dependencies=PREDICT, responses=MAY_WAIT)
async def mistakes_csv(desk: AtDesk, request: Request, filters: Filters) -> Response:
    """Give the mistakes as a table for a spreadsheet."""

    def look() -> list[dict[str, Any]] | Job:
        found = find_mistakes(desk)
        if isinstance(found, Job):
            return found
        return filters.chosen(found.marked(desk.marks.all()))

    found = await run_in_pool(request.app, look)
    if isinstance(found, Job):
        return working(found)
    return StreamingResponse(
        csv_lines(CSV_HEADER, csv_rows(found)),
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="mistakes.csv"'},
    )


@router.get("/mistakes/{row}", dependencies=PREDICT, responses=MAY_WAIT)
async def mistake(name: Name, desk: AtDesk, request: Request, row: _Row) -> Response:
    """Show one mistake with all its reasons."""

    def look() -> dict[str, Any] | Job:
        found = find_mistakes(desk)
        if isinstance(found, Job):
            return found
        for item in found.marked(desk.marks.all()):
            if item["row"] == row:
                return item
        raise ApiError(404, "no_mistake", "the document of this row is no mistake.")

    found = await run_in_pool(request.app, look)
    if isinstance(found, Job):
        return working(found)
    return JSONResponse({**found, "explanation": await _reasons(request, name, found["text"])})


@router.post("/mistakes/{row}/mark", dependencies=EDIT)
async def mark(desk: AtDesk, request: Request, row: _Row, body: MarkBody) -> dict[str, Any]:
    """Say that a document's label is wrong, or leave a note; it is kept before the answer."""
    return await run_in_pool(request.app, _mark, desk, row, body)


@router.get("/trust", dependencies=PREDICT, responses=MAY_WAIT)
async def trust(desk: AtDesk, request: Request) -> Response:
    """Tell how far to trust the model: measures with their meanings, and what to mend."""
    return _answer(await run_in_pool(request.app, trust_view, desk))


async def _reasons(request: Request, name: str, text: str) -> dict[str, Any] | None:
    """Explain a text; one that is too long for it, or holds no sentence, has no reasons."""
    try:
        answer = await ask(request.app, name, "explain", [text])
    except ApiError as error:
        if error.code not in _NO_REASONS:
            raise
        return None
    return answer.results[0]


def _answer(found: dict[str, Any] | Job) -> Response:
    return working(found) if isinstance(found, Job) else JSONResponse(found)


def _documents(desk: Desk, page: Page, search: str, split: str | None) -> dict[str, Any]:
    table, words = desk.workbench.table(), search.casefold().split()
    places: Sequence[int] = range(len(table))
    if split is not None:
        places = [place for place in places if table.splits[place] == split]
    if words:
        places = [place for place in places if _holds(table.texts[place], words)]
    found = page.of(places)
    found["items"] = [
        {
            "row": int(table.rows[place]),
            "text": beginning(table.texts[place]),
            "n_characters": len(table.texts[place]),
            "label": label_text(table.labels[place]),
            "split": table.splits[place],
        }
        for place in found["items"]
    ]
    return {**found, "splits": table.split_counts}


def _holds(text: str, words: list[str]) -> bool:
    folded = text.casefold()
    return all(word in folded for word in words)


def _mark(desk: Desk, row: int, body: MarkBody) -> dict[str, Any]:
    table = desk.workbench.table()
    text = table.texts[_place(table, row)]
    with writing("the mark"):
        put = desk.marks.put(text, row, wrong_label=body.wrong_label, note=body.note.strip())
    return {"row": row, "mark": put.to_dict() if put else None}


def _place(table: DataTable, row: int) -> int:
    if row not in table.place_of:
        raise ApiError(404, "unknown_row", "the table has no document in this row.")
    return table.place_of[row]
