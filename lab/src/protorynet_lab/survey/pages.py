"""The participants' pages, drawn from templates in which every text is escaped."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from typing import Any

from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from protorynet.report import clean

__all__ = ["EASE", "HEADERS", "filled", "page", "stylesheet", "stylesheet_version"]

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


def page(template: str, *, status: int = 200, root: str = "", **values: Any) -> Response:
    """Return a template filled in, with the headers that every page of a survey has.

    Parameters
    ----------
    template
        Name of the template.
    status
        The HTTP status.
    root
        What comes before ``/survey`` in the server's addresses.
    values
        What it shows.
    """
    content = filled(template, root=root, version=stylesheet_version(), ease=EASE, **values)
    return HTMLResponse(content, status, headers=HEADERS)


def filled(template: str, **values: Any) -> str:
    """Return a template filled in; every value that is no markup is escaped."""
    return _environment().get_template(template).render(**values)


@cache
def stylesheet() -> bytes:
    """Return the pages' styles."""
    folder = resources.files("protorynet_lab.survey") / "static"
    return (folder / "survey.css").read_bytes()


@cache
def stylesheet_version() -> str:
    """Return what tells these styles from those that a browser may have kept."""
    return hashlib.sha256(stylesheet()).hexdigest()[:10]


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("protorynet_lab.survey"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_writable,
    )


def _writable(value: object) -> object:
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value
