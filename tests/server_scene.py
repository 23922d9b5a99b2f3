"""What tests of the server share: a real server, a patient client, a table of doubtful labels."""

from __future__ import annotations

import asyncio
import csv
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

from protorynet.server import ServerConfig, create_app

SCRIPT = "<script>alert(1)</script> The room was lovely. The staff was friendly."
FORMULA = "=HYPERLINK(A1). The bed was lovely. The pool was clean."
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


@dataclass(frozen=True)
class Bench:
    """A running server's workbench of the model "hotel"."""

    server: Running

    @property
    def client(self) -> httpx.Client:
        return self.server.client

    def get(self, path: str, **params: Any) -> httpx.Response:
        return self.client.get(f"/v1/models/hotel{path}", params=params or None)

    def post(self, path: str, body: Any = None, **options: Any) -> httpx.Response:
        sent = {} if body is None else {"json": body}
        return self.client.post(f"/v1/models/hotel{path}", **sent, **options)

    def delete(self, path: str) -> httpx.Response:
        return self.client.delete(f"/v1/models/hotel{path}")

    def wait(self, job: dict[str, Any]) -> dict[str, Any]:
        """Return a job once it has ended."""
        deadline = time.monotonic() + 60
        while job["state"] in ("queued", "running"):
            assert time.monotonic() < deadline, job
            time.sleep(0.01)
            job = self.client.get(f"/v1/jobs/{job['id']}").json()
        return job

    def computed(self, path: str, **params: Any) -> httpx.Response:
        """Ask, wait for what is computed, and ask again."""
        answer = self.get(path, **params)
        if answer.status_code == 202:
            job = self.wait(answer.json()["job"])
            assert job["state"] == "done", job
            answer = self.get(path, **params)
        assert answer.status_code == 200, answer.text
        return answer

    def ids(self, **params: Any) -> list[int]:
        items = self.get("/prototypes/page", sort="id", **params).json()["items"]
        return [item["id"] for item in items]

    def edit(self, **edits: Any) -> dict[str, Any]:
        answer = self.post("/draft/edits", edits)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def send_table(self, content: bytes, filename: str, **columns: str) -> dict[str, Any]:
        """Have a table predicted, and return the batch once it is done."""
        files = {"file": (filename, content)}
        answer = self.client.post("/v1/models/hotel/batches", files=files, data=columns)
        assert answer.status_code == 202, answer.text
        job = self.wait(answer.json()["job"])
        assert job["state"] == "done", job
        found: dict[str, Any] = self.get(f"/batches/{answer.json()['batch']}").json()
        return found


def write_table(path: Path, train: Any, others: Any) -> Path:
    """Write train, validation and test rows; the last ones have labels to doubt."""
    rows = [(text, label, "train") for text, label in zip(train.texts, train.labels, strict=True)]
    rows += [
        (text, label, "validation" if place < 20 else "test")
        for place, (text, label) in enumerate(zip(others.texts, others.labels, strict=True))
    ]
    rows += [
        (SCRIPT, "bad", "test"),
        (FORMULA, "bad", "test"),
        (FORMULA, "good", "test"),  # with both labels, so that one of them is a mistake
        ("The view was wonderful. The lobby was perfect.", "bad", "test"),
    ]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label", "split"), *rows])
    return path
