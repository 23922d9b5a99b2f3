"""ProtoAttend: sparse attention over training documents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from hashing_encoder import HashingEncoder
from protorynet.errors import InputError
from protorynet_lab.baselines import ProtoAttendClassifier
from protorynet_lab.baselines.prototype_attention import attend, sparsemax

scores = arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(1, 12)),
    elements=st.floats(-5, 5, width=32),
)


def slow_sparsemax(row: np.ndarray) -> np.ndarray:
    """Find the threshold above which the scores add up to 1 by halving."""
    low, high = row.max() - 1, row.max()
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(row - middle, 0).sum() > 1 else (low, middle)
    return np.maximum(row - low, 0)


@given(scores)
def test_sparsemax_is_what_a_slow_search_finds(rows: np.ndarray) -> None:
    expected = np.stack([slow_sparsemax(row) for row in rows])
    assert sparsemax(torch.from_numpy(rows)).numpy() == pytest.approx(expected, abs=1e-9)


def test_sparsemax_of_many_equal_scores_shares_among_all() -> None:
    shares = sparsemax(torch.zeros(2, 1_000, dtype=torch.float64))
    assert shares.numpy() == pytest.approx(1 / 1_000)


def test_sparsemax_gives_the_gradient_of_finite_differences() -> None:
    torch.manual_seed(0)
    rows = torch.randn(3, 7, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(sparsemax, (rows,))


def test_forbidden_pairs_get_no_attention() -> None:
    vectors = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    weights = attend(vectors, vectors, torch.eye(5, dtype=torch.bool))
    assert (weights.diagonal() == 0).all()
    assert weights.sum(dim=1).numpy() == pytest.approx(1, abs=1e-6)


@pytest.fixture(scope="module")
def fitted(reviews: Any, encoder: HashingEncoder) -> ProtoAttendClassifier:
    rival = ProtoAttendClassifier(encoder, epochs=10, device="cpu")
    return rival.fit(reviews.texts, reviews.labels)


def test_the_evidence_is_training_documents_whose_weights_sum_to_one(
    fitted: ProtoAttendClassifier, reviews: Any, unseen_reviews: Any
) -> None:
    known = dict(zip(reviews.texts, reviews.labels, strict=True))
    for text in unseen_reviews.texts[:5]:
        explanation = fitted.explain(text)
        assert sum(abs(item.weight) for item in explanation.evidence) == pytest.approx(1, abs=1e-5)
        assert all(known[item.text] == item.label for item in explanation.evidence)
        assert all(
            (item.weight > 0) == (item.label == explanation.label) for item in explanation.evidence
        )


def test_the_prediction_is_made_from_the_evidence_alone(
    fitted: ProtoAttendClassifier, unseen_reviews: Any
) -> None:
    explanation = fitted.explain(unseen_reviews.texts[0])
    place = {text: row for row, text in reversed(list(enumerate(fitted.examples_)))}
    mixture = sum(
        abs(item.weight) * fitted._database.values[place[item.text]]
        for item in explanation.evidence
    )
    probabilities = fitted.network_.decide(mixture).softmax(dim=0).tolist()
    assert probabilities == pytest.approx(list(explanation.probabilities.values()), abs=1e-4)


def test_confidence_is_the_share_of_attention_on_the_predicted_class(
    fitted: ProtoAttendClassifier, unseen_reviews: Any
) -> None:
    for text in unseen_reviews.texts[:5]:
        share = sum(item.weight for item in fitted.explain(text).evidence if item.weight > 0)
        assert fitted.confidence([text]) == pytest.approx(share, abs=1e-5)


def test_a_document_without_a_sentence_attends_to_nothing(fitted: ProtoAttendClassifier) -> None:
    assert fitted.confidence([" "]).tolist() == [0.0]
    assert fitted.explain(" ").evidence == ()


def test_three_classes_are_told_apart(encoder: HashingEncoder) -> None:
    fruits = {"red": "apple cherry", "green": "pear lime", "blue": "plum berry"}
    texts = [
        f"The {fruit} was {colour}. We had {count}."
        for colour, words in fruits.items()
        for fruit in words.split()
        for count in ("one", "two", "three", "four", "five")
    ]
    labels = [colour for colour in fruits for _ in range(10)]
    rival = ProtoAttendClassifier(encoder, epochs=10, device="cpu").fit(texts, labels)
    assert rival.predict(["The pear was green.", "A blue plum."]).tolist() == ["green", "blue"]


def test_documents_held_out_are_no_examples(fitted: ProtoAttendClassifier, reviews: Any) -> None:
    assert len(fitted.examples_) == len(reviews.texts) - 6
    assert set(fitted.examples_) <= set(reviews.texts)


def test_training_documents_without_a_sentence_are_passed_over(
    reviews: Any, encoder: HashingEncoder
) -> None:
    rival = ProtoAttendClassifier(encoder, epochs=1, device="cpu")
    rival.fit([" ", *reviews.texts], ["good", *reviews.labels])
    labels = dict(zip(reviews.texts, reviews.labels, strict=True))
    classes = rival.classes_[rival.example_classes_]
    assert [labels[text] for text in rival.examples_] == classes.tolist()


@pytest.mark.parametrize(
    ("name", "value"), [("candidates", 1), ("epochs", 0), ("sparsity", -1), ("learning_rate", "x")]
)
def test_wrong_parameters_are_named(
    reviews: Any, encoder: HashingEncoder, name: str, value: Any
) -> None:
    rival = ProtoAttendClassifier(encoder, device="cpu").set_params(**{name: value})
    with pytest.raises(InputError, match=f"{name}={value!r} should be"):
        rival.fit(reviews.texts, reviews.labels)


@pytest.mark.parametrize(
    ("name", "value"), [("learning_rate", 0), ("learning_rate", True), ("sparsity", -0.1)]
)
def test_a_number_that_trains_nothing_is_refused_by_name(
    reviews: Any, encoder: Any, name: str, value: Any
) -> None:
    with pytest.raises(InputError, match=f"{name}={value!r} should be a number"):
        ProtoAttendClassifier(encoder, **{name: value}).fit(reviews.texts, reviews.labels)
