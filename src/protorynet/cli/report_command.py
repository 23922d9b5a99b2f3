"""`protorynet report` and `demo`: a whole model on one page."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from protorynet.cli.command_inputs import (
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
from protorynet.cli.output import check_writable, note, result_console
from protorynet.errors import InputError, TableError

if TYPE_CHECKING:
    from protorynet.classifier import ProtoryNetClassifier
    from protorynet.data import Table
    from protorynet.report import FullReport

__all__ = ["demo", "report"]

_PACKAGES = ("protorynet", "torch", "transformers", "numpy", "sentencex")


TestTable = Annotated[
    Path, typer.Argument(metavar="TEST", help="Table of labelled texts not used in training.")
]
ReportFile = Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="File to write.")]
TrainingTable = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Table that the model was made from, for the audit; by default the rows of TEST "
        "with split 'train', if it has such.",
        rich_help_panel="The table",
    ),
]
Title = Annotated[str | None, typer.Option(metavar="TEXT", help="Headline of the report.")]
Layout = Annotated[
    Literal["html", "md"] | None,
    typer.Option("--format", help="A page, or Markdown; by default what the ending of FILE says."),
]


def report(
    model: ModelFolder,
    test: TestTable,
    output: ReportFile = Path("report.html"),
    train: TrainingTable = None,
    text: TextColumn = None,
    label: LabelColumn = None,
    split: SplitName = None,
    skip_empty: SkipEmpty = False,
    title: Title = None,
    layout: Layout = None,
    encoder: EncoderElsewhere = None,
) -> None:
    """Write all there is to know about a model as one page that needs nothing else.

    A summary in plain words first; then how right it is, its prototypes, its automaton, examples,
    its most confident mistakes, how far its reasons can be trusted, an audit, and how to make the
    report again. Rows with split 'test' are used where the table has such.

    For a PDF, print the page, or: `chromium --headless --print-to-pdf=report.pdf report.html`

    **Example:** `protorynet report model reviews.csv -o report.html`
    """
    if output.is_dir():
        raise InputError(f"{output} is a folder; give the name of a file with -o.")
    check_writable(output, test)
    columns = {"text": text, "label": label}
    table = read_documents(test, split=split, prefer_split="test", skip_empty=skip_empty, **columns)
    trained = _training_table(test, train, table, columns)
    classifier = load_classifier(model, encoder=encoder, skip_empty=skip_empty)
    options = {"-o": output, "--train": train, "--text": text, "--label": label, "--split": split}
    options |= {"--title": title, "--format": layout, "--encoder": encoder}
    command = _command(model, test, options, ["--skip-empty"] if skip_empty else [])
    compiled = _compiled(
        classifier,
        table,
        trained,
        title=title or f"Report on the model “{model.resolve().name}”",
        provenance=_provenance(command, model, test, train, len(table)),
    )
    from protorynet.report import write_report

    as_markdown = layout == "md" or (layout is None and output.suffix.lower() == ".md")
    write_report(compiled, output, as_markdown=as_markdown)
    note(f"wrote {output}")


def _training_table(
    test: Path, train: Path | None, table: Table, columns: dict[str, str | None]
) -> Table | None:
    """Return the documents that the model was made from, where they are known."""
    if train is not None:
        return read_documents(train, prefer_split="train", skip_empty=True, **columns)
    from protorynet.data import read_table

    text, label = table.text_column, table.label_column
    try:
        found = read_table(test, text=text, label=label, split="train", skip_empty=True)
    except TableError:
        note("no audit: give the table that the model was made from with --train")
        return None
    if set(found.rows.tolist()) & set(table.rows.tolist()):
        return None
    note(f"training rows: {len(found):,} with split 'train'")
    return found


def _compiled(
    classifier: ProtoryNetClassifier,
    table: Table,
    trained: Table | None,
    *,
    title: str,
    provenance: tuple[tuple[str, str], ...],
) -> FullReport:
    from protorynet.report import compile_report

    with naming_rows(table):
        evaluation = classifier.evaluate(table.texts, table.labels)
    return compile_report(
        classifier.model_,
        evaluation,
        labelled_documents(classifier, table),
        None if trained is None else labelled_documents(classifier, trained),
        title=title,
        provenance=provenance,
    )


def _command(
    model: Path, test: Path, options: Mapping[str, Path | str | None], flags: list[str]
) -> str:
    """Return the command that makes the report again; options not given are left out."""
    given = [(name, str(value)) for name, value in options.items() if value is not None]
    words = ["protorynet", "report", str(model), str(test)]
    return shlex.join([*words, *(word for pair in given for word in pair), *flags])


def _provenance(
    command: str, model: Path, test: Path, train: Path | None, n_documents: int
) -> tuple[tuple[str, str], ...]:
    """Return what is needed to make the report again."""
    from importlib.metadata import version

    named = [
        ("Command", command),
        ("Model", str(model)),
        ("Test data", f"{test}: {n_documents:,} rows; sha256 {_sha256(test)}"),
    ]
    if train is not None:
        named.append(("Training data given", f"{train}: sha256 {_sha256(train)}"))
    versions = ", ".join(f"{package} {version(package)}" for package in _PACKAGES)
    return (*named, ("Versions of this report", versions))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def demo(
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="Where the results go.")
    ] = Path("demo"),
    reviews: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=20, help="Reviews to learn from; fewer are quicker, but say less."
        ),
    ] = None,
) -> None:
    """Learn from real movie reviews, and show what was learnt.

    Prints the accuracy on reviews never seen, the prototypes and three trajectories, and leaves a
    folder with the model and a page to open in a browser. Takes a few minutes; a second run is
    quick.

    **Example:** `protorynet demo -o demo`
    """
    if output.exists() and not output.is_dir():
        raise InputError(f"{output} is a file; give the name of a folder with -o.")
    from protorynet.demo import MARK, TRAIN_REVIEWS, run_demo

    made_by_demo = (output / MARK).exists()
    if not made_by_demo and any((output / name).exists() for name in ("model", "index.html")):
        raise InputError(
            f"{output} holds a model or a page that no demo made; choose another folder with -o."
        )
    check_writable(output / "model")
    run_demo(output, result_console(), n_train=reviews or TRAIN_REVIEWS)
