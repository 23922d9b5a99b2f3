"""What is counted for Prometheus; no label is ever taken from what a client sent."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

__all__ = ["Metrics"]

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """The counters of one server."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        own = self._registry = CollectorRegistry()
        self._requests = Counter(
            "protorynet_requests",
            "Requests answered.",
            ["method", "route", "status"],
            registry=own,
        )
        self._seconds = Histogram(
            "protorynet_request_seconds",
            "Seconds from a request's first byte to the last of its answer.",
            ["route"],
            buckets=_SECONDS,
            registry=own,
        )
        self._batches = Histogram(
            "protorynet_batch_requests",
            "Requests answered by one call of the encoder.",
            ["model"],
            buckets=_SIZES,
            registry=own,
        )
        self._texts = Counter("protorynet_texts", "Texts read.", ["model"], registry=own)
        self._waiting = Gauge(
            "protorynet_waiting_requests", "Requests that wait to be read.", ["model"], registry=own
        )
        self._reloads = Counter("protorynet_reloads", "Models reloaded.", ["model"], registry=own)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answer; the route is its template, such as ``/v1/models/{name}``."""
        method = method if method in _METHODS else "other"
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def batch(self, model: str, requests: int, texts: int) -> None:
        """Count a batch."""
        self._batches.labels(model).observe(requests)
        self._texts.labels(model).inc(texts)

    def waiting(self, model: str, requests: int) -> None:
        """Say how many requests wait for a model."""
        self._waiting.labels(model).set(requests)

    def reload(self, model: str) -> None:
        """Count a new version."""
        self._reloads.labels(model).inc()

    def text(self) -> bytes:
        """Return everything in Prometheus' text format."""
        return generate_latest(self._registry)
