"""Progress of long work, on standard error: a bar in a terminal, one line each elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Advance", "progress_bar"]

Advance = Callable[[int], None]


@contextmanager
def progress_bar(description: str, total: int, *, enabled: bool = True) -> Iterator[Advance]:
    """Show progress while the block runs; the block calls the given function with steps done.

    Examples
    --------
    >>> with progress_bar("Reading", total=2, enabled=False) as advance:
    ...     advance(2)
    """
    if not enabled or total == 0:
        yield lambda steps: None
    elif sys.stderr.isatty():
        with _rich_bar(description, total) as advance:
            yield advance
    else:
        start = time.perf_counter()
        yield lambda steps: None
        print(f"{description}: done in {time.perf_counter() - start:.1f} s", file=sys.stderr)


@contextmanager
def _rich_bar(description: str, total: int) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(description, total=total)
        yield lambda steps: progress.advance(task, steps)
