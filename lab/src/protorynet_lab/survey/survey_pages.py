"""Pages drawn from templates in which every text is escaped, also where something goes wrong."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Coroutine
from functools import cache
from importlib import resources
from typing import Any

from fastapi import HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from protorynet.errors import InputError
from protorynet.report import clean
from protorynet.server import origin

EASE = ("very difficult", "difficult", "neither", "easy", "very easy")
"""What the ratings from 1 to 5 mean."""

HEADERS = {
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
_LOG = logging.getLogger("protorynet.server")


class PageError(Exception):
    """A request that is answered by a page with a title and what to do."""

    def __init__(self, status: int, title: str, message: str) -> None:
        super().__init__(title)
        self.status = status
        self.title = title
        self.message = message


_UNSAVED = PageError(
    503,
    "That did not work",
    "Your last answer could not be stored. Please go back, wait a moment and try again; "
    "everything before it is safe.",
)
_UNREADABLE = PageError(
    422, "That could not be read", "Please go back, choose an answer and try again."
)
_TOO_LARGE = PageError(413, "That is too much", "An answer is only a choice. Please go back.")


class PageRoute(APIRoute):
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
            return page(
                request,
                "problem.html",
                status=problem.status,
                title=problem.title,
                message=problem.message,
            )

        return answer


def page(request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
    """Return a template filled in, with the headers that every page of a survey has."""
    version = hashlib.sha256(stylesheet()).hexdigest()[:10]
    content = render(template, root=root_of(request), version=version, ease=EASE, **values)
    return HTMLResponse(content, status, headers=HEADERS)


def render(template: str, **values: Any) -> str:
    """Return a template filled in; every value that is no markup is escaped."""
    return _environment().get_template(template).render(**values)


def root_of(request: Request) -> str:
    """Return what comes before ``/survey`` in the server's addresses."""
    return str(request.scope.get("root_path", "")).rstrip("/")


@cache
def stylesheet() -> bytes:
    """Return the pages' styles."""
    folder = resources.files("protorynet_lab.survey") / "static"
    return (folder / "survey.css").read_bytes()


def _check_size(request: Request) -> None:
    if request.method != "POST":
        return
    length = request.headers.get("content-length", "")
    # Browsers always tell the length; without it, or where it does not count because the body comes
    # in chunks all the same, nothing would bound what is read.
    is_bounded = re.fullmatch(r"[0-9]{1,12}", length) and "transfer-encoding" not in request.headers
    if not is_bounded or int(length) > MAX_FORM_BYTES:
        raise _TOO_LARGE


def _find_problem(error: Exception) -> PageError:
    if isinstance(error, PageError):
        return error
    if isinstance(error, InputError):
        return PageError(409, "That is not possible", str(error))
    is_no_form = isinstance(error, HTTPException) and error.status_code == 400
    if is_no_form or isinstance(error, RequestValidationError):
        return _UNREADABLE
    if not isinstance(error, HTTPException):
        _LOG.error("survey page failed", extra=origin(error))
    return _UNSAVED


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("protorynet_lab.survey"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_make_writable,
    )


def _make_writable(value: object) -> object:
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value
