"""Simple readers of the scores of a document's sentences: an average, a regression, a tree.

Each says exactly what it adds up, sentence by sentence or rule by rule.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, export_text

from protorynet_lab.baselines.contract import Evidence
from protorynet_lab.baselines.margins import class_margin
from protorynet_lab.baselines.sentence_scores import (
    PANEL_SIZE,
    best_threshold,
    mean_scores,
    score_panel,
)

__all__ = ["Average", "Regression", "ScoreReader", "SentenceScores", "Tree"]

_LEAST_LEAD = 1e-6  # of a probability over a half that survives single precision


@dataclass(frozen=True)
class SentenceScores:
    """The scores of the active prototypes of some documents' sentences.

    Parameters
    ----------
    values
        The scores, (sentences, classes).
    lengths
        Sentences of each document, at least one.
    """

    values: NDArray[np.float64]
    lengths: NDArray[np.int64]

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """Mean scores of each document, (documents, classes)."""
        return mean_scores(self.values, self.lengths)

    @cached_property
    def panel(self) -> NDArray[np.float64]:
        """The scores of each document's first sentences side by side.

        Of two classes the second's alone, for they add up to 1.
        """
        two = self.values.shape[1] == 2
        return score_panel(self.values[:, 1:] if two else self.values, self.lengths)


class ScoreReader(ABC):
    """What reads the scores in the LSTM's place.

    Parameters
    ----------
    classes
        Names of the classes.
    """

    def __init__(self, classes: Sequence[str]) -> None:
        self.classes = tuple(classes)

    @abstractmethod
    def fit(
        self, scores: SentenceScores, truth: NDArray[np.int64], held_out: NDArray[np.int64]
    ) -> float:
        """Learn from all documents; choose by those held out, and return the accuracy on them."""

    @abstractmethod
    def probabilities(self, scores: SentenceScores) -> NDArray[np.float64]:
        """Return the probabilities of the classes, (documents, classes)."""

    @abstractmethod
    def evidence(
        self, sentences: Sequence[str], scores: SentenceScores, place: int
    ) -> tuple[list[Evidence], str]:
        """Say what spoke for the class at `place` in one document, and what the weights mean."""

    def _panel_names(self) -> list[str]:
        seen = self.classes[1:] if len(self.classes) == 2 else self.classes
        steps = range(1, PANEL_SIZE + 1)
        return [f"p({name}) of sentence {step}" for step in steps for name in seen]


class Average(ScoreReader):
    """The mean score: of two classes against a threshold, of more the highest.

    Attributes
    ----------
    threshold
        The mean score of the second class above which it is given; None with more classes.
    """

    threshold: float | None = None

    def fit(
        self, scores: SentenceScores, truth: NDArray[np.int64], held_out: NDArray[np.int64]
    ) -> float:
        """Tune the threshold, first without the documents held out, then on all."""
        means = scores.means
        kept = np.setdiff1d(np.arange(len(truth)), held_out)
        accuracy = 0.0
        for rows in (kept, np.arange(len(truth))):
            if len(self.classes) == 2:
                self.threshold = best_threshold(means[rows, 1], truth[rows] == 1)
            if rows is kept:
                accuracy = float((self._places(means[held_out]) == truth[held_out]).mean())
        return accuracy

    def probabilities(self, scores: SentenceScores) -> NDArray[np.float64]:
        """Return the mean scores, bent so that the threshold lies at a half."""
        means = scores.means
        if self.threshold is None:
            shares: NDArray[np.float64] = means / means.sum(axis=1, keepdims=True)
            return shares
        mean, bound = means[:, 1], self._bound()
        below = mean / max(2 * bound, np.finfo(np.float64).tiny)
        above = 1 - (1 - mean) / max(2 * (1 - bound), np.finfo(np.float64).tiny)
        second = np.where(
            self._places(means) == 1,
            np.clip(above, 0.5 + _LEAST_LEAD, 1),
            np.clip(below, 0, 0.5 - _LEAST_LEAD),
        )
        return np.stack([1 - second, second], axis=1)

    def evidence(
        self, sentences: Sequence[str], scores: SentenceScores, place: int
    ) -> tuple[list[Evidence], str]:
        """Weigh each sentence by how far its score is above what it is compared with."""
        values, count = scores.values, len(sentences)
        if self.threshold is None:
            weights = class_margin(values.T, place) / count
            against = "the mean of its scores for the others"
        else:
            bound = self._bound() if place == 1 else 1 - self._bound()
            weights = (values[:, place] - bound) / count
            against = f"the threshold of {bound:.2f}"
        evidence = [Evidence(*pair) for pair in zip(sentences, weights.tolist(), strict=True)]
        return evidence, (
            "A sentence's weight is its prototype's score for the predicted class less "
            f"{against}, divided by the number of sentences: together they are how far the "
            "average is above it, and the order of the sentences does not matter."
        )

    def _bound(self) -> float:
        """Return the threshold within the range of scores, where all or none may be above it."""
        assert self.threshold is not None, "two classes have a threshold"
        return float(np.clip(self.threshold, 0, 1))

    def _places(self, means: NDArray[np.float64]) -> NDArray[np.int64]:
        if self.threshold is None:
            places: NDArray[np.int64] = means.argmax(axis=1)
            return places
        return (means[:, 1] > self.threshold).astype(np.int64)


class _PanelReader(ScoreReader):
    """A model of scikit-learn on the scores of the first ten sentences."""

    model: Any
    choices: tuple[Any, ...]

    @staticmethod
    @abstractmethod
    def make(choice: Any) -> Any:
        """Return a model to be fitted; the choices come from the simplest on."""

    def fit(
        self, scores: SentenceScores, truth: NDArray[np.int64], held_out: NDArray[np.int64]
    ) -> float:
        """Take the choice that is right most often on documents held out; of equals the first."""
        panel, kept = scores.panel, np.setdiff1d(np.arange(len(truth)), held_out)
        accuracies = [
            float(
                self.make(choice)
                .fit(panel[kept], truth[kept])
                .score(panel[held_out], truth[held_out])
            )
            for choice in self.choices
        ]
        best = int(np.argmax(accuracies))
        self.model = self.make(self.choices[best]).fit(panel, truth)
        return accuracies[best]

    def probabilities(self, scores: SentenceScores) -> NDArray[np.float64]:
        """Return the model's probabilities; a class it has never seen has none."""
        result = np.zeros((len(scores.lengths), len(self.classes)))
        result[:, self.model.classes_] = self.model.predict_proba(scores.panel)
        return result


