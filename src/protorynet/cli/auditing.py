"""`protorynet audit`: what to know before a model is trusted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from protorynet.cli.documents import labelled_documents, load_classifier, read_documents
from protorynet.cli.options import (
    AsJson,
    EncoderElsewhere,
    LabelColumn,
    ModelFolder,
    TextColumn,
)
from protorynet.cli.output import print_json, result_console
from protorynet.errors import InputError, TableError

if TYPE_CHECKING:
    from protorynet.data import Table

__all__ = ["audit"]

_TABLES = "The tables"


def audit(
    model: ModelFolder,
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            help="Table whose column 'split' says 'train' or 'test'; or give --train and --test.",
        ),
    ] = None,
    train: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Table that the model was made from; its rows with split 'train' if it has such.",
            rich_help_panel=_TABLES,
        ),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Table of other labelled texts; its rows with split 'test' if it has such.",
            rich_help_panel=_TABLES,
        ),
    ] = None,
    text: TextColumn = None,
    label: LabelColumn = None,
    encoder: EncoderElsewhere = None,
    as_json: AsJson = False,
) -> None:
    """Tell what a careful colleague would, before a model is trusted.

    Texts in both training and test data, leftovers that give the answer away, boilerplate among
    the prototypes, doubtful labels, test data unlike the training data, and more: each with its
    evidence and with what to do.

    **Example:** `protorynet audit model reviews.csv`
    """
    tables = _read_tables(data, train, test, text=text, label=label)
    classifier = load_classifier(model, encoder=encoder)
    from protorynet.audit import audit_model

    splits = (labelled_documents(classifier, table) for table in tables)
    found = audit_model(classifier.model_, *splits)
    if as_json:
        print_json(found.to_dict())
        return
    from protorynet.report import print_audit

    print_audit(found, result_console())


def _read_tables(
    data: Path | None, train: Path | None, test: Path | None, **columns: str | None
) -> tuple[Table, Table]:
    """Return the tables of training and test documents."""
    if data is not None and train is None and test is None:
        try:
            trained = read_documents(data, split="train", skip_empty=True, **columns)
        except TableError as error:
            raise TableError(
                f"{error} Two tables are given by --train FILE and --test FILE."
            ) from None
        # What was guessed and told once holds for the same table.
        columns = {"text": trained.text_column, "label": trained.label_column}
        return trained, read_documents(data, split="test", skip_empty=True, **columns)
    if data is not None or train is None or test is None:
        raise InputError(
            "give either DATA, a table with a column 'split' of 'train' and 'test', or both "
            "--train FILE and --test FILE."
        )
    return (
        read_documents(train, prefer_split="train", skip_empty=True, **columns),
        read_documents(test, prefer_split="test", skip_empty=True, **columns),
    )
