"""Going on with predictions that were stopped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from protorynet.cli.output import note
from protorynet.errors import CheckpointError

if TYPE_CHECKING:
    from protorynet.scoring import PartsFolder

__all__ = ["parts_for", "prepare_parts", "telling_how_to_go_on"]

_WORDS = {
    "protorynet": "the version of protorynet",
    "model": "the model",
    "encoder": "--encoder",
    "text": "the column of texts",
    "split": "--split",
    "skip_empty": "--skip-empty",
    "inputs": "the input",
}


def parts_for(output: Path, model: Path, files: list[Path], options: dict[str, Any]) -> PartsFolder:
    """Return the folder for the parts of an output, which knows what they are made of and with."""
    from protorynet import __version__
    from protorynet.scoring import PartsFolder, model_digest

    inputs = []
    for path in files:
        status = path.stat()
        inputs.append([str(path.resolve()), status.st_size, status.st_mtime_ns])
    identity = {"protorynet": __version__, "model": model_digest(model), "inputs": inputs}
    return PartsFolder(output, {**identity, **options})


def prepare_parts(parts: PartsFolder, *, resume: bool, skip_empty: bool) -> None:
    """Go on with the parts there, make room for new ones, or refuse to do either."""
    changed = parts.differences()
    n_done = sum(part.n_rows for part in parts.finished())
    # Parts made without --skip-empty hold no document that it would have left out.
    if changed == ["skip_empty"] and skip_empty:
        changed = []
    if changed is None or not n_done:
        if resume:
            note(f"there is nothing to go on from beside {parts.output}; starting anew")
        parts.start()
    elif resume and changed:
        raise CheckpointError(
            f"cannot go on with {parts.output}: {_changes(changed)} changed since it was begun. "
            "Run the command as it was then; or start anew, without --resume."
        )
    elif resume:
        note(f"going on after {n_done:,} rows that are done")
        parts.go_on()
    elif changed:
        note(f"starting anew: {parts.folder} is of another run")
        parts.start()
    else:
        raise CheckpointError(
            f"{n_done:,} rows of {parts.output} are done already. Go on with --resume; or remove "
            f"the folder {parts.folder} to start anew."
        )


def _changes(names: list[str]) -> str:
    return " and ".join(_WORDS.get(name, name) for name in names)


@contextmanager
def telling_how_to_go_on(parts: PartsFolder, *, can_go_on: bool) -> Iterator[None]:
    """Say, when the block is stopped or fails, what is done and how to go on from there."""
    try:
        yield
    except BaseException as error:
        n_done = sum(part.n_rows for part in parts.finished())
        is_stopped = isinstance(error, KeyboardInterrupt)
        if not can_go_on:
            parts.remove()
        if can_go_on and n_done:
            word = "stopped" if is_stopped else "not finished"
            note(f"{word}; {n_done:,} rows are done. Go on with the same command and --resume.")
        elif is_stopped:
            note("stopped; nothing was written.")
        if is_stopped:
            raise typer.Exit(130) from None
        raise
