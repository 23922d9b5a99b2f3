"""`protorynet demo`: the whole story, no data needed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from protorynet.cli.output import result_console
from protorynet.cli.places import check_writable
from protorynet.errors import InputError

__all__ = ["demo"]


def demo(
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="Where the results go.")
    ] = Path("demo"),
    reviews: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=20, help="Reviews to learn from; fewer are quicker, but say less."
        ),
    ] = None,
) -> None:
    """Learn from real movie reviews, and show what was learnt.

    Prints the accuracy on reviews never seen, the prototypes and three trajectories, and leaves a
    folder with the model and a page to open in a browser. Takes a few minutes; a second run is
    quick.

    **Example:** `protorynet demo -o demo`
    """
    if output.exists() and not output.is_dir():
        raise InputError(f"{output} is a file; give the name of a folder with -o.")
    from protorynet.demo import MARK, TRAIN_REVIEWS, run_demo

    made_by_demo = (output / MARK).exists()
    if not made_by_demo and any((output / name).exists() for name in ("model", "index.html")):
        raise InputError(
            f"{output} holds a model or a page that no demo made; choose another folder with -o."
        )
    check_writable(output / "model")
    run_demo(output, result_console(), n_train=reviews or TRAIN_REVIEWS)