class Regression(_PanelReader):
    """A logistic regression on the scores of the first ten sentences."""

    choices = (0.01, 0.1, 1.0, 10.0, 100.0)

    @staticmethod
    def make(choice: float) -> Any:
        """Return one that holds its coefficients back the less, the larger the choice is."""
        return LogisticRegression(C=choice, max_iter=1_000)

    def evidence(
        self, sentences: Sequence[str], scores: SentenceScores, place: int
    ) -> tuple[list[Evidence], str]:
        """Weigh each of the first sentences by coefficient times score."""
        row = list(self.model.classes_).index(place)
        products = scores.panel[0] * class_margin(self.model.coef_, row)
        steps = products.reshape(PANEL_SIZE, -1).sum(axis=1).tolist()
        seen = sentences[:PANEL_SIZE]
        evidence = [Evidence(*pair) for pair in zip(seen, steps, strict=False)]
        if len(seen) < PANEL_SIZE:
            what = f"(the mean, in the place of sentences {len(seen) + 1} to {PANEL_SIZE})"
            evidence.append(Evidence(what, sum(steps[len(seen) :])))
        constant = float(class_margin(self.model.intercept_[:, None], row)[0])
        others = "the other" if len(self.classes) == 2 else "the others on average"
        return evidence, (
            "A sentence's weight is its prototype's scores times the coefficients of its place; "
            f"the weights and a constant of {constant:+.4f} add up to the log-odds of the "
            f"predicted class against {others}. Sentences after the first {PANEL_SIZE} are not "
            "read."
        )


class Tree(_PanelReader):
    """A decision tree on the scores of the first ten sentences."""

    choices = tuple(range(1, 11))

    @staticmethod
    def make(choice: int) -> Any:
        """Return one of so many questions in a row."""
        return DecisionTreeClassifier(max_depth=choice, random_state=0)

    def evidence(
        self, sentences: Sequence[str], scores: SentenceScores, place: int
    ) -> tuple[list[Evidence], str]:
        """Weigh each question on the way by what its answer changes."""
        panel, tree, names = scores.panel, self.model.tree_, self._panel_names()
        column = list(self.model.classes_).index(place)
        shares = tree.value[:, 0, column] / tree.value[:, 0].sum(axis=1)
        way = self.model.decision_path(panel).indices
        evidence = []
        for node, child in itertools.pairwise(way):
            feature, bound = tree.feature[node], tree.threshold[node]
            sign = "≤" if child == tree.children_left[node] else ">"
            is_filled = feature // (len(names) // PANEL_SIZE) >= len(sentences)
            what = f"the mean, for {names[feature]}," if is_filled else names[feature]
            told = f"{what} is {panel[0, feature]:.2f} {sign} {bound:.2f}"
            evidence.append(Evidence(told, float(shares[child] - shares[node])))
        return evidence, (
            "A weight is what the answer to a question changes in the share of the predicted class "
            f"among the training documents that got there; with {shares[0]:.4f} at the start they "
            f"add up to its probability. Sentences after the first {PANEL_SIZE} are not read."
        )

    def rules(self) -> str:
        """Return the tree as text, to be read from the left margin inwards.

        Of a sentence that a document does not have, the mean of its others is asked.
        """
        told = [self.classes[place] for place in self.model.classes_]
        rules: str = export_text(
            self.model,
            feature_names=self._panel_names(),
            class_names=told,
            max_depth=self.choices[-1],
        )
        return rules
