"""The participants' addresses: the invitation, one page for each step, and the thanks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request, Response
from fastapi.responses import RedirectResponse

from protorynet.server import public
from protorynet_lab.survey.orders import Kind, Step, steps_for
from protorynet_lab.survey.pages import EASE, HEADERS, page, stylesheet
from protorynet_lab.survey.people import Answer, Participant, is_token, new_token
from protorynet_lab.survey.routing import PageError, PageRoute, root_of
from protorynet_lab.survey.storage import Storage
from protorynet_lab.survey.survey import Survey

__all__ = ["pages_router"]

pages_router = APIRouter(
    prefix="/survey",
    route_class=PageRoute,
    include_in_schema=False,
    dependencies=[Depends(public)],
)

_COOKIE_SECONDS = 180 * 24 * 3600
_UNKNOWN = PageError(
    404,
    "This link leads nowhere",
    "It may have been cut off, or the survey is over. Please ask for the link again.",
)


@dataclass(frozen=True)
class _Taking:
    """Someone in the middle of a survey."""

    storage: Storage
    participant: Participant
    survey: Survey
    steps: tuple[Step, ...]
    answers: dict[str, Answer]

    @property
    def next(self) -> int:
        """Number of the first step without an answer, from 1; past the end if there is none."""
        open_steps = (n for n, step in enumerate(self.steps, 1) if step.id not in self.answers)
        return next(open_steps, len(self.steps) + 1)


@pages_router.get("/static/survey.css")
def styles() -> Response:
    """Return the styles of all pages."""
    kept = {**HEADERS, "Cache-Control": "public, max-age=31536000, immutable"}
    return Response(stylesheet(), media_type="text/css", headers=kept)


@pages_router.get("/join/{token}")
def welcome(request: Request, token: str) -> Response:
    """Show what the survey is, or let someone who has begun go on."""
    survey, _ = _invited(request, token)
    return _welcome_page(request, survey, token, own=_returning(request, survey))


@pages_router.post("/join/{token}")
def begin(
    request: Request,
    token: str,
    own: Annotated[str, Form()] = "",
    technical: Annotated[str, Form()] = "",
) -> Response:
    """Let someone begin; sent twice, it begins once."""
    survey, invitation = _invited(request, token)
    if not is_token(own) or technical not in ("yes", "no"):
        fresh = own if is_token(own) else None
        return _welcome_page(request, survey, token, fresh=fresh, is_missing=True)
    kind: Kind = "technical" if technical == "yes" else "non-technical"
    storage = _storage(request)
    entered = storage.enter(survey, own, kind, invitation=invitation)
    if entered.survey != survey.id:
        raise _UNKNOWN
    answer = _go(request, f"/survey/take/{own}")
    answer.set_cookie(
        _cookie(survey),
        own,
        max_age=_COOKIE_SECONDS,
        path=f"{root_of(request)}/survey",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )
    return answer


@pages_router.get("/take/{token}")
def go_on(request: Request, token: str) -> Response:
    """Lead to the first page without an answer."""
    return _onward(request, token, _taking(request, token))


@pages_router.get("/take/{token}/thanks")
def thanks(request: Request, token: str) -> Response:
    """Show the last page."""
    taking = _taking(request, token)
    if taking.next <= len(taking.steps):
        return _onward(request, token, taking)
    return page("thanks.html", root=root_of(request), survey=taking.survey)


@pages_router.get("/take/{token}/{number}")
def show_step(request: Request, token: str, number: int) -> Response:
    """Show a step; one that is answered already with the answer, one too far not at all."""
    taking = _taking(request, token)
    if not 1 <= number <= min(taking.next, len(taking.steps)):
        return _onward(request, token, taking)
    step = taking.steps[number - 1]
    answered = taking.answers.get(step.id)
    if answered is None:
        taking.storage.show(taking.participant, step.id)
    return _step_page(request, token, taking, number, answered=answered)


@pages_router.post("/take/{token}/{number}")
def answer_step(
    request: Request,
    token: str,
    number: int,
    choice: Annotated[str, Form()] = "",
    ease: Annotated[str, Form()] = "",
) -> Response:
    """Store an answer, then lead on; what was answered before stays as it is."""
    taking = _taking(request, token)
    if not 1 <= number <= min(taking.next, len(taking.steps)):
        return _onward(request, token, taking)
    step = taking.steps[number - 1]
    if step.id in taking.answers:
        return _onward(request, token, taking)
    question = step.question
    is_rated = question is not None and question.task == "match"
    rating = int(ease) if ease in _RATINGS and is_rated else None
    is_chosen = question is None or choice in question.keys
    if not is_chosen or (is_rated and rating is None):
        tried = Answer(choice if question and is_chosen else None, rating)
        return _step_page(request, token, taking, number, tried=tried)
    chosen = None if question is None else choice
    taking.storage.answer(taking.participant, step.id, chosen, rating, n_steps=len(taking.steps))
    return _onward(request, token, _taking(request, token))


_RATINGS = tuple(str(rating) for rating in range(1, len(EASE) + 1))


def _welcome_page(
    request: Request,
    survey: Survey,
    token: str,
    *,
    own: tuple[str, bool] | None = None,
    fresh: str | None = None,
    is_missing: bool = False,
) -> Response:
    return page(
        "welcome.html",
        status=422 if is_missing else 200,
        root=root_of(request),
        survey=survey,
        token=token,
        own=own[0] if own else None,
        is_finished=own is not None and own[1],
        fresh=fresh or new_token(),
        minutes=_minutes(survey),
        is_missing=is_missing,
    )


def _step_page(
    request: Request,
    token: str,
    taking: _Taking,
    number: int,
    *,
    answered: Answer | None = None,
    tried: Answer | None = None,
) -> Response:
    step = taking.steps[number - 1]
    question = step.question
    return page(
        f"{question.task if question else 'lesson'}.html",
        status=200 if tried is None else 422,
        root=root_of(request),
        survey=taking.survey,
        question=question,
        lesson=step.lesson,
        number=number,
        total=len(taking.steps),
        action=f"{root_of(request)}/survey/take/{token}/{number}",
        onward=f"{root_of(request)}/survey/take/{token}",
        is_answered=answered is not None,
        is_missing=tried is not None,
        given=answered or tried or Answer(None, None),
    )


def _storage(request: Request) -> Storage:
    storage: Storage | None = getattr(request.app.state, "survey", None)
    if storage is None:
        raise _UNKNOWN
    return storage


def _invited(request: Request, token: str) -> tuple[Survey, int]:
    storage = _storage(request)
    invitation = storage.invitation(token) if is_token(token) else None
    survey = storage.survey(invitation.survey) if invitation else None
    if invitation is None or survey is None:
        raise _UNKNOWN
    return survey, invitation.id


def _taking(request: Request, token: str) -> _Taking:
    storage = _storage(request)
    participant = storage.participant(token) if is_token(token) else None
    survey = storage.survey(participant.survey) if participant else None
    if participant is None or survey is None or participant.judge is not None:
        raise _UNKNOWN
    steps = steps_for(survey, participant.model, participant.kind, participant.number)
    return _Taking(storage, participant, survey, steps, storage.answers_of(participant))


def _returning(request: Request, survey: Survey) -> tuple[str, bool] | None:
    """Return the personal token of someone who began in this browser, and whether they finished."""
    own = request.cookies.get(_cookie(survey), "")
    known = _storage(request).participant(own) if is_token(own) else None
    if known is None or known.survey != survey.id:
        return None
    return own, known.is_finished


def _onward(request: Request, token: str, taking: _Taking) -> Response:
    number = taking.next
    place = "thanks" if number > len(taking.steps) else number
    return _go(request, f"/survey/take/{token}/{place}")


def _go(request: Request, path: str) -> RedirectResponse:
    return RedirectResponse(root_of(request) + path, 303, headers=HEADERS)


def _cookie(survey: Survey) -> str:
    return f"protorynet_survey_{survey.id}"


def _minutes(survey: Survey) -> int:
    """Return about how long it takes: half a minute a question, and a minute for each text."""
    longest = max(
        sum(0.5 if question.task == "match" else 1.0 for question in model.questions)
        for model in survey.models
    )
    return max(2, round(longest))
