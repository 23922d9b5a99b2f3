"""`protorynet evaluate`, `audit`, `report` and `demo`: how right a model is, and its whole page."""

from __future__ import annotations

import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from protorynet.cli import command_inputs as inputs
from protorynet.cli.output import check_writable, note, print_json, result_console
from protorynet.errors import InputError, TableError
from protorynet.files import hash_file

if TYPE_CHECKING:
    from protorynet.classifier import ProtoryNetClassifier
    from protorynet.data import Table
    from protorynet.explain import Robustness

_PACKAGES = ("protorynet", "torch", "transformers", "numpy", "sentencex")
_REPORT_ENDINGS = (".html", ".htm", ".md", "")


@inputs.with_options
def evaluate(
    model: Path,
    test: Path,
    text: str | None = None,
    label: str | None = None,
    split: str | None = None,
    skip_empty: bool = False,
    judge: str | None = None,
    perturb: str | None = None,
    train: Path | None = None,
    encoder: str | None = None,
    verbose: bool = False,
    as_json: bool = False,
) -> None:
    """Measure a model: its accuracy, and how faithful its explanations are.

    Rows with split 'test' are used where the table has such. With --verbose every measure is
    printed with what it means and what would be bad.

    **Example:** `protorynet evaluate model reviews.csv --split test`
    """
    from protorynet.explain import parse_perturbations

    kinds = parse_perturbations(perturb) if perturb else []
    table = inputs.read_documents(
        test, text=text, label=label, split=split, prefer_split="test", skip_empty=skip_empty
    )
    classifier = inputs.load_classifier(model, encoder=encoder, skip_empty=skip_empty)
    trained = None
    if train is not None:
        columns = {"text": table.text_column, "label": table.label_column}
        found = inputs.read_documents(train, prefer_split="train", skip_empty=True, **columns)
        trained = (found.texts, found.labels)
    with inputs.naming_rows(table):
        evaluation = classifier.evaluate(table.texts, table.labels, judge=judge, train=trained)
    inputs.note_left_out(len(table) - evaluation.n_documents)
    under_noise = _measure_under_noise(classifier, table, kinds) if kinds else []
    if as_json:
        noise = {"robustness": [vars(each) for each in under_noise]} if kinds else {}
        print_json(evaluation.to_dict() | noise)
        return
    from protorynet.report import print_evaluation, print_robustness

    print_evaluation(evaluation, result_console(), verbose=verbose)
    print_robustness(under_noise, result_console())
    if not verbose:
        note("--verbose prints every class and every measure with its meaning")
    floor = classifier.model_.training.bag_of_words_accuracy
    if trained is None and floor is not None:
        note(
            f"a bag of words had {floor:.1%} on documents held out in training; --train FILE "
            "measures one on these"
        )


def _measure_under_noise(
    classifier: ProtoryNetClassifier, table: Table, kinds: list[str]
) -> list[Robustness]:
    from protorynet.explain import measure_robustness

    filled = classifier.read(table.texts).filled
    texts = [text for text, is_filled in zip(table.texts, filled, strict=True) if is_filled]
    targets = classifier.model_.labels.encode(table.labels)[filled]
    return measure_robustness(classifier.model_, classifier.read, texts, targets, kinds)


@inputs.with_options
def audit(
    model: Path,
    data: Path | None = None,
    train: Path | None = None,
    test: Path | None = None,
    text: str | None = None,
    label: str | None = None,
    encoder: str | None = None,
    as_json: bool = False,
) -> None:
    """Say what a careful colleague would, before a model is trusted.

    Texts in both training and test data, leftovers that give the answer away, boilerplate among
    the prototypes, doubtful labels, test data unlike the training data, and more: each with its
    evidence and with what to do.

    **Example:** `protorynet audit model reviews.csv`
    """
    tables = _read_tables(data, train, test, text=text, label=label)
    classifier = inputs.load_classifier(model, encoder=encoder)
    from protorynet.audit import audit_model

    splits = (inputs.labelled_documents(classifier, table) for table in tables)
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
            trained = inputs.read_documents(data, split="train", skip_empty=True, **columns)
        except TableError as error:
            raise TableError(
                f"{error} Two tables are given by --train FILE and --test FILE."
            ) from None
        # What was guessed and printed once holds for the same table.
        columns = {"text": trained.text_column, "label": trained.label_column}
        return trained, inputs.read_documents(data, split="test", skip_empty=True, **columns)
    if data is not None or train is None or test is None:
        raise InputError(
            "give either DATA, a table with a column 'split' of 'train' and 'test', or both "
            "--train FILE and --test FILE."
        )
    return (
        inputs.read_documents(train, prefer_split="train", skip_empty=True, **columns),
        inputs.read_documents(test, prefer_split="test", skip_empty=True, **columns),
    )


