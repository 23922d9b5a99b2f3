"""What can be measured: data sets and models, what the paper reports of them, and single jobs."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from protorynet.errors import InputError
from protorynet.report import shorten
from protorynet.settings import EncoderTraining, Settings, preset

if TYPE_CHECKING:
    from protorynet.data import Table

Family = Literal["ours", "single", "paper", "ceiling", "rival"]
_TEST_SHARE = 0.2
_QUICK_TRAIN, _QUICK_TEST, _QUICK_CHARACTERS = 40, 100, 240
_LONGEST_LIST = 80  # letters of a list of labels in a message
_SEED = 0  # the same test documents for all models and all seeds


@dataclass(frozen=True)
class DataSet:
    """A data set as the tables name it."""

    name: str
    title: str
    is_exact: bool  # the paper's own data and split, not a slice of the same kind
    classes: tuple[tuple[str, str], ...] = ()  # what its labels mean, where they are numbers
    is_multiclass: bool = False

    @property
    def starred_title(self) -> str:
        """The title; a star marks a slice that is of the paper's kind but not its own data."""
        is_slice = not self.is_exact and any(each.name == self.name for each in DATA_SETS)
        return f"{self.title} *" if is_slice else self.title

    def class_name(self, label: str) -> str:
        """Return what a label means."""
        return dict(self.classes).get(label, label)


@dataclass(frozen=True)
class ModelKind:
    """A model that can be measured: ours, or what it is compared with."""

    name: str
    title: str
    family: Family  # "single" has one sentence per prototype, "paper" also the paper's procedure
    encoder_training: EncoderTraining | None  # a rival has its own way
    reads: str  # what a person can read of it; empty for a black box
    cost: int  # its rank in the order of jobs: the cheap come first
    uses_encoder: bool = True
    uses_vectors: bool = False

    @property
    def has_prototypes(self) -> bool:
        """Whether its faithfulness can be measured."""
        return self.family in _PRESETS


_PRESETS = {"ours": "default", "single": "single", "paper": "paper"}
_NEGATIVE_POSITIVE = (("0", "negative"), ("1", "positive"))
DATA_SETS = (
    DataSet("imdb", "IMDB", True, _NEGATIVE_POSITIVE),
    DataSet("amazon", "Amazon", False, _NEGATIVE_POSITIVE),
    DataSet("yelp", "Yelp", False, _NEGATIVE_POSITIVE),
    DataSet("rotten_tomatoes", "Rotten Tomatoes", False, (("0", "rotten"), ("1", "fresh"))),
    DataSet("hotel", "Hotel", True, _NEGATIVE_POSITIVE),
    DataSet("steam", "Steam", False, (("0", "not recommended"), ("1", "recommended"))),
    DataSet("dbpedia", "DBPedia", False, is_multiclass=True),
    DataSet("complaints", "Complaints", False, is_multiclass=True),
)

_SENTENCES, _DOCUMENTS, _WORDS = "sentences", "documents", "words"
MODELS = (
    ModelKind("full", "ours, full", "ours", "full", _SENTENCES, 9),
    ModelKind("adapter", "ours, adapter", "ours", "adapter", _SENTENCES, 3),
    ModelKind("none", "ours, frozen", "ours", "none", _SENTENCES, 2),
    ModelKind("single-full", "ours, single sentences, full", "single", "full", _SENTENCES, 9),
    ModelKind("single", "ours, single sentences, adapter", "single", "adapter", _SENTENCES, 3),
    ModelKind("single-none", "ours, single sentences, frozen", "single", "none", _SENTENCES, 2),
    ModelKind("paper-full", "paper's procedure, full", "paper", "full", _SENTENCES, 10),
    ModelKind("paper", "paper's procedure, frozen", "paper", "none", _SENTENCES, 4),
    ModelKind("ceiling-full", "no prototypes, full", "ceiling", "full", "", 8),
    ModelKind("ceiling-adapter", "no prototypes, adapter", "ceiling", "adapter", "", 3),
    ModelKind("ceiling-none", "no prototypes, frozen", "ceiling", "none", "", 2),
    ModelKind("bag-of-words", "bag of words", "rival", None, _WORDS, 0, False),
    ModelKind("bag-of-words-paper", "bag of words, the paper's", "rival", None, _WORDS, 0, False),
    ModelKind("transformer", "transformer", "rival", None, "", 7),
    ModelKind("prosenet", "ProSeNet", "rival", None, _DOCUMENTS, 6, False, uses_vectors=True),
    ModelKind("lstm", "vanilla LSTM", "rival", None, "", 5, False, uses_vectors=True),
    ModelKind("protoattend", "ProtoAttend", "rival", None, "all training documents", 2),
)

