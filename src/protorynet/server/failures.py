"""What clients are told when a request fails: one JSON object, never a stack trace."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException as StarletteHTTPException

from protorynet.errors import InputError

__all__ = ["ERROR_ANSWERS", "ApiError", "ErrorView", "error_response", "handle_errors"]

_LONGEST_NAME = 60


class ApiError(HTTPException):
    """A request that is refused, or failed for a reason that the client may know.

    Parameters
    ----------
    status
        The HTTP status.
    code
        What went wrong, for programs: words joined by underscores.
    message
        The same for people: what was given, what is allowed, what to do.
    headers
        Headers of the answer, such as ``Retry-After``.

    Examples
    --------
    >>> error = ApiError(404, "unknown_model", "there is no such model.")
    >>> error.status, error.code, str(error)
    (404, 'unknown_model', 'there is no such model.')
    """

    def __init__(
        self, status: int, code: str, message: str, *, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, message, dict(headers or {}))
        self.status = status
        self.code = code

    def __str__(self) -> str:
        return str(self.detail)


class ErrorDetail(BaseModel):
    """What went wrong."""

    code: str = Field(examples=["too_many_texts"])
    message: str = Field(examples=["300 texts were given; at most 256 are allowed. Send fewer."])


class ErrorView(BaseModel):
    """The body of every answer that is an error."""

    error: ErrorDetail


_MEANINGS = {
    400: "The request cannot be understood, or names a host that this server does not answer for.",
    401: "A key is needed, or the one given is not known.",
    403: "The key's scope is too small, or the request comes from another site's page.",
    404: "There is no such model or thing.",
    408: "The body did not arrive in time.",
    413: "The body, or what it asks for, is too large.",
    422: "The body or a parameter is not as described.",
    429: "Too many requests are waiting; try again after the seconds in `Retry-After`.",
    503: "The work was not done in time, or the server is stopping.",
}
ERROR_ANSWERS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorView, "description": meaning} for status, meaning in _MEANINGS.items()
}
"""The errors that any route may answer with, for the OpenAPI description."""


def error_response(error: ApiError) -> JSONResponse:
    """Return an error in the one shape that all of them have."""
    body = {"error": {"code": error.code, "message": str(error)}}
    return JSONResponse(body, error.status, headers=error.headers)


def handle_errors(app: FastAPI) -> None:
    """Let every error of an app become an answer of that shape."""
    app.add_exception_handler(StarletteHTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(InputError, _bad_input)


def _refused(request: Request, error: Exception) -> Response:
    if isinstance(error, ApiError):
        return error_response(error)
    assert isinstance(error, StarletteHTTPException)
    phrase = HTTPStatus(error.status_code).phrase
    code = phrase.lower().replace(" ", "_").replace("-", "_")
    message = error.detail if error.detail != phrase else f"{phrase.lower()}; see /docs."
    return error_response(ApiError(error.status_code, code, message, headers=error.headers))


def _invalid(request: Request, error: Exception) -> Response:
    """Say what is wrong and where, without telling back what was sent."""
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    first = found[0]
    where = ".".join(_shown(part) for part in first["loc"])
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    message = str(first["msg"]).removeprefix("Value error, ")
    return error_response(ApiError(422, "invalid_request", f"{where}: {message}{more}"))


def _bad_input(request: Request, error: Exception) -> Response:
    return error_response(ApiError(422, "bad_input", str(error)))


def _shown(part: object) -> str:
    """Return a part of a place in the body; unknown fields are named as the client wrote them."""
    name = str(part).encode("ascii", "backslashreplace").decode()
    return name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + "..."
