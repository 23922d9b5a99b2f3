"""`protorynet export`: a model for other runtimes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from protorynet.cli.command_inputs import (
    AsJson,
    EncoderElsewhere,
    LabelColumn,
    ModelFolder,
    SplitName,
    TextColumn,
    load_classifier,
    read_documents,
)
from protorynet.cli.output import check_writable, note, print_json
from protorynet.errors import InputError

if TYPE_CHECKING:
    from protorynet.inference import Comparison

__all__ = ["export"]


def export(
    model: ModelFolder,
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="FOLDER",
            help="Folder to write; an earlier export there is replaced.",
        ),
    ],
    kind: Annotated[
        Literal["onnx"], typer.Option("--format", metavar="FORMAT", help="Only onnx, so far.")
    ] = "onnx",
    precision: Annotated[
        Literal["float32", "int8"],
        typer.Option(
            metavar="KIND",
            help="float32 gives the model's own probabilities; int8 is smaller and faster, and "
            "its probabilities differ somewhat.",
        ),
    ] = "float32",
    check: Annotated[
        Path | None,
        typer.Option(
            metavar="TABLE",
            help="Labelled table on which the model and its export are compared as well; only its "
            "rows with split 'test', where it has such.",
            rich_help_panel="The table",
        ),
    ] = None,
    text: TextColumn = None,
    label: LabelColumn = None,
    split: SplitName = None,
    encoder: EncoderElsewhere = None,
    as_json: AsJson = False,
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
    table = None
    if check is None and (text or label or split):
        raise InputError("--text, --label and --split need --check TABLE.")
    if check is not None:
        table = read_documents(
            check, text=text, label=label, split=split, prefer_split="test", skip_empty=True
        )
    # A GPU rounds the products of an LSTM, and the export is to agree with what was meant.
    predictor = load_classifier(model, encoder=encoder, device="cpu").predictor
    trial = export_onnx(predictor, output, precision=precision)
    measured = None
    if table is not None:
        measured = compare(predictor, output, table.texts, table.labels)
    size = sum(path.stat().st_size for path in output.iterdir())
    if as_json:
        tables = {"trial": vars(trial), "check": None if measured is None else vars(measured)}
        part = read_exported(output).encoder
        written = None if part is None else part.precision
        print_json({"folder": str(output), "format": kind, "precision": written, **tables})
        return
    _tell("the prototypes' sentences and some others", trial)
    if measured is not None:
        _tell(str(check), measured)
    note(f"wrote {output} ({size / 1e6:.0f} MB)")


def _tell(what: str, comparison: Comparison) -> None:
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
