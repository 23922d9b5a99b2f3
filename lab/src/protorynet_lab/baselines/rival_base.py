"""What rivals have in common: scikit-learn's contract, an explanation, a training loop."""

import math
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from torch import Tensor, nn
from torch.nn import functional

from protorynet.classifier import NotFittedError
from protorynet.data import Splitter, document_list, split_documents
from protorynet.errors import InputError, SettingsError
from protorynet.labels import LabelCode, check_labels, learn_labels
from protorynet.settings import Settings
from protorynet.training import Score, Stage, derive_seed, train_epochs, validation_documents

VALIDATION_FRACTION = Settings().validation_fraction  # as for ProtoryNet
FEWEST_DOCUMENTS = 4
_WORD = re.compile(r"\w+(?:['’-]\w+)*")


@dataclass(frozen=True)
class Evidence:
    """One thing that speaks for or against a prediction: words or a training document.

    Parameters
    ----------
    weight
        How much it speaks for the predicted class; below zero, against it.
    label
        Class of the training document; None for words.
    """

    text: str
    weight: float
    label: str | None = None


Reasons = tuple[Sequence[Evidence], str]
"""What spoke for or against a class, and a sentence on what the weights mean."""


@dataclass(frozen=True)
class RivalExplanation:
    """A prediction of a rival, and what it can say for it.

    Parameters
    ----------
    evidence
        What spoke for or against it, the weightiest first; empty for a model that cannot say.
    how
        One plain sentence: what the weights are, and how far they may be trusted.
    """

    label: Any
    probabilities: dict[str, float]
    evidence: tuple[Evidence, ...]
    how: str


@dataclass(frozen=True)
class Part:
    """Some documents, the number of the class of each, and its row among all documents given."""

    texts: list[str]
    targets: NDArray[np.int64]
    rows: NDArray[np.int64]


def parameter(default: Any, expected: str, is_right: Callable[[Any], bool]) -> Any:
    """Return a parameter of a rival that `fit` refuses, saying what is expected, unless right."""
    return field(default=default, metadata={"expected": expected, "is_right": is_right})


def whole(default: int | None, least: int, most: int | None = None) -> Any:
    """Return a parameter that is a whole number; None where that is the default."""
    bounds = f"of at least {least}" if most is None else f"between {least:g} and {most:g}"

    def is_right(value: Any) -> bool:
        if value is None or isinstance(value, bool) or not isinstance(value, Integral):
            return value is None and default is None
        return least <= int(value) <= (most or int(value))

    return parameter(default, f"should be a whole number {bounds}", is_right)


def number(default: float, bounds: str, is_within: Callable[[Any], bool]) -> Any:
    """Return a parameter that is a number within bounds, which are also given in words."""

    def is_right(value: Any) -> bool:
        return isinstance(value, Real) and not isinstance(value, bool) and is_within(value)

    return parameter(default, f"should be a number {bounds}", is_right)


def one_of(*choices: str) -> Any:
    """Return a parameter that has one of some values; the first is the default."""
    expected = f"is not one of {', '.join(map(repr, choices))}"
    return parameter(choices[0], expected, lambda value: value in choices)


