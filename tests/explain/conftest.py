"""A small model, its evaluation on unseen reviews, and the trajectories of these."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from protorynet import Evaluation, ProtoryNetClassifier as Classifier, Settings

TAGS = ("room", "pool", "staff")


@pytest.fixture(scope="module")
def clf(reviews: Any, encoder: Any, quick: Settings) -> Classifier:
    settings = quick.replace(epochs=8, retrain_epochs=8, min_prototypes=5, max_prototypes=8)
    return Classifier(encoder, settings=settings, device="cpu", cache=False).fit(
        reviews.texts, reviews.labels
    )


@pytest.fixture(scope="session")
def several(reviews: Any, encoder: Any, quick: Settings) -> Classifier:
    """A model for several labels at once, to be read only."""
    tags = [tuple(tag for tag in TAGS if tag in text) for text in reviews.texts]
    clf = Classifier(encoder, settings=quick, device="cpu", cache=False)
    return clf.fit(reviews.texts, tags)


@pytest.fixture(scope="session")
def of_vectors(quick: Settings) -> tuple[Classifier, list[Any], list[int]]:
    """A model of sequences of vectors in place of texts, with what it was trained on."""
    random = np.random.default_rng(0)
    sequences = [random.normal(size=(3, 4)).astype(np.float32) + i % 2 for i in range(40)]
    labels = [i % 2 for i in range(40)]
    clf = Classifier("precomputed", settings=quick, device="cpu", cache=False)
    return clf.fit(sequences, labels), sequences, labels


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
