"""Long lists in pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Query
from fastapi.responses import JSONResponse

from protorynet.server.jobs import Job, JobView

__all__ = ["Page", "Paged", "beginning", "working"]

_SHOWN = 300


@dataclass(frozen=True)
class Page:
    """Which page of a list is asked for.

    Parameters
    ----------
    page
        Its number, from 1.
    size
        Items of a page.

    Examples
    --------
    >>> Page(2, 3).of("abcdefgh")
    {'items': ['d', 'e', 'f'], 'page': 2, 'size': 3, 'total': 8}
    """

    page: Annotated[int, Query(ge=1, le=10_000_000, description="Page, counted from 1.")] = 1
    size: Annotated[int, Query(ge=1, le=200, description="Items of a page.")] = 50

    def of(self, items: Sequence[Any]) -> dict[str, Any]:
        """Return the page of a list."""
        start = (self.page - 1) * self.size
        shown = list(items[start : start + self.size])
        return {"items": shown, "page": self.page, "size": self.size, "total": len(items)}


Paged = Annotated[Page, Depends()]


def beginning(text: str) -> str:
    """Return the beginning of a text.

    Examples
    --------
    >>> len(beginning("word " * 100))
    300
    """
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def working(job: Job) -> JSONResponse:
    """Say that something is being computed; the client asks again when the job is done."""
    view = JobView.model_validate(job, from_attributes=True)
    return JSONResponse({"job": view.model_dump()}, 202)
