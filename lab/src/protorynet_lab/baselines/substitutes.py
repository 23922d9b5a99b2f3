"""What the LSTM adds: simpler readers of the same trajectories, as in section 5.3 of the paper.

Each sentence counts for the scores of its active prototype. An average compares their mean with a
threshold; a logistic regression and a decision tree see the scores of the first ten sentences.
Each says exactly what it adds up, sentence by sentence or rule by rule.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, export_text

from protorynet.classifier import ProtoryNetClassifier
from protorynet.errors import InputError
from protorynet.labels import check_labels, learn_labels
from protorynet.model import Model
from protorynet.reading import Reading
from protorynet.training import consecutive, validation_documents
from protorynet_lab.baselines.rival_base import (
    Evidence,
    Reasons,
    Rival,
    class_margin,
    list_texts,
    one_of,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
PANEL_SIZE = 10  # sentences that the paper's panel holds
DEEPEST = 10  # questions of a tree, one after the other
_LEAST_LEAD = 1e-6  # of a probability over a half that survives single precision


@dataclass(frozen=True)
class SentenceScores:
    """Scores of the active prototypes, (sentences, classes), and the sentences per document."""

    values: Floats
    lengths: Integers

    @cached_property
    def means(self) -> Floats:
        """Mean scores of each document, (documents, classes)."""
        starts = np.cumsum(self.lengths) - self.lengths
        sums: Floats = np.add.reduceat(self.values, starts, axis=0)
        return sums / self.lengths[:, None]

    @cached_property
    def panel(self) -> Floats:
        """The scores of each document's first sentences; the mean of them where it has fewer."""
        # Of two classes the second's scores alone, for they add up to 1.
        seen = slice(1, None) if self.values.shape[1] == 2 else slice(None)
        documents = np.repeat(np.arange(len(self.lengths)), self.lengths)
        steps = consecutive(np.zeros_like(self.lengths), self.lengths)
        panel = np.repeat(self.means[:, None, seen], PANEL_SIZE, axis=1)
        kept = steps < PANEL_SIZE
        panel[documents[kept], steps[kept]] = self.values[kept, seen]
        return panel.reshape(len(self.lengths), -1)


def best_threshold(values: Floats, is_positive: NDArray[np.bool_]) -> float:
    """Return the threshold above which "positive" is right most often; of equals, the central."""
    distinct, inverse = np.unique(values, return_inverse=True)
    positives = np.bincount(inverse, weights=is_positive, minlength=len(distinct))
    negatives = np.bincount(inverse, weights=~is_positive, minlength=len(distinct))
    # Right below the first value, then between neighbours, then above the last.
    right = positives.sum() + np.concatenate([[0], np.cumsum(negatives - positives)])
    candidates = np.concatenate([[-np.inf], (distinct[:-1] + distinct[1:]) / 2, [np.inf]])
    best = candidates[right == right.max()]
    return float(best[np.abs(best - 0.5).argmin()])


class Average:
    """The mean score: of two classes against a threshold, of more the highest."""

    def __init__(self, classes: Sequence[str]) -> None:
        self.classes = classes
        self.threshold: float | None = None

    def fit(self, scores: SentenceScores, truth: Integers, held_out: Integers) -> float:
        """Tune the threshold, first without the documents held out, then on all."""
        means = scores.means
        self._tune(np.delete(means, held_out, axis=0), np.delete(truth, held_out))
        accuracy = float((self._labels(means[held_out]) == truth[held_out]).mean())
        self._tune(means, truth)
        return accuracy

    def probabilities(self, scores: SentenceScores) -> Floats:
        """Return the mean scores, bent so that the threshold lies at a half."""
        means = scores.means
        if self.threshold is None:
            shares: Floats = means / means.sum(axis=1, keepdims=True)
            return shares
        mean, bound = means[:, 1], self._bound(1)
        below = mean / max(2 * bound, np.finfo(np.float64).tiny)
        above = 1 - (1 - mean) / max(2 * (1 - bound), np.finfo(np.float64).tiny)
        second = np.where(
            self._labels(means) == 1,
            np.clip(above, 0.5 + _LEAST_LEAD, 1),
            np.clip(below, 0, 0.5 - _LEAST_LEAD),
        )
        return np.stack([1 - second, second], axis=1)

    def evidence(self, sentences: Sequence[str], scores: SentenceScores, label: int) -> Reasons:
        """Weigh each sentence by how far its score is above what it is compared with."""
        if self.threshold is None:
            leads = class_margin(scores.values.T, label)
            against = "the mean of its scores for the others"
        else:
            leads = scores.values[:, label] - self._bound(label)
            against = f"the threshold of {self._bound(label):.2f}"
        weights = (leads / len(sentences)).tolist()
        return [Evidence(*pair) for pair in zip(sentences, weights, strict=True)], (
            "A sentence's weight is its prototype's score for the predicted class less "
            f"{against}, divided by the number of sentences: together they are how far the "
            "average is above it, and the order of the sentences does not matter."
        )

    def _tune(self, means: Floats, truth: Integers) -> None:
        if len(self.classes) == 2:
            self.threshold = best_threshold(means[:, 1], truth == 1)

    def _bound(self, label: int) -> float:
        """Return the threshold of a class within the range of scores; all or none may exceed it."""
        assert self.threshold is not None, "two classes have a threshold"
        second = float(np.clip(self.threshold, 0, 1))
        return second if label == 1 else 1 - second

    def _labels(self, means: Floats) -> Integers:
        if self.threshold is None:
            labels: Integers = means.argmax(axis=1)
            return labels
        return (means[:, 1] > self.threshold).astype(np.int64)


