"""Scoring with Ray against one process with as many threads, and what Ray itself takes.

A small model with the default encoder scores made-up reviews, no sentence of which occurs twice:
in one process with 1 and 2 threads, and by Ray on this machine with 1 and 2 workers. Rates are
those once all is loaded; starting is counted apart, as is memory (proportional set size, Linux)::

    python benchmarks/ray_scoring.py [--documents 4000] [--json docs/performance/ray.json]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import secrets
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from charts import Bar, report
from measuring import make_reviews, new_parser, run_apart

WORKER = b"ray::MapWorker"


def prepare(folder: Path, documents: int) -> None:
    """Train a model, and write the table to score: sentences of 8 to 20 words."""
    from protorynet import ProtoryNetClassifier, Settings

    texts, labels = make_reviews(64, sentences=(2, 2))
    settings = Settings(epochs=2, retrain_epochs=2, n_prototypes=20)
    ProtoryNetClassifier(settings=settings).fit(texts, labels).save(folder / "model")
    reviews, _ = make_reviews(documents, seed=1, sentences=(3, 9), more_words=(1, 13))
    table = pa.table({"review": reviews})
    pq.write_table(table, folder / "reviews.parquet")


def measure_here(folder: Path, threads: int) -> dict[str, float]:
    """Score in this process, chunk by chunk, as `protorynet predict` does."""
    import torch

    from protorynet.inference import open_predictor

    torch.set_num_threads(threads)
    start = time.perf_counter()
    predictor = open_predictor(folder / "model", cache=False)
    [whole] = pq.read_table(folder / "reviews.parquet").combine_chunks().to_batches()
    predictor.score_batch(whole.slice(0, 64), text="review")
    ready = time.perf_counter()
    for first in range(0, len(whole), 512):
        predictor.score_batch(whole.slice(first, 512), text="review")
    return {
        "start_seconds": ready - start,
        "rows_per_second": len(whole) / (time.perf_counter() - ready),
        "megabytes": _memory("self"),
    }


def measure_ray(folder: Path, workers: int) -> dict[str, float]:
    """Score with a Ray of so many CPUs; the rate counts from when each worker has done a part."""
    start = time.perf_counter()
    import ray

    ray.init(
        address="local",
        num_cpus=workers,
        include_dashboard=False,
        object_store_memory=256 * 2**20,
        log_to_driver=False,
    )
    connected = time.perf_counter()
    peaks = {"worker": 0.0, "ray": 0.0}
    threading.Thread(target=_watch, args=(peaks, os.environ["RAY_AUTH_TOKEN"]), daemon=True).start()
    output = folder / f"scored-{workers}"
    from protorynet.inference import predict_with_ray

    began = time.time()
    predict_with_ray(folder / "model", [folder / "reviews.parquet"], output)
    parts = sorted((path.stat().st_mtime, path) for path in output.glob("*.parquet"))
    ended = [at for at, _ in parts]
    rows = [pq.read_metadata(path).num_rows for _, path in parts]
    return {
        "connect_seconds": connected - start,
        "first_part_seconds": ended[0] - began,
        "seconds": time.perf_counter() - start,
        "rows_per_second": sum(rows[workers:]) / (ended[-1] - ended[workers - 1]),
        "worker_megabytes": peaks["worker"],
        "ray_megabytes": peaks["ray"],
    }


def _watch(peaks: dict[str, float], token: str) -> None:
    while True:
        workers, others = [0.0], 0.0
        for folder in Path("/proc").iterdir():
            try:
                if not folder.name.isdigit() or int(folder.name) == os.getpid():
                    continue
                if token.encode() not in (folder / "environ").read_bytes():
                    continue
                if WORKER in (folder / "cmdline").read_bytes():
                    workers.append(_memory(folder.name))
                else:
                    others += _memory(folder.name)
            except OSError:
                continue
        peaks["worker"] = max(peaks["worker"], *workers)
        peaks["ray"] = max(peaks["ray"], others)
        time.sleep(0.5)


def _memory(process: str) -> float:
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    [size] = [line.split()[1] for line in lines if line.startswith("Pss:")]
    return int(size) / 1024


def in_a_process(what: str, folder: Path, count: int) -> dict[str, float]:
    """Measure in a fresh process, so that nothing is loaded or started before."""
    measured: dict[str, float] = run_apart(
        *(__file__, "--measure", what, folder, count),
        threads=count if what == "here" else 1,
        RAY_AUTH_MODE="token",
        RAY_AUTH_TOKEN=secrets.token_hex(16),
        RAY_USAGE_STATS_ENABLED="0",
    )
    return {name: round(value, 2) for name, value in measured.items()}


def main() -> None:
    """Measure all, print it, and write it where asked."""
    parser = new_parser(__doc__)
    parser.add_argument("--documents", type=int, default=4_000)
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        what, path, count = given.measure
        measure = measure_here if what == "here" else measure_ray
        print(json.dumps(measure(Path(path), int(count))))
        return
    with tempfile.TemporaryDirectory(prefix="protorynet-") as name:
        folder = Path(name)
        prepare(folder, given.documents)
        result: dict[str, Any] = {
            "machine": f"{os.cpu_count()} cores, {platform.machine()}",
            "documents": given.documents,
            **{
                f"{what}_{count}": in_a_process(what, folder, count)
                for count in (1, 2)
                for what in ("here", "ray")
            },
        }
    rate = {name: of["rows_per_second"] for name, of in result.items() if isinstance(of, dict)}
    result["ratios"] = {
        "ray_1_to_here_1": round(rate["ray_1"] / rate["here_1"], 3),
        "ray_2_to_here_2": round(rate["ray_2"] / rate["here_2"], 3),
        "ray_2_to_ray_1": round(rate["ray_2"] / rate["ray_1"], 3),
    }
    names = {"here": "one process, {} thread(s)", "ray": "Ray, {} worker(s)"}
    bars = [
        Bar(names[what].format(count), value, f"{value:,.0f}/s")
        for (what, _, count), value in ((key.partition("_"), rate[key]) for key in rate)
    ]
    report(result, given.output, "Documents per second", bars)


if __name__ == "__main__":
    main()
