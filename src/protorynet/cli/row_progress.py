"""The progress of rows through a long run, in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from protorynet.progress import Advance

__all__ = ["row_progress"]


@contextmanager
def row_progress(total: int | None) -> Iterator[Advance]:
    """Show rows done, rows per second and the time left; the block calls with the rows done.

    Nothing is shown where standard error is no terminal.

    Parameters
    ----------
    total
        All rows; None where that is not known.
    """
    if not sys.stderr.isatty():
        yield lambda rows: None
        return
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
            return Text(f"{task.speed:,.0f} rows/s" if task.speed else "")

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f}" + ("" if total is None else " of {task.total:,.0f}")),
        Rate(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=600) as progress:
        task = progress.add_task("Predicting", total=total)
        yield lambda rows: progress.advance(task, rows)
