"""The participants' addresses: the invitation, one page for each step, and the thanks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request, Response
from fastapi.responses import RedirectResponse

from protorynet.server import public
from protorynet_lab.survey.participants import (
    Answer,
    Kind,
    Participant,
    Step,
    is_token,
    new_token,
    order_steps,
)
from protorynet_lab.survey.questionnaire import Survey
from protorynet_lab.survey.survey_pages import (
    EASE,
    HEADERS,
    PageError,
    PageRoute,
    page,
    root_of,
    stylesheet,
)
from protorynet_lab.survey.survey_storage import Storage

pages_router = APIRouter(
    prefix="/survey",
    route_class=PageRoute,
    include_in_schema=False,
    dependencies=[Depends(public)],
)

COOKIE_SECONDS = 180 * 24 * 3600
_RATINGS = tuple(str(rating) for rating in range(1, len(EASE) + 1))
_UNKNOWN = PageError(
    404,
    "This link leads nowhere",
    "It may have been cut off, or the survey is over. Please ask for the link again.",
)


@dataclass(frozen=True)
class _Progress:
    """How far someone is in a survey, by their personal token."""

    request: Request
    token: str
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

    def find_step(self, number: int) -> Step | None:
        """Return a step that is answered or the next one to be; nobody skips ahead."""
        is_reached = 1 <= number <= min(self.next, len(self.steps))
        return self.steps[number - 1] if is_reached else None

    def lead_on(self) -> Response:
        """Lead to the first step without an answer, or to the thanks."""
        number = self.next
        page_name = "thanks" if number > len(self.steps) else number
        return _redirect(self.request, f"/survey/take/{self.token}/{page_name}")

    def show(
        self, number: int, *, answered: Answer | None = None, tried: Answer | None = None
    ) -> Response:
        """Show a step with the answer given, or with what is missing of the one tried."""
        step = self.steps[number - 1]
        question = step.question
        onward = f"{root_of(self.request)}/survey/take/{self.token}"
        return page(
            self.request,
            f"{question.task if question else 'lesson'}.html",
            status=200 if tried is None else 422,
            survey=self.survey,
            question=question,
            lesson=step.lesson,
            number=number,
            total=len(self.steps),
            action=f"{onward}/{number}",
            onward=onward,
            is_answered=answered is not None,
            is_missing=tried is not None,
            given=answered or tried or Answer(None, None),
        )


def _find_storage(request: Request) -> Storage:
    storage: Storage | None = getattr(request.app.state, "survey", None)
    if storage is None:
        raise _UNKNOWN
    return storage


def _find_invitation(request: Request, token: str) -> tuple[Survey, int]:
    storage = _find_storage(request)
    invitation = storage.invitation(token) if is_token(token) else None
    survey = storage.survey(invitation.survey) if invitation else None
    if invitation is None or survey is None:
        raise _UNKNOWN
    return survey, invitation.id


def _find_progress(request: Request, token: str) -> _Progress:
    storage = _find_storage(request)
    participant = storage.participant(token) if is_token(token) else None
    survey = storage.survey(participant.survey) if participant else None
    if participant is None or survey is None or participant.judge is not None:
        raise _UNKNOWN
    steps, answers = order_steps(survey, participant), storage.answers_of(participant)
    return _Progress(request, token, storage, participant, survey, steps, answers)


Invited = Annotated[tuple[Survey, int], Depends(_find_invitation)]
Taking = Annotated[_Progress, Depends(_find_progress)]


@pages_router.get("/static/survey.css")
def styles() -> Response:
    """Return the styles of all pages."""
    kept = {**HEADERS, "Cache-Control": "public, max-age=31536000, immutable"}
    return Response(stylesheet(), media_type="text/css", headers=kept)


@pages_router.get("/join/{token}")
def welcome(request: Request, token: str, invited: Invited) -> Response:
    """Show what the survey is, or let someone who has begun in this browser go on."""
    survey, _ = invited
    own = request.cookies.get(_cookie(survey), "")
    known = _find_storage(request).participant(own) if is_token(own) else None
    if known is None or known.survey != survey.id:
        return _welcome_page(request, survey, token)
    return _welcome_page(request, survey, token, own=own, is_finished=known.is_finished)


@pages_router.post("/join/{token}")
def begin(
    request: Request,
    token: str,
    invited: Invited,
    own: Annotated[str, Form()] = "",
    technical: Annotated[str, Form()] = "",
) -> Response:
    """Let someone begin; sent twice, it begins once."""
    survey, invitation = invited
    if not is_token(own) or technical not in ("yes", "no"):
        fresh = own if is_token(own) else None
        return _welcome_page(request, survey, token, fresh=fresh, is_missing=True)
    kind: Kind = "technical" if technical == "yes" else "non-technical"
    entered = _find_storage(request).enter(survey, own, kind, invitation=invitation)
    if entered.survey != survey.id:
        raise _UNKNOWN
    answer = _redirect(request, f"/survey/take/{own}")
    answer.set_cookie(
        _cookie(survey),
        own,
        max_age=COOKIE_SECONDS,
        path=f"{root_of(request)}/survey",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )
    return answer


@pages_router.get("/take/{token}")
def resume(progress: Taking) -> Response:
    """Lead to the first page without an answer."""
    return progress.lead_on()


@pages_router.get("/take/{token}/thanks")
def thanks(request: Request, progress: Taking) -> Response:
    """Show the last page."""
    if progress.next <= len(progress.steps):
        return progress.lead_on()
    return page(request, "thanks.html", survey=progress.survey)


@pages_router.get("/take/{token}/{number}")
def show_step(progress: Taking, number: int) -> Response:
    """Show a step; one that is answered already with the answer."""
    step = progress.find_step(number)
    if step is None:
        return progress.lead_on()
    answered = progress.answers.get(step.id)
    if answered is None:
        progress.storage.show(progress.participant, step.id)
    return progress.show(number, answered=answered)


@pages_router.post("/take/{token}/{number}")
def answer_step(
    request: Request,
    token: str,
    progress: Taking,
    number: int,
    choice: Annotated[str, Form()] = "",
    ease: Annotated[str, Form()] = "",
) -> Response:
    """Store an answer, then lead on; what was answered before stays as it is."""
    step = progress.find_step(number)
    if step is None or step.id in progress.answers:
        return progress.lead_on()
    question = step.question
    is_rated = question is not None and question.task == "match"
    rating = int(ease) if ease in _RATINGS and is_rated else None
    is_chosen = question is None or choice in question.keys
    chosen = choice if question and is_chosen else None
    if not is_chosen or (is_rated and rating is None):
        return progress.show(number, tried=Answer(chosen, rating))
    n_steps = len(progress.steps)
    progress.storage.answer(progress.participant, step.id, chosen, rating, n_steps=n_steps)
    return _find_progress(request, token).lead_on()


def _welcome_page(
    request: Request,
    survey: Survey,
    token: str,
    *,
    own: str | None = None,
    is_finished: bool = False,
    fresh: str | None = None,
    is_missing: bool = False,
) -> Response:
    # Half a minute a sentence, and a minute for each text.
    minutes = max(
        sum(0.5 if question.task == "match" else 1.0 for question in model.questions)
        for model in survey.models
    )
    return page(
        request,
        "welcome.html",
        status=422 if is_missing else 200,
        survey=survey,
        token=token,
        own=own,
        is_finished=is_finished,
        fresh=fresh or new_token(),
        minutes=max(2, round(minutes)),
        is_missing=is_missing,
    )


def _redirect(request: Request, path: str) -> RedirectResponse:
    return RedirectResponse(root_of(request) + path, 303, headers=HEADERS)


def _cookie(survey: Survey) -> str:
    return f"protorynet_survey_{survey.id}"