TEMPLATES = Path(__file__).parent / "templates"
DESCRIPTIONS: dict[str, dict[str, Any]] = tomllib.loads(
    (TEMPLATES / "experiments.toml").read_text("utf-8")
)
"""The experiments, what the pages say, and the settings of quick runs."""

_PAPER = (TEMPLATES / "paper_figures.txt").read_text("utf-8").splitlines()
_PAPER_SETS, *_PAPER_LINES = (line.split() for line in _PAPER if line[:1] != "#")
_PAPER_FIGURES = {
    (name, figure): float(word)
    for figure, *words in _PAPER_LINES
    for name, word in zip(_PAPER_SETS, words, strict=True)
    if word != "-"
}


def paper_figure(name: str, figure: str) -> float | None:
    """Return what the paper reports for a data set; None where it reports nothing."""
    return _PAPER_FIGURES.get((name, figure))


def find_data_set(name: str) -> DataSet:
    """Return what is known of a data set; of one that the paper does not have, its name."""
    known = {each.name: each for each in DATA_SETS}
    return known.get(name, DataSet(name, name, is_exact=False))


def find_model(name: str) -> ModelKind:
    """Return a model by its name."""
    known = {kind.name: kind for kind in MODELS}
    if name not in known:
        raise InputError(f"there is no model {name!r}; the models are {', '.join(known)}.")
    return known[name]


@dataclass(frozen=True)
class Documents:
    """Training and test documents, and what a person should know of how they were read."""

    train: Table
    test: Table
    notes: tuple[str, ...] = ()
    split: str = ""  # the column that says which are which; empty where there is none
    quick: bool = False

    @property
    def columns(self) -> dict[str, str]:
        """The columns by what they hold."""
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
    """A table of documents; columns that are None are guessed.

    Without a column that says which are for testing, a fifth of every class is held out.
    """

    path: Path
    text: str | None = None
    label: str | None = None
    split: str = "split"

    def read(self, *, quick: bool = False) -> Documents:
        """Read the table, without rows that have no text."""
        from protorynet.data import read_columns, read_table

        columns = read_columns(self.path)
        names = columns.column_names
        by_lower = {name.lower(): name for name in names}
        column = self.split if self.split in names else by_lower.get(self.split.lower())
        if column is None and self.split != "split":
            listed = ", ".join(map(repr, names))
            raise InputError(f"{self.path} has no column {self.split!r}; it has {listed}.")
        how: dict[str, Any] = {"text": self.text, "label": self.label, "skip_empty": True}
        if column is None:
            documents = _hold_out(read_table(self.path, **how))
        else:
            # `read_table` splits only by a column that is called "split".
            source = self.path if column == "split" else _rename_split(columns, column)
            train, test = (read_table(source, split=name, **how) for name in ("train", "test"))
            notes = (*train.notes, *_note_other_splits(columns.column(column).to_pylist()))
            documents = Documents(train, test, notes, column)
        if any(isinstance(label, tuple) for label in documents.train.labels or ()):
            raise InputError(
                f"{self.path} has documents with several labels; the models compared here give one "
                "class per document. Choose a column of single labels with --label."
            )
        documents = _drop_unseen_labels(documents)
        if not quick:
            return documents
        train, test = _few(documents.train, _QUICK_TRAIN), _few(documents.test, _QUICK_TEST)
        return replace(documents, train=train, test=test, quick=True)


def _note_other_splits(values: list[Any]) -> Iterator[str]:
    others = Counter(str(value or "") for value in values if value not in ("train", "test"))
    if others:
        names = shorten(", ".join(map(repr, others)), _LONGEST_LIST)
        yield f"{others.total():,} rows with split {names} are left out, not 'train' or 'test'"


def _rename_split(columns: Any, split: str) -> Any:
    names = [name for name in columns.column_names if name == split or name.lower() != "split"]
    renamed = ["split" if name == split else name for name in names]
    return columns.select(names).rename_columns(renamed)


