"""Options, tables and models that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from protorynet.cli.output import check_writable, note
from protorynet.errors import EmptyDocumentError, InputError

if TYPE_CHECKING:
    from protorynet.audit import LabelledDocuments
    from protorynet.classifier import ProtoryNetClassifier
    from protorynet.data import Table


def option_in(panel: str) -> Callable[..., Any]:
    """Return `typer.Option` for options that the help shows together under a heading."""
    return partial(typer.Option, rich_help_panel=panel)


table_option = option_in("The table")
output_option = option_in("Output")

ModelFolder = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model directory, as made by `fit`.")
]
ModelOrExport = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL", help="Model directory, as made by `fit`, or a folder made by `export`."
    ),
]
TestTable = Annotated[
    Path, typer.Argument(metavar="TEST", help="Table of labelled texts not used in training.")
]
TextColumn = Annotated[
    str | None,
    table_option(
        "--text",
        metavar="COLUMN",
        help="Column of texts. Guessed if not given, and the guess is printed.",
    ),
]
LabelColumn = Annotated[
    str | None,
    table_option(
        "--label",
        metavar="COLUMN",
        help="Column of labels. Guessed if not given, and the guess is printed.",
    ),
]
SplitName = Annotated[
    str | None,
    table_option(
        "--split", metavar="NAME", help="Read only the rows whose column 'split' says so."
    ),
]
SkipEmpty = Annotated[
    bool,
    table_option(
        "--skip-empty",
        help="Leave out rows without text, and say how many, instead of refusing the table.",
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
RuntimeName = Annotated[
    Literal["torch", "onnx"],
    typer.Option(
        "--runtime",
        help="What computes. onnx needs a model made by `protorynet export`, which runs in ONNX "
        "Runtime, without torch, in any case.",
    ),
]
AsJson = Annotated[
    bool, output_option("--json", help="Print JSON on standard output, and nothing else there.")
]
Verbose = Annotated[
    bool, output_option("--verbose", help="Print every class, every confusion and every measure.")
]
AsHtml = Annotated[
    Path | None,
    output_option(
        "--html", metavar="FILE", help="Write a self-contained page that any browser shows."
    ),
]


def parse_names(option: str, given: Iterable[str]) -> dict[str, str]:
    """Read what classes are called, such as ``0=negative``."""
    names = {}
    for pair in given:
        label, _, name = pair.partition("=")
        if not label or not name:
            raise InputError(f"{option} {pair!r} should be LABEL=NAME, such as 0=negative.")
        names[label] = name
    return names


def read_documents(source: Path, **how: Any) -> Table:
    """Read a table as `read_table` does, and print what was guessed or left out."""
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


def note_left_out(n_documents: int) -> None:
    """Say how many documents were not used, if any."""
    if n_documents:
        note(f"left out {n_documents:,} documents that hold no sentence")


def check_new(output: Path, *, replace: bool, hint: str = ", or replace it with --force") -> None:
    """Refuse a path where something is already, unless that is to be replaced."""
    if output.exists() and not replace:
        raise InputError(f"{output} exists already. Choose another name{hint}.")


def check_model_output(output: Path) -> None:
    """Refuse, before any work, a path where a model cannot be saved."""
    if output.exists():
        from protorynet.storage import check_free

        check_free(output)
    check_writable(output)
