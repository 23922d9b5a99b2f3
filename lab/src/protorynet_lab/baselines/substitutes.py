"""What the LSTM adds: simpler readers of the same trajectories, as in section 5.3 of the paper.

Each sentence counts for the scores of its active prototype. An average compares their mean with a
threshold; a logistic regression and a decision tree see the scores of the first ten sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from protorynet.classifier import ProtoryNetClassifier
from protorynet.errors import InputError
from protorynet.labels import check_labels, learn_labels
from protorynet.model import Model
from protorynet.reading import Reading
from protorynet.training import validation_documents
from protorynet_lab.baselines.contract import Evidence, Rival, text_list
from protorynet_lab.baselines.score_readers import (
    Average,
    Regression,
    ScoreReader,
    SentenceScores,
    Tree,
)

__all__ = ["SUBSTITUTES", "SubstituteClassifier", "fit_substitutes", "substitute_predictions"]

_READERS: dict[str, Callable[[Sequence[str]], ScoreReader]] = {
    "average": Average,
    "logistic_regression": Regression,
    "decision_tree": Tree,
}
SUBSTITUTES = tuple(_READERS)


class _Reading(NamedTuple):
    """The trajectories of the documents that hold a sentence, and which documents those are."""

    trajectory: Reading
    filled: NDArray[np.bool_]

    def scores(self, model: Model) -> SentenceScores:
        """Return the scores of the active prototype of each sentence."""
        prototypes = model.prototypes
        table = [[item.scores[name] for name in prototypes.classes] for item in prototypes]
        columns = self.trajectory.columns
        return SentenceScores(np.array(table, np.float64)[columns], self.trajectory.lengths)

    def spread(self, model: Model, probabilities: NDArray[Any] | None) -> NDArray[np.float32]:
        """Return a row for every document: those without a sentence get the class frequencies."""
        frequencies = np.array(model.training.class_frequencies, np.float32)
        result = np.tile(frequencies, (len(self.filled), 1))
        if probabilities is not None:
            result[self.filled] = probabilities
        return result


def _read_with(classifier: Any, texts: Any) -> _Reading:
    reading = classifier.read(texts)
    return _Reading(reading, reading.filled)


class SubstituteClassifier(Rival):
    """A simpler reader of a model's trajectories, in the place of its LSTM.

    Documents without a sentence are given the class frequencies.

    Parameters
    ----------
    reader
        ``"average"``, ``"logistic_regression"`` or ``"decision_tree"``.
    classifier
        The model whose trajectories are read. One that is fitted stays as it is; any other, and a
        new one where none is given, is trained first, on the same documents.
    random_state
        Seed of that new one. What a model holds out in training chooses for its substitutes too.

    Attributes
    ----------
    classifier_
        The model whose trajectories are read.
    reader_
        What reads them.

    Examples
    --------
    >>> texts = ["I loved it. Great film!", "Awful. I hated every minute."] * 10
    >>> clf = ProtoryNetClassifier().fit(texts, ["good", "bad"] * 10)
    >>> average = SubstituteClassifier("average", classifier=clf).fit(texts, ["good", "bad"] * 10)
    >>> average.predict(["I loved it."]).tolist()
    ['good']
    >>> [item.text for item in average.explain("I loved it. It rained.").evidence]
    ['I loved it.', 'It rained.']
    """

    def __init__(
        self,
        reader: str = "average",
        *,
        classifier: ProtoryNetClassifier | None = None,
        random_state: int = 0,
    ) -> None:
        self.reader = reader
        self.classifier = classifier
        self.random_state = random_state

    def rules(self) -> str:
        """Return a decision tree as text, to be read from the left margin inwards."""
        self._code()
        if not isinstance(self.reader_, Tree):
            raise InputError(f"the reader {self.reader!r} has no rules; a 'decision_tree' has.")
        return self.reader_.rules()

    def _learn_all(self, texts: list[str], targets: NDArray[np.float32]) -> float:
        self._check()
        code, given, seed = self._code(), self.classifier, self._seed()
        if given is None:
            given = ProtoryNetClassifier(on_empty="skip", random_state=seed)
        if not hasattr(given, "model_"):
            given = clone(given).fit(texts, code.decode(targets))
        self.classifier_ = given
        return self._learn_reading(_read_with(given, texts), targets)

    def _check(self) -> None:
        if self.reader not in _READERS:
            raise InputError(
                f"there is no substitute {self.reader!r}; the substitutes are "
                f"{', '.join(SUBSTITUTES)}."
            )
        if self._code().task != "multiclass":
            raise InputError("substitutes give one class per document, not several.")

    def _learn_reading(self, reading: _Reading, targets: NDArray[np.float32]) -> float:
        code, model = self._code(), self.classifier_.model_
        if code.names != model.labels.names:
            raise InputError(
                f"the documents are of the classes {', '.join(code.names)}, those of the model of "
                f"{', '.join(model.labels.names)}; give documents of the same."
            )
        seen = targets[reading.filled]
        truth = seen.argmax(axis=1)
        fraction, seed = model.settings.validation_fraction, model.training.seed
        held_out = np.zeros(0, np.int64)
        if len(seen):
            held_out = validation_documents(seen, code, fraction, seed)
        if len(np.unique(np.delete(truth, held_out))) < 2:
            raise InputError(
                "substitutes need documents with a sentence of at least two classes, beside those "
                f"held out; {len(truth)} were given."
            )
        self.reader_ = _READERS[self.reader](code.names)
        return self.reader_.fit(reading.scores(model), truth, held_out)

    def _probabilities(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._read(_read_with(self.classifier_, texts))

    def _read(self, reading: _Reading) -> NDArray[np.float32]:
        model = self.classifier_.model_
        if not reading.filled.any():
            return reading.spread(model, None)
        return reading.spread(model, self.reader_.probabilities(reading.scores(model)))

    def _evidence(self, text: str, place: int) -> tuple[Sequence[Evidence], str]:
        reading = _read_with(self.classifier_, [text])
        if not reading.filled.any():
            return [], "There is no sentence; the class frequencies of the training documents."
        sentences = [each.text for each in self.classifier_.explain(text).sentences]
        return self.reader_.evidence(sentences, reading.scores(self.classifier_.model_), place)


def fit_substitutes(
    classifier: ProtoryNetClassifier,
    X: Any,  # noqa: N803
    y: Any,
) -> dict[str, SubstituteClassifier]:
    """Fit all `SUBSTITUTES` to the trajectories of a trained model, which are made once.

    Parameters
    ----------
    classifier
        A fitted classifier with one class per document.
    X, y
        The documents it was trained on. The part of them that it held out chooses the
        regularisation and the depth.
    """
    texts = text_list(X)
    check_labels(y, len(texts))
    code = learn_labels(y)
    reading = _read_with(classifier, texts)
    fitted = {}
    for name in SUBSTITUTES:
        rival = SubstituteClassifier(name, classifier=classifier)
        rival.labels_, rival.classifier_ = code, classifier
        rival._check()
        rival.validation_accuracy_ = rival._learn_reading(reading, code.encode(y))
        fitted[name] = rival
    return fitted


def substitute_predictions(
    classifier: ProtoryNetClassifier,
    substitutes: Mapping[str, SubstituteClassifier],
    X: Any,  # noqa: N803
) -> dict[str, NDArray[Any]]:
    """Return the classes by a model's substitutes, and by itself as ``"protorynet"``."""
    model = classifier.model_
    reading = _read_with(classifier, text_list(X))
    own = model.read(reading.trajectory).probabilities if reading.filled.any() else None
    probabilities = {name: each._read(reading) for name, each in substitutes.items()}
    probabilities["protorynet"] = reading.spread(model, own)
    return {name: model.labels.decode(rows) for name, rows in probabilities.items()}
