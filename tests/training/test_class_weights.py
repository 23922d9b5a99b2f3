"""Rare classes and weighted documents: what counts more is learned more."""

import numpy as np
import pytest

from protorynet import ProtoryNetClassifier
from protorynet.errors import InputError
from protorynet.training.weights import weigh_documents


def one_hot(*counts: int) -> np.ndarray:
    return np.eye(len(counts), dtype=np.float32)[np.repeat(np.arange(len(counts)), counts)]


def test_only_a_rare_class_counts_more_by_default_and_balanced_classes_count_alike():
    assert weigh_documents(one_hot(50, 50), None, "auto") is None
    assert weigh_documents(one_hot(88, 12), None, "auto") is None
    rare = weigh_documents(one_hot(98, 2), None, "auto")
    assert rare[-1] / rare[0] == pytest.approx(5)
    balanced = weigh_documents(one_hot(90, 6, 4), None, "balanced")
    assert balanced.mean() == pytest.approx(1)
    assert balanced[:90].sum() == pytest.approx(balanced[96:].sum(), rel=1e-5)
    assert weigh_documents(one_hot(98, 2), None, "none") is None


@pytest.fixture(scope="module")
def complaints() -> tuple[list[str], list[str]]:
    """400 texts of which 8 are of a class that a word tells, though 4 others say it as well."""
    draw = np.random.default_rng(0)
    places = ["room", "desk", "pool", "lift", "garden", "kitchen"]
    texts, labels = [], []
    for number in range(400):
        is_rare = number % 50 == 0
        says = "leaked" if is_rare or number % 100 == 1 else "worked"
        first, second = (places[at] for at in draw.integers(len(places), size=2))
        texts.append(f"The {first} was near the {second}. The pipe in the {second} {says}.")
        labels.append("urgent" if is_rare else "usual")
    return texts, labels


@pytest.fixture(scope="module")
def learn(encoder, quick, complaints):
    def fit(sample_weight=None, count=400, **options) -> ProtoryNetClassifier:
        settings = quick.replace(members=20, retrain_epochs=6)
        clf = ProtoryNetClassifier(encoder, settings=settings, cache=False, **options)
        texts, labels = (each[:count] for each in complaints)
        return clf.fit(texts, labels, sample_weight=sample_weight)

    return fit


def test_a_class_of_two_percent_is_found_by_default(learn):
    urgent = "The desk was near the pool. The pipe in the pool leaked."
    given = [
        learn(class_weight=kind).predict_proba([urgent])[0, 0]
        for kind in ("none", "auto", "balanced")
    ]
    assert given[0] < given[1] < given[2]
    assert given[1] > 0.5


def test_weights_of_classes_and_of_documents_are_the_same_thing(learn, complaints):
    texts, labels = (each[:150] for each in complaints)
    by_class = learn(class_weight={"urgent": 7}, count=150)
    weights = [7 if label == "urgent" else 1 for label in labels]
    by_document = learn(class_weight="none", sample_weight=weights, count=150)
    expected = by_document.predict_proba(texts)
    np.testing.assert_array_equal(by_class.predict_proba(texts), expected)
    assert (expected != learn(class_weight="none", count=150).predict_proba(texts)).any()


@pytest.mark.parametrize("weights", [[1.0], [-1.0] * 400, [0.0] * 400, [np.nan] * 400])
def test_weights_that_are_none_are_refused(learn, weights):
    with pytest.raises(InputError, match="weight"):
        learn(sample_weight=weights)


def test_a_weight_of_no_class_and_an_unknown_rule_are_refused(learn):
    with pytest.raises(InputError, match="none of the classes"):
        learn(class_weight={"calm": 2})
    with pytest.raises(ValueError, match="class_weight='rare' is not one of"):
        learn(class_weight="rare")
