"""Start-up and one document at a time: torch in three precisions against the ONNX export.

Start-up is the time from the start of the process to the first printed prediction of one document;
latency that of one more document in a process that runs already, documents of three sentences one
after the other::

    python benchmarks/latency.py [--json FILE]
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from charts import Bar, report
from measuring import PROGRAM, measure, new_parser

TEXTS = [
    f"We stayed for {number} nights. The room was {'clean' if number % 2 else 'dirty'} when we "
    f"came. The {'kind' if number % 2 else 'rude'} clerk gave us key {number + 100}."
    for number in range(240)
]
LABELS = ["good" if number % 2 else "bad" for number in range(240)]


def start_up(*words: object) -> float:
    """Return the least seconds, of three rounds, that a command takes from start to end."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    run = partial(subprocess.run, [*PROGRAM, *map(str, words)], check=True, **quiet)
    return min(measure(run).seconds for _ in range(3))


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
    parser = new_parser(__doc__)
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
    bars = [
        Bar(name, seconds, f"{seconds:.1f} s, then {way['p50_ms']:.1f} ms")
        for name, way in result["ways"].items()
        for seconds in (way["seconds_to_first_explanation"],)
    ]
    title = "Seconds to the first explanation, and for one more document"
    report(result, options.output, title, bars)


if __name__ == "__main__":
    main()
