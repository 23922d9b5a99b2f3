"""What every request passes first and every answer last: checks, headers, metrics and the log."""

import asyncio
import json
import logging
import math
import re
import secrets
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from protorynet.server.api_keys import Key, KeyFile, known_key
from protorynet.server.api_shapes import ApiError, error_response, refusal
from protorynet.server.config import Limits, is_loopback

_LOG = logging.getLogger("protorynet.server")
_FIELDS_OF_RECORDS = {*vars(logging.makeLogRecord({})), "message", "asctime", "color_message"}
_REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_METHODS = _SAFE_METHODS | {"POST", "PUT", "PATCH", "DELETE"}
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
_DISCARDED_BYTES, _DISCARDING_SECONDS = 2**20, 1.0
_BUCKETS_OF_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_BUCKETS_OF_REQUESTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class JsonLines(logging.Formatter):
    """Writes each record as one JSON object; what was given as `extra` becomes its fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; of an exception only its kind and where it happened."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        line |= {k: value for k, value in vars(record).items() if k not in _FIELDS_OF_RECORDS}
        if record.exc_info and record.exc_info[1]:
            line |= origin(record.exc_info[1])
        return json.dumps(line, default=str)


def origin(error: BaseException) -> dict[str, str]:
    """Say what kind an error is and where it happened; its message may hold a client's text."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    calls = (f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames)
    return {"error": type(error).__name__, "where": " > ".join(calls)}


