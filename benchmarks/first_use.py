"""How long a cold process takes to its first answer, against the bare import of torch.

All ways take turns, each in a process of its own, and the best round of each counts::

    python benchmarks/first_use.py [--rounds 5] [--json FILE]
"""

from __future__ import annotations

import json
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

from charts import Bar, report
from measuring import PROGRAM, best_times, new_parser

FIT = """
import sys
from protorynet import ProtoryNetClassifier
said = {"good": "I loved film {}. The actors were kind.", "bad": "Film {} is dull. We left early."}
texts, labels = zip(*[(said[c].format(n), c) for n in range(40) for c in said])
ProtoryNetClassifier(device="cpu", cache=False).fit(texts, labels).save(sys.argv[1])
"""
TEXT = "The plot is thin. But I loved the actors! We will see it again."


def run(*command: object) -> None:
    """Run a command, and show nothing of it."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(list(map(str, command)), check=True, **quiet)


def ask_server(model: Path) -> None:
    """Start a server, wait for its first explanation, and end it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [*PROGRAM, "serve", str(model), "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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


def main() -> None:
    """Make a model, then time all ways in turns."""
    parser = new_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        model = Path(name) / "model"
        python = [sys.executable, "-c"]
        run(*python, FIT, model)
        ways: dict[str, Callable[[], None]] = {
            "import torch": lambda: run(*python, "import torch"),
            "import protorynet": lambda: run(*python, "import protorynet"),
            "protorynet explain": lambda: run(*PROGRAM, "explain", model, TEXT),
            "protorynet serve, first answer": lambda: ask_server(model),
        }
        best = best_times(ways, options.rounds)
    torch = best["import torch"]
    result = {
        way: {
            **times._asdict(),
            "times_torch": times.seconds / torch.seconds,
            "times_torch_by_processor": times.processor_seconds / torch.processor_seconds,
        }
        for way, times in best.items()
    }
    bars = [
        Bar(way, each["seconds"], f"{each['seconds']:.2f} s, {each['times_torch']:.2f}×")
        for way, each in result.items()
    ]
    title = "Seconds from the start of the process, and times the import of torch"
    report(result, options.output, title, bars)


if __name__ == "__main__":
    main()
