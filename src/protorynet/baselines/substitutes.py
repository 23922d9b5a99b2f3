"""What the LSTM adds: simpler readers of the same trajectories, as in section 5.3 of the paper.

Each sentence counts for the scores of its active prototype. An average compares their mean with a
threshold; a logistic regression and a decision tree see the scores of the first ten sentences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, export_text

from protorynet.baselines.sentence_scores import (
    PANEL_SIZE,
    best_threshold,
    mean_scores,
    score_panel,
)
from protorynet.classifier import ProtoryNetClassifier
from protorynet.errors import InputError
from protorynet.labels import check_labels
from protorynet.model import Model
from protorynet.network import Trajectory
from protorynet.training import validation_documents

__all__ = [
    "SUBSTITUTES",
    "Substitutes",
    "fit_substitutes",
]

SUBSTITUTES = ("average", "logistic_regression", "decision_tree")
_READER = "protorynet"
_STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)  # inverse regularisation, the weakest model first
_DEPTHS = tuple(range(1, 11))


@dataclass(frozen=True)
class Substitutes:
    """Readers that stand in for the LSTM of a trained model.

    Parameters
    ----------
    classifier
        The trained model, whose trajectories they read.
    threshold
        The mean score of the last class above which the average says so; None with more than two
        classes, where the highest mean score decides.
    regression, tree
        The fitted logistic regression and decision tree.
    validation_accuracies
        Accuracy of the two on the documents on which regularisation and depth were chosen; both
        have learnt from those documents as well since.
    """

    classifier: ProtoryNetClassifier
    threshold: float | None
    regression: Any
    tree: Any
    validation_accuracies: dict[str, float]

    def predict(self, name: str, X: Any) -> NDArray[Any]:  # noqa: N803
        """Return the class that one of `SUBSTITUTES` gives to each document."""
        if name not in SUBSTITUTES:
            raise InputError(
                f"there is no substitute {name!r}; the substitutes are {', '.join(SUBSTITUTES)}."
            )
        return self.predictions(X)[name]

    def predictions(self, X: Any) -> dict[str, NDArray[Any]]:  # noqa: N803
        """Return the classes by every substitute, and by the model itself as ``"protorynet"``.

        A document without a sentence gets the most frequent class of the training documents.
        """
        model = self.classifier.model_
        trajectory, filled = self.classifier.trace(X)
        frequent = int(np.argmax(model.training.class_frequencies))
        if not filled.any():
            found = dict.fromkeys((*SUBSTITUTES, _READER), np.zeros(0, np.int64))
        else:
            found = {
                **self._substituted(model, trajectory),
                _READER: model.read(trajectory).probabilities.argmax(axis=1),
            }
        places = np.full((len(found), len(filled)), frequent, dtype=np.int64)
        places[:, filled] = list(found.values())
        classes = model.labels.array()
        return {name: classes[row] for name, row in zip(found, places, strict=True)}

    def accuracies(self, X: Any, y: Any) -> dict[str, float]:  # noqa: N803
        """Return the share of documents that each reader labels rightly, the model's included."""
        predicted = self.predictions(X)
        check_labels(y, len(predicted[_READER]))
        if not len(y):
            raise InputError("there are no documents to measure on.")
        code = self.classifier.model_.labels
        truth = code.array()[code.encode(y).argmax(axis=1)]
        return {name: float((labels == truth).mean()) for name, labels in predicted.items()}

    def rules(self) -> str:
        """Return the decision tree as text, to be read from the left margin inwards."""
        code = self.classifier.model_.labels
        told = [code.names[place] for place in self.tree.classes_]
        rules: str = export_text(
            self.tree,
            feature_names=_feature_names(code.names),
            class_names=told,
            max_depth=_DEPTHS[-1],
        )
        return rules

    def _substituted(self, model: Model, trajectory: Trajectory) -> dict[str, NDArray[np.int64]]:
        scores = _sentence_scores(model, trajectory)
        panel = score_panel(_seen(scores), trajectory.lengths)
        places = (
            _averaged(mean_scores(scores, trajectory.lengths), self.threshold),
            self.regression.predict(panel),
            self.tree.predict(panel),
        )
        return dict(zip(SUBSTITUTES, places, strict=True))


