"""What every request passes first and every answer last: checks, headers, counting and the log."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from protorynet.server.config import Limits, is_loopback
from protorynet.server.failures import ApiError, error_response
from protorynet.server.keyfile import KeyFile
from protorynet.server.keys import known_key
from protorynet.server.logs import origin
from protorynet.server.metrics import Metrics

__all__ = ["Guard"]

_LOG = logging.getLogger("protorynet.server")
_REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_UPLOADS = ("/batches", "/batches/preview")
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data: blob:; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass
class _Exchange:
    """One request and its answer, as far as they are known."""

    id: str
    began: float = field(default_factory=time.perf_counter)
    bytes_in: int = 0
    bytes_out: int = 0
    status: int = 0

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began


class Guard:
    """Middleware around all routes.

    Parameters
    ----------
    app
        What is guarded.
    keys
        The API keys; None where everybody on this machine may do everything.
    limits
        Sizes and times.
    metrics
        Where requests are counted.
    """

    def __init__(
        self, app: ASGIApp, *, keys: KeyFile | None, limits: Limits, metrics: Metrics
    ) -> None:
        self._app = app
        self._keys = keys
        self._limits = limits
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        exchange = _Exchange(_request_id(headers))
        sending = self._sending(send, scope, exchange)
        try:
            self._check(scope, headers)
            await self._app(scope, self._receiving(receive, scope, exchange), sending)
        except ApiError as error:
            await error_response(error)(scope, receive, sending)
        except Exception as error:
            extra = {"request_id": exchange.id, "route": _route(scope)} | origin(error)
            _LOG.error("request failed", extra=extra)
            if not exchange.status:
                await error_response(_unexpected(exchange.id))(scope, receive, sending)
        finally:
            self._tell(scope, exchange)

    def _check(self, scope: Scope, headers: Headers) -> None:
        """Refuse, before anything is read, what comes from elsewhere or without a key."""
        path: str = scope["path"]
        if self._keys is None and not is_loopback(_host(headers)):
            raise ApiError(
                400,
                "unknown_host",
                "this server answers on loopback names only, such as localhost or 127.0.0.1.",
            )
        if scope["method"] not in _SAFE_METHODS and _is_foreign(headers):
            raise ApiError(403, "foreign_origin", "pages of other sites may not send this.")
        if self._keys is not None and path.startswith("/v1/"):
            known_key(self._keys, headers)
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self._most_bytes(path):
            raise _too_large(self._most_bytes(path))

    def _most_bytes(self, path: str) -> int:
        limits = self._limits
        return limits.max_upload_bytes if path.endswith(_UPLOADS) else limits.max_body_bytes

    def _receiving(self, receive: Receive, scope: Scope, exchange: _Exchange) -> Receive:
        """Count what is read, and stop at the limits of size and time."""
        most, is_read = self._most_bytes(scope["path"]), False

        async def limited() -> Message:
            nonlocal is_read
            if is_read:  # what follows is the client going away, which may take any time
                return await receive()
            left = self._limits.seconds - exchange.seconds
            try:
                message = await asyncio.wait_for(receive(), max(left, 0.01))
            except TimeoutError:
                raise ApiError(
                    408,
                    "slow_body",
                    f"the body did not arrive within {self._limits.seconds:g} seconds.",
                ) from None
            exchange.bytes_in += len(message.get("body", b""))
            is_read = not message.get("more_body", False)
            if exchange.bytes_in > most:
                raise _too_large(most)
            return message

        return limited

    def _sending(self, send: Send, scope: Scope, exchange: _Exchange) -> Send:
        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                exchange.status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
                headers["X-Request-ID"] = exchange.id
            exchange.bytes_out += len(message.get("body", b""))
            await send(message)

        return counted

    def _tell(self, scope: Scope, exchange: _Exchange) -> None:
        route, status = _route(scope), exchange.status or 499
        self._metrics.request(scope["method"], route, status, exchange.seconds)
        _LOG.info(
            "request",
            extra={
                "request_id": exchange.id,
                "method": scope["method"],
                "route": route,
                "status": status,
                "ms": round(exchange.seconds * 1000, 1),
                "bytes_in": exchange.bytes_in,
                "bytes_out": exchange.bytes_out,
            },
        )


def _request_id(headers: Headers) -> str:
    given = headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)


def _route(scope: Scope) -> str:
    """Return the template of the route that a request was matched to, which no client chooses."""
    return str(getattr(scope.get("route"), "path", "unmatched"))


def _host(headers: Headers) -> str:
    return _parsed(f"//{headers.get('host', '')}", lambda parts: parts.hostname or "")


def _is_foreign(headers: Headers) -> bool:
    """Say whether a browser sends this for a page of another site."""
    if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        return True
    given = headers.get("origin")
    if given is None:
        return False
    return _parsed(given, lambda parts: parts.netloc) != headers.get("host", "")


def _parsed(address: str, part: Callable[..., str]) -> str:
    try:
        return part(urlsplit(address))
    except ValueError:
        return ""


def _too_large(most: int) -> ApiError:
    return ApiError(
        413,
        "body_too_large",
        f"the body is larger than the {most:,} bytes allowed. Send less at a time.",
        headers={"Connection": "close"},
    )


def _unexpected(request_id: str) -> ApiError:
    return ApiError(
        500,
        "unexpected",
        f"something unexpected went wrong. Tell whoever runs the server the request id "
        f"{request_id}.",
    )
