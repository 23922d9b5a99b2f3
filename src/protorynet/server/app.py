"""The application: its parts put together, and their start and end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from importlib.metadata import entry_points
from typing import Any

from fastapi import FastAPI

from protorynet import __version__
from protorynet.errors import MissingExtraError
from protorynet.server import description, health, jobs, models, workbench
from protorynet.server.batching import Batcher
from protorynet.server.config import ServerConfig
from protorynet.server.failures import ERROR_ANSWERS, handle_errors
from protorynet.server.guard import Guard
from protorynet.server.jobs import Jobs
from protorynet.server.keyfile import KeyFile
from protorynet.server.metrics import Metrics
from protorynet.server.pages import pages_router
from protorynet.server.store import ModelStore
from protorynet.server.work import WorkPool

__all__ = ["create_app"]

_DESCRIPTION = (
    "Text classification that shows its reasons: every sentence is matched to a prototype, a real "
    "sentence of the training data, and the sequence of prototypes decides the label. Texts are "
    "any Unicode but NUL; nothing that is sent to predict or explain is kept or logged."
)


def create_app(config: ServerConfig) -> FastAPI:
    """Load the models and return the application that serves them.

    ``app.state`` holds `config`, `store` (`ModelStore`), `keys` (`KeyFile` or None), `pool`
    (`WorkPool`, by way of `run_in_pool`), `jobs` (`Jobs`), `metrics` and `ready`.
    """
    app = FastAPI(
        title="ProtoryNet",
        version=__version__,
        description=_DESCRIPTION,
        lifespan=_lifespan,
        openapi_url=None,
        responses=ERROR_ANSWERS,
    )
    state, limits = app.state, config.limits
    state.config = config
    state.ready = False
    state.keys = KeyFile(config.keys) if config.keys else None
    state.metrics = Metrics()
    state.store = ModelStore(config.models, device=config.device)
    state.pool = WorkPool(max_waiting=limits.max_waiting, seconds=limits.seconds)
    state.jobs = Jobs(max_jobs=limits.max_jobs)
    handle_errors(app)
    app.add_middleware(Guard, keys=state.keys, limits=limits, metrics=state.metrics)
    for part in (models, workbench, jobs, health, description):
        app.include_router(part.router)
    if config.database is not None:
        state.surveys = _surveys()
        app.include_router(state.surveys.router)
    app.include_router(pages_router())
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]
    return app


def _surveys() -> Any:
    """Return the laboratory's surveys: their `router`, and `attach` for their database."""
    for entry in entry_points(group="protorynet.server", name="surveys"):
        return entry.load()
    raise MissingExtraError("Serving surveys", "protorynet-lab", extra="lab")


def _described(app: FastAPI) -> dict[str, object]:
    if app.openapi_schema is None:
        app.openapi_schema = description.describe(app)
    return app.openapi_schema


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    state = app.state
    # One thread: two batches at once would only take each other's cores.
    threads = ThreadPoolExecutor(1, thread_name_prefix="protorynet-batch")
    state.batchers = {
        name: Batcher(
            state.store, name, limits=state.config.limits, threads=threads, metrics=state.metrics
        )
        for name in state.store.names()
    }
    for batcher in state.batchers.values():
        batcher.start()
    workbench.start(app)
    if state.config.database is not None:
        state.surveys.attach(app, state.config.database)
    state.ready = True
    try:
        yield
    finally:
        # uvicorn comes here when the last request has been answered.
        state.ready = False
        if state.config.database is not None:
            state.survey.close()
        for batcher in state.batchers.values():
            await batcher.stop()
        threads.shutdown(wait=True, cancel_futures=True)
        state.jobs.close()
        state.pool.close()
