"""What all requests and answers share: strict bodies, one shape of errors, safe spreadsheets."""

import csv
import io
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from starlette.exceptions import HTTPException as StarletteHTTPException

from protorynet.errors import InputError

_LONGEST_NAME = 60
_MOST_FIELDS, _MOST_ENTRIES = 50, 1_000
_WORDS = tomllib.loads(Path(__file__).with_name("refusals.toml").read_text(encoding="utf-8"))
_HEADERS: dict[str, dict[str, str]] = _WORDS.pop("headers")
_REFUSALS = {
    code: (int(status), words) for status, own in _WORDS.items() for code, words in own.items()
}
_FORMULA_SIGNS = frozenset("=+-@＝＋－＠")  # East Asian spreadsheets take the wide ones too


class ApiError(HTTPException):
    """A request that is refused, or failed for a reason that the client may know.

    The `code` is for programs, words joined by underscores; the `message` says what to do.
    """

    def __init__(
        self, status: int, code: str, message: str, *, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, message, dict(headers or {}))
        self.code = code

    def __str__(self) -> str:
        return str(self.detail)


def refusal(code: str, *, headers: Mapping[str, str] | None = None, **facts: Any) -> ApiError:
    """Return the error of a code, with the status and the words that refusals.toml has for it."""
    status, words = _REFUSALS[code]
    return ApiError(status, code, words.format(**facts), headers=headers or _HEADERS.get(code))


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
    return JSONResponse(body, error.status_code, headers=error.headers)


def handle_errors(app: FastAPI) -> None:
    """Let every error of an app become an answer of that shape."""
    app.add_exception_handler(StarletteHTTPException, _answer_refusal)
    app.add_exception_handler(RequestValidationError, _answer_invalid_request)
    app.add_exception_handler(
        InputError, lambda _, error: error_response(ApiError(422, "bad_input", str(error)))
    )


def _answer_refusal(request: Request, error: Exception) -> Response:
    if isinstance(error, ApiError):
        return error_response(error)
    assert isinstance(error, StarletteHTTPException)
    phrase = HTTPStatus(error.status_code).phrase
    code = phrase.lower().replace(" ", "_").replace("-", "_")
    message = error.detail if error.detail != phrase else f"{phrase.lower()}; see /docs."
    return error_response(ApiError(error.status_code, code, message, headers=error.headers))


def _answer_invalid_request(request: Request, error: Exception) -> Response:
    """Say what is wrong and where, without repeating what was sent."""
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    where = ".".join(_shorten_name(part) for part in found[0]["loc"])
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    message = str(found[0]["msg"]).removeprefix("Value error, ")
    return error_response(ApiError(422, "invalid_request", f"{where}: {message}{more}"))


def _shorten_name(part: object) -> str:
    # Unknown fields are named as the client wrote them, so they may be of any length and letters.
    name = str(part).encode("ascii", "backslashreplace").decode()
    return name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + "..."


def _check_text(text: str) -> str:
    # No writing system uses NUL, and databases and terminals choke on it.
    if "\0" in text:
        raise ValueError("the text holds a NUL character; remove it.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"the text holds half a Unicode character at position {error.start}; repair it."
        ) from None
    return text


Text = Annotated[str, AfterValidator(_check_text)]
"""A text: any Unicode but NUL and halves of surrogate pairs, which JSON may smuggle in."""


class Body(BaseModel):
    """What a client sends: only the fields that are known, and each of the very kind it should be.

    Every value that is wrong becomes an error of some kilobytes, and all of them are gathered
    while nobody else is answered; so what has far too many is refused before.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _check_size(cls, given: object) -> object:
        if isinstance(given, dict):
            if len(given) > _MOST_FIELDS:
                raise ValueError(f"there are {len(given):,} fields; see /docs for those known.")
            for name, value in given.items():
                if isinstance(value, dict) and len(value) > _MOST_ENTRIES:
                    raise ValueError(
                        f"{name!a:.60} has {len(value):,} entries; at most {_MOST_ENTRIES:,} are "
                        "allowed."
                    )
        return given


def csv_lines(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield the lines of a CSV file in which no cell is taken for a formula."""
    for cells in chain([header], rows):
        line = io.StringIO()
        csv.writer(line).writerow([safe_cell(cell) for cell in cells])
        yield line.getvalue()


def csv_download(
    filename: str, header: Sequence[str], rows: Iterable[Sequence[Any]]
) -> StreamingResponse:
    """Return a CSV file to be saved under a name."""
    return StreamingResponse(
        csv_lines(header, rows),
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{filename}"'},
    )


def safe_cell(value: Any) -> Any:
    """Return a cell for a spreadsheet: a text that looks like a formula is quoted."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | dict):
        value = json.dumps(value, ensure_ascii=False, default=str)
    text = str(value)
    # Spreadsheets pass over spaces and what cannot be seen, such as a byte-order mark.
    seen = next((char for char in text if char.isprintable() and not char.isspace()), "")
    return f"'{text}" if seen in _FORMULA_SIGNS or text.startswith(("\t", "\r", "\n")) else text
