"""Routes of the draft and of published versions."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import JSONResponse

from protorynet.server.jobs import Job
from protorynet.server.work import run_in_pool
from protorynet.server.workbench import editing
from protorynet.server.workbench.bodies import (
    EDIT,
    MAY_WAIT,
    PREDICT,
    REFUSALS,
    EditsBody,
    PublishBody,
    WorkingView,
)
from protorynet.server.workbench.comparing import comparison_view
from protorynet.server.workbench.desk import AtDesk
from protorynet.server.workbench.paging import working

__all__ = ["router"]

router = APIRouter(prefix="/v1/models/{name}", tags=["workbench"], responses=REFUSALS)


@router.get("/draft", dependencies=PREDICT)
async def draft(desk: AtDesk, request: Request) -> dict[str, Any]:
    """Show the draft: what was edited since the model was last published."""
    return await run_in_pool(request.app, editing.draft_view, desk)


@router.post("/draft/edits", dependencies=EDIT)
async def draft_edits(desk: AtDesk, request: Request, body: EditsBody) -> dict[str, Any]:
    """Edit prototypes in the draft; the edit is on disk before the answer."""
    return await run_in_pool(request.app, editing.edit, desk, body.edits(), body.revision)


@router.post("/draft/undo", dependencies=EDIT)
async def draft_undo(desk: AtDesk, request: Request) -> dict[str, Any]:
    """Undo the last edit of the draft, exactly."""
    return await run_in_pool(request.app, editing.undo, desk)


@router.post("/draft/retrain", dependencies=EDIT, status_code=202, response_model=WorkingView)
async def draft_retrain(desk: AtDesk, request: Request) -> Response:
    """Train the reader of the draft again, on the training documents of the table."""
    return working(await run_in_pool(request.app, editing.retrain, desk))


@router.get("/draft/comparison", dependencies=PREDICT, responses=MAY_WAIT)
async def draft_comparison(desk: AtDesk, request: Request) -> Response:
    """Compare the draft with the published model on documents held out."""
    found = await run_in_pool(request.app, comparison_view, desk)
    return working(found) if isinstance(found, Job) else JSONResponse(found)


@router.post("/draft/publish", dependencies=EDIT)
async def draft_publish(
    desk: AtDesk, request: Request, body: PublishBody | None = None
) -> dict[str, Any]:
    """Make the draft the version that is served; older ones are kept."""
    note = body.note.strip() if body else ""
    return await run_in_pool(request.app, editing.publish, desk, note)


@router.delete("/draft", dependencies=EDIT, status_code=204)
async def draft_discard(desk: AtDesk, request: Request) -> None:
    """Forget the draft."""
    await run_in_pool(request.app, editing.discard, desk)


@router.get("/versions", dependencies=PREDICT)
async def versions(desk: AtDesk, request: Request) -> dict[str, Any]:
    """List the versions of the model; the first one is the directory as given."""
    return await run_in_pool(request.app, editing.versions_view, desk)


@router.post("/versions/{number}/restore", dependencies=EDIT)
async def version_restore(
    desk: AtDesk, request: Request, number: Annotated[int, Path(ge=1, le=10**9)]
) -> dict[str, Any]:
    """Serve an older version again."""
    return await run_in_pool(request.app, editing.restore, desk, number)
