"""Options, tables and models that several commands share."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from protorynet.cli.output import check_writable, note
from protorynet.errors import EmptyDocumentError, InputError

if TYPE_CHECKING:
    from protorynet.audit import LabelledDocuments
    from protorynet.classifier import ProtoryNetClassifier
    from protorynet.data import Table


_OPTIONS = tomllib.loads(Path(__file__).with_name("options.toml").read_text(encoding="utf-8"))
_Command = TypeVar("_Command", bound=Callable[..., None])


def _describe(name: str, hint: Any, how: dict[str, Any]) -> Any:
    """Return what Typer should know of a parameter; a flag has no second name that negates it."""
    more = dict(how)
    if more.pop("argument", False):
        return typer.Argument(**more)
    flag = [f"--{name.replace('_', '-')}"] if hint is bool else []
    names, panel = more.pop("names", flag), more.pop("panel", None)
    return typer.Option(*names, rich_help_panel=panel, **more)


def with_options(command: _Command) -> _Command:
    """Give the parameters of a command the names and the help that options.toml has for them."""
    known = _OPTIONS["shared"] | _OPTIONS.get(command.__name__, {})
    for name, hint in get_type_hints(command).items():
        if name != "return":
            described = _describe(name, hint, known[name])
            command.__annotations__[name] = Annotated[hint, described]
    return command


def _shared(name: str, hint: Any = str) -> Any:
    return _describe(name, hint, _OPTIONS["shared"][name])


# For the commands of the laboratory.
TextColumn = Annotated[str | None, _shared("text")]
LabelColumn = Annotated[str | None, _shared("label")]
SplitName = Annotated[str | None, _shared("split")]
EncoderElsewhere = Annotated[str | None, _shared("encoder")]
AsJson = Annotated[bool, _shared("as_json", bool)]


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
        rows = [int(table.rows[row]) for row in error.rows]
        raise EmptyDocumentError(rows, in_table=True) from None


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
