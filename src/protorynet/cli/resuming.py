"""Going on with predictions that were stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from protorynet.cli.output import note
from protorynet.cli.row_progress import row_progress
from protorynet.errors import CheckpointError

if TYPE_CHECKING:
    from protorynet.data import TableStream
    from protorynet.inference import PartsFolder, Predictor, Written

__all__ = ["parts_for", "write_in_parts"]

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
    from protorynet.inference import PartsFolder, hash_model

    inputs = []
    for path in files:
        status = path.stat()
        inputs.append([str(path.resolve()), status.st_size, status.st_mtime_ns])
    identity = {"protorynet": __version__, "model": hash_model(model), "inputs": inputs}
    return PartsFolder(output, {**identity, **options})


def write_in_parts(
    stream: TableStream, opened: Callable[[], Predictor], parts: PartsFolder, *, resume: bool
) -> Written:
    """Predict a stream into a file, going on where an earlier run stopped if that is asked for.

    Parameters
    ----------
    stream
        The documents.
    opened
        Loads the model.
    parts
        The folder for the parts of the output.
    resume
        Go on with what is there.
    """
    from protorynet.inference import check_columns, predict_to_file

    can_go_on = stream.n_rows is not None
    with parts.locked():
        goes_on = _belong_to_this_run(
            parts, resume=resume, skip_empty=stream.skip_empty, can_go_on=can_go_on
        )
        # A model that does not load must cost nobody the rows that are done, nor must a table that
        # the output cannot hold.
        predictor = opened()
        schema = predictor.output_schema(stream.schema, text=stream.text_column)
        check_columns(schema, parts.output.suffix.lower())
        if goes_on:
            parts.go_on()
        else:
            parts.start()
        with (
            _telling_how_to_go_on(parts, can_go_on=can_go_on),
            row_progress(stream.n_rows) as advance,
        ):
            return predict_to_file(stream, predictor, parts, advance)


def _belong_to_this_run(
    parts: PartsFolder, *, resume: bool, skip_empty: bool, can_go_on: bool
) -> bool:
    """Say whether to go on with the parts there; refuse to lose those that one could go on with."""
    changed = parts.differences()
    n_done = sum(part.n_rows for part in parts.finished())
    # Parts made without --skip-empty hold no document that it would have left out.
    if changed == ["skip_empty"] and skip_empty:
        changed = []
    if changed is None or not n_done:
        if resume:
            note(f"there is nothing to go on from beside {parts.output}; starting anew")
        return False
    if resume and changed:
        raise CheckpointError(
            f"cannot go on with {parts.output}: {_changes(changed)} changed since it was begun. "
            "Run the command as it was then; or start anew, without --resume."
        )
    if changed or not can_go_on:
        note(f"starting anew: {parts.folder} is of another run")
        return False
    if not resume:
        raise CheckpointError(
            f"{n_done:,} rows of {parts.output} are done already. Go on with --resume; or remove "
            f"the folder {parts.folder} to start anew."
        )
    note(f"going on after {n_done:,} rows that are done")
    return True


def _changes(names: list[str]) -> str:
    return " and ".join(_WORDS.get(name, name) for name in names)


@contextmanager
def _telling_how_to_go_on(parts: PartsFolder, *, can_go_on: bool) -> Iterator[None]:
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
