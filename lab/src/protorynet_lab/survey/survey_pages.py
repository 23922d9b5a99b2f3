"""The participants' pages: the invitation, one page for each step, the thanks, and what went wrong.

They are drawn from templates in which every text is escaped.
"""

import hashlib
import logging
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute

from protorynet.errors import InputError
from protorynet.server import origin, public
from protorynet_lab.presentation import page_templates
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
from protorynet_lab.survey.survey_storage import Storage

_EASE = ("very difficult", "difficult", "neither", "easy", "very easy")  # the ratings 1 to 5
_HEADERS = {
    "Cache-Control": "no-store",  # the back button asks the server, which knows what is answered
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    # The address of a page holds a personal token, which no other site may learn. Our own forms
    # must still say where they come from, hence not "no-referrer".
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "X-Robots-Tag": "noindex",
}

MAX_FORM_BYTES = 16_384
COOKIE_SECONDS = 180 * 24 * 3600
_RATINGS = tuple(str(rating) for rating in range(1, len(_EASE) + 1))
_LOG = logging.getLogger("protorynet.server")


class _PageError(Exception):
    """A request that is answered by a page with a title and what to do."""

    def __init__(self, status: int, title: str, message: str) -> None:
        super().__init__(title)
        self.content: dict[str, Any] = {"status": status, "title": title, "message": message}


_UNKNOWN = _PageError(
    404,
    "This link leads nowhere",
    "It may have been cut off, or the survey is over. Please ask for the link again.",
)
_UNSAVED = _PageError(
    503,
    "That did not work",
    "Your last answer could not be stored. Please go back, wait a moment and try again; "
    "everything before it is safe.",
)
_UNREADABLE = _PageError(
    422, "That could not be read", "Please go back, choose an answer and try again."
)
_TOO_LARGE = _PageError(413, "That is too much", "An answer is only a choice. Please go back.")


class _PageRoute(APIRoute):
    """A route whose errors are pages, and whose forms are small."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, with every failure turned into a page."""
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                _check_size(request)
                return await handle(request)
            except Exception as error:
                problem = _find_problem(error)
            return _page(request, "problem.html", **problem.content)

        return answer


def _page(request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
    """Return a template filled in, with the headers that every page of a survey has."""
    version = hashlib.sha256(_stylesheet()).hexdigest()[:10]
    content = render(template, root=_root_of(request), version=version, ease=_EASE, **values)
    return HTMLResponse(content, status, headers=_HEADERS)


def render(template: str, **values: Any) -> str:
    """Return a template filled in; every value that is no markup is escaped."""
    return page_templates("protorynet_lab.survey").get_template(template).render(**values)


def _root_of(request: Request) -> str:
    """Return what comes before ``/survey`` in the server's addresses."""
    return str(request.scope.get("root_path", "")).rstrip("/")


@cache
def _stylesheet() -> bytes:
    folder = resources.files("protorynet_lab.survey") / "static"
    return (folder / "survey.css").read_bytes()


def _check_size(request: Request) -> None:
    if request.method != "POST":
        return
    length = request.headers.get("content-length", "")
    # Browsers always send the length; without it, or where it does not count because the body comes
    # in chunks all the same, nothing would bound what is read.
    is_bounded = re.fullmatch(r"[0-9]{1,12}", length) and "transfer-encoding" not in request.headers
    if not is_bounded or int(length) > MAX_FORM_BYTES:
        raise _TOO_LARGE


def _find_problem(error: Exception) -> _PageError:
    if isinstance(error, _PageError):
        return error
    if isinstance(error, InputError):
        return _PageError(409, "That is not possible", str(error))
    is_no_form = isinstance(error, HTTPException) and error.status_code == 400
    if is_no_form or isinstance(error, RequestValidationError):
        return _UNREADABLE
    if not isinstance(error, HTTPException):
        _LOG.error("survey page failed", extra=origin(error))
    return _UNSAVED


pages_router = APIRouter(
    prefix="/survey",
    route_class=_PageRoute,
    include_in_schema=False,
    dependencies=[Depends(public)],
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

    def redirect_to_next(self) -> Response:
        """Redirect to the first step without an answer, or to the thanks."""
        number = self.next
        page_name = "thanks" if number > len(self.steps) else number
        return _redirect(self.request, f"/survey/take/{self.token}/{page_name}")

    def show(
        self, number: int, *, answered: Answer | None = None, tried: Answer | None = None
    ) -> Response:
        """Show a step with the answer given, or with what is missing of the one tried."""
        step = self.steps[number - 1]
        question = step.question
        onward = f"{_root_of(self.request)}/survey/take/{self.token}"
        return _page(
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
    kept = {**_HEADERS, "Cache-Control": "public, max-age=31536000, immutable"}
    return Response(_stylesheet(), media_type="text/css", headers=kept)


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
        fresh = own if is_token(own) else new_token()
        return _welcome_page(request, survey, token, 422, fresh=fresh, is_missing=True)
    kind: Kind = "technical" if technical == "yes" else "non-technical"
    entered = _find_storage(request).enter(survey, own, kind, invitation=invitation)
    if entered.survey != survey.id:
        raise _UNKNOWN
    answer = _redirect(request, f"/survey/take/{own}")
    answer.set_cookie(
        _cookie(survey),
        own,
        max_age=COOKIE_SECONDS,
        path=f"{_root_of(request)}/survey",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )
    return answer


@pages_router.get("/take/{token}")
def resume(progress: Taking) -> Response:
    """Redirect to the first page without an answer."""
    return progress.redirect_to_next()


@pages_router.get("/take/{token}/thanks")
def thanks(request: Request, progress: Taking) -> Response:
    """Show the last page."""
    if progress.next <= len(progress.steps):
        return progress.redirect_to_next()
    return _page(request, "thanks.html", survey=progress.survey)


@pages_router.get("/take/{token}/{number}")
def show_step(progress: Taking, number: int) -> Response:
    """Show a step; one that is answered already with the answer."""
    step = progress.find_step(number)
    if step is None:
        return progress.redirect_to_next()
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
    """Store an answer, then redirect to the next step; what was answered before stays as it is."""
    step = progress.find_step(number)
    if step is None or step.id in progress.answers:
        return progress.redirect_to_next()
    question = step.question
    is_rated = question is not None and question.task == "match"
    rating = int(ease) if ease in _RATINGS and is_rated else None
    is_chosen = question is None or choice in question.keys
    chosen = choice if question and is_chosen else None
    if not is_chosen or (is_rated and rating is None):
        return progress.show(number, tried=Answer(chosen, rating))
    n_steps = len(progress.steps)
    progress.storage.answer(progress.participant, step.id, chosen, rating, n_steps=n_steps)
    return _find_progress(request, token).redirect_to_next()


def _welcome_page(
    request: Request, survey: Survey, token: str, status: int = 200, **values: Any
) -> Response:
    usual = {"own": None, "is_finished": False, "fresh": new_token(), "is_missing": False}
    # Half a minute a sentence, and a minute for each text.
    minutes = max(
        sum(0.5 if question.task == "match" else 1.0 for question in model.questions)
        for model in survey.models
    )
    values = {**usual, **values, "token": token, "minutes": max(2, round(minutes))}
    return _page(request, "welcome.html", status=status, survey=survey, **values)


def _redirect(request: Request, path: str) -> RedirectResponse:
    return RedirectResponse(_root_of(request) + path, 303, headers=_HEADERS)


def _cookie(survey: Survey) -> str:
    return f"protorynet_survey_{survey.id}"