def log_to(stream: TextIO | None = None) -> None:
    """Write the server's and uvicorn's records as JSON lines, to standard error by default."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("protorynet.server", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(logging.INFO)
        logger.propagate = False


class Metrics:
    """What is counted for Prometheus; no label is ever taken from what a client sent."""

    def __init__(self) -> None:
        own = self.registry = CollectorRegistry()
        labels = ["method", "route", "status"]
        self.requests = Counter("protorynet_requests", "Requests answered.", labels, registry=own)
        self.seconds = Histogram(
            "protorynet_request_seconds",
            "Seconds from a request's first byte to the last of its answer.",
            ["route"],
            buckets=_BUCKETS_OF_SECONDS,
            registry=own,
        )
        self.batches = Histogram(
            "protorynet_batch_requests",
            "Requests answered by one call of the encoder.",
            ["model"],
            buckets=_BUCKETS_OF_REQUESTS,
            registry=own,
        )
        self.texts = Counter("protorynet_texts", "Texts read.", ["model"], registry=own)
        self.waiting = Gauge(
            "protorynet_waiting_requests", "Requests that wait to be read.", ["model"], registry=own
        )
        self.reloads = Counter("protorynet_reloads", "Models reloaded.", ["model"], registry=own)


@dataclass
class _Exchange:
    """One request and its answer, as far as they are known."""

    id: str
    began: float = field(default_factory=time.perf_counter)
    bytes_in: int = 0
    bytes_out: int = 0
    status: int = 0
    is_read: bool = False  # the whole body

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began


@dataclass(eq=False)
class Guard:
    """Middleware around all routes; without keys, everybody on this machine may do everything.

    What is `insecure` may be called by any name, and so from everywhere.
    """

    app: ASGIApp
    keys: KeyFile | None
    limits: Limits
    metrics: Metrics
    insecure: bool = False
    _left: dict[str, tuple[float, float]] = field(default_factory=dict, init=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given_id = headers.get("x-request-id", "")
        is_harmless = _REQUEST_ID.fullmatch(given_id)
        exchange = _Exchange(given_id if is_harmless else secrets.token_hex(8))
        sending = self._sending(receive, send, exchange)
        try:
            self._check(scope, headers)
            await self.app(scope, self._receiving(receive, scope, exchange), sending)
        except ApiError as error:
            await error_response(error)(scope, receive, sending)
        except Exception as error:
            extra = {"request_id": exchange.id, "route": _route(scope)} | origin(error)
            _LOG.error("request failed", extra=extra)
            if not exchange.status:
                unexpected = refusal("unexpected", request=exchange.id)
                await error_response(unexpected)(scope, receive, sending)
        finally:
            self._record(scope, exchange)

    def _check(self, scope: Scope, headers: Headers) -> None:
        """Refuse, before anything is read, what comes from elsewhere or without a key."""
        path: str = scope["path"]
        if self.keys is None and not self.insecure and not is_loopback(_host_name(headers)):
            raise refusal("unknown_host")
        if scope["method"] not in _SAFE_METHODS and _is_foreign(headers):
            raise refusal("foreign_origin")
        if self.keys is not None and path.startswith("/v1/"):
            self._count(known_key(self.keys, headers))
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self._most_bytes(path):
            raise refusal("body_too_large", most=self._most_bytes(path))

    def _count(self, key: Key) -> None:
        """Refuse a request too many: a key has a minute's worth, which fills up as time goes."""
        most, now = self.limits.max_requests_per_minute, time.monotonic()
        left, then = self._left.get(key.id, (float(most), now))
        left = min(most, left + (now - then) * most / 60)
        if left < 1:
            wait = {"Retry-After": str(math.ceil((1 - left) * 60 / most))}
            raise refusal("too_many_requests", most=most, headers=wait)
        self._left[key.id] = (left - 1, now)

    def _most_bytes(self, path: str) -> int:
        limits = self.limits
        return limits.max_upload_bytes if path.endswith(_UPLOADS) else limits.max_body_bytes

    def _receiving(self, receive: Receive, scope: Scope, exchange: _Exchange) -> Receive:
        """Count what is read, and stop at the limits of size and time."""
        most = self._most_bytes(scope["path"])

        async def limited() -> Message:
            if exchange.is_read:  # what follows is the client going away, which may take any time
                return await receive()
            left = self.limits.seconds - exchange.seconds
            try:
                message = await asyncio.wait_for(receive(), max(left, 0.01))
            except TimeoutError:
                raise refusal("slow_body", seconds=self.limits.seconds) from None
            exchange.bytes_in += len(message.get("body", b""))
            exchange.is_read = not message.get("more_body", False)
            if exchange.bytes_in > most:
                raise refusal("body_too_large", most=most)
            return message

        return limited

    def _sending(self, receive: Receive, send: Send, exchange: _Exchange) -> Send:
        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                exchange.status = message["status"]
                if exchange.status >= 400 and not exchange.is_read:
                    await _discard_body(receive)
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
                headers["X-Request-ID"] = exchange.id
            exchange.bytes_out += len(message.get("body", b""))
            await send(message)

        return counted

    def _record(self, scope: Scope, exchange: _Exchange) -> None:
        route, status, given = _route(scope), exchange.status or 499, scope["method"]
        method = given if given in _METHODS else "other"
        self.metrics.requests.labels(method, route, str(status)).inc()
        self.metrics.seconds.labels(route).observe(exchange.seconds)
        _LOG.info(
            "request",
            extra={
                "request_id": exchange.id,
                "method": method,
                "route": route,
                "status": status,
                "ms": round(exchange.seconds * 1000, 1),
                "bytes_in": exchange.bytes_in,
                "bytes_out": exchange.bytes_out,
            },
        )


async def _discard_body(receive: Receive) -> None:
    """Read what a refused client still sends, within bounds: a reset connection loses the answer.

    A body far too large, or too slow, is cut off all the same.
    """
    left = _DISCARDED_BYTES
    with suppress(TimeoutError):
        async with asyncio.timeout(_DISCARDING_SECONDS):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if not message.get("more_body", False):
                    return


def _route(scope: Scope) -> str:
    """Return the template of the route that a request was matched to, which no client chooses."""
    return str(getattr(scope.get("route"), "path", "unmatched"))


def _is_foreign(headers: Headers) -> bool:
    """Say whether a browser sends this for a page of another site."""
    if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        return True
    given = headers.get("origin")
    return given is not None and given.partition("://")[2] != headers.get("host", "")


def _host_name(headers: Headers) -> str:
    """Return the host that a request names, without its port."""
    try:
        return urlsplit(f"//{headers.get('host', '')}").hostname or ""
    except ValueError:
        return ""
