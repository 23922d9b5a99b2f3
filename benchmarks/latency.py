"""Start-up and one document at a time: torch in three precisions against the ONNX export.

Start-up is the time from the start of the process to the first printed prediction of one document;
latency that of one more document in a process that runs already, documents of three sentences one
after the other::

    python benchmarks/latency.py [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from charts import Bar, draw_bars, write_figure

TEXTS = [
    f"We stayed for {number} nights. The room was {'clean' if number % 2 else 'dirty'} when we "
    f"came. The {'kind' if number % 2 else 'rude'} clerk gave us key {number + 100}."
    for number in range(240)
]
LABELS = ["good" if number % 2 else "bad" for number in range(240)]
RUN = "from protorynet.cli import main; raise SystemExit(main())"


def start_up(*words: object, rounds: int = 3) -> float:
    """Return the least seconds that a command takes from start to end."""
    best = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", RUN, *map(str, words)],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        best = min(best, time.perf_counter() - begin)
    return best


def latency(predict: Callable[[list[str]], Any]) -> dict[str, float]:
    """Return percentiles of the milliseconds for one document."""
    seconds = []
    for text in TEXTS[100:]:
        begin = time.perf_counter()
        predict([text])
        seconds.append(time.perf_counter() - begin)
    warm = 1000 * np.array(seconds[20:])
    return {"p50_ms": float(np.percentile(warm, 50)), "p95_ms": float(np.percentile(warm, 95))}


def main() -> None:
    """Train, export, and time all ways."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    from protorynet import ProtoryNetClassifier
    from protorynet.inference import export_onnx, open_predictor

    result: dict[str, Any] = {"seconds_to_help": start_up("--help"), "ways": {}}
    with tempfile.TemporaryDirectory() as name:
        for encoder in ("minilm", "minilm:bf16", "minilm:static"):
            model = ProtoryNetClassifier(encoder, device="cpu", cache=False)
            model.fit(TEXTS[:100], LABELS[:100])
            folder = Path(name) / encoder.replace(":", "-")
            model.save(folder)
            result["ways"][f"torch, {encoder}"] = {
                "seconds_to_first_explanation": start_up("explain", folder, TEXTS[0], "--json"),
                **latency(model.predict),
            }
            if encoder == "minilm":
                for precision in ("float32", "int8"):
                    exported = Path(name) / precision
                    export_onnx(model.predictor, exported, precision=precision)
                    predictor = open_predictor(exported, cache=False)
                    result["ways"][f"ONNX, {precision}"] = {
                        "seconds_to_first_explanation": start_up(
                            "explain", exported, TEXTS[0], "--json"
                        ),
                        **latency(predictor.predict),
                    }
    print(json.dumps(result, indent=2))
    if options.json:
        bars = [
            Bar(
                name,
                way["seconds_to_first_explanation"],
                f"{way['seconds_to_first_explanation']:.1f} s, then {way['p50_ms']:.1f} ms",
            )
            for name, way in result["ways"].items()
        ]
        title = "Seconds to the first explanation, and for one more document"
        write_figure(options.json, result, draw_bars(title, bars))


if __name__ == "__main__":
    main()
