"""A million documents through `protorynet predict`, undisturbed and killed half-way.

Documents of two sentences are made up and written as one Parquet file; a small model is trained
with the static encoder. `predict` runs once undisturbed, and once again killed with SIGKILL when
half of its parts are there and resumed. Both outputs are compared row for row, and the peak memory
of every process is read from the system::

    python benchmarks/million_documents.py [--documents 1000000] [--json FILE]
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from charts import Bar, report
from measuring import PROGRAM, make_reviews, new_parser

AT_ONCE = 50_000


def make_batch(start: int, count: int) -> pa.RecordBatch:
    """Make some documents; hardly any sentence is like another."""
    texts, labels = make_reviews(count, seed=start, sentences=(2, 2))
    return pa.record_batch({"id": range(start, start + count), "text": texts, "label": labels})


def make_table(path: Path, documents: int) -> None:
    """Write the documents, a row group for each batch."""
    with pq.ParquetWriter(path, make_batch(0, 1).schema) as writer:
        for start in range(0, documents, AT_ONCE):
            writer.write_batch(make_batch(start, min(AT_ONCE, documents - start)))


def command(*words: object) -> list[str]:
    """Return a command of the package, run by this Python."""
    return [*PROGRAM, *map(str, words)]


def watch(
    words: list[str], stop: Callable[[], bool] = lambda: False
) -> tuple[float, float, int | None]:
    """Run a command; return its seconds, its peak memory in MB, and its exit code."""
    begin = time.perf_counter()
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, peak_memory(process.pid))
        if stop():
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        time.sleep(0.05)
    return time.perf_counter() - begin, peak, process.returncode


def peak_memory(pid: int) -> float:
    """Return the most memory that a process has held so far, in MB."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    lines = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    return int(lines.get("VmHWM", "0 kB").split()[0]) / 1024


def same_rows(first: Path, second: Path) -> bool:
    """Say whether two Parquet files hold the same rows, reading a part of each at a time."""
    pairs = zip_longest(*(pq.ParquetFile(path).iter_batches(10_000) for path in (first, second)))
    return all(a is not None and a.equals(b) for a, b in pairs)


def main() -> None:
    """Make the documents, predict them twice and compare."""
    parser = new_parser(__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--encoder", default="minilm:static")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table, learnt, model = folder / "all.parquet", folder / "few.parquet", folder / "model"
        make_table(table, options.documents)
        make_table(learnt, 1_000)
        fit = command("fit", learnt, "--label", "label", "--encoder", options.encoder, "-o", model)
        subprocess.run(fit, check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        whole, broken = folder / "whole.parquet", folder / "broken.parquet"
        seconds, peak, code = watch(command("predict", model, table, "-o", whole))
        assert code == 0
        parts = folder / f".{broken.name}.parts"
        documents_in_half = options.documents // 2

        def half_done() -> bool:
            done = len(list(parts.glob("*"))) if parts.is_dir() else 0
            return done * 4_096 >= documents_in_half

        killed = watch(command("predict", model, table, "-o", broken), half_done)
        left = len(list(parts.glob("*")))
        resumed = watch(command("predict", model, table, "-o", broken, "--resume"))
        result: dict[str, Any] = {
            "documents": options.documents,
            "encoder": options.encoder,
            "seconds": seconds,
            "documents_per_second": options.documents / seconds,
            "peak_memory_mb": peak,
            "killed_after_seconds": killed[0],
            "killed_with": -(killed[2] or 0),
            "files_left_by_the_killed_run": left,
            "resumed_in_seconds": resumed[0],
            "peak_memory_mb_of_the_resumed_run": resumed[1],
            "rows_equal": resumed[2] == 0 and same_rows(whole, broken),
            "rows": pq.ParquetFile(broken).metadata.num_rows,
            "cores": os.cpu_count(),
        }
    bars = [
        Bar("undisturbed", seconds, f"{seconds:.0f} s, {peak:.0f} MB"),
        Bar("killed half-way", killed[0], f"{killed[0]:.0f} s, {killed[1]:.0f} MB"),
        Bar("resumed", resumed[0], f"{resumed[0]:.0f} s, {resumed[1]:.0f} MB"),
    ]
    title = f"{options.documents:,} documents: seconds and peak memory"
    report(result, options.output, title, bars)


if __name__ == "__main__":
    main()
