"""What can be measured: the data sets and the models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from protorynet.errors import InputError
from protorynet.settings import EncoderTraining, Settings, preset

__all__ = [
    "DATA_SETS",
    "MODELS",
    "DataSet",
    "Family",
    "ModelKind",
    "data_set",
    "job_settings",
    "model_kind",
    "rival_options",
]

Family = Literal["ours", "paper", "ceiling", "rival"]


@dataclass(frozen=True)
class DataSet:
    """A data set as the tables name it.

    Parameters
    ----------
    name, title
        Its file without the suffix, and what people call it.
    exact
        Whether it is the paper's own data and split, not a slice of the same kind.
    classes
        What its labels mean, where they are numbers.
    multiclass
        Whether the paper uses it to show more than two classes.
    """

    name: str
    title: str
    exact: bool
    classes: tuple[tuple[str, str], ...] = ()
    multiclass: bool = False

    @property
    def is_slice(self) -> bool:
        """Whether it is of the paper's kind, but not its own data and split."""
        return not self.exact and any(each.name == self.name for each in DATA_SETS)

    def class_name(self, label: str) -> str:
        """Return what a label means.

        Examples
        --------
        >>> data_set("imdb").class_name("1")
        'positive'
        """
        return dict(self.classes).get(label, label)


@dataclass(frozen=True)
class ModelKind:
    """A model that can be measured.

    Parameters
    ----------
    name, title
        Its name on the command line, and what the tables say.
    family
        ``"ours"``, ``"paper"`` (the paper's procedure), ``"ceiling"`` (the same encoder with no
        prototypes) or ``"rival"``.
    encoder_training
        How much of the encoder learns; None for a rival, which has its own way.
    reads
        What a person can read of it, in the plural; empty for a black box.
    cost
        Its place in the order of jobs: the cheap come first.
    uses_encoder, uses_vectors
        Whether it is made with a sentence encoder, or with word vectors where they are given.
    """

    name: str
    title: str
    family: Family
    encoder_training: EncoderTraining | None
    reads: str
    cost: int
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
    DataSet("dbpedia", "DBPedia", False, multiclass=True),
    DataSet("complaints", "Complaints", False, multiclass=True),
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
    ModelKind("bag-of-words", "bag of words", "rival", None, _WORDS, 0, uses_encoder=False),
    ModelKind(
        "bag-of-words-paper",
        "bag of words, the paper's",
        "rival",
        None,
        _WORDS,
        0,
        uses_encoder=False,
    ),
    ModelKind("transformer", "transformer", "rival", None, "", 7),
    ModelKind("prosenet", "ProSeNet", "rival", None, _DOCUMENTS, 6, False, uses_vectors=True),
    ModelKind("lstm", "vanilla LSTM", "rival", None, "", 5, False, uses_vectors=True),
    ModelKind("protoattend", "ProtoAttend", "rival", None, "all training documents", 2),
)

# Enough to see that everything works, in seconds on a small table; not figures to publish.
_QUICK: dict[str, Any] = {
    "n_prototypes": 8,
    "min_prototypes": 3,
    "max_prototypes": 4,
    "epochs": 2,
    "retrain_epochs": 2,
    "full_epochs": 1,
    "full_retrain_epochs": 1,
    "patience": 2,
}
_OPTIONS: dict[str, dict[str, Any]] = {"bag-of-words-paper": {"ngrams": 1}}
_QUICK_OPTIONS: dict[str, dict[str, Any]] = {
    "transformer": {"epochs": 1, "max_tokens": 64},
    "prosenet": {"n_prototypes": 5, "epochs": 1, "max_length": 60, "hidden_size": 32},
    "lstm": {"epochs": 2, "max_length": 60, "hidden_size": 32},
    "protoattend": {"epochs": 3},
}


def data_set(name: str) -> DataSet:
    """Return what is known of a data set; of one that the paper does not have, its name."""
    known = {each.name: each for each in DATA_SETS}
    return known.get(name, DataSet(name, name, exact=False))


def model_kind(name: str) -> ModelKind:
    """Return a model by its name.

    Examples
    --------
    >>> model_kind("ceiling-full").family
    'ceiling'
    """
    for kind in MODELS:
        if kind.name == name:
            return kind
    listed = ", ".join(kind.name for kind in MODELS)
    raise InputError(f"there is no model {name!r}; the models are {listed}.")


def job_settings(kind: ModelKind, *, quick: bool = False) -> Settings:
    """Return the settings with which a model is measured.

    Examples
    --------
    >>> job_settings(model_kind("paper-full")).n_prototypes
    200
    """
    settings = preset("paper" if kind.family == "paper" else "default")
    changes: dict[str, Any] = dict(_QUICK) if quick else {}
    if kind.encoder_training is not None:
        changes["encoder_training"] = kind.encoder_training
    return settings.replace(**changes)


def rival_options(kind: ModelKind, *, quick: bool = False) -> dict[str, Any]:
    """Return the options with which a rival is built, where they are not its defaults.

    Examples
    --------
    >>> rival_options(model_kind("bag-of-words-paper"))
    {'ngrams': 1}
    """
    return {
        **_OPTIONS.get(kind.name, {}),
        **(_QUICK_OPTIONS.get(kind.name, {}) if quick else {}),
    }
