"""The application: its parts put together, their start and end, and running it as a server."""

import contextlib
import logging
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import entry_points
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from protorynet import __version__
from protorynet.errors import EncoderError, InputError, MissingExtraError, ModelFormatError
from protorynet.server import api_pages, background, model_routes, workbench
from protorynet.server.api_keys import KeyFile
from protorynet.server.api_shapes import ERROR_ANSWERS, handle_errors
from protorynet.server.background import InProgress, Jobs, WorkPool, answer_in_progress
from protorynet.server.config import ServerConfig
from protorynet.server.guard import Guard, Metrics, log_to
from protorynet.server.served_models import Batcher, ModelStore

_LOG = logging.getLogger("protorynet.server")
_GRACE_SECONDS = 5
_IDLE_SECONDS = 15
_BACKLOG = 2048
_DESCRIPTION = (
    "Text classification that shows its reasons: every sentence is matched to a prototype, a real "
    "sentence of the training data, and the sequence of prototypes decides the label. Texts are "
    "any Unicode but NUL; nothing that is sent to predict or explain is kept or logged."
)


def create_app(config: ServerConfig) -> FastAPI:
    """Load the models and return the application that serves them.

    ``app.state`` holds `config`, `store` (`ModelStore`), `keys` (`KeyFile` or None), `pool`
    (`WorkPool`), `jobs` (`Jobs`), `metrics` and `ready`.
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
    app.add_exception_handler(InProgress, answer_in_progress)
    app.add_middleware(
        Guard, keys=state.keys, limits=limits, metrics=state.metrics, insecure=config.insecure
    )
    for part in (model_routes, workbench, background, api_pages):
        app.include_router(part.router)
    if config.database is not None:
        # The laboratory's: their `router`, and `attach` for their database.
        found = [*entry_points(group="protorynet.server", name="surveys")]
        if not found:
            raise MissingExtraError("Serving surveys", "protorynet-lab", extra="lab")
        state.surveys = found[0].load()
        app.include_router(state.surveys.router)
    app.include_router(api_pages.page_routes())
    app.openapi = lambda: api_pages.describe(app)  # type: ignore[method-assign]
    # FastAPI puts routes together when they are first looked at: now, not while somebody waits.
    api_pages.route_scopes(app)
    return app


@contextlib.asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    state = app.state
    # One thread: two batches at once would only take each other's cores.
    threads = ThreadPoolExecutor(1, thread_name_prefix="protorynet-batch")
    state.batchers = {
        name: Batcher(
            store=state.store,
            name=name,
            limits=state.config.limits,
            threads=threads,
            metrics=state.metrics,
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


def serve(config: ServerConfig, *, announce: Callable[[str], None] = _LOG.info) -> None:
    """Serve models until SIGTERM or Ctrl-C; SIGHUP reads all model directories again.

    Requests under way are answered before the server ends. `announce` is told its address.
    """
    # First the port, which fails at once if it is taken; loading models takes a while.
    with listen(config.host, config.port) as listener:
        app = create_app(config)
        log_to()
        announce(address_of(config.host, listener))

        def reload(*_: object) -> None:
            threading.Thread(target=reload_models, args=(app,), name="reload", daemon=True).start()

        if hasattr(signal, "SIGHUP"):  # Windows has none
            signal.signal(signal.SIGHUP, reload)
        uvicorn.Server(http_settings(app)).run(sockets=[listener])


class _Connection(H11Protocol):
    """A connection that is closed where no request comes, or the head of one does not end.

    Also one where an answer is not fetched.
    """

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._look(object())

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unfetched = self.loop.call_later(_IDLE_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unfetched.cancel()

    def _look(self, before: object) -> None:
        cycle = self.cycle
        if self.transport.is_closing():
            self.transport.abort()  # what was not fetched until now goes
            return
        if cycle is before and (cycle is None or cycle.response_complete):
            self.transport.close()
        self.loop.call_later(_IDLE_SECONDS, self._look, cycle)


def http_settings(app: FastAPI) -> uvicorn.Config:
    """Return how an application is served: what is slow or idle ends, and no log is uvicorn's."""
    return uvicorn.Config(
        app,
        http=_Connection,
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        lifespan="on",
        timeout_graceful_shutdown=int(app.state.config.limits.seconds) + _GRACE_SECONDS,
        timeout_keep_alive=_IDLE_SECONDS,
    )


def listen(host: str, port: int) -> socket.socket:
    """Listen on a port, or say why that cannot be; 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host.strip("[]"), port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise InputError(
            f"{host} port {port} cannot be listened on: {error.strerror or error}. Choose others "
            "with --host and --port."
        ) from None


def address_of(host: str, listener: socket.socket) -> str:
    """Return the address of a server that listens."""
    port = listener.getsockname()[1]
    return f"http://[{host.strip('[]')}]:{port}" if ":" in host else f"http://{host}:{port}"


def reload_models(app: FastAPI) -> None:
    """Read every model's directory again; one that cannot be read stays as it was."""
    for name in app.state.store.names():
        try:
            served = app.state.store.replace(name)
        except (EncoderError, InputError, ModelFormatError) as error:
            _LOG.error("not reloaded", extra={"model": name, "reason": str(error)})
        else:
            app.state.metrics.reloads.labels(name).inc()
            _LOG.info("reloaded", extra={"model": name, "version": served.version})
