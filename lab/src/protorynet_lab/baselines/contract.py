"""What every rival has in common: scikit-learn's contract, documents held out, an explanation."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from protorynet.classifier import NotFittedError
from protorynet.data import document_list
from protorynet.errors import InputError
from protorynet.labels import LabelCode, check_labels, learn_labels
from protorynet.settings import Settings
from protorynet.training import validation_documents

__all__ = ["Evidence", "Part", "Rival", "RivalExplanation", "text_list"]

_VALIDATION_FRACTION = Settings().validation_fraction  # as for ProtoryNet
_FEWEST_DOCUMENTS = 4


@dataclass(frozen=True)
class Evidence:
    """One thing that speaks for or against a prediction.

    Parameters
    ----------
    text
        A word, a pair of words, or a training document.
    weight
        How much it speaks for the predicted class; below zero, against it.
    label
        Class of the training document; None where `text` is none.
    """

    text: str
    weight: float
    label: str | None = None


@dataclass(frozen=True)
class RivalExplanation:
    """A prediction of a rival, and what it can say for it.

    Parameters
    ----------
    label, probabilities
        The prediction.
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
    """Some documents and their classes.

    Parameters
    ----------
    texts
        The documents.
    targets
        Number of the class of each.
    rows
        Place of each among all documents given, counted from 0.
    """

    texts: list[str]
    targets: NDArray[np.int64]
    rows: NDArray[np.int64]


class Rival(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A classifier that ProtoryNet is measured against.

    A subclass says how it learns from one part of the documents while watching another, how it
    gives probabilities, and what it can say for them. Its constructor takes `random_state`.

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

    random_state: int

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Learn from texts and one class for each.

        Parameters
        ----------
        X
            Texts: a list, a pandas Series or a NumPy array of strings.
        y
            One label per document.
        """
        start = time.perf_counter()
        texts = text_list(X)
        check_labels(y, len(texts))
        self.labels_ = learn_labels(y)
        try:
            self.validation_accuracy_ = self._learn_all(texts, self.labels_.encode(y))
        except BaseException:
            del self.labels_  # what is half learnt must not pass for fitted
            raise
        self.seconds_ = time.perf_counter() - start
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float32]:  # noqa: N803
        """Return the probability of each class for each document."""
        self._code()
        return self._probabilities(text_list(X))

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
        code, name = self._code(), type(self).__name__
        if code.task != "multiclass":
            raise InputError(f"{name} gives one class per document, not several.")
        if len(texts) < _FEWEST_DOCUMENTS:
            raise InputError(
                f"{len(texts)} documents are too few to train on; give at least "
                f"{_FEWEST_DOCUMENTS}."
            )
        held_out = validation_documents(targets, code, _VALIDATION_FRACTION, self._seed())
        kept = np.setdiff1d(np.arange(len(texts)), held_out)
        classes = targets.argmax(axis=1)
        parts = [
            Part([texts[place] for place in rows], classes[rows], rows) for rows in (kept, held_out)
        ]
        return self._learn(*parts)

    def _learn(self, train: Part, validation: Part) -> float:
        """Learn, and return the accuracy on the validation documents."""
        raise NotImplementedError(f"{type(self).__name__} has neither _learn nor _learn_all.")

    @abstractmethod
    def _probabilities(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the probabilities of the classes, (documents, classes)."""

    @abstractmethod
    def _evidence(self, text: str, place: int) -> tuple[Sequence[Evidence], str]:
        """Say what spoke for the class at `place`, and what the weights mean."""

    def _code(self) -> LabelCode:
        if not hasattr(self, "labels_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted; call fit first.")
        code: LabelCode = self.labels_
        return code

    def _seed(self) -> int:
        seed = self.random_state
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise InputError(f"random_state={seed!r} should be a whole number of at least 0.")
        return int(seed)


def text_list(documents: Any) -> list[str]:
    """Return documents as a list, refusing what is no text."""
    texts = document_list(documents, are_texts=True)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(
                f"the document in row {row} (counted from 0) is of type {type(text).__name__}; "
                "expected str. Remove the row or convert it to text."
            )
    return texts
