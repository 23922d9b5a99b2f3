"""What the benchmarks share: options, turns and clocks, processes of their own, made-up reviews."""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    import torch

PROGRAM = [sys.executable, "-c", "from protorynet.cli import main; raise SystemExit(main())"]
THINGS = ("room", "bed", "hotel", "pool", "staff", "view", "breakfast", "shower", "lobby", "bar")
GOOD = ("lovely", "clean", "perfect", "friendly", "quiet", "wonderful")
BAD = ("dirty", "awful", "broken", "noisy", "rude", "horrible")
OTHERS = ("the", "and", "but", "we", "they", "never", "very", "said", "that", "it", "in", "there")
T = TypeVar("T")


def new_parser(about: str | None, output: str | None = None) -> argparse.ArgumentParser:
    """Return a parser of options, described by a module's docstring, that knows the output."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        *("-o", "--output", "--json"),
        type=Path,
        default=output,
        help="JSON file to write what is measured to; its picture lies beside it, as SVG",
    )
    return parser


class Times(NamedTuple):
    """Seconds by the clock, and of the processor by this process and those it has waited for."""

    seconds: float
    processor_seconds: float


def measure(work: Callable[[], object]) -> Times:
    """Return how long some work takes."""
    gc.collect()  # what others left is not paid for here
    begin, before = time.perf_counter(), _processor_seconds()
    work()
    return Times(time.perf_counter() - begin, _processor_seconds() - before)


def _processor_seconds() -> float:
    return time.process_time() + sum(os.times()[2:4])  # of children that have ended


def take_turns(ways: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """Return what each way gives in each round, and say how long it took.

    By turns, other work on the machine harms none of them more than the others.
    """
    found: dict[str, list[T]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            begin = time.perf_counter()
            found[name].append(way())
            print(f"{name}: {time.perf_counter() - begin:.2f} s", file=sys.stderr, flush=True)
    return found


def best_times(ways: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, Times]:
    """Let all take turns; return the best seconds of each, by the clock and of the processor."""
    found = take_turns({name: partial(measure, way) for name, way in ways.items()}, rounds)
    return {name: Times(*map(min, zip(*each, strict=True))) for name, each in found.items()}


def wait(device: torch.device) -> None:
    """Wait until a GPU has done what it was given."""
    if device.type == "cuda":
        import torch

        torch.cuda.synchronize()


def run_apart(*words: object, threads: int | None, **more: str) -> Any:
    """Run Python in a process of its own, and return the JSON in the last line that it prints.

    BLAS reads the number of threads when it is loaded; with None it has as many as it likes.
    """
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), **more}
    if threads is None:
        del environment["OMP_NUM_THREADS"]
    command = [sys.executable, *map(str, words)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def make_review(
    draw: random.Random,
    *,
    is_good: bool,
    sentences: tuple[int, int],
    more_words: tuple[int, int] = (0, 0),
) -> str:
    """Make a review of so many sentences of seven words and so many more, hardly ever repeated."""
    words = GOOD if is_good else BAD

    def sentence() -> str:
        more = "".join(f" {draw.choice(OTHERS)}" for _ in range(draw.randint(*more_words)))
        number = draw.randrange(10**6)
        return f"The {draw.choice(THINGS)} of room {number} was {draw.choice(words)}{more}."

    return " ".join(sentence() for _ in range(draw.randint(*sentences)))


def make_reviews(
    count: int, *, seed: int = 0, **options: tuple[int, int]
) -> tuple[list[str], list[str]]:
    """Make reviews as `make_review` does, by turns good and bad, with their labels."""
    draw = random.Random(seed)  # noqa: S311
    texts = [make_review(draw, is_good=n % 2 == 0, **options) for n in range(count)]
    return texts, ["bad" if n % 2 else "good" for n in range(count)]
