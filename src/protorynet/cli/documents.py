"""Tables and models as commands read them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protorynet.cli.output import note
from protorynet.errors import EmptyDocumentError

if TYPE_CHECKING:
    from protorynet.audit import LabelledDocuments
    from protorynet.classifier import ProtoryNetClassifier
    from protorynet.data import Table

__all__ = ["labelled_documents", "load_classifier", "naming_rows", "read_documents"]


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