def fit_substitutes(classifier: ProtoryNetClassifier, X: Any, y: Any) -> Substitutes:  # noqa: N803
    """Fit simpler readers to the trajectories of a trained model.

    Parameters
    ----------
    classifier
        A fitted classifier with one class per document.
    X, y
        The documents it was trained on. The part of them that it held out chooses the
        regularisation and the depth; the threshold of the average is tuned on all.

    Examples
    --------
    >>> texts = ["I loved it. Great film!", "Awful. I hated every minute."] * 10
    >>> clf = ProtoryNetClassifier().fit(texts, ["good", "bad"] * 10)
    >>> substitutes = fit_substitutes(clf, texts, ["good", "bad"] * 10)
    >>> substitutes.predict("average", ["I loved it."]).tolist()
    ['good']
    >>> print(substitutes.rules().splitlines()[0])
    |--- p(good) of sentence ... <= 0...
    """
    trajectory, filled = classifier.trace(X)
    model = classifier.model_
    code = model.labels
    if code.task != "multiclass":
        raise InputError("substitutes give one class per document, not several.")
    check_labels(y, len(filled))
    targets = code.encode(y)[filled]
    truth = targets.argmax(axis=1)
    if len(np.unique(truth)) < 2:
        raise InputError("substitutes need documents with a sentence of at least two classes.")
    seed = model.training.seed
    held_out = validation_documents(targets, code, model.settings.validation_fraction, seed)
    scores = _sentence_scores(model, trajectory)
    panel = score_panel(_seen(scores), trajectory.lengths)
    regression, regression_accuracy = _chosen(_regression, _STRENGTHS, panel, truth, held_out)
    tree, tree_accuracy = _chosen(_tree, _DEPTHS, panel, truth, held_out)
    means = mean_scores(scores, trajectory.lengths)
    return Substitutes(
        classifier,
        best_threshold(means[:, -1], truth == 1) if len(code.classes) == 2 else None,
        regression,
        tree,
        {"logistic_regression": regression_accuracy, "decision_tree": tree_accuracy},
    )


def _sentence_scores(model: Model, trajectory: Trajectory) -> NDArray[np.float64]:
    """Return the scores of the active prototype of each sentence, (sentences, classes)."""
    prototypes = model.prototypes
    table = [[item.scores[name] for name in prototypes.classes] for item in prototypes]
    return np.array(table, dtype=np.float64)[trajectory.columns]


def _seen(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the scores that are features: of two classes the second's alone, for they add to 1."""
    return scores[:, 1:] if scores.shape[1] == 2 else scores


def _feature_names(classes: tuple[str, ...]) -> list[str]:
    seen = classes[1:] if len(classes) == 2 else classes
    return [f"p({name}) of sentence {step}" for step in range(1, PANEL_SIZE + 1) for name in seen]


def _averaged(means: NDArray[np.float64], threshold: float | None) -> NDArray[np.int64]:
    if threshold is None:
        places: NDArray[np.int64] = means.argmax(axis=1)
        return places
    return (means[:, -1] > threshold).astype(np.int64)


def _chosen(
    make: Callable[[Any], Any],
    choices: tuple[Any, ...],
    panel: NDArray[np.float64],
    truth: NDArray[np.int64],
    held_out: NDArray[np.int64],
) -> tuple[Any, float]:
    """Return the model, fitted to all documents, that is right most often on those held out.

    Of equals the simplest is taken; the choices come in that order.
    """
    kept = np.setdiff1d(np.arange(len(truth)), held_out)
    accuracies = [
        float(make(choice).fit(panel[kept], truth[kept]).score(panel[held_out], truth[held_out]))
        for choice in choices
    ]
    best = int(np.argmax(accuracies))
    return make(choices[best]).fit(panel, truth), accuracies[best]


def _regression(strength: float) -> Any:
    return LogisticRegression(C=strength, max_iter=1_000)


def _tree(depth: int) -> Any:
    return DecisionTreeClassifier(max_depth=depth, random_state=0)
