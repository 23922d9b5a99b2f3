"""Running the server until it is told to stop."""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
from collections.abc import Callable, Iterator

import uvicorn
from fastapi import FastAPI

from protorynet.errors import EncoderError, InputError, ModelFormatError
from protorynet.server.app import create_app
from protorynet.server.config import ServerConfig
from protorynet.server.listening import address_of, listen
from protorynet.server.logs import log_to

__all__ = ["reload_models", "serve"]

_LOG = logging.getLogger("protorynet.server")
_GRACE_SECONDS = 5
_IDLE_SECONDS = 15


def serve(config: ServerConfig, *, announce: Callable[[str], None] = _LOG.info) -> None:
    """Serve models until SIGTERM or Ctrl-C; SIGHUP reads all model directories again.

    Requests under way are answered before the server ends.

    Parameters
    ----------
    config
        Which models, where, for whom.
    announce
        Called with the server's address when it is about to answer.
    """
    # First the port, which fails at once if it is taken; loading models takes a while.
    with listen(config.host, config.port) as listener:
        app = create_app(config)
        settings = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            ws="none",
            lifespan="on",
            timeout_graceful_shutdown=int(config.limits.seconds) + _GRACE_SECONDS,
            timeout_keep_alive=_IDLE_SECONDS,
        )
        log_to()
        announce(address_of(config.host, listener))
        with _reloading_on_hangup(app):
            uvicorn.Server(settings).run(sockets=[listener])


def reload_models(app: FastAPI) -> None:
    """Read every model's directory again; one that cannot be read stays as it was."""
    for name in app.state.store.names():
        try:
            served = app.state.store.replace(name)
        except (EncoderError, InputError, ModelFormatError) as error:
            _LOG.error("not reloaded", extra={"model": name, "reason": str(error)})
        else:
            app.state.metrics.reload(name)
            _LOG.info("reloaded", extra={"model": name, "version": served.version})


@contextlib.contextmanager
def _reloading_on_hangup(app: FastAPI) -> Iterator[None]:
    def reload(*_: object) -> None:
        threading.Thread(target=reload_models, args=(app,), name="reload", daemon=True).start()

    if not hasattr(signal, "SIGHUP"):  # Windows has none
        yield
        return
    before = signal.signal(signal.SIGHUP, reload)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)
