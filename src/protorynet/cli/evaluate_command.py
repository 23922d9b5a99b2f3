"""`protorynet evaluate` and `audit`: how right a model is, and how far to trust it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from protorynet.cli.command_inputs import (
    AsJson,
    EncoderElsewhere,
    LabelColumn,
    ModelFolder,
    SkipEmpty,
    SplitName,
    TextColumn,
    labelled_documents,
    load_classifier,
    naming_rows,
    read_documents,
)
from protorynet.cli.output import note, print_json, result_console
from protorynet.errors import InputError, TableError

if TYPE_CHECKING:
    from protorynet.data import Table

__all__ = ["audit", "evaluate"]


def evaluate(
    model: ModelFolder,
    test: Annotated[
        Path, typer.Argument(metavar="TEST", help="Table of labelled texts not used in training.")
    ],
    text: TextColumn = None,
    label: LabelColumn = None,
    split: SplitName = None,
    skip_empty: SkipEmpty = False,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Encoder that judges whether sentences and prototypes are alike; by default one "
            "that the model was not made with.",
        ),
    ] = None,
    encoder: EncoderElsewhere = None,
    as_json: AsJson = False,
) -> None:
    """Measure a model: its accuracy, and how faithful its explanations are.

    Rows with split 'test' are used where the table has such. Every measure is printed with what
    it means and what would be bad.

    **Example:** `protorynet evaluate model reviews.csv --split test`
    """
    table = read_documents(
        test, text=text, label=label, split=split, prefer_split="test", skip_empty=skip_empty
    )
    classifier = load_classifier(model, encoder=encoder, skip_empty=skip_empty)
    with naming_rows(table):
        evaluation = classifier.evaluate(table.texts, table.labels, judge=judge)
    if left_out := len(table) - evaluation.n_documents:
        note(f"left out {left_out:,} documents that hold no sentence")
    if as_json:
        print_json(evaluation.to_dict())
        return
    from protorynet.report import print_evaluation

    print_evaluation(evaluation, result_console())


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
