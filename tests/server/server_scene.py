"""What the tests of the server share: a real server on a free port, and what clients send."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx
import uvicorn
from fastapi import FastAPI

from protorynet.server import ServerConfig, create_app

TEXTS = [
    "The room was lovely. We stayed for two nights.",
    "The bed was broken. The staff was awful! It is nine miles from town.",
    "The breakfast was perfect.",
]


@dataclass(frozen=True)
class Running:
    """A server that runs in this process, and a client of it."""

    app: FastAPI
    url: str
    client: httpx.Client

    def predict(self, texts: list[str], **options: object) -> httpx.Response:
        return self.client.post("/v1/models/hotel/predict", json={"texts": texts}, **options)

    def explain(self, texts: list[str], **options: object) -> httpx.Response:
        return self.client.post("/v1/models/hotel/explain", json={"texts": texts}, **options)

    async def predict_all(self, requests: list[list[str]]) -> list[httpx.Response]:
        """Send requests at the same time."""
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=self.url, limits=limits, timeout=60) as client:
            sent = (
                client.post("/v1/models/hotel/predict", json={"texts": texts}) for texts in requests
            )
            return list(await asyncio.gather(*sent))


@contextmanager
def running(config: ServerConfig, app: FastAPI | None = None) -> Iterator[Running]:
    """Serve with uvicorn in a thread, on a free port."""
    app = create_app(config) if app is None else app
    settings = uvicorn.Config(
        app, host="127.0.0.1", port=0, log_config=None, access_log=False, server_header=False
    )
    server = uvicorn.Server(settings)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server ended before it started"
            time.sleep(0.005)
        port = server.servers[0].sockets[0].getsockname()[1]
        url = f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=url, timeout=60) as client:
            yield Running(app, url, client)
    finally:
        server.should_exit = True
        thread.join(30)


def error_code(response: httpx.Response) -> str:
    """Return the code of an error, having checked that it has the one shape that all have."""
    body = response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message"}
    assert body["error"]["message"]
    return str(body["error"]["code"])
