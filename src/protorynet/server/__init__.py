"""Models over HTTP: REST for programs, a workbench for people, surveys for participants.

Nothing here is imported by the rest of the package but the command line; it needs the extra
``protorynet[server]``.
"""

from typing import TYPE_CHECKING

from protorynet.lazy import lazy_names

if TYPE_CHECKING:
    from protorynet.server.app import create_app
    from protorynet.server.config import Limits, ServerConfig
    from protorynet.server.running import serve

__all__ = ["Limits", "ServerConfig", "create_app", "serve"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {"app": "create_app", "config": "Limits ServerConfig", "running": "serve"},
)
