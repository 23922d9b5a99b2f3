"""A small model, its evaluation on unseen reviews, and the trajectories of these."""

import pytest

from protorynet import ProtoryNetClassifier as Classifier


@pytest.fixture(scope="session")
def clf(reviews, encoder, quick):
    settings = quick.replace(epochs=8, retrain_epochs=8, min_prototypes=5, max_prototypes=8)
    return Classifier(encoder, settings=settings, device="cpu", cache=False).fit(
        reviews.texts, reviews.labels
    )


@pytest.fixture(scope="session")
def evaluation(clf, unseen_reviews, encoder):
    return clf.evaluate(unseen_reviews.texts, unseen_reviews.labels, judge=encoder)


@pytest.fixture(scope="session")
def trajectories(clf, unseen_reviews):
    """Per document, its steps: position of the prototype, similarity."""
    positions = {item.id: position for position, item in enumerate(clf.prototypes_)}
    return [
        [(positions[step.prototype], step.similarity) for step in explanation.sentences]
        for explanation in clf.explain(unseen_reviews.texts)
    ]