class PanelReader:
    """A model of scikit-learn on the scores of the first ten sentences."""

    choices: tuple[Any, ...]  # models to choose from, the simplest first

    def __init__(self, classes: Sequence[str]) -> None:
        self.classes = classes

    def fit(self, scores: SentenceScores, truth: Integers, held_out: Integers) -> float:
        """Take the choice that is right most often on documents held out; of equals the first."""
        panel, kept = scores.panel, np.setdiff1d(np.arange(len(truth)), held_out)
        models = (clone(choice).fit(panel[kept], truth[kept]) for choice in self.choices)
        accuracies = [float(each.score(panel[held_out], truth[held_out])) for each in models]
        best = int(np.argmax(accuracies))
        self.model = clone(self.choices[best]).fit(panel, truth)
        return accuracies[best]

    def probabilities(self, scores: SentenceScores) -> Floats:
        """Return the model's probabilities; a class it has never seen has none."""
        result = np.zeros((len(scores.lengths), len(self.classes)))
        result[:, self.model.classes_] = self.model.predict_proba(scores.panel)
        return result


class Regression(PanelReader):
    """A logistic regression on the scores of the first ten sentences."""

    choices = tuple(LogisticRegression(C=c, max_iter=1_000) for c in (0.01, 0.1, 1.0, 10.0, 100.0))

    def evidence(self, sentences: Sequence[str], scores: SentenceScores, label: int) -> Reasons:
        """Weigh each of the first sentences by coefficient times score."""
        position = list(self.model.classes_).index(label)
        products = scores.panel[0] * class_margin(self.model.coef_, position)
        steps = products.reshape(PANEL_SIZE, -1).sum(axis=1).tolist()
        seen = sentences[:PANEL_SIZE]
        evidence = [Evidence(*pair) for pair in zip(seen, steps, strict=False)]
        if len(seen) < PANEL_SIZE:
            what = f"(the mean, in the place of sentences {len(seen) + 1} to {PANEL_SIZE})"
            evidence.append(Evidence(what, sum(steps[len(seen) :])))
        constant = float(class_margin(self.model.intercept_[:, None], position)[0])
        others = "the other" if len(self.classes) == 2 else "the others on average"
        return evidence, (
            "A sentence's weight is its prototype's scores times the coefficients of its place; "
            f"the weights and a constant of {constant:+.4f} add up to the log-odds of the "
            f"predicted class against {others}. Sentences after the first {PANEL_SIZE} are not "
            "read."
        )


class Tree(PanelReader):
    """A decision tree on the scores of the first ten sentences."""

    choices = tuple(
        DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in range(1, DEEPEST + 1)
    )

    def evidence(self, sentences: Sequence[str], scores: SentenceScores, label: int) -> Reasons:
        """Weigh each question on the way by what its answer changes."""
        panel, tree, names = scores.panel, self.model.tree_, self._panel_names()
        position = list(self.model.classes_).index(label)
        shares = tree.value[:, 0, position] / tree.value[:, 0].sum(axis=1)
        evidence = []
        for node, child in itertools.pairwise(self.model.decision_path(panel).indices):
            feature, bound = tree.feature[node], tree.threshold[node]
            sign = "≤" if child == tree.children_left[node] else ">"
            is_filled = feature // (len(names) // PANEL_SIZE) >= len(sentences)
            what = f"the mean, for {names[feature]}," if is_filled else names[feature]
            answer = f"{what} is {panel[0, feature]:.2f} {sign} {bound:.2f}"
            evidence.append(Evidence(answer, float(shares[child] - shares[node])))
        return evidence, (
            "A weight is what the answer to a question changes in the share of the predicted class "
            f"among the training documents that got there; with {shares[0]:.4f} at the start they "
            f"add up to its probability. Sentences after the first {PANEL_SIZE} are not read."
        )

    def rules(self) -> str:
        """Return the tree as text; of a sentence that is not there, the mean is asked."""
        rules: str = export_text(
            self.model,
            feature_names=self._panel_names(),
            class_names=[self.classes[label] for label in self.model.classes_],
            max_depth=DEEPEST,
        )
        return rules

    def _panel_names(self) -> list[str]:
        seen = self.classes[1:] if len(self.classes) == 2 else self.classes
        steps = range(1, PANEL_SIZE + 1)
        return [f"p({name}) of sentence {step}" for step in steps for name in seen]


