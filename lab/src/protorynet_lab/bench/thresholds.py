"""Pruning a trained model to several thresholds, as section 5.2 of the paper does."""

from __future__ import annotations

from collections.abc import Sequence

from protorynet.classifier import ProtoryNetClassifier
from protorynet.data import Table
from protorynet.model import Model
from protorynet.prototypes import Edits
from protorynet.training import Labelled, edit_model, retrain_reader

__all__ = ["THRESHOLDS", "prune_to_thresholds"]

THRESHOLDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
"""The paper's thresholds θ: shares of the sentences."""

_FEWEST = 2


def prune_to_thresholds(
    classifier: ProtoryNetClassifier, thresholds: Sequence[float], train: Table, test: Table
) -> list[dict[str, float]]:
    """Remove the prototypes used less than each threshold, and train the reader again.

    Every threshold starts from the model as it was trained, which is the first point, with a
    threshold of 0. A threshold that leaves fewer than two prototypes has none.

    Parameters
    ----------
    classifier
        A trained classifier with all its prototypes.
    thresholds
        Least shares of the training sentences, rising.
    train, test
        The documents.

    Returns
    -------
    The threshold, the number of prototypes left and the accuracy on the test documents.
    """
    model = classifier.model_
    learned = classifier.labelled(train.texts, train.labels)
    unseen = classifier.labelled(test.texts, test.labels)
    points = [_point(0.0, model, unseen)]
    before = frozenset[int]()
    for threshold in thresholds:
        dropped = frozenset(item.id for item in model.prototypes if item.usage < threshold)
        if len(model.prototypes) - len(dropped) < _FEWEST:
            break
        if dropped != before:
            edited = edit_model(model, Edits.of(drop=sorted(dropped)), None)
            pruned = retrain_reader(model, edited, learned).model
            points.append(_point(threshold, pruned, unseen))
        else:
            points.append({**points[-1], "threshold": threshold})
        before = dropped
    return points


def _point(threshold: float, model: Model, unseen: Labelled) -> dict[str, float]:
    trajectory = model.match(unseen.embeddings, unseen.sentences.lengths)
    predicted = model.read(trajectory).probabilities.argmax(axis=1)
    return {
        "threshold": threshold,
        "n_prototypes": len(model.prototypes),
        "accuracy": float((predicted == unseen.targets.argmax(axis=1)).mean()),
    }
