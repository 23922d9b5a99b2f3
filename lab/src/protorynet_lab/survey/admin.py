"""What those who run a survey may ask for with a key of scope admin: counts, links, answers."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import PlainTextResponse, Response
from pydantic import BaseModel, Field

from protorynet.server import ApiError, require
from protorynet_lab.survey.analysis import analyse
from protorynet_lab.survey.responses import responses_csv
from protorynet_lab.survey.storage import Storage

__all__ = ["admin_router"]

admin_router = APIRouter(
    prefix="/v1/surveys", tags=["surveys"], dependencies=[Depends(require("admin"))]
)

SurveyId = Annotated[str, Path(max_length=64, examples=["1f0c2ab97e44"])]


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


@admin_router.get("")
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


@admin_router.post("/{survey}/invitations", status_code=201)
def invite(request: Request, survey: SurveyId) -> InvitationView:
    """Make a new invitation link."""
    storage = _known(request, survey)
    return InvitationView(path=f"/survey/join/{storage.invite(survey).token}")


@admin_router.get("/{survey}/answers.csv", response_class=PlainTextResponse)
def export(request: Request, survey: SurveyId) -> Response:
    """Return all answers as CSV; those of automatic participants name what gave them."""
    storage = _known(request, survey)
    name = f"attachment; filename=answers-{survey}.csv"
    content = responses_csv(storage.responses(survey))
    return Response(content, media_type="text/csv", headers={"Content-Disposition": name})


@admin_router.get("/{survey}/analysis")
def analysis(
    request: Request,
    survey: SurveyId,
    least_seconds: Annotated[float, Query(ge=0, le=3600)] = 0.0,
) -> dict[str, Any]:
    """Return what `protorynet survey analyse --json` prints."""
    storage = _known(request, survey)
    return analyse(storage.responses(survey), least_seconds=least_seconds).to_dict()


def _storage(request: Request) -> Storage:
    storage: Storage | None = getattr(request.app.state, "survey", None)
    if storage is None:
        raise ApiError(404, "no_surveys", "this server holds no surveys.")
    return storage


def _known(request: Request, survey: str) -> Storage:
    storage = _storage(request)
    if "\0" in survey or storage.survey(survey) is None:
        raise ApiError(404, "unknown_survey", "there is no such survey; see GET /v1/surveys.")
    return storage
