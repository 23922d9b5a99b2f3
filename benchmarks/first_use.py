"""How long a cold process takes to its first answer, against the bare import of torch.

All ways take turns, each in a process of its own, and the best round of each counts::

    python benchmarks/first_use.py [--rounds 5] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from charts import Bar, draw_bars, write_figure

FIT = """
import sys
from protorynet import ProtoryNetClassifier
said = {"good": "I loved film {}. The actors were kind.", "bad": "Film {} is dull. We left early."}
texts, labels = zip(*[(said[c].format(n), c) for n in range(40) for c in said])
ProtoryNetClassifier(device="cpu", cache=False).fit(texts, labels).save(sys.argv[1])
"""
COMMAND = "from protorynet.cli import main; raise SystemExit(main())"
TEXT = "The plot is thin. But I loved the actors! We will see it again."


def run(code: str, *words: object) -> None:
    """Run some Python in a process of its own."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([sys.executable, "-c", code, *map(str, words)], check=True, **quiet)


def ask_server(model: Path) -> None:
    """Start a server, wait for its first explanation, and end it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, "-c", COMMAND, "serve", str(model), "--port", str(port)]
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}/v1/models/{model.name}/explain"
    body = json.dumps({"texts": [TEXT]}).encode()
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
    try:
        while server.poll() is None:
            try:
                urllib.request.urlopen(request).read()  # noqa: S310
                return
            except urllib.error.HTTPError as error:
                raise SystemExit(f"the server answered {error.code}: {error.read()!r}") from None
            except OSError:
                time.sleep(0.02)
        raise SystemExit(f"the server ended with {server.returncode}")
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def measure(work: Callable[[], None]) -> tuple[float, float]:
    """Return the seconds of some work by the clock, and of the processor by its processes."""
    begin, before = time.perf_counter(), os.times()
    work()
    seconds, after = time.perf_counter() - begin, os.times()
    used = sum(after[2:4]) - sum(before[2:4])
    return seconds, used


def main() -> None:
    """Make a model, then time all ways in turns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        model = Path(name) / "model"
        run(FIT, model)
        ways: dict[str, Callable[[], None]] = {
            "import torch": lambda: run("import torch"),
            "import protorynet": lambda: run("import protorynet"),
            "protorynet explain": lambda: run(COMMAND, "explain", model, TEXT),
            "protorynet serve, first answer": lambda: ask_server(model),
        }
        found: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
        for _ in range(options.rounds):
            for way, work in ways.items():
                found[way].append(measure(work))
    least = {
        way: [min(each) for each in zip(*rounds, strict=True)] for way, rounds in found.items()
    }
    torch = least["import torch"]
    result = {
        way: {
            "seconds": seconds,
            "processor_seconds": used,
            "times_torch": seconds / torch[0],
            "times_torch_by_processor": used / torch[1],
        }
        for way, (seconds, used) in least.items()
    }
    print(json.dumps(result, indent=2))
    if options.json:
        bars = [
            Bar(way, each["seconds"], f"{each['seconds']:.2f} s, {each['times_torch']:.2f}×")
            for way, each in result.items()
        ]
        title = "Seconds from the start of the process, and times the import of torch"
        write_figure(options.json, result, draw_bars(title, bars))


if __name__ == "__main__":
    main()
