"""The socket that a server listens on, and the address that it is reached by."""

from __future__ import annotations

import socket

from protorynet.errors import InputError

__all__ = ["address_of", "listen"]

_BACKLOG = 2048


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
    """Return the address of a server that listens.

    Examples
    --------
    >>> with listen("127.0.0.1", 0) as listener:
    ...     address_of("::1", listener).rpartition(":")[0]
    'http://[::1]'
    """
    port = listener.getsockname()[1]
    return f"http://[{host.strip('[]')}]:{port}" if ":" in host else f"http://{host}:{port}"
