"""What can be measured, the data sets and the models, and what the paper reports of them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from protorynet.errors import InputError
from protorynet.settings import EncoderTraining

Family = Literal["ours", "paper", "ceiling", "rival"]


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
    """A model that can be measured: ours, or what it is compared with.

    The family ``"paper"`` follows the paper's procedure; a ``"ceiling"`` is the same encoder with
    no prototypes.
    """

    name: str
    title: str
    family: Family
    encoder_training: EncoderTraining | None  # a rival has its own way
    reads: str  # what a person can read of it; empty for a black box
    cost: int  # its place in the order of jobs: the cheap come first
    uses_encoder: bool = True
    uses_vectors: bool = False

    @property
    def has_prototypes(self) -> bool:
        """Whether its faithfulness can be measured."""
        return self.family in ("ours", "paper")


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
    for kind in MODELS:
        if kind.name == name:
            return kind
    listed = ", ".join(kind.name for kind in MODELS)
    raise InputError(f"there is no model {name!r}; the models are {listed}.")
