"""What goes wrong on a participant's page, told as a page that says what to do."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from sqlalchemy.exc import SQLAlchemyError

from protorynet.errors import InputError
from protorynet.server import origin
from protorynet_lab.survey.pages import page

__all__ = ["PageError", "PageRoute", "root_of"]

_MOST_BODY_BYTES = 16_384
_LOG = logging.getLogger("protorynet.server")
_Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class PageError(Exception):
    """A request that is answered by a page with a title and what to do.

    Parameters
    ----------
    status
        The HTTP status.
    title, message
        What the page says.
    """

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

    def get_route_handler(self) -> _Handler:
        """Return the handler, with every failure turned into a page."""
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                _check_size(request)
                return await handle(request)
            except PageError as error:
                return _problem(request, error)
            except RequestValidationError:
                return _problem(request, _UNREADABLE)
            except InputError as error:
                return _problem(request, PageError(409, "That is not possible", str(error)))
            except HTTPException as error:
                # Such as a form that is none.
                return _problem(request, _UNREADABLE if error.status_code == 400 else _UNSAVED)
            except SQLAlchemyError as error:
                _LOG.error("survey database failed", extra=origin(error))
                return _problem(request, _UNSAVED)
            except Exception as error:
                _LOG.error("survey page failed", extra=origin(error))
                return _problem(request, _UNSAVED)

        return answer


def root_of(request: Request) -> str:
    """Return what comes before ``/survey`` in the server's addresses."""
    return str(request.scope.get("root_path", "")).rstrip("/")


def _check_size(request: Request) -> None:
    if request.method != "POST":
        return
    length = request.headers.get("content-length", "")
    # Browsers always tell the length; without it, or where it does not count because the body comes
    # in chunks all the same, nothing would bound what is read.
    is_bounded = re.fullmatch(r"[0-9]{1,12}", length) and "transfer-encoding" not in request.headers
    if not is_bounded or int(length) > _MOST_BODY_BYTES:
        raise _TOO_LARGE


def _problem(request: Request, error: PageError) -> Response:
    return page(
        "problem.html",
        status=error.status,
        root=root_of(request),
        title=error.title,
        message=error.message,
    )
