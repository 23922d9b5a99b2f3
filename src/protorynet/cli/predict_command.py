"""`protorynet predict`: labels, probabilities and trajectories for tables of any size."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from protorynet.cli.command_inputs import (
    EncoderElsewhere,
    ModelOrExport,
    SkipEmpty,
    SplitName,
    TextColumn,
)
from protorynet.cli.output import check_writable, note
from protorynet.errors import InputError, ModelFormatError
from protorynet.progress import row_progress

if TYPE_CHECKING:
    from protorynet.data import TableStream
    from protorynet.inference import Predictor, Written

__all__ = ["predict"]

_LARGE = "Large tables"
_STANDARD = "-"


def predict(
    model: ModelOrExport,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT",
            help="Tables of texts: CSV, TSV, JSONL (each also .gz) or Parquet; a folder of Parquet "
            "files; a pattern in quotes, such as 'data/\\*.parquet'; or - for standard input.",
        ),
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="OUTPUT",
            help="Table to write: .csv, .tsv, .jsonl or .parquet, or - for standard output. "
            "Without it, predictions alone are printed as CSV.",
        ),
    ] = None,
    kind: Annotated[
        Literal["csv", "tsv", "jsonl", "parquet"] | None,
        typer.Option(
            "--format",
            help="Format of standard input and output. Without it, input that begins with a brace "
            "is JSONL and other input CSV; output is CSV.",
            rich_help_panel="The table",
        ),
    ] = None,
    text: TextColumn = None,
    split: SplitName = None,
    skip_empty: SkipEmpty = False,
    encoder: EncoderElsewhere = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on with a run that was stopped or killed: add it to the same command. No row "
            "is lost or written twice.",
            rich_help_panel=_LARGE,
        ),
    ] = False,
    runtime: Annotated[
        Literal["torch", "onnx"],
        typer.Option(
            help="What computes. onnx needs a model made by `protorynet export`, which runs in "
            "ONNX Runtime, without torch, in any case.",
            rich_help_panel=_LARGE,
        ),
    ] = "torch",
    engine: Annotated[
        Literal["local", "ray"],
        typer.Option(
            help="This machine alone, or a Ray cluster (Parquet only).", rich_help_panel=_LARGE
        ),
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="The Ray cluster. Without it, Ray starts on this machine.",
            rich_help_panel=_LARGE,
        ),
    ] = None,
) -> None:
    """Predict the labels of tables of texts, however large.

    The rows are written with new columns: prediction, probability, `p_<class>` for every class, and
    trajectory, the ids of the prototypes that the sentences are matched to. Tables are read chunk
    by chunk, so memory does not grow with them. OUTPUT appears when it is whole; until then the
    chunks done lie in a hidden folder beside it, from which --resume continues.

    **Example:** `protorynet predict model new.csv -o labelled.csv`

    **Example:** `protorynet predict model 'logs/*.parquet' -o labelled.parquet --resume`

    **Example:** `zcat new.jsonl.gz | protorynet predict model - -o - --format jsonl | head`
    """
    if engine == "ray":
        if split is not None or kind is not None:
            raise InputError("--split and --format do not go with --engine ray.")
        how = {"text": text, "skip_empty": skip_empty, "encoder": encoder, "runtime": runtime}
        _predict_with_ray(model, sources, output, **how, address=address, resume=resume)
        return
    if address is not None:
        raise InputError(f"--address {address} needs --engine ray.")
    sources = _found(sources)
    _check_places(model, sources, output, resume=resume)
    if kind is not None and output not in (None, _STANDARD) and _STANDARD not in sources:
        raise InputError(
            f"--format {kind} is about standard input and output; files tell their formats by "
            "their endings. Leave it out."
        )

    from protorynet.data import open_stream

    stream = open_stream(
        sources,
        text=text,
        split=split,
        skip_empty=skip_empty,
        kind=kind,
        # There is none where it was closed, which matters to nobody who names files.
        standard_input=sys.stdin.buffer if _STANDARD in sources and sys.stdin else None,
    )
    for remark in stream.notes:
        note(remark)

    def opened() -> Predictor:
        from protorynet.inference import open_predictor

        # Keeping the embeddings of large tables costs more than it saves, and what is found there
        # differs in the last digit from what is computed in another company.
        return open_predictor(model, encoder=encoder, runtime=runtime, cache=stream.is_small)

    if output is None or output == _STANDARD:
        written = _print(stream, opened(), kind or "csv", is_brief=output is None)
    else:
        options = {"encoder": encoder, "text": stream.text_column, "split": split}
        files = [] if _STANDARD in sources else [Path(source) for source in sources]
        identity = _identity(model, files) | options | {"skip_empty": skip_empty}
        written = _write(stream, opened, Path(output), identity, resume=resume)
    if stream.n_rows is None and stream.n_blank:
        note(f"skipped {stream.n_blank:,} rows without text")
    if written.n_left_out:
        note(f"left out {written.n_left_out:,} documents that hold no sentence")
    if output not in (None, _STANDARD):
        note(f"wrote {written.n_rows:,} predictions to {output}")


def _found(sources: list[str]) -> list[str]:
    """Return the files that patterns and folders stand for, looked up once for the whole run."""
    from protorynet.data import find_files

    return sources if _STANDARD in sources else [str(path) for path in find_files(sources)]


def _check_places(model: Path, sources: list[str], output: str | None, *, resume: bool) -> None:
    """Refuse, before any work, what cannot be read, written or resumed."""
    if not model.is_dir():
        raise ModelFormatError(
            f"there is no model directory {model}; check the path, or make one with: "
            f"protorynet fit TRAIN -o {model}"
        )
    if resume and _STANDARD in sources:
        raise InputError(
            "standard input cannot be read again, so --resume has nothing to resume. Save the "
            "input as a file."
        )
    if output is None or output == _STANDARD:
        if resume:
            raise InputError("--resume needs -o OUTPUT, the file that the stopped run was writing.")
        return
    from protorynet.inference import ENDINGS

    path = Path(output)
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"{path} has an ending that is not known; known are {', '.join(ENDINGS)}.")
    if path.is_dir():
        raise InputError(f"{path} is a directory; give the name of a file.")
    check_writable(path.resolve(), *map(Path, sources))


def _identity(model: Path, files: list[Path]) -> dict[str, Any]:
    """Return what the rows done are made with and of."""
    from protorynet import __version__
    from protorynet.inference import hash_model

    inputs = []
    for path in files:
        status = path.stat()
        inputs.append([str(path.resolve()), status.st_size, status.st_mtime_ns])
    return {"protorynet": __version__, "model": hash_model(model), "inputs": inputs}


def _write(
    stream: TableStream,
    opened: Callable[[], Predictor],
    output: Path,
    identity: dict[str, Any],
    *,
    resume: bool,
) -> Written:
    """Predict a stream into a file, resuming where an earlier run stopped if that is asked for."""
    from protorynet.inference import PartStore, check_columns, predict_to_file

    store, predictors, can_resume = PartStore(output, identity), [], stream.n_rows is not None

    def check() -> None:
        # A model that does not load must cost nobody the rows that are done, nor must a table that
        # the output cannot hold.
        predictors.append(opened())
        schema = predictors[0].output_schema(stream.schema, text=stream.text_column)
        check_columns(schema, output.suffix.lower())

    with store.locked():
        store.begin(resume=resume, can_resume=can_resume, tell=note, check=check)
        try:
            with (
                store.reporting_how_to_resume(note, can_resume=can_resume),
                row_progress(stream.n_rows) as advance,
            ):
                return predict_to_file(stream, predictors[0], store, advance)
        except KeyboardInterrupt:
            raise typer.Exit(130) from None


def _print(stream: TableStream, predictor: Predictor, kind: str, *, is_brief: bool) -> Written:
    from protorynet.inference import predict_to_stream

    with row_progress(stream.n_rows) as advance:
        return predict_to_stream(
            stream, predictor, sys.stdout.buffer, f".{kind}", advance, is_brief=is_brief
        )


def _predict_with_ray(
    model: Path,
    sources: list[str],
    output: str | None,
    **how: Any,
) -> None:
    from protorynet.inference import predict_with_ray

    if output is None or output == _STANDARD:
        raise InputError("--engine ray needs -o OUTPUT: a folder of parts, or one .parquet file.")
    n_rows = predict_with_ray(
        model, sources, output, progress=sys.stderr.isatty(), tell=note, **how
    )
    note(f"wrote {n_rows:,} predictions to {output}")
