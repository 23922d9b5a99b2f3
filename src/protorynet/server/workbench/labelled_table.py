"""The table of labelled texts that a server was started with, split and encoded for a model."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from protorynet.data import Label, read_columns, read_table
from protorynet.errors import TableError
from protorynet.explain import LabelledDocuments, documents_at
from protorynet.files import hash_file
from protorynet.labels import LabelCode
from protorynet.server.api_shapes import refusal
from protorynet.server.background import Progress

if TYPE_CHECKING:
    from protorynet.classifier import ProtoryNetClassifier
    from protorynet.inference import Predictor
    from protorynet.model import Model

HELD_OUT, ALL_ROWS = "held out", "all rows"
_LARGEST_FILE = 2 * 2**30
_MOST_TRAINING, _MOST_HELD_OUT = 20_000, 5_000
_DOCUMENTS_PER_REPORT = 128
_LONGEST_SHOWN = 300
# Shorter sentences stand in many texts; and a few of many may by chance.
_TELLING_CHARACTERS, _FEWEST_TELLING, _TELLING_SHARE = 40, 5, 0.05
_SPLITS = {
    "train": "train",
    "training": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "test": "test",
}


@dataclass(frozen=True)
class DataTable:
    """Labelled documents, and which of them models were trained on."""

    texts: tuple[str, ...]
    labels: tuple[Label, ...]
    rows: NDArray[np.int64]  # position of each in its file, counted from 0
    splits: tuple[str | None, ...]  # "train", "validation", "test", or none of these
    digest: str  # tells one state of the file from another

    def __len__(self) -> int:
        return len(self.texts)

    def find(self, row: int) -> int:
        """Return where the document of a row stands among those read, or refuse with 404."""
        if row not in self._positions:
            raise refusal("unknown_row")
        return self._positions[row]

    def view(self, position: int, code: LabelCode) -> dict[str, object]:
        """Return what lists show of a document; its classes as the model calls them."""
        label, text = self.labels[position], self.texts[position]
        given = label if isinstance(label, tuple) else (label,)
        named = ((each, code.find(each)) for each in given)
        called = [str(each) if at is None else code.names[at] for each, at in named]
        return {
            "row": int(self.rows[position]),
            "label": ", ".join(called) or "(none)",
            "text": shorten(text),
        }

    @cached_property
    def _positions(self) -> dict[int, int]:
        return {row: position for position, row in enumerate(self.rows.tolist())}

    @cached_property
    def split_counts(self) -> dict[str, int]:
        """How many documents each split has."""
        return dict(Counter(split for split in self.splits if split is not None))

    @cached_property
    def training(self) -> NDArray[np.int64]:
        """Positions of the documents to learn from: all of them where there are no splits."""
        chosen = self._of("train") if self.split_counts else np.arange(len(self))
        return _spread(chosen, _MOST_TRAINING)

    @cached_property
    def held_out(self) -> NDArray[np.int64]:
        """Positions of the validation and test documents; none where the table names none."""
        return _spread(self._of("validation", "test"), _MOST_HELD_OUT)

    def _of(self, *splits: str) -> NDArray[np.int64]:
        return np.array([n for n, name in enumerate(self.splits) if name in splits], np.int64)


def read_data(path: Path) -> DataTable:
    """Read a table of texts and labels, with the splits that its column ``split`` names.

    Errors name the file without its folder, for clients may see them.
    """
    try:
        size = path.stat().st_size
        if size > _LARGEST_FILE:
            raise TableError(
                f"{path} has {size:,} bytes; the workbench reads at most {_LARGEST_FILE:,}. Give "
                "a sample of it with --data."
            )
        table = read_table(path, skip_empty=True)
        splits = _read_splits(path, table.rows)
        digest = hash_file(path)[:16]
    except OSError as error:
        raise TableError(f"{path.name} cannot be read ({error.strerror}).") from None
    except TableError as error:
        raise TableError(str(error).replace(str(path), path.name)) from None
    assert table.labels is not None
    return DataTable(table.texts, table.labels, table.rows, splits, digest)


def shorten(text: str) -> str:
    """Return the beginning of a text."""
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"


def holds_words(text: str, search: str) -> bool:
    """Say whether a text holds all words of a search, in any order and case."""
    words = search.casefold().split()
    folded = text.casefold() if words else ""
    return all(word in folded for word in words)


def _read_splits(path: Path, rows: NDArray[np.int64]) -> tuple[str | None, ...]:
    columns = read_columns(path)
    name = next((name for name in columns.column_names if name.lower() == "split"), None)
    if name is None:
        return (None,) * len(rows)
    values: Sequence[object] = columns.column(name).take(rows).to_pylist()
    return tuple(_SPLITS.get(str(value).strip().lower()) for value in values)


def _spread(positions: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return so many of the positions that reading them stays quick, spread over all."""
    if len(positions) <= most:
        return positions
    return positions[np.linspace(0, len(positions) - 1, most).round().astype(np.int64)]


