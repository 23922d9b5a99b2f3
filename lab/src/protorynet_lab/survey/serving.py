"""A survey served on its own until it is stopped."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import uvicorn

from protorynet.server import address_of, listen
from protorynet_lab.survey.attaching import survey_app
from protorynet_lab.survey.storage import Storage

__all__ = ["listening_at", "serve_survey"]

_MOST_AT_ONCE = 500
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104


@contextmanager
def listening_at(host: str, port: int) -> Iterator[tuple[socket.socket, str]]:
    """Listen, and give the socket with the address that others reach it by."""
    with listen(host, port) as listener:
        # An address that stands for all of this machine's is none to put into a link.
        name = socket.gethostname() if host.strip("[]") in _EVERYWHERE else host
        yield listener, address_of(name, listener)


def serve_survey(storage: Storage, listener: socket.socket) -> None:
    """Serve the participants' pages until SIGTERM or Ctrl-C; requests under way are answered."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    config = uvicorn.Config(
        survey_app(storage),
        log_config=None,
        access_log=False,  # addresses hold personal tokens
        server_header=False,
        ws="none",
        limit_concurrency=_MOST_AT_ONCE,
        timeout_graceful_shutdown=10,
    )
    with suppress(KeyboardInterrupt):  # which is how one is told to stop
        uvicorn.Server(config).run(sockets=[listener])
