"""What tests of the server share: a real server, a patient client, a table of doubtful labels."""

import asyncio
import contextlib
import csv
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

from protorynet.server import ServerConfig, address_of, create_app, listen
from protorynet.server.app import http_settings

HOTEL = "/v1/models/hotel"
SCRIPT = "<script>alert(1)</script> The room was lovely. The staff was friendly."
FORMULA = "=HYPERLINK(A1). The bed was lovely. The pool was clean."
TEXTS = [
    "The room was lovely. We stayed for two nights.",
    "The bed was broken. The staff was awful! It is nine miles from town.",
    "The breakfast was perfect.",
]


@dataclass(frozen=True)
class Running:
    """A server of the model "hotel", and a client of it; paths are those of the model's routes."""

    url: str
    client: httpx.Client
    app: FastAPI | None = None

    def predict(self, texts: list[str], **options: Any) -> httpx.Response:
        return self.post("/predict", {"texts": texts}, **options)

    def explain(self, texts: list[str], **options: Any) -> httpx.Response:
        return self.post("/explain", {"texts": texts}, **options)

    def ask_all(self, asked: list[tuple[str, list[str]]]) -> list[httpx.Response]:
        """Send requests of either kind at the same time."""

        async def send() -> list[httpx.Response]:
            limits = httpx.Limits(max_connections=None)
            async with httpx.AsyncClient(base_url=self.url, limits=limits, timeout=60) as client:
                sent = (
                    client.post(f"{HOTEL}/{kind}", json={"texts": texts}) for kind, texts in asked
                )
                return list(await asyncio.gather(*sent))

        return asyncio.run(send())

    def get(self, path: str, **params: Any) -> httpx.Response:
        return self.client.get(f"{HOTEL}{path}", params=params or None)

    def post(self, path: str, body: Any = None, **options: Any) -> httpx.Response:
        sent = {} if body is None else {"json": body}
        return self.client.post(f"{HOTEL}{path}", **sent, **options)

    def delete(self, path: str) -> httpx.Response:
        return self.client.delete(f"{HOTEL}{path}")

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

    def members(self, prototype: int, **params: Any) -> list[int]:
        items = self.get(f"/prototypes/{prototype}/members", **params).json()["items"]
        return [item["id"] for item in items]

    def edit(self, **edits: Any) -> dict[str, Any]:
        answer = self.post("/draft/edits", edits)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def upload(self, path: str, content: bytes, filename: str, **columns: str) -> httpx.Response:
        """Send a file with a form."""
        return self.post(path, files={"file": (filename, content)}, data=columns)

    def send_table(self, content: bytes, filename: str, **columns: str) -> dict[str, Any]:
        """Have a table predicted, and return the batch once it is done."""
        answer = self.upload("/batches", content, filename, **columns)
        assert answer.status_code == 202, answer.text
        job = self.wait(answer.json()["job"])
        assert job["state"] == "done", job
        found: dict[str, Any] = self.get(f"/batches/{answer.json()['batch']}").json()
        return found


@contextmanager
def running(config: ServerConfig | uvicorn.Config) -> Iterator[Running]:
    """Serve with uvicorn in a thread, on a free port."""
    if isinstance(config, ServerConfig):
        config = http_settings(create_app(config))
    listener = listen("127.0.0.1", 0)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server ended before it started"
            time.sleep(0.005)
        url = address_of("127.0.0.1", listener)
        with httpx.Client(base_url=url, timeout=60) as client:
            yield Running(url, client, config.app)
    finally:
        server.should_exit = True
        thread.join(30)
        listener.close()


def serving(model: Path, **options: Any) -> AbstractContextManager[Running]:
    """Serve a model directory as "hotel", in this process."""
    return running(ServerConfig(models={"hotel": model}, device="cpu", **options))


@contextmanager
def spawned(model: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], Running]]:
    """Serve in a process of its own, which is killed at the end of the block."""
    command = [sys.executable, "-m", "protorynet", "serve", str(model), "--port", "0", *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [*command, "--device", "cpu"], stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        announced = re.search(r"http://127\.0\.0\.1:\d+", process.stderr.readline())
        with httpx.Client(base_url=announced.group(), timeout=60) as client:
            wait_until(lambda: client.get("/readyz").is_success, process)
            yield process, Running(announced.group(), client)
    finally:
        process.kill()
        process.communicate()


def wait_until(
    condition: Callable[[], object], process: subprocess.Popen[str] | None = None
) -> None:
    """Wait for what comes soon, as long as a process lives."""
    deadline = time.monotonic() + 90
    while True:
        assert process is None or process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        with contextlib.suppress(httpx.TransportError):
            if condition():
                return
        time.sleep(0.01)


def error_code(response: httpx.Response) -> str:
    """Return the code of an error, having checked that it has the one shape that all have."""
    body = response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message"}
    assert body["error"]["message"]
    return str(body["error"]["code"])


def write_table(path: Path, train: Any, others: Any) -> Path:
    """Write train, validation and test rows; the last ones have labels to doubt."""
    rows = [(text, label, "train") for text, label in zip(train.texts, train.labels, strict=True)]
    rows += [
        (text, label, "validation" if number < 20 else "test")
        for number, (text, label) in enumerate(zip(others.texts, others.labels, strict=True))
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
