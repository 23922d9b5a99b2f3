"""A server under 50 concurrent clients, with requests computed together and one by one.

Two servers of the same model are measured one after the other: as they are by default, and with
every request computed alone. Clients send made-up reviews, hardly a sentence of which
occurs twice, and ask again as soon as they are answered. Clients and server share the machine's
cores::

    python benchmarks/serving.py [--clients 50] [--seconds 60] [--model FOLDER] [--json FILE]
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import random
import socket
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from charts import Bar, report
from measuring import make_review, make_reviews, new_parser

from protorynet.server import Limits, ServerConfig, serve

SENTENCES = (1, 3)  # of a review
ALONE = Limits(window_seconds=0.0, max_batch_characters=1)


@dataclass
class Measured:
    """What the clients of one server saw."""

    seconds: list[float] = field(default_factory=list)
    statuses: dict[int, int] = field(default_factory=dict)

    def summary(self, duration: float, texts: int) -> dict[str, Any]:
        """Return counts, and times in milliseconds."""
        done = self.statuses.get(200, 0)
        p50, p95, p99 = np.percentile(self.seconds, [50, 95, 99]) * 1000
        return {
            "requests": len(self.seconds),
            "errors": len(self.seconds) - done,
            "statuses": {str(status): count for status, count in sorted(self.statuses.items())},
            "requests_per_second": done / duration,
            "texts_per_second": done * texts / duration,
            "p50_ms": p50,
            "p95_ms": p95,
            "p99_ms": p99,
        }


def train(folder: Path) -> Path:
    """Train a small model with the encoder that comes with the package."""
    from protorynet import ProtoryNetClassifier, Settings

    settings = Settings(epochs=3, retrain_epochs=3, n_prototypes=20, max_prototypes=20)
    classifier = ProtoryNetClassifier(settings=settings, device="cpu", cache=False)
    classifier.fit(*make_reviews(200, sentences=SENTENCES)).save(folder / "model")
    return folder / "model"


@contextmanager
def running(model: Path, limits: Limits, device: str) -> Iterator[int]:
    """Run a server in a process of its own, and give its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = ServerConfig(models={"model": model}, port=port, limits=limits, device=device)
    process = multiprocessing.get_context("spawn").Process(target=serve_quietly, args=(config,))
    process.start()
    try:
        wait_until_ready(port)
        yield port
    finally:
        process.terminate()
        process.join(60)


def serve_quietly(config: ServerConfig) -> None:
    """Serve, with the log written nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    serve(config)


def wait_until_ready(port: int) -> None:
    """Wait until the server says that it is ready."""
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the server did not start")


async def client(port: int, seed: int, until: float, options: Any, measured: Measured) -> None:
    """Ask again and again over one connection."""
    draw = random.Random(seed)  # noqa: S311
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.perf_counter() < until:
        texts = [
            make_review(draw, is_good=draw.random() < 0.5, sentences=SENTENCES)
            for _ in range(options.texts)
        ]
        body = json.dumps({"texts": texts}).encode()
        start = time.perf_counter()
        writer.write(
            f"POST /v1/models/model/{options.ask} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        status = await read_answer(reader)
        measured.seconds.append(time.perf_counter() - start)
        measured.statuses[status] = measured.statuses.get(status, 0) + 1
    writer.close()


async def read_answer(reader: asyncio.StreamReader) -> int:
    """Read one answer, and return its status."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = int(head.split("content-length: ", 1)[1].split("\r\n", 1)[0])
    await reader.readexactly(length)
    return int(head.split(" ", 2)[1])


async def ask_all(port: int, options: Any) -> dict[str, Any]:
    """Let all clients ask for a while, after a second that is not counted."""
    until = time.perf_counter() + 1
    await asyncio.gather(*(client(port, n, until, options, Measured()) for n in range(8)))
    measured, start = Measured(), time.perf_counter()
    until = start + options.seconds
    await asyncio.gather(
        *(client(port, 1000 + n, until, options, measured) for n in range(options.clients))
    )
    return measured.summary(time.perf_counter() - start, options.texts)


def main() -> None:
    """Measure both servers, and print what clients saw."""
    parser = new_parser(__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--texts", type=int, default=1, help="texts per request")
    parser.add_argument("--ask", choices=("predict", "explain"), default="predict")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = options.model or train(Path(folder))
        with running(model, Limits(), options.device) as port:
            batched = asyncio.run(ask_all(port, options))
        with running(model, ALONE, options.device) as port:
            alone = asyncio.run(ask_all(port, options))
    result = {
        "clients": options.clients,
        "seconds": options.seconds,
        "texts_per_request": options.texts,
        "ask": options.ask,
        "batched": batched,
        "one_by_one": alone,
        "ratio": batched["requests_per_second"] / alone["requests_per_second"],
        "cores": len(os.sched_getaffinity(0)),
    }
    bars = [
        Bar(name, rate, f"{rate:.0f}/s, p95 {seen['p95_ms']:.0f} ms")
        for name, seen in (("batched", batched), ("one by one", alone))
        for rate in (seen["requests_per_second"],)
    ]
    report(result, options.output, f"Requests per second, {options.clients} clients", bars)


if __name__ == "__main__":
    main()
