"""Small fits with the default number of threads, against the best number found by hand.

Each fit of movie reviews, or of another table, runs in a process of its own with an empty cache:
with the default, and with OMP_NUM_THREADS at 1, 2, 4, … up to the cores; alone, and beside a
process for each core that never rests. All take turns, the best round of each counts, and the ratio
is of one run::

    python benchmarks/threads.py [--data FILE] [--documents 200] [--rounds 2] [--json FILE]

What else the machine does meanwhile slows all ways alike only if it is steady: `load` is what it
did before each condition, over the last minute.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from charts import Bar, report
from measuring import new_parser, run_apart, take_turns

FIT = """
import json, sys, time
from protorynet import ProtoryNetClassifier, read_table
from protorynet.demo import choose_reviews, installed_reviews
from protorynet.encoders import load_encoder
count, data = int(sys.argv[1]), sys.argv[2:]
train = read_table(data[0]) if data else choose_reviews(installed_reviews(), count)[0]
rows = range(0, len(train.texts), max(1, len(train.texts) // count))[:count]
texts, labels = [train.texts[row] for row in rows], [train.labels[row] for row in rows]
encoder = load_encoder("minilm", device="cpu")
encoder.encode(["Ready."])
begin = time.perf_counter()
model = ProtoryNetClassifier(encoder, device="cpu", cache=False).fit(texts, labels)
seconds = {"all": time.perf_counter() - begin, **model.model_.training.seconds}
seconds["encode"] = 2 * seconds["all"] - sum(seconds.values())
print(json.dumps({"seconds": seconds, "accuracy": model.model_.training.validation_accuracy}))
"""


def fit(documents: int, threads: int | None, data: list[str]) -> dict[str, Any]:
    """Fit in a process of its own, and return what it measured."""
    found: dict[str, Any] = run_apart("-c", FIT, documents, *data, threads=threads)
    return found


@contextmanager
def busy_cores(wanted: bool) -> Iterator[None]:
    """Keep every core busy meanwhile."""
    count = len(os.sched_getaffinity(0)) if wanted else 0
    burning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in burning:
            process.kill()
            process.wait()


def compare(
    documents: int, rounds: int, counts: list[int], data: list[str], *, is_busy: bool
) -> dict[str, Any]:
    """Let all numbers of threads take turns."""
    load = os.getloadavg()[0]
    numbers: dict[str, int | None] = {"default": None} | {str(count): count for count in counts}
    ways = {name: partial(fit, documents, number, data) for name, number in numbers.items()}
    with busy_cores(is_busy):
        best = {
            name: min(fits, key=lambda each: float(each["seconds"]["all"]))
            for name, fits in take_turns(ways, rounds).items()
        }
    by_hand = min(best[str(count)]["seconds"]["all"] for count in counts)
    default = best["default"]["seconds"]["all"]
    measured = {"threads": best, "default_against_best": default / by_hand, "load": load}
    return {"documents": documents, "beside_busy_cores": is_busy, **measured}


def main() -> None:
    """Measure idle and busy, small and less small."""
    parser = new_parser(__doc__)
    parser.add_argument("--data", help="a labelled table; the installed movie reviews if not given")
    parser.add_argument("--documents", type=int, nargs="+", default=[200])
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    data = [options.data] if options.data else []
    cores = len(os.sched_getaffinity(0))
    counts = sorted({1, cores, *(2**power for power in range(10) if 2**power < cores)})
    result = {
        "cores": cores,
        "fits": [
            compare(documents, options.rounds, counts, data, is_busy=is_busy)
            for documents in options.documents
            for is_busy in (False, True)
        ],
    }
    bars = [
        Bar(
            f"{each['documents']:,} documents{', busy' * each['beside_busy_cores']}: {name}",
            way["seconds"]["all"],
            f"{way['seconds']['all']:.0f} s",
        )
        for each in result["fits"]
        for name, way in each["threads"].items()
    ]
    report(result, options.output, "Seconds of a fit, by threads", bars)


if __name__ == "__main__":
    main()
