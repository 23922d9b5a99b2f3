"""What every rival keeps to: scikit-learn's contract, clear errors, an explanation that adds up."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from protorynet import ProtoryNetClassifier
from protorynet.errors import InputError, ProtoryNetError
from protorynet_lab import baselines
from protorynet_lab.baselines import BagOfWordsClassifier, Rival

NAMES = ["bag", "black box", "lstm", "prosenet", "protoattend", "substitute", "transformer"]
LSTM = {"hidden_size": 8, "epochs": 3, "learning_rate": 0.01, "device": "cpu"}


@pytest.fixture(scope="module")
def rivals(quick, encoder, tiny_bert_folder) -> dict[str, Rival]:
    """One rival of each kind, none of them fitted."""
    settings = quick.replace(epochs=20, retrain_epochs=6)
    own = ProtoryNetClassifier(encoder, settings=settings, on_empty="skip")
    return {
        "bag": BagOfWordsClassifier(),
        "black box": baselines.BlackBoxClassifier(encoder, settings=settings, device="cpu"),
        "lstm": baselines.VanillaLSTMClassifier(**LSTM),
        "prosenet": baselines.ProSeNetClassifier(n_prototypes=6, prototype_epochs=2, **LSTM),
        "protoattend": baselines.ProtoAttendClassifier(encoder, device="cpu"),
        "substitute": baselines.SubstituteClassifier("logistic_regression", classifier=own),
        "transformer": baselines.TransformerClassifier(
            tiny_bert_folder, learning_rate=1e-2, device="cpu"
        ),
    }


@pytest.fixture(params=NAMES)
def name(request) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def fitted(rivals, reviews) -> dict[str, Rival]:
    return {name: clone(rival).fit(reviews.texts, reviews.labels) for name, rival in rivals.items()}


def test_a_rival_tells_good_reviews_from_bad(fitted, name, unseen_reviews):
    assert fitted[name].score(unseen_reviews.texts, unseen_reviews.labels) > 0.8
    assert 0.5 < fitted[name].validation_accuracy_ <= 1


def test_probabilities_sum_to_one_in_the_order_of_the_classes(fitted, name, unseen_reviews):
    rival, texts = fitted[name], ["  ", *unseen_reviews.texts]  # a blank document gets some too
    probabilities = rival.predict_proba(texts)
    assert probabilities.dtype == np.float32
    assert probabilities.sum(axis=1) == pytest.approx(1, abs=1e-5)
    best = rival.classes_[probabilities.argmax(axis=1)]
    assert (best == rival.predict(texts)).all()
    assert (rival.predict_proba([]).shape, rival.predict([]).shape) == ((0, 2), (0,))


@pytest.mark.parametrize("name", sorted({*NAMES} - {"substitute"}))  # which trains our own model
def test_only_the_seed_counts_and_the_callers_random_numbers_stay(rivals, fitted, name, reviews):
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    again = clone(rivals[name]).fit(reviews.texts, reviews.labels)
    assert torch.rand(1) == expected
    assert (again.predict_proba(reviews.texts) == fitted[name].predict_proba(reviews.texts)).all()


def test_an_explanation_has_the_prediction_and_says_how(fitted, name, unseen_reviews):
    rival, text = fitted[name], unseen_reviews.texts[0]
    explanation = rival.explain(text)
    assert explanation.label == rival.predict([text])[0]
    assert list(explanation.probabilities) == ["bad", "good"]
    assert explanation.how.endswith(".")
    sizes = [abs(item.weight) for item in explanation.evidence]
    assert sizes == sorted(sizes, reverse=True) != []


def test_a_rival_that_is_not_fitted_says_so(rivals, name):
    with pytest.raises(NotFittedError, match="not fitted; call fit first") as caught:
        rivals[name].predict(["One."])
    assert isinstance(caught.value, ProtoryNetError)


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (["One.", None, "Three.", "Four."], [0, 1, 0, 1], "row 1 .* is of type NoneType"),
        ("One text.", [0], "got one text; wrap it in a list"),
        (["One.", "Two."], [0], "2 documents but 1 labels"),
        (["One.", "Two."], [0, 1], "2 documents are too few"),
        (["One.", "Two."], [0, 0], "only one class"),
    ],
)
def test_unusable_documents_are_refused(rivals, name, texts, labels, message):
    with pytest.raises(InputError, match=message):
        clone(rivals[name]).fit(texts, labels)


@pytest.mark.parametrize("name", sorted({*NAMES} - {"black box"}))  # which learns several
def test_several_labels_at_once_are_refused(rivals, name):
    with pytest.raises(InputError, match="one class per document"):
        clone(rivals[name]).fit(["A b.", "C d."] * 4, np.array([[1, 0], [1, 1]] * 4))


@pytest.mark.parametrize(
    ("rival", "parameter", "value", "expected"),
    [
        ("bag", "ngrams", 3, "should be 1"),
        ("bag", "random_state", -1, "should be a whole number of at least 0"),
        ("transformer", "pooling", "max", "is not one of 'mean', 'cls'"),
        ("transformer", "learning_rate", 2, "should be a number between 0 and 1"),
        ("protoattend", "candidates", 1, "should be a whole number of at least 2"),
        ("protoattend", "epochs", True, "should be a whole number of at least 1"),
        ("protoattend", "sparsity", -0.1, "should be a number of at least 0"),
        ("lstm", "learning_rate", "x", "should be a number between 1e-08 and 10"),
        ("lstm", "epochs", 2.5, "should be a whole number between 1 and 100000"),
        ("prosenet", "n_prototypes", 500, " is more than the .* different documents"),
        ("prosenet", "clustering", -1.0, "should be a number between 0 and"),
    ],
)
def test_parameters_out_of_range_are_named(rivals, reviews, rival, parameter, value, expected):
    with pytest.raises(InputError, match=f"{parameter}={value!r}.*{expected}"):
        clone(rivals[rival]).set_params(**{parameter: value}).fit(reviews.texts, reviews.labels)


FRUIT = ["Red apples here.", "Green pears here.", "Blue plums here."] * 6


@pytest.mark.parametrize("ngrams", [1, 2])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_weights_of_a_bag_of_words_add_up_to_the_log_odds(reviews, n_classes, ngrams):
    texts, labels = reviews.texts, reviews.labels
    if n_classes == 3:
        texts, labels = FRUIT, [text.split()[0] for text in FRUIT]
    bag = BagOfWordsClassifier(ngrams=ngrams).fit(texts, labels)
    assert any(" " in name for name in bag.vectorizer_.vocabulary_) == (ngrams == 2)
    for text in ("The room was lovely.", "Green pears and one red apple."):
        explanation = bag.explain(text)
        constant = float(explanation.how.partition("constant of ")[2].split()[0])
        total = sum(item.weight for item in explanation.evidence) + constant
        shares = dict(explanation.probabilities)
        own = np.log(shares.pop(explanation.label))
        assert total == pytest.approx(own - np.log(list(shares.values())).mean(), abs=1e-3)