_READERS: dict[str, type[Average] | type[Regression] | type[Tree]] = {
    "average": Average,
    "logistic_regression": Regression,
    "decision_tree": Tree,
}
SUBSTITUTES = tuple(_READERS)


def _score_sentences(reading: Reading, model: Model) -> SentenceScores:
    """Return the scores of the active prototype of each sentence."""
    prototypes = model.prototypes
    table = [[item.scores[name] for name in prototypes.classes] for item in prototypes]
    return SentenceScores(np.array(table, np.float64)[reading.prototypes], reading.lengths)


def _spread(reading: Reading, model: Model, probabilities: NDArray[Any]) -> NDArray[np.float32]:
    """Return a vector for every document: those without a sentence get the class frequencies."""
    frequencies = np.array(model.training.class_frequencies, np.float32)
    result = np.tile(frequencies, (len(reading.filled), 1))
    if len(reading.lengths):
        result[reading.filled] = probabilities
    return result


@dataclass(eq=False, repr=False)
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
    """

    reader: str = one_of(*SUBSTITUTES)
    _: KW_ONLY
    classifier: ProtoryNetClassifier | None = None

    def rules(self) -> str:
        """Return a decision tree as text, to be read from the left margin inwards."""
        self._code()
        if not isinstance(self.reader_, Tree):
            raise InputError(f"the reader {self.reader!r} has no rules; a 'decision_tree' has.")
        return self.reader_.rules()

    def _learn_all(self, texts: list[str], targets: NDArray[np.float32]) -> float:
        self._check_task()
        given, seed = self.classifier, int(self.random_state)
        if given is None:
            given = ProtoryNetClassifier(on_empty="skip", random_state=seed)
        if not hasattr(given, "model_"):
            given = clone(given).fit(texts, self._code().decode(targets))
        self.classifier_ = given
        return self._learn_reading(given.read(texts), targets)

    def _learn_reading(self, reading: Reading, targets: NDArray[np.float32]) -> float:
        code, model = self._code(), self.classifier_.model_
        if code.names != model.labels.names:
            raise InputError(
                f"the documents are of the classes {', '.join(code.names)}, those of the model of "
                f"{', '.join(model.labels.names)}; give documents of the same."
            )
        seen = targets[reading.filled]
        truth, held_out = seen.argmax(axis=1), np.zeros(0, np.int64)
        if len(seen):
            fraction, seed = model.settings.validation_fraction, model.training.seed
            held_out = validation_documents(seen, code, fraction, seed)
        if len(np.unique(np.delete(truth, held_out))) < 2:
            raise InputError(
                "substitutes need documents with a sentence of at least two classes, beside those "
                f"held out; {len(truth)} were given."
            )
        self.reader_ = _READERS[self.reader](code.names)
        return self.reader_.fit(_score_sentences(reading, model), truth, held_out)

    def _probabilities(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._read(self.classifier_.read(texts))

    def _read(self, reading: Reading) -> NDArray[np.float32]:
        model = self.classifier_.model_
        scores = _score_sentences(reading, model)
        found = self.reader_.probabilities(scores) if len(scores.lengths) else scores.values
        return _spread(reading, model, found)

    def _evidence(self, text: str, label: int) -> Reasons:
        reading = self.classifier_.read([text])
        if not len(reading.lengths):
            return [], "There is no sentence; the class frequencies of the training documents."
        sentences = [each.text for each in self.classifier_.explain(text).sentences]
        scores = _score_sentences(reading, self.classifier_.model_)
        return self.reader_.evidence(sentences, scores, label)


def fit_substitutes(
    classifier: ProtoryNetClassifier,
    X: Any,  # noqa: N803
    y: Any,
) -> dict[str, SubstituteClassifier]:
    """Fit all `SUBSTITUTES` to the trajectories of a trained model, which are made once.

    The documents are those it was trained on; the part that it held out chooses the regularisation
    and the depth.
    """
    texts = list_texts(X)
    check_labels(y, len(texts))
    code = learn_labels(y)
    reading = classifier.read(texts)
    fitted = {}
    for name in SUBSTITUTES:
        rival = SubstituteClassifier(name, classifier=classifier)
        rival.labels_, rival.classifier_ = code, classifier
        rival._check_task()
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
    reading = classifier.read(list_texts(X))
    probabilities = {name: each._read(reading) for name, each in substitutes.items()}
    probabilities["protorynet"] = _spread(reading, model, reading.probabilities)
    return {name: model.labels.decode(each) for name, each in probabilities.items()}