@dataclass(frozen=True)
class Prepared:
    """The table's documents as a model's encoder sees them; none is without a sentence.

    `splits` are those of the documents held out: ``"validation"`` or ``"test"``. Where the table
    names none, ``"held out"`` are those that training does not learn from; if the model was made
    from another table, the rest is ``"all rows"``, for then it has seen none. The `note` says what
    figures of these documents mean.
    """

    train: LabelledDocuments
    held_out: LabelledDocuments
    splits: tuple[str, ...]
    note: str

    def of_split(self, *preferred: str) -> tuple[str, LabelledDocuments]:
        """Return the held-out documents of the first of some splits that there is."""
        name = next((name for name in (*preferred, HELD_OUT) if name in self.splits), HELD_OUT)
        positions = np.array([n for n, split in enumerate(self.splits) if split == name], np.int64)
        if not len(positions):
            raise refusal("no_held_out_rows")
        return name, documents_at(self.held_out, positions)

    def to_measure(self) -> tuple[str, LabelledDocuments]:
        """Return the documents to judge the model by, and what to call them."""
        if ALL_ROWS in self.splits:
            return ALL_ROWS, self.held_out
        return self.of_split("test", "validation")

    def to_audit(self) -> LabelledDocuments | None:
        """Return the documents that the model was trained on, where the table tells them."""
        if ALL_ROWS in self.splits:
            return None
        others = np.flatnonzero(~np.isin(self.train.rows, self.held_out.rows))
        return documents_at(self.train, others) if len(others) else None


def quiet_copy(classifier: ProtoryNetClassifier) -> ProtoryNetClassifier:
    """Return a copy that may be edited, and keeps embeddings on disk; for the table's texts."""
    own: ProtoryNetClassifier = copy.copy(classifier).set_params(
        cache=True, on_empty="skip", verbose=False
    )
    return own


def known_tables(model: Model) -> frozenset[str]:
    """Return the digests of the data that a model, or its reader since, was trained on."""
    again = (entry.retraining for entry in model.edits.standing if entry.retraining is not None)
    return frozenset({model.training.data_sha256, *(record.data_sha256 for record in again)})


def prepare(classifier: ProtoryNetClassifier, table: DataTable, progress: Progress) -> Prepared:
    """Split and encode the documents; a label that is no class of the model is refused."""
    model, predictor = classifier.model_, quiet_copy(classifier).predictor
    targets = model.labels.encode(table.labels)
    training, held_out = table.training, table.held_out
    splits = [str(table.splits[position]) for position in held_out.tolist()]
    if not len(held_out) and len(training):
        held_out, splits = _hold_out(model, table, targets, predictor)
    positions = np.concatenate([training, held_out])
    texts = [table.texts[position] for position in positions.tolist()]
    # In steps, so that progress shows and the server can stop; the cache keeps what is done.
    for start in range(0, len(texts), _DOCUMENTS_PER_REPORT):
        message = f"Reading the table: {start:,} of {len(texts):,} documents"
        progress(start / len(texts), message)
        predictor.prepare(texts[start : start + _DOCUMENTS_PER_REPORT])
    sentences, embeddings = predictor.prepare(texts)
    whole = LabelledDocuments(
        texts, table.rows[positions], sentences, embeddings, targets[positions]
    )
    filled = np.flatnonzero(sentences.filled)
    train, others = filled[filled < len(training)], filled[filled >= len(training)]
    documents = documents_at(whole, others)
    splits = [splits[position - len(training)] for position in others.tolist()]
    note = _describe(model, documents, splits)
    return Prepared(documents_at(whole, train), documents, tuple(splits), note)


def _hold_out(
    model: Model, table: DataTable, targets: NDArray[np.float32], predictor: Predictor
) -> tuple[NDArray[np.int64], list[str]]:
    """Choose from a table without splits as training does; all rows where it is another table."""
    from protorynet.training import digest_data, validation_documents

    sentences = predictor.split(table.texts)
    filled = np.flatnonzero(sentences.filled)
    fraction, seed = model.settings.validation_fraction, model.training.seed
    chosen = filled[validation_documents(targets[filled], model.labels, fraction, seed)]
    digest = digest_data(sentences.part(sentences.filled), targets[filled])
    rows = chosen if digest in known_tables(model) else filled
    rows = _spread(rows, _MOST_HELD_OUT)
    return rows, [HELD_OUT if kept else ALL_ROWS for kept in np.isin(rows, chosen)]


def _describe(model: Model, documents: LabelledDocuments, splits: Sequence[str]) -> str:
    """Say what figures of these documents mean: the model may have learned from them."""
    note = ""
    if ALL_ROWS in splits:
        note = "The model was not trained on this table, row for row, so all rows are measured."
    elif HELD_OUT in splits:
        note = "The model was trained on this table; measured are the texts held out of that."
    kept = {
        member.sentence
        for member in model.prototypes.members
        if member.row is not None and len(member.sentence) >= _TELLING_CHARACTERS
    }
    found = len(kept.intersection(documents.sentences.texts))
    if found < max(_FEWEST_TELLING, _TELLING_SHARE * len(kept)):
        return note
    return (
        f"{note} The model knows some of these texts: {found:,} of the {len(kept):,} longer "
        "sentences that it keeps from its training texts stand here word for word. So the figures "
        "flatter it; give a table of other texts, or name them 'test' in a column 'split'."
    ).strip()
