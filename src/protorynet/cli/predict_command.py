"""`protorynet predict` and `export`: tables of any size labelled, and models for other runtimes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from protorynet.cli import command_inputs as inputs
from protorynet.cli.output import check_writable, note, print_json
from protorynet.errors import InputError, ModelFormatError
from protorynet.progress import row_progress

if TYPE_CHECKING:
    from protorynet.data import TableStream
    from protorynet.inference import Comparison, Predictor, Written

_STANDARD = "-"


@inputs.with_options
def predict(
    model: Path,
    sources: list[str],
    output: str | None = None,
    kind: Literal["csv", "tsv", "jsonl", "parquet"] | None = None,
    text: str | None = None,
    split: str | None = None,
    skip_empty: bool = False,
    encoder: str | None = None,
    resume: bool = False,
    force: bool = False,
    runtime: Literal["torch", "onnx"] = "torch",
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
) -> None:
    """Predict the labels of tables of texts, however large.

    The rows are written with new columns: prediction, probability, `p_<class>` for every class,
    trajectory, the ids of the prototypes that the sentences are matched to, and unfamiliar, the
    share of the sentences that are unlike the training data. Tables are read chunk by chunk, so
    memory does not grow with them. OUTPUT appears when it is whole; until then the chunks done lie
    in a hidden folder beside it, from which --resume continues.

    **Example:** `protorynet predict model new.csv -o labelled.csv`

    **Example:** `protorynet predict model 'logs/*.parquet' -o labelled.parquet --resume`

    **Example:** `zcat new.jsonl.gz | protorynet predict model - -o - --format jsonl | head`
    """
    if engine == "ray":
        if split is not None or kind is not None:
            raise InputError("--split and --format do not go with --engine ray.")
        if output is None or output == _STANDARD:
            raise InputError(
                "--engine ray needs -o OUTPUT: a folder of parts, or one .parquet file."
            )
        inputs.check_new(Path(output), replace=force)
        from protorynet.inference import predict_with_ray

        how: dict[str, Any] = {"text": text, "skip_empty": skip_empty, "encoder": encoder}
        how |= {"runtime": runtime, "address": address, "resume": resume}
        how |= {"progress": sys.stderr.isatty(), "tell": note}
        _tell_written(predict_with_ray(model, sources, output, **how), output)
        return
    if address is not None:
        raise InputError(f"--address {address} needs --engine ray.")
    from protorynet.data import find_files, open_stream

    if _STANDARD not in sources:
        sources = [str(path) for path in find_files(sources)]  # once for the whole run
    _check_paths(model, sources, output, resume=resume, force=force)
    if kind is not None and output not in (None, _STANDARD) and _STANDARD not in sources:
        raise InputError(
            f"--format {kind} is about standard input and output; files tell their formats by "
            "their endings. Leave it out."
        )
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

    from protorynet.inference import open_predictor, predict_to_stream

    # Keeping the embeddings of large tables costs more than it saves, and what is found there
    # differs in the last digit from what is computed in another company.
    predictor = open_predictor(model, encoder=encoder, runtime=runtime, cache=stream.is_small)
    if output is None or output == _STANDARD:
        ending, is_brief = f".{kind or 'csv'}", output is None
        with row_progress(stream.n_rows) as advance:
            written = predict_to_stream(
                stream, predictor, sys.stdout.buffer, ending, advance, is_brief=is_brief
            )
    else:
        options = {"encoder": encoder, "text": stream.text_column, "split": split}
        files = [] if _STANDARD in sources else [Path(source) for source in sources]
        identity = _identity(model, files) | options | {"skip_empty": skip_empty}
        written = _write(stream, predictor, Path(output), identity, resume=resume)
    if stream.n_rows is None and stream.n_blank:
        note(f"skipped {stream.n_blank:,} rows without text")
    inputs.note_left_out(written.n_left_out)
    _tell_written(written, output)


def _check_paths(
    model: Path, sources: list[str], output: str | None, *, resume: bool, force: bool
) -> None:
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
    inputs.check_new(path, replace=force)


def _identity(model: Path, files: list[Path]) -> dict[str, Any]:
    """Return what the rows done are made with and of."""
    from protorynet import __version__
    from protorynet.files import hash_folder

    read = [[str(p.resolve()), p.stat().st_size, p.stat().st_mtime_ns] for p in files]
    return {"protorynet": __version__, "model": hash_folder(model), "inputs": read}


def _write(
    stream: TableStream,
    predictor: Predictor,
    output: Path,
    identity: dict[str, Any],
    *,
    resume: bool,
) -> Written:
    """Predict a stream into a file, resuming where an earlier run stopped if that is asked for."""
    from protorynet.inference import PartStore, check_columns, predict_to_file

    schema = predictor.output_schema(stream.schema, text=stream.text_column)
    check_columns(schema, output.suffix.lower())
    store, can_resume = PartStore(output, identity), stream.n_rows is not None
    with store.locked():
        store.begin(resume=resume, can_resume=can_resume, tell=note)
        try:
            with (
                store.reporting_how_to_resume(note, can_resume=can_resume),
                row_progress(stream.n_rows) as advance,
            ):
                return predict_to_file(stream, predictor, store, advance)
        except KeyboardInterrupt:
            raise typer.Exit(130) from None


def _tell_written(written: Written, output: str | None) -> None:
    if written.n_unfamiliar:
        note(
            f"{written.n_unfamiliar:,} of {written.n_rows:,} documents are mostly unlike the "
            "training data (column 'unfamiliar' above 0.5); do not rely on their predictions"
        )
    if output not in (None, _STANDARD):
        note(f"wrote {written.n_rows:,} predictions to {output}")


@inputs.with_options
def export(
    model: Path,
    output: Path,
    kind: Literal["onnx"] = "onnx",
    precision: Literal["float32", "int8"] = "float32",
    check: Path | None = None,
    text: str | None = None,
    label: str | None = None,
    split: str | None = None,
    encoder: str | None = None,
    as_json: bool = False,
) -> None:
    """Export a model to ONNX, for predictions and explanations without torch.

    FOLDER holds the encoder, the prototypes and the reader; `protorynet predict FOLDER new.csv`
    and `protorynet explain FOLDER "A text."` use it, and so can any program with ONNX Runtime. In
    float32 nothing is written unless the model and its export say the same of the prototypes'
    sentences and some others.

    **Example:** `protorynet export model -o exported`

    **Example:** `protorynet export model -o small --precision int8 --check reviews.csv`
    """
    from protorynet.inference import compare, export_onnx, read_exported

    check_writable(output)
    table = measured = None
    if check is None and (text or label or split):
        raise InputError("--text, --label and --split need --check TABLE.")
    if check is not None:
        table = inputs.read_documents(
            check, text=text, label=label, split=split, prefer_split="test", skip_empty=True
        )
    # A GPU rounds the products of an LSTM, and the export is to agree with what was meant.
    predictor = inputs.load_classifier(model, encoder=encoder, device="cpu").predictor
    trial = export_onnx(predictor, output, precision=precision)
    if table is not None:
        measured = compare(predictor, output, table.texts, table.labels)
    size = sum(path.stat().st_size for path in output.iterdir())
    if as_json:
        tables = {"trial": vars(trial), "check": None if measured is None else vars(measured)}
        part = read_exported(output).encoder
        written = None if part is None else part.precision
        print_json({"folder": str(output), "format": kind, "precision": written, **tables})
        return
    _print_comparison("the prototypes' sentences and some others", trial)
    if measured is not None:
        _print_comparison(str(check), measured)
    note(f"wrote {output} ({size / 1e6:.0f} MB)")


def _print_comparison(what: str, comparison: Comparison) -> None:
    note(
        f"on {what} ({comparison.n_documents:,} documents): {comparison.same_labels:.2%} get the "
        f"same label, {comparison.same_prototypes:.2%} of the sentences the same prototype, and "
        f"probabilities differ by at most {comparison.largest_difference:.1g}"
    )
    if comparison.accuracy is not None:
        note(
            f"accuracy there: {comparison.accuracy:.2%}, and {comparison.exported_accuracy:.2%} "
            "when exported"
        )