@inputs.with_options
def report(
    model: Path,
    test: Path,
    output: Path = Path("report.html"),
    train: Path | None = None,
    text: str | None = None,
    label: str | None = None,
    split: str | None = None,
    skip_empty: bool = False,
    title: str | None = None,
    layout: Literal["html", "md"] | None = None,
    encoder: str | None = None,
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
    if layout is None and output.suffix.lower() not in _REPORT_ENDINGS:
        raise InputError(
            f"-o {output} should end in .html or .md, or --format should say which it is. For a "
            "PDF, print the page."
        )
    columns = {"text": text, "label": label}
    table = inputs.read_documents(
        test, split=split, prefer_split="test", skip_empty=skip_empty, **columns
    )
    trained = _read_training_table(test, train, table, columns)
    classifier = inputs.load_classifier(model, encoder=encoder, skip_empty=skip_empty)
    options = {"-o": output, "--train": train, "--text": text, "--label": label, "--split": split}
    options |= {"--title": title, "--format": layout, "--encoder": encoder}
    words = ["protorynet", "report", str(model), str(test)]
    for name, value in options.items():
        words += [] if value is None else [name, str(value)]
    words += ["--skip-empty"] * skip_empty
    from protorynet.report import compile_report, write_report

    given = None if trained is None else (trained.texts, trained.labels)
    with inputs.naming_rows(table):
        evaluation = classifier.evaluate(table.texts, table.labels, train=given)
    compiled = compile_report(
        classifier.model_,
        evaluation,
        inputs.labelled_documents(classifier, table),
        None if trained is None else inputs.labelled_documents(classifier, trained),
        title=title or f"Report on the model “{model.resolve().name}”",
        provenance=_list_provenance(shlex.join(words), model, test, train, len(table)),
    )
    as_markdown = layout == "md" or (layout is None and output.suffix.lower() == ".md")
    write_report(compiled, output, as_markdown=as_markdown)
    note(f"wrote {output}")


def _read_training_table(
    test: Path, train: Path | None, table: Table, columns: dict[str, str | None]
) -> Table | None:
    """Return the documents that the model was made from, where they are known."""
    if train is not None:
        return inputs.read_documents(train, prefer_split="train", skip_empty=True, **columns)
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


def _list_provenance(
    command: str, model: Path, test: Path, train: Path | None, n_documents: int
) -> tuple[tuple[str, str], ...]:
    """Return what is needed to make the report again."""
    from importlib.metadata import version

    named = [
        ("Command", command),
        ("Model", str(model)),
        ("Test data", f"{test}: {n_documents:,} rows; sha256 {hash_file(test)}"),
    ]
    if train is not None:
        named.append(("Training data given", f"{train}: sha256 {hash_file(train)}"))
    versions = ", ".join(f"{package} {version(package)}" for package in _PACKAGES)
    return (*named, ("Versions of this report", versions))


@inputs.with_options
def demo(output: Path = Path("demo"), reviews: int | None = None) -> None:
    """Learn from real movie reviews, and show what was learned.

    Prints the accuracy on reviews never seen, the prototypes and three trajectories, and leaves a
    folder with the model and a page to open in a browser. Takes a minute or two; a second run
    is quick.

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
    evaluation = run_demo(output, result_console(), n_train=reviews or TRAIN_REVIEWS)
    if find_spec("fastapi") is not None:
        from protorynet.server import store_trust

        store_trust(output / "model", evaluation)
