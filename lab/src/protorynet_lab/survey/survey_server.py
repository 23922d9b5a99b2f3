"""Surveys as a part of the server, or as a small server of their own."""

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import uvicorn
from fastapi import APIRouter, Depends, FastAPI, Path as InPath, Query, Request
from fastapi.responses import PlainTextResponse, Response
from pydantic import BaseModel, Field

from protorynet.server import ApiError, address_of, listen, require
from protorynet_lab.survey.participants import responses_csv
from protorynet_lab.survey.survey_analysis import LEAST_SECONDS, analyse
from protorynet_lab.survey.survey_pages import pages_router
from protorynet_lab.survey.survey_storage import Storage

MAX_CONNECTIONS = 500
_ALL_INTERFACES = ("0.0.0.0", "::")  # noqa: S104
_admin_router = APIRouter(
    prefix="/v1/surveys", tags=["surveys"], dependencies=[Depends(require("admin"))]
)
SurveyId = Annotated[str, InPath(max_length=64, examples=["1f0c2ab97e44"])]


class SurveyView(BaseModel):
    """A survey and how far it is."""

    id: str = Field(examples=["1f0c2ab97e44"])
    title: str = Field(examples=["How well do these sentences fit?"])
    models: list[str] = Field(examples=[["k15", "k100"]])
    begun: int = Field(description="People who began it.", examples=[12])
    finished: int = Field(description="People who answered everything.", examples=[9])


class SurveysView(BaseModel):
    """All surveys of the server."""

    items: list[SurveyView]


class InvitationView(BaseModel):
    """A new invitation."""

    path: str = Field(
        description="Address of the invitation on this server.",
        examples=["/survey/join/7cYx2Ff0mTqzK1n4a8dQ5w"],
    )


@_admin_router.get("")
def list_surveys(request: Request) -> SurveysView:
    """List the surveys, the oldest first."""
    storage = _storage(request)
    found = [(name, storage.survey(name)) for name in storage.survey_ids()]
    items = [
        SurveyView(
            id=name,
            title=survey.title,
            models=[model.name for model in survey.models],
            **storage.n_participants(name),
        )
        for name, survey in found
        if survey is not None
    ]
    return SurveysView(items=items)


@_admin_router.post("/{survey}/invitations", status_code=201)
def invite(request: Request, survey: SurveyId) -> InvitationView:
    """Make a new invitation link."""
    storage = _storage_of(request, survey)
    return InvitationView(path=f"/survey/join/{storage.invite(survey).token}")


@_admin_router.get("/{survey}/answers.csv", response_class=PlainTextResponse)
def export(request: Request, survey: SurveyId) -> Response:
    """Return all answers as CSV; those of automatic participants name what gave them."""
    storage = _storage_of(request, survey)
    name = f"attachment; filename=answers-{survey}.csv"
    content = responses_csv(storage.responses(survey))
    return Response(content, media_type="text/csv", headers={"Content-Disposition": name})


@_admin_router.get("/{survey}/analysis")
def analysis(
    request: Request,
    survey: SurveyId,
    least_seconds: Annotated[float, Query(ge=0, le=3600)] = LEAST_SECONDS,
) -> dict[str, Any]:
    """Return what `protorynet survey analyse --json` prints."""
    storage = _storage_of(request, survey)
    return analyse(storage.responses(survey), least_seconds=least_seconds).to_dict()


router = APIRouter()
"""All routes of surveys: the participants' pages, and those that need a key of scope admin."""
router.include_router(pages_router)
router.include_router(_admin_router)


def attach(app: FastAPI, database_url: str | Path) -> Storage:
    """Open a survey's database for an app that includes `router`; close it when the app ends."""
    app.state.survey = storage = Storage(database_url)
    return storage


def survey_app(storage: Storage) -> FastAPI:
    """Return an app that serves participants their pages and nothing else.

    No answer can be read by way of it, so it needs no keys.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.state.survey = storage
    app.include_router(pages_router)
    return app


@contextmanager
def listening_at(host: str, port: int) -> Iterator[tuple[socket.socket, str]]:
    """Listen, and give the socket with the address that others reach it by."""
    with listen(host, port) as listener:
        # An address that stands for all of this machine's is none to put into a link.
        name = socket.gethostname() if host.strip("[]") in _ALL_INTERFACES else host
        yield listener, address_of(name, listener)


def serve_survey(storage: Storage, listener: socket.socket) -> None:
    """Serve the participants' pages until SIGTERM or Ctrl-C; requests under way are answered."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    config = uvicorn.Config(
        survey_app(storage),
        log_config=None,
        access_log=False,  # addresses hold personal tokens
        server_header=False,
        ws="none",
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=10,
    )
    with suppress(KeyboardInterrupt):  # which is how it is stopped
        uvicorn.Server(config).run(sockets=[listener])


def _storage(request: Request) -> Storage:
    storage: Storage | None = getattr(request.app.state, "survey", None)
    if storage is None:
        raise ApiError(404, "no_surveys", "this server holds no surveys.")
    return storage


def _storage_of(request: Request, survey: str) -> Storage:
    storage = _storage(request)
    if "\0" in survey or storage.survey(survey) is None:
        raise ApiError(404, "unknown_survey", "there is no such survey; see GET /v1/surveys.")
    return storage
