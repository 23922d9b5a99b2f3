"""What can be measured: the data sets, the models, and what the paper reports of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from protorynet.errors import InputError
from protorynet.settings import EncoderTraining, Settings, preset

__all__ = [
    "DATA_SETS",
    "MODELS",
    "PAPER",
    "DataSet",
    "Family",
    "ModelKind",
    "PaperFigures",
    "data_set",
    "job_settings",
    "model_kind",
]

Family = Literal["ours", "paper", "ceiling", "floor"]


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
    """

    name: str
    title: str
    exact: bool
    classes: tuple[tuple[str, str], ...] = ()

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
        prototypes) or ``"floor"`` (bag of words).
    encoder_training
        How much of the encoder learns; None where there is no encoder.
    """

    name: str
    title: str
    family: Family
    encoder_training: EncoderTraining | None

    @property
    def has_prototypes(self) -> bool:
        """Whether its faithfulness can be measured."""
        return self.family in ("ours", "paper")


@dataclass(frozen=True)
class PaperFigures:
    """Accuracies printed in the paper, and its number of prototypes after pruning."""

    fine_tuned: float | None
    frozen: float | None
    distilbert: float | None
    prosenet: float | None
    lstm: float | None
    bag_of_words: float | None
    n_prototypes: int


_NEGATIVE_POSITIVE = (("0", "negative"), ("1", "positive"))

DATA_SETS = (
    DataSet("imdb", "IMDB", True, _NEGATIVE_POSITIVE),
    DataSet("amazon", "Amazon", False, _NEGATIVE_POSITIVE),
    DataSet("yelp", "Yelp", False, _NEGATIVE_POSITIVE),
    DataSet("rotten_tomatoes", "Rotten Tomatoes", False, (("0", "rotten"), ("1", "fresh"))),
    DataSet("hotel", "Hotel", True, _NEGATIVE_POSITIVE),
    DataSet("steam", "Steam", False, (("0", "not recommended"), ("1", "recommended"))),
    DataSet("dbpedia", "DBPedia", False),
    DataSet("complaints", "Complaints", False),
)

MODELS = (
    ModelKind("full", "ours, full", "ours", "full"),
    ModelKind("adapter", "ours, adapter", "ours", "adapter"),
    ModelKind("none", "ours, frozen", "ours", "none"),
    ModelKind("paper-full", "paper's procedure, full", "paper", "full"),
    ModelKind("paper", "paper's procedure, frozen", "paper", "none"),
    ModelKind("ceiling-full", "no prototypes, full", "ceiling", "full"),
    ModelKind("ceiling-adapter", "no prototypes, adapter", "ceiling", "adapter"),
    ModelKind("ceiling-none", "no prototypes, frozen", "ceiling", "none"),
    ModelKind("bag-of-words", "bag of words", "floor", None),
)

PAPER = {
    "imdb": PaperFigures(0.914, 0.871, 0.931, 0.863, 0.871, 0.877, 8),
    "amazon": PaperFigures(0.918, 0.890, 0.940, 0.875, 0.884, 0.830, 14),
    "yelp": PaperFigures(0.962, 0.941, 0.967, 0.932, 0.952, 0.908, 15),
    "rotten_tomatoes": PaperFigures(0.881, 0.771, 0.903, 0.869, 0.877, 0.785, 23),
    "hotel": PaperFigures(0.961, 0.949, 0.976, 0.930, 0.949, 0.905, 7),
    "steam": PaperFigures(0.924, 0.876, 0.955, 0.834, 0.864, 0.844, 17),
    "dbpedia": PaperFigures(0.991, None, 0.996, 0.984, None, None, 20),
    "complaints": PaperFigures(0.927, None, 0.967, 0.878, None, None, 20),
}
"""The paper's own figures; only IMDB and Hotel were measured on the same data and split."""

# Enough to see that everything works, in seconds on a small table; not figures to publish.
_QUICK: dict[str, Any] = {
    "n_prototypes": 8,
    "min_prototypes": 3,
    "max_prototypes": 4,
    "epochs": 3,
    "retrain_epochs": 3,
    "full_epochs": 1,
    "full_retrain_epochs": 1,
    "patience": 3,
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
