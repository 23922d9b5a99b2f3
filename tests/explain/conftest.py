"""A small model, its evaluation on unseen reviews, and the trajectories of these."""

from __future__ import annotations

from typing import Any

import pytest

from protorynet import Evaluation, ProtoryNetClassifier as Classifier, Settings


@pytest.fixture(scope="module")
def clf(reviews: Any, encoder: Any, quick: Settings) -> Classifier:
    settings = quick.replace(epochs=8, retrain_epochs=8, min_prototypes=5, max_prototypes=8)
    return Classifier(encoder, settings=settings, device="cpu", cache=False).fit(
        reviews.texts, reviews.labels
    )


@pytest.fixture(scope="module")
def evaluation(clf: Classifier, unseen_reviews: Any, encoder: Any) -> Evaluation:
    return clf.evaluate(unseen_reviews.texts, unseen_reviews.labels, judge=encoder)


@pytest.fixture(scope="module")
def trajectories(clf: Classifier, unseen_reviews: Any) -> list[list[tuple[int, float]]]:
    """Per document, its steps: column of the prototype, similarity."""
    columns = {item.id: column for column, item in enumerate(clf.prototypes_)}
    return [
        [(columns[step.prototype], step.similarity) for step in explanation.sentences]
        for explanation in clf.explain(unseen_reviews.texts)
    ]
