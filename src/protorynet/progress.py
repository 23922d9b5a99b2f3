"""Progress of long work: a bar in a terminal, one line each elsewhere, or told to a listener."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Advance = Callable[[int], None]
Listener = Callable[[str, float], None]

_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def progress_told(listener: Listener) -> Iterator[None]:
    """Tell a listener, in place of standard error, how far long work in the block is.

    It is called with what is done and the share of it that is done.

    Examples
    --------
    >>> with progress_told(lambda what, share: print(what, share)):
    ...     with progress_bar("Reading", total=2, enabled=False) as advance:
    ...         advance(1)
    Reading 0.5
    """
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


@contextmanager
def progress_bar(description: str, total: int, *, enabled: bool = True) -> Iterator[Advance]:
    """Show progress while the block runs; the block calls the given function with steps done."""
    listener = _LISTENER.get()
    if listener is not None and total:
        yield _telling(listener, description, total)
    elif not enabled or total == 0:
        yield lambda steps: None
    elif sys.stderr.isatty():
        with _rich_bar(description, total) as advance:
            yield advance
    else:
        start = time.perf_counter()
        yield lambda steps: None
        print(f"{description}: done in {time.perf_counter() - start:.1f} s", file=sys.stderr)


def _telling(listener: Listener, description: str, total: int) -> Advance:
    done = 0

    def advance(steps: int) -> None:
        nonlocal done
        done += steps
        listener(description, min(done / total, 1.0))

    return advance


@contextmanager
def _rich_bar(description: str, total: int | None, unit: str = "") -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.0f} {unit}/s" if unit and task.speed else "")

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f}" + ("" if total is None else " of {task.total:,.0f}")),
        Rate(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=600) as progress:
        task = progress.add_task(description, total=total)
        yield lambda steps: progress.advance(task, steps)


@contextmanager
def row_progress(total: int | None) -> Iterator[Advance]:
    """Show rows done, rows per second and the time left; the block calls with the rows done.

    Nothing is shown where standard error is no terminal. `total` is None where it is not known.
    """
    if not sys.stderr.isatty():
        yield lambda rows: None
        return
    with _rich_bar("Predicting", total, "rows") as advance:
        yield advance
