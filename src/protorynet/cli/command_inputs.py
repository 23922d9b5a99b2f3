"""Options, tables and models that several commands share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from protorynet.cli.output import note
from protorynet.errors import EmptyDocumentError

if TYPE_CHECKING:
    from protorynet.audit import LabelledDocuments
    from protorynet.classifier import ProtoryNetClassifier
    from protorynet.data import Table

__all__ = [
    "AsHtml",
    "AsJson",
    "EncoderElsewhere",
    "LabelColumn",
    "ModelFolder",
    "ModelOrExport",
    "SkipEmpty",
    "SplitName",
    "TextColumn",
    "labelled_documents",
    "load_classifier",
    "naming_rows",
    "read_documents",
]

_TABLE = "The table"
_OUTPUT = "Output"

ModelFolder = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model directory, as made by `fit`.")
]
ModelOrExport = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL", help="Model directory, as made by `fit`, or a folder made by `export`."
    ),
]
TextColumn = Annotated[
    str | None,
    typer.Option(
        "--text",
        metavar="COLUMN",
        help="Column of texts. Guessed if not given, and the guess is told.",
        rich_help_panel=_TABLE,
    ),
]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="COLUMN",
        help="Column of labels. Guessed if not given, and the guess is told.",
        rich_help_panel=_TABLE,
    ),
]
SplitName = Annotated[
    str | None,
    typer.Option(
        "--split",
        metavar="NAME",
        help="Read only the rows whose column 'split' says so.",
        rich_help_panel=_TABLE,
    ),
]
SkipEmpty = Annotated[
    bool,
    typer.Option(
        "--skip-empty",
        help="Leave out rows without text, and say how many, instead of refusing the table.",
        rich_help_panel=_TABLE,
    ),
]
EncoderElsewhere = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        metavar="NAME",
        help="Name or folder of the model's encoder, where it lies elsewhere than in training.",
    ),
]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print JSON on standard output, and nothing else there.",
        rich_help_panel=_OUTPUT,
    ),
]
AsHtml = Annotated[
    Path | None,
    typer.Option(
        "--html",
        metavar="FILE",
        help="Write a self-contained page that any browser shows.",
        rich_help_panel=_OUTPUT,
    ),
]


def read_documents(source: Path, **how: Any) -> Table:
    """Read a table as `read_table` does, and tell what was guessed or left out."""
    from protorynet.data import read_table

    table = read_table(source, **how)
    for remark in table.notes:
        note(remark)
    return table


def load_classifier(
    model: Path,
    *,
    encoder: str | None,
    device: str = "auto",
    skip_empty: bool = False,
    verbose: bool = True,
) -> ProtoryNetClassifier:
    """Read a model directory with its encoder."""
    from protorynet.classifier import ProtoryNetClassifier

    classifier = ProtoryNetClassifier.load(model, encoder=encoder, device=device, verbose=verbose)
    return classifier.set_params(on_empty="skip") if skip_empty else classifier


@contextmanager
def naming_rows(table: Table) -> Iterator[None]:
    """Let errors about documents name their rows in the file, not among those read."""
    try:
        yield
    except EmptyDocumentError as error:
        raise EmptyDocumentError([int(table.rows[row]) for row in error.rows]) from None


def labelled_documents(classifier: ProtoryNetClassifier, table: Table) -> LabelledDocuments:
    """Split and encode the texts of a table, those without a sentence included."""
    from protorynet.audit import LabelledDocuments

    with naming_rows(table):
        sentences, embeddings = classifier.prepare(table.texts, on_empty="skip")
    targets = classifier.model_.labels.encode(table.labels)
    return LabelledDocuments(table.texts, table.rows, sentences, embeddings, targets)
