"""Routes for whoever watches the server: does it live, is it ready, what has it done."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request, Response

from protorynet.server.bodies import HealthView
from protorynet.server.failures import ApiError
from protorynet.server.keys import public, require

__all__ = ["router"]

router = APIRouter(tags=["health"])


@router.get("/healthz", dependencies=[Depends(public)])
async def healthz() -> HealthView:
    """Say that the server lives."""
    return HealthView(status="ok")


@router.get("/readyz", dependencies=[Depends(public)])
async def readyz(request: Request) -> HealthView:
    """Say whether the server answers requests: 503 while it starts or stops, or cannot."""
    state = request.app.state
    if not state.ready or not all(batcher.works for batcher in state.batchers.values()):
        raise ApiError(503, "not_ready", "the server is starting or stopping, or is broken.")
    return HealthView(status="ready")


@router.get(
    "/metrics",
    dependencies=[Depends(require("predict"))],
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}, "description": "Prometheus' text format."}},
)
async def metrics(request: Request) -> Response:
    """Give counts and times to Prometheus."""
    counted = request.app.state.metrics
    return Response(counted.text(), media_type=counted.content_type)