# As a dataclass a rival names each parameter and its default once: the constructor that
# scikit-learn inspects is made from them, and rivals of one kind inherit what they share.
@dataclass(kw_only=True, eq=False, repr=False)
class Rival(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A classifier that ProtoryNet is measured against.

    A subclass says how it learns from one part of the documents while watching another, how it
    gives probabilities, and what it can say for them. Its fields are its parameters.

    Attributes
    ----------
    classes_
        The classes, in the order of the columns of `predict_proba`.
    validation_accuracy_
        Accuracy on the documents held out to stop and to choose. They are the same for every
        model with the same seed, unless documents without a sentence are left out before.
    seconds_
        Time that `fit` took.
    """

    random_state: int = whole(0, 0)

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Learn from texts (a list, a pandas Series or a NumPy array) and one class for each."""
        start = time.perf_counter()
        texts = list_texts(X)
        check_labels(y, len(texts))
        self.labels_ = learn_labels(y)
        try:
            self._check_parameters()
            self.validation_accuracy_ = self._learn_all(texts, self.labels_.encode(y))
        except BaseException:
            del self.labels_  # what is half trained must not pass for fitted
            raise
        self.seconds_ = time.perf_counter() - start
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float32]:  # noqa: N803
        """Return the probability of each class for each document."""
        self._code()
        return self._probabilities(list_texts(X))

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Return the most probable class of each document."""
        return self._code().decode(self.predict_proba(X))

    def explain(self, text: str) -> RivalExplanation:
        """Say what spoke for the prediction for one document, as far as this model can."""
        code = self._code()
        probabilities = self.predict_proba([text])
        evidence, how = self._evidence(text, int(probabilities[0].argmax()))
        return RivalExplanation(
            label=code.decode(probabilities)[0],
            probabilities=dict(zip(code.names, probabilities[0].tolist(), strict=True)),
            evidence=tuple(sorted(evidence, key=lambda item: (-abs(item.weight), item.text))),
            how=how,
        )

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the order of the columns of `predict_proba`."""
        return self._code().array()

    def _learn_all(self, texts: list[str], targets: NDArray[np.float32]) -> float:
        """Hold out some documents, learn from the others, and return the accuracy on the former."""
        self._check_task()
        if len(texts) < FEWEST_DOCUMENTS:
            raise InputError(
                f"{len(texts)} documents are too few to train on; give at least {FEWEST_DOCUMENTS}."
            )
        seed = int(self.random_state)
        held_out = validation_documents(targets, self._code(), VALIDATION_FRACTION, seed)
        kept = np.setdiff1d(np.arange(len(texts)), held_out)
        classes = targets.argmax(axis=1)
        parts = [
            Part([texts[row] for row in rows], classes[rows], rows) for rows in (kept, held_out)
        ]
        return self._learn(*parts)

    def _learn(self, train: Part, validation: Part) -> float:
        """Learn, and return the accuracy on the validation documents."""
        raise NotImplementedError(f"{type(self).__name__} has neither _learn nor _learn_all.")

    @abstractmethod
    def _probabilities(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the probabilities of the classes, (documents, classes)."""

    @abstractmethod
    def _evidence(self, text: str, label: int) -> Reasons:
        """Say what spoke for the class `label`, by its number."""

    def _code(self) -> LabelCode:
        if not hasattr(self, "labels_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted; call fit first.")
        return self.labels_

    def _check_task(self) -> None:
        if self._code().task != "multiclass":
            raise InputError(f"{type(self).__name__} gives one class per document, not several.")

    def _check_parameters(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if "is_right" in each.metadata and not each.metadata["is_right"](value):
                raise SettingsError(f"{each.name}={value!r} {each.metadata['expected']}.")


def list_texts(documents: Any) -> list[str]:
    """Return documents as a list, refusing what is no text."""
    texts = document_list(documents, are_texts=True)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(
                f"the document in row {row} (counted from 0) is of type {type(text).__name__}; "
                "expected str. Remove the row or convert it to text."
            )
    return texts


def class_margin(values: NDArray[np.float64], label: int) -> NDArray[np.float64]:
    """Return the values of one class less the mean of the others'."""
    if len(values) == 1:  # of a regression on two classes: the second's less the first's
        values = np.concatenate([-values / 2, values / 2])
    margin: NDArray[np.float64] = values[label] - np.delete(values, label, axis=0).mean(axis=0)
    return margin


def leave_one_out(
    text: str,
    label: int,
    probabilities: Callable[[list[str]], NDArray[np.float32]],
    *,
    splitter: Splitter = Splitter(),
) -> Reasons:
    """Say what a class's probability loses without each sentence, or word if there is but one."""
    found = split_documents([text], splitter=splitter, on_empty="skip")
    spans, kind = list(zip(found.starts.tolist(), found.ends.tolist(), strict=True)), "sentence"
    if len(spans) < 2:
        spans, kind = [match.span() for match in _WORD.finditer(text)], "word"
    shortened = [text[:start] + text[end:] for start, end in spans]
    values = probabilities([text, *shortened])[:, label]
    effects = (values[0] - values[1:]).tolist()
    evidence = [
        Evidence(text[start:end], effect)
        for (start, end), effect in zip(spans, effects, strict=True)
    ]
    return evidence, (
        f"A {kind}'s weight is the probability that the predicted class loses when that {kind} "
        "alone is left out; it was measured from outside and does not say how the model decides."
    )


def train_network(
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    stage: Stage,
    *,
    seed: int,
    losses: Callable[[int, np.random.Generator], Iterator[Tensor]],
    validate: Callable[[], Score],
    longest_gradient: float | None = None,
    progress: bool = False,
) -> Score:
    """Train until the validation loss stops falling; return the score of the epoch kept.

    `losses` yields the loss of each batch of an epoch, and a step is taken after each.
    """

    def run_epoch(epoch: int) -> None:
        epoch_seed = derive_seed(seed, f"{stage.name} {epoch}")
        torch.manual_seed(epoch_seed)
        network.train()
        for loss in losses(epoch, np.random.default_rng(epoch_seed)):
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            if longest_gradient is not None:
                nn.utils.clip_grad_norm_(network.parameters(), longest_gradient)
            optimiser.step()
        network.eval()

    network.eval()
    return train_epochs(network, optimiser, run_epoch, validate, stage=stage, progress=progress)


def plan_epoch(
    n_documents: int, batch_size: int, *, smallest: int, cuts: int, steps: int, passes: int = 1_000
) -> tuple[int, int]:
    """Return the size of batches, and how often an epoch reads all documents.

    A small corpus is cut into about `cuts` batches and read at most `passes` times, so that an
    epoch has enough `steps` to learn something.
    """
    size = min(batch_size, max(smallest, n_documents // cuts))
    return size, min(passes, math.ceil(steps * size / n_documents))


def score_logits(logits: Tensor, classes: Tensor) -> Score:
    """Return the cross-entropy and the accuracy of logits."""
    right = logits.argmax(dim=1) == classes
    loss = functional.cross_entropy(logits, classes)
    return Score(float(loss), float(right.double().mean()))


def softmax(logits: Tensor) -> NDArray[np.float32]:
    """Return the probabilities of logits."""
    probabilities: NDArray[np.float32] = logits.softmax(dim=1).cpu().numpy()
    return probabilities
