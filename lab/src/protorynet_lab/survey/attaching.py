"""Surveys as a part of the server, or as a small server of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import APIRouter, FastAPI

from protorynet_lab.survey.admin import admin_router
from protorynet_lab.survey.routes import pages_router
from protorynet_lab.survey.storage import Storage

__all__ = ["attach", "router", "survey_app"]

router = APIRouter()
"""All routes of surveys: the participants' pages, and those that need a key of scope admin."""
router.include_router(pages_router)
router.include_router(admin_router)


def attach(app: FastAPI, database_url: str | Path) -> Storage:
    """Open a survey's database for an app that includes `router`.

    The database's tables are made or brought up to date.

    Returns
    -------
    The storage, also found at ``app.state.survey``; close it when the app ends.
    """
    app.state.survey = Storage(database_url)
    storage: Storage = app.state.survey
    return storage


def survey_app(storage: Storage) -> FastAPI:
    """Return an app that serves participants their pages and nothing else.

    No answer can be read by way of it, so it needs no keys.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        storage.close()

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.survey = storage
    app.include_router(pages_router)
    return app
