"""`protorynet predict`: labels, probabilities and trajectories for a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from protorynet.cli.documents import load_classifier, naming_rows, read_documents
from protorynet.cli.options import (
    EncoderElsewhere,
    ModelFolder,
    SkipEmpty,
    SplitName,
    TextColumn,
)
from protorynet.cli.output import note
from protorynet.cli.places import check_writable
from protorynet.errors import InputError

__all__ = ["predict"]


def predict(
    model: ModelFolder,
    source: Annotated[
        Path, typer.Argument(metavar="INPUT", help="Table of texts: CSV, TSV, JSONL or Parquet.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="OUTPUT",
            help="Table to write: .csv, .tsv, .jsonl or .parquet. Without it, predictions are "
            "printed as CSV.",
        ),
    ] = None,
    text: TextColumn = None,
    split: SplitName = None,
    skip_empty: SkipEmpty = False,
    encoder: EncoderElsewhere = None,
) -> None:
    """Predict the labels of a table of texts.

    The rows are written with new columns: prediction, probability, p_<class> for every class, and
    trajectory, the ids of the prototypes that the sentences are matched to.

    **Example:** `protorynet predict model new.csv -o labelled.csv`
    """
    from protorynet.cli import tables

    if output is not None:
        _check_output(output, source, tables.ENDINGS)
    table = read_documents(source, text=text, split=split, labelled=False, skip_empty=skip_empty)
    columns = tables.columns_of(source)
    classifier = load_classifier(model, encoder=encoder, skip_empty=skip_empty)
    names = tables.prediction_names(classifier.model_.labels.names)
    if output is not None and (taken := [name for name in names if name in columns.column_names]):
        raise InputError(
            f"{source} has the column(s) {', '.join(map(repr, taken))} already, which predict "
            "would write. Rename or remove them."
        )
    with naming_rows(table):
        predictions, filled = tables.predictions(classifier, table.texts)
    rows = table.rows[filled]
    if left_out := len(table) - len(rows):
        note(f"left out {left_out:,} documents that hold no sentence")
    if output is None:
        numbered = predictions.add_column(0, "row", [rows])
        sys.stdout.write(tables.as_bytes(numbered, ".csv").decode())
        return
    tables.write(tables.beside(columns.take(rows), predictions), output)
    note(f"wrote {len(rows):,} predictions to {output}")


def _check_output(output: Path, source: Path, endings: tuple[str, ...]) -> None:
    """Refuse, before any work, an output that cannot or should not be written."""
    if output.suffix.lower() not in endings:
        raise InputError(
            f"{output} has an ending that is not known; known are {', '.join(endings)}."
        )
    if output.exists() and source.exists() and output.samefile(source):
        raise InputError(f"{output} is the input; choose another name for the output.")
    if output.is_dir():
        raise InputError(f"{output} is a directory; give the name of a file.")
    check_writable(output)
