"""`protorynet evaluate`: how right a model is, and how far its explanations can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from protorynet.cli.documents import load_classifier, naming_rows, read_documents
from protorynet.cli.options import (
    AsJson,
    EncoderElsewhere,
    LabelColumn,
    ModelFolder,
    SkipEmpty,
    SplitName,
    TextColumn,
)
from protorynet.cli.output import note, print_json, result_console

__all__ = ["evaluate"]


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
