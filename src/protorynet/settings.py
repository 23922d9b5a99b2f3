"""Every hyper-parameter, in one frozen and validated place.

>>> Settings().max_prototypes
20
>>> preset("paper").psi_squared
10.0
>>> Settings(distance="taxicab")
Traceback (most recent call last):
...
protorynet.errors.SettingsError: distance='taxicab' is not one of 'euclidean', 'cosine'.
"""

from __future__ import annotations

import dataclasses
import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

from protorynet.errors import SettingsError, list_nearest

Distance = Literal["euclidean", "cosine"]
Selection = Literal["one_hot", "straight_through", "paper", "dense"]
AccuracyLoss = Literal["cross_entropy", "mse"]
EncoderTraining = Literal["none", "adapter", "full"]
Retrain = Literal["together", "reader"]
ClassWeight = Literal["auto", "balanced", "none"]

_RANGES: dict[str, tuple[float, float]] = {
    name: (low, high)
    for names, low, high in (
        ("n_prototypes min_prototypes max_prototypes", 2, 100_000),
        ("members", 1, 10_000),
        ("psi_squared eta", 1e-6, 1e6),
        ("gamma", 1.0, 1e12),
        ("temperature", 1e-4, 100.0),
        ("adapter_size reader_size", 1, 65_536),
        ("reader_layers", 1, 16),
        ("reader_dropout", 0.0, 0.95),
        ("alpha beta delta anchor balance typicality lone_sentences", 0.0, 1e6),
        ("full_anchor full_balance", 0.0, 1e6),
        ("ids_only_share prune_tolerance", 0.0, 1.0),
        ("epochs retrain_epochs full_epochs full_retrain_epochs", 1, 100_000),
        ("patience project_every", 1, 100_000),
        ("batch_size full_batch_size kmedoids_memory_mb", 1, 1_000_000),
        ("learning_rate", 1e-8, 10.0),
        ("encoder_learning_rate", 1e-9, 1.0),
        ("validation_fraction", 0.01, 0.5),
    )
    for name in names.split()
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The hyper-parameters of one training run.

    Greek names are the paper's. Values are checked when the object is made.

    Parameters
    ----------
    n_prototypes
        K, the number of prototypes before pruning.
    min_prototypes, max_prototypes
        The fewest and the most prototypes pruning may leave. Two prototypes often classify as
        well as twenty, but a trajectory over two says little. The floor is never above the most.
    members
        How many real sentences, its members, a prototype may have on average. 1 is the paper's
        model: every prototype is one sentence. With more, a prototype is a family of sentences of
        one kind and one tone; up to six classes a model has `max_prototypes` families at most,
        else three per class. Then the settings of k-medoids, projection and pruning do nothing.
    words
        Let families begin from what words and pairs of words tell of the label, by a logistic
        regression of the same documents.
    distance, psi_squared
        The metric d and the constant ψ² of the similarity exp(−d / ψ²).
    selection
        What the reader sees of a sentence: ``"one_hot"`` (which prototype is active, and nothing
        else), ``"straight_through"`` (its similarity too; exact one-hot forward, soft gradient
        backward), ``"paper"`` (the same by a softmax with γ), ``"dense"`` (the similarities to
        all prototypes, for ablation).
    gamma, temperature
        γ of the paper's softmax; temperature of the straight-through gradient.
    encoder_training
        ``"none"``: embeddings as they are; ``"adapter"``: a small residual network on top of frozen
        embeddings; ``"full"``: the encoder itself is fine-tuned.
    adapter_size, reader_size, reader_layers, reader_dropout
        Hidden sizes of the adapter and of the LSTM reader, its layers and dropout.
    accuracy_loss
        ``"cross_entropy"``, or ``"mse"`` as in the paper.
    class_weight
        What a document of each class counts in training: ``"none"``, all alike; ``"balanced"``, so
        much that all classes count alike; ``"auto"``, only a rare class counts more, one that has
        less than a fifth of its even share (2 % of the documents of two classes: 5 times).
    alpha, delta, eta
        Weight of the diversity loss, its minimum distance and its smoothing.
    beta
        Weight of the prototypicality loss.
    anchor
        Weight of the semantic anchor, which keeps trained embeddings near the pre-trained ones.
    balance
        Weight of the balance loss, which keeps a few prototypes from taking most sentences.
    typicality
        How much a sentence that is to stand for a prototype should be typical, in the pre-trained
        space, of the sentences matched to it; at 0 the nearest one is taken, as in the paper.
    lone_sentences
        Weight of the accuracy loss with every sentence read alone under its document's label, so
        that the score of a prototype read alone means something.
    ids_only_share
        Share of the training documents read with every similarity at 1, so that the prototype ids
        carry the decision; with ``selection="straight_through"`` only, where the ids remain.
    epochs, retrain_epochs, patience
        Most epochs of training and of retraining the reader; epochs without improvement allowed.
    batch_size, learning_rate
        Documents per step, and Adam's learning rate.
    full_epochs, full_retrain_epochs, full_batch_size, full_anchor, full_balance
        The same with ``encoder_training="full"``: epochs, most documents per step, and the
        weights of the anchor and of the balance loss.
    encoder_learning_rate
        The highest learning rate of the encoder itself.
    project_every
        Epochs between projections of the prototypes onto real sentences.
    retrain
        What learns after pruning: ``"reader"`` alone, as in the paper, or ``"together"`` with the
        adapter or encoder, while every prototype stays tied to its sentence's embedding.
    exact
        Deliver prototypes that *are* the embeddings of their sentences. ``False`` projects for
        display only, as the paper does, and is there for reproduction.
    validation_fraction
        Share of the training documents held out to stop, prune and choose; at most 1,000 are.
    prune_tolerance
        Validation accuracy that may be given up for fewer prototypes.
    kmedoids_memory_mb
        Largest distance matrix that the k-medoids initialisation may hold.
    """

    n_prototypes: int = 100
    min_prototypes: int = 20
    max_prototypes: int = 20
    members: int = 750
    words: bool = True
    distance: Distance = "euclidean"
    psi_squared: float = 1.0
    selection: Selection = "one_hot"
    gamma: float = 1e6
    temperature: float = 0.1

    encoder_training: EncoderTraining = "adapter"
    adapter_size: int = 128
    reader_size: int = 64
    reader_layers: int = 1
    reader_dropout: float = 0.0

    accuracy_loss: AccuracyLoss = "cross_entropy"
    class_weight: ClassWeight = "auto"
    alpha: float = 0.1
    delta: float = 1.0
    eta: float = 1.0
    beta: float = 0.1
    anchor: float = 0.3
    balance: float = 0.03
    typicality: float = 1.0
    lone_sentences: float = 0.1
    ids_only_share: float = 0.5

    epochs: int = 20
    retrain_epochs: int = 8
    patience: int = 4
    batch_size: int = 128
    learning_rate: float = 1e-3
    full_epochs: int = 3
    full_retrain_epochs: int = 4
    full_batch_size: int = 64
    full_anchor: float = 0.1
    full_balance: float = 0.1
    encoder_learning_rate: float = 7e-5
    project_every: int = 10
    retrain: Retrain = "together"
    exact: bool = True
    validation_fraction: float = 0.1
    prune_tolerance: float = 0.002
    kmedoids_memory_mb: int = 64

    def __post_init__(self) -> None:
        for name, hint in get_type_hints(type(self)).items():
            value = getattr(self, name)
            if choices := get_args(hint):
                if not isinstance(value, str) or value not in choices:
                    listed = ", ".join(repr(choice) for choice in choices)
                    raise SettingsError(f"{name}={value!r} is not one of {listed}.")
            elif hint is bool:
                if not isinstance(value, bool):
                    raise SettingsError(f"{name}={value!r} should be true or false.")
            else:
                self._check_number(name, value, whole=hint is int)
        if self.members > 1 and not (self.exact and self.selection == "one_hot"):
            raise SettingsError(
                f"members={self.members} needs exact=true and selection='one_hot'; with "
                f"selection={self.selection!r} and exact={str(self.exact).lower()} give members=1."
            )
        # Who asks for few prototypes at most need not lower the floor as well.
        object.__setattr__(self, "min_prototypes", min(self.min_prototypes, self.max_prototypes))

    def _check_number(self, name: str, value: Any, *, whole: bool) -> None:
        # NumPy's numbers are welcome, since searches over settings draw them from arrays.
        kinds: Any = Integral if whole else Real
        if isinstance(value, bool) or not isinstance(value, kinds):
            kind = "a whole number" if whole else "a number"
            raise SettingsError(f"{name}={value!r} should be {kind}.")
        low, high = _RANGES[name]
        if not low <= value <= high:
            raise SettingsError(f"{name}={value!r} should be between {low:g} and {high:g}.")
        object.__setattr__(self, name, int(value) if whole else float(value))

    @property
    def learns_words(self) -> bool:
        """Whether families begin from what words tell of the label."""
        return self.words and self.members > 1 and self.encoder_training != "none"

    def replace(self, **changes: Any) -> Settings:
        """Return a copy with some values changed; unknown names are refused.

        Examples
        --------
        >>> Settings().replace(alpha=0.2).alpha
        0.2
        """
        return Settings.from_dict({**self.to_dict(), **changes})

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values, ready for JSON or TOML."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Settings:
        """Build settings from plain values; missing ones keep their defaults."""
        known = {field.name for field in dataclasses.fields(cls)}
        for name in sorted(set(values) - known):
            raise SettingsError(
                f"there is no setting {name!r}; the nearest are {list_nearest(name, known, 3)}."
            )
        return cls(**values)

    def to_toml(self) -> str:
        """Return the settings as a TOML document that `load_settings` reads back."""
        # A JSON scalar (number, string, true, false) is a TOML scalar too.
        return "".join(f"{key} = {json.dumps(value)}\n" for key, value in self.to_dict().items())


_PRESETS = tomllib.loads(Path(__file__).with_name("presets.toml").read_text(encoding="utf-8"))


def preset(name: str) -> Settings:
    """Return a named set of hyper-parameters.

    ``"default"``: prototypes are families of sentences; ``"single"``: each is one sentence, trained
    as well as is known; ``"paper"``: each is one sentence, with the paper's values.
    """
    if name not in _PRESETS:
        listed = ", ".join(repr(known) for known in _PRESETS)
        raise SettingsError(f"there is no preset {name!r}; the presets are {listed}.")
    return Settings.from_dict(_PRESETS[name])


def load_settings(source: str | Path | Settings) -> Settings:
    """Return settings from a preset's name, or from a TOML or JSON file.

    Examples
    --------
    >>> load_settings("default") == Settings()
    True
    """
    if isinstance(source, Settings):
        return source
    if not isinstance(source, str | os.PathLike):
        raise SettingsError(
            f"settings should be a preset's name, a file or a Settings, not {source!r}."
        )
    if str(source) in _PRESETS:
        return preset(str(source))
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8")
        values = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except FileNotFoundError:
        listed = ", ".join(repr(name) for name in _PRESETS)
        raise SettingsError(
            f"{str(source)!r} is neither a preset ({listed}) nor a settings file that exists."
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise SettingsError(f"the settings file {path} cannot be read: {error}") from None
    if not isinstance(values, dict):
        raise SettingsError(f"the settings file {path} should hold a table of names and values.")
    return Settings.from_dict(values)
