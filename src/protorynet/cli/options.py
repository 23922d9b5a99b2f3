"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