def _drop_unseen_labels(documents: Documents) -> Documents:
    """Leave out test documents whose label no model can know from training."""
    known, labels = set(documents.train.labels or ()), documents.test.labels or ()
    kept = [row for row, label in enumerate(labels) if label in known]
    if len(kept) == len(labels):
        return documents
    unseen = ", ".join(sorted({repr(label) for label in labels} - {repr(label) for label in known}))
    if not kept:
        raise InputError(f"no training document has the labels of the test documents: {unseen}.")
    note = (
        f"{len(labels) - len(kept):,} test documents are left out because no training document has "
        f"their label: {shorten(unseen, _LONGEST_LIST)}"
    )
    test = _take(documents.test, kept)
    return replace(documents, test=test, notes=(*documents.notes, note))


def _hold_out(table: Table) -> Documents:
    """Hold out a fifth of every class."""
    import numpy as np

    order = np.random.default_rng(_SEED).permutation(len(table)).tolist()
    held_out = [
        row
        for rows in _rows_by_class(table, order)
        for row in rows[: round(_TEST_SHARE * len(rows))]
    ]
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
    return Documents(_take(table, kept), _take(table, sorted(held_out)), (*table.notes, note))


def _few(table: Table, count: int) -> Table:
    """Return the beginnings of some documents of every class, enough to try everything out."""
    classes = _rows_by_class(table, range(len(table)))
    most = max(4, count // len(classes))
    kept = _take(table, sorted(row for rows in classes for row in rows[:most]))
    return replace(kept, texts=tuple(text[:_QUICK_CHARACTERS] for text in kept.texts))


def _rows_by_class(table: Table, order: Iterable[int]) -> list[list[int]]:
    by_class: dict[Any, list[int]] = {}
    for row in order:
        by_class.setdefault(table.labels[row] if table.labels else None, []).append(row)
    return list(by_class.values())


def _take(table: Table, rows: list[int]) -> Table:
    labels = table.labels
    return replace(
        table,
        texts=tuple(table.texts[row] for row in rows),
        labels=None if labels is None else tuple(labels[row] for row in rows),
        rows=table.rows[rows],
    )


@dataclass(frozen=True)
class Variant:
    """A model with some settings changed."""

    name: str = ""  # as in records and tables, such as "n_prototypes=50"
    changes: Mapping[str, Any] = field(default_factory=dict)
    thresholds: tuple[float, ...] = ()  # usages below which a trained model is pruned


PLAIN = Variant()


@dataclass(frozen=True)
class Job:
    """One model on one data set with one seed; encoder and vectors are empty if it has none."""

    set: str
    encoder: str
    model: str
    variant: Variant
    seed: int
    quick: bool = False
    vectors: str = ""

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What distinguishes one job from another, as `Record.key` does."""
        return self.set, self.encoder, self.model, self.variant.name, self.seed

    @property
    def kind(self) -> ModelKind:
        """The model's kind."""
        return find_model(self.model)

    @property
    def settings(self) -> Settings:
        """The hyper-parameters of ours, of the paper's procedure and of the ceilings."""
        changes = dict(DESCRIPTIONS["quick"]["settings"]) if self.quick else {}
        if self.kind.encoder_training is not None:
            changes["encoder_training"] = self.kind.encoder_training
        settings = preset(_PRESETS.get(self.kind.family, "default"))
        return settings.replace(**changes).replace(**self.variant.changes)

    @property
    def options(self) -> dict[str, Any]:
        """What a rival is built with, where it is not its default."""
        ngrams = {"ngrams": 1} if self.model == "bag-of-words-paper" else {}
        quick = DESCRIPTIONS["quick"].get(self.model, {}) if self.quick else {}
        vectors = {"vectors": self.vectors} if self.vectors else {}
        return {**ngrams, **quick, **vectors}

    @property
    def changes(self) -> dict[str, Any]:
        """The settings or options that differ from the defaults."""
        quick = {"quick": True} if self.quick else {}
        if self.kind.family == "rival":
            return {**self.options, **quick}
        default, given = Settings().to_dict(), self.settings.to_dict()
        return {name: given[name] for name in given if given[name] != default[name]} | quick

    @property
    def recipe(self) -> str:
        """A digest of all settings, so that a change of the defaults shows; a rival's options."""
        is_rival = self.kind.family == "rival"
        text = json.dumps(self.options if is_rival else self.settings.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def __str__(self) -> str:
        words = " ".join(filter(None, (self.set, self.encoder, self.model, self.variant.name)))
        return f"{words}, seed {self.seed}"
