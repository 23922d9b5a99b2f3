"""The documents of a data set: read once, split into those to learn from and those to test on."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protorynet.errors import InputError
from protorynet.report import shorten

if TYPE_CHECKING:
    from protorynet.data import Table

__all__ = ["Documents", "Source"]

_TEST_SHARE = 0.2
_QUICK_TRAIN, _QUICK_TEST, _QUICK_CHARACTERS = 40, 100, 240
_LONGEST_LABELS = 80
_SEED = 0  # the same test documents for all models and all seeds


@dataclass(frozen=True)
class Documents:
    """Training and test documents.

    Parameters
    ----------
    train, test
        The documents.
    notes
        What a person should know of how they were read.
    split
        The column that says which are which; empty where there is none.
    quick
        Whether these are the beginnings of some documents only.
    """

    train: Table
    test: Table
    notes: tuple[str, ...] = ()
    split: str = ""
    quick: bool = False

    @property
    def columns(self) -> dict[str, str]:
        """The columns, by the option of the command that names them."""
        named = {"text": self.train.text_column, "label": self.train.label_column or ""}
        return {**named, "split": self.split} if self.split else named

    @cached_property
    def digest(self) -> str:
        """A digest of texts and labels: records of other documents do not count."""
        digest = hashlib.sha256(b"quick" if self.quick else b"")
        for table in (self.train, self.test):
            for row in zip(table.texts, table.labels or (), strict=True):
                digest.update(repr(row).encode("utf-8", "surrogatepass"))
            digest.update(b"\0")
        return digest.hexdigest()[:12]


@dataclass(frozen=True)
class Source:
    """Where documents come from.

    Parameters
    ----------
    path
        A table.
    text, label
        Its columns; guessed where they are None.
    split
        The column that says which documents are for testing. Where the table has none, a fifth
        of the documents of every class is held out, always the same.
    """

    path: Path
    text: str | None = None
    label: str | None = None
    split: str = "split"

    def read(self, *, quick: bool = False) -> Documents:
        """Read the table, without rows that have no text."""
        from protorynet.data import read_columns, read_table

        columns, _ = read_columns(self.path)
        by_lower = {name.lower(): name for name in columns.column_names}
        exact = self.split if self.split in columns.column_names else None
        column = exact or by_lower.get(self.split.lower())
        if column is None and self.split != "split":
            listed = ", ".join(map(repr, columns.column_names))
            raise InputError(f"{self.path} has no column {self.split!r}; it has {listed}.")
        how: dict[str, Any] = {"text": self.text, "label": self.label, "skip_empty": True}
        if column is None:
            documents = _carved(read_table(self.path, **how))
        else:
            # Only a column of that name is known for what it is.
            source = self.path if column == "split" else _renamed(columns, column)
            train, test = (read_table(source, split=name, **how) for name in ("train", "test"))
            notes = (*train.notes, *_unread_splits(columns.column(column).to_pylist()))
            documents = Documents(train, test, notes, column)
        if any(isinstance(label, tuple) for label in documents.train.labels or ()):
            raise InputError(
                f"{self.path} has documents with several labels; the models compared here give one "
                "class per document. Choose a column of single labels with --label."
            )
        documents = _without_unseen_labels(documents)
        return _shortened(documents) if quick else documents


def _unread_splits(values: list[Any]) -> Iterator[str]:
    """Tell of rows that are neither for training nor for testing."""
    others = Counter(str(value or "") for value in values if value not in ("train", "test"))
    if others:
        names = shorten(", ".join(map(repr, others)), _LONGEST_LABELS)
        yield f"{others.total():,} rows with split {names} are left out, not 'train' or 'test'"


def _renamed(columns: Any, split: str) -> Any:
    """Return the table with a column as the one that says what is for testing."""
    names = [name for name in columns.column_names if name == split or name.lower() != "split"]
    renamed = ["split" if name == split else name for name in names]
    return columns.select(names).rename_columns(renamed)


def _without_unseen_labels(documents: Documents) -> Documents:
    """Leave out test documents whose label no model could have learnt."""
    known, labels = set(documents.train.labels or ()), documents.test.labels or ()
    kept = [row for row, label in enumerate(labels) if label in known]
    if len(kept) == len(labels):
        return documents
    unseen = ", ".join(sorted({repr(label) for label in labels} - {repr(label) for label in known}))
    if not kept:
        raise InputError(f"no training document has the labels of the test documents: {unseen}.")
    note = (
        f"{len(labels) - len(kept):,} test documents are left out because no training document has "
        f"their label: {shorten(unseen, _LONGEST_LABELS)}"
    )
    test = _rows(documents.test, kept)
    return replace(documents, test=test, notes=(*documents.notes, note))


def _carved(table: Table) -> Documents:
    """Hold out a fifth of every class."""
    import numpy as np

    random = np.random.default_rng(_SEED)
    order = random.permutation(len(table)).tolist()
    by_class: dict[Any, list[int]] = {}
    for row in order:
        by_class.setdefault(table.labels[row] if table.labels else None, []).append(row)
    held_out = [row for rows in by_class.values() for row in rows[: round(_TEST_SHARE * len(rows))]]
    if not held_out:
        raise InputError(
            f"{len(table)} documents are too few to hold some out for testing; give at least 5 "
            "of every class, or a column 'split' that says 'train' or 'test'."
        )
    kept = sorted(set(order) - set(held_out))
    note = (
        f"the table has no column 'split', so {len(held_out):,} of its {len(table):,} documents "
        "are held out for testing, the same for every model"
    )
    return Documents(_rows(table, kept), _rows(table, sorted(held_out)), (*table.notes, note))


def _shortened(documents: Documents) -> Documents:
    """Return the beginnings of some documents of every class, enough to try everything out."""
    train, test = _few(documents.train, _QUICK_TRAIN), _few(documents.test, _QUICK_TEST)
    return replace(documents, train=train, test=test, quick=True)


def _few(table: Table, count: int) -> Table:
    by_class: dict[Any, list[int]] = {}
    for row, label in enumerate(table.labels or ()):
        by_class.setdefault(label, []).append(row)
    most = max(4, count // len(by_class))
    kept = _rows(table, sorted(row for rows in by_class.values() for row in rows[:most]))
    return replace(kept, texts=tuple(text[:_QUICK_CHARACTERS] for text in kept.texts))


def _rows(table: Table, rows: list[int]) -> Table:
    labels = table.labels
    return replace(
        table,
        texts=tuple(table.texts[row] for row in rows),
        labels=None if labels is None else tuple(labels[row] for row in rows),
        rows=table.rows[rows],
    )
