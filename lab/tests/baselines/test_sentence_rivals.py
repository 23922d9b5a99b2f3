"""The ceiling without prototypes, and ProtoAttend's sparse attention over training documents."""

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from protorynet.encoders import load_encoder
from protorynet_lab.baselines import BlackBoxClassifier, ProtoAttendClassifier
from protorynet_lab.baselines.protoattend import sparsemax


@pytest.fixture(scope="module")
def box(quick, reviews, encoder) -> BlackBoxClassifier:
    settings = quick.replace(encoder_training="none", epochs=6, retrain_epochs=6)
    return BlackBoxClassifier(encoder, settings=settings, device="cpu").fit(
        reviews.texts, reviews.labels
    )


@pytest.fixture(scope="module")
def attending(reviews, encoder) -> ProtoAttendClassifier:
    rival = ProtoAttendClassifier(encoder, epochs=10, device="cpu")
    return rival.fit(reviews.texts, reviews.labels)


def test_full_training_works_on_a_copy_of_the_encoder(
    quick, reviews, unseen_reviews, tiny_bert_folder
):
    mine = load_encoder(tiny_bert_folder, device="cpu")
    fingerprint, vectors = mine.fingerprint, mine.encode(reviews.texts[:5])
    settings = quick.replace(encoder_training="full", full_epochs=4, encoder_learning_rate=0.01)
    box = BlackBoxClassifier(mine, settings=settings, device="cpu")
    box.fit(reviews.texts, reviews.labels)
    assert box.score(unseen_reviews.texts, unseen_reviews.labels) > 0.75
    assert box.encoder_.fingerprint != fingerprint
    assert mine.fingerprint == fingerprint
    assert (mine.encode(reviews.texts[:5]) == vectors).all()


def test_several_labels_at_once_are_learned(quick, reviews, encoder):
    sets = [(label, "review") if label == "good" else (label,) for label in reviews.labels]
    box = BlackBoxClassifier(encoder, settings=quick, device="cpu").fit(reviews.texts, sets)
    assert box.predict(reviews.texts[:3]).shape == (3, 3)


def test_the_weight_of_a_sentence_is_what_the_prediction_loses_without_it(box):
    text = "The room was lovely. We stayed for two nights."
    explanation = box.explain(text)
    label = box.classes_.tolist().index(explanation.label)
    whole, without = box.predict_proba([text, "We stayed for two nights."])[:, label]
    weights = {item.text: item.weight for item in explanation.evidence}
    assert weights["The room was lovely."] == pytest.approx(float(whole - without), abs=1e-6)
    # A document of one sentence is explained word by word.
    assert {item.text for item in box.explain("A lovely room.").evidence} == {"A", "lovely", "room"}


def slow_sparsemax(row: np.ndarray) -> np.ndarray:
    """Find the threshold above which the scores add up to 1 by halving."""
    low, high = row.max() - 1, row.max()
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(row - middle, 0).sum() > 1 else (low, middle)
    return np.maximum(row - low, 0)


@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 4), st.integers(1, 12)),
        elements=st.floats(-5, 5, width=32),
    )
)
def test_sparsemax_is_what_a_slow_search_finds(rows):
    expected = np.stack([slow_sparsemax(row) for row in rows])
    assert sparsemax(torch.from_numpy(rows)).numpy() == pytest.approx(expected, abs=1e-9)


def test_the_evidence_is_training_documents_by_weight(attending, reviews, unseen_reviews):
    known = dict(zip(reviews.texts, reviews.labels, strict=True))
    for text in unseen_reviews.texts[:5]:
        explanation = attending.explain(text)
        assert sum(abs(item.weight) for item in explanation.evidence) == pytest.approx(1, abs=1e-5)
        assert all(known[item.text] == item.label for item in explanation.evidence)
        for item in explanation.evidence:
            assert (item.weight > 0) == (item.label == explanation.label)
        share = sum(item.weight for item in explanation.evidence if item.weight > 0)
        assert attending.confidence([text]) == pytest.approx(share, abs=1e-5)
