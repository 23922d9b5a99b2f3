"""What stands in for the LSTM, against slow and obvious versions."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hashing_encoder import HashingEncoder
from protorynet import ProtoryNetClassifier
from protorynet.errors import InputError
from protorynet_lab.baselines import (
    SUBSTITUTES,
    SubstituteClassifier,
    fit_substitutes,
)
from protorynet_lab.baselines.substitutes import best_threshold

Fitted = dict[str, SubstituteClassifier]


@pytest.fixture(scope="module")
def classifier(reviews, quick) -> ProtoryNetClassifier:
    settings = quick.replace(epochs=6, retrain_epochs=6)
    classifier = ProtoryNetClassifier(HashingEncoder(), settings=settings)
    return classifier.fit(reviews.texts, reviews.labels)


@pytest.fixture(scope="module")
def substitutes(classifier, reviews) -> Fitted:
    return fit_substitutes(classifier, reviews.texts, reviews.labels)


@pytest.fixture(scope="module")
def three_classes(reviews, quick) -> tuple[Fitted, list[str]]:
    labels = [
        "long stay" if "nine" in text else label
        for text, label in zip(reviews.texts, reviews.labels, strict=True)
    ]
    classifier = ProtoryNetClassifier(HashingEncoder(), settings=quick, on_empty="skip")
    classifier.fit(reviews.texts, labels)
    return fit_substitutes(classifier, reviews.texts, labels), labels


@pytest.fixture(params=["two classes", "three classes"])
def either(request, substitutes, three_classes) -> Fitted:
    return substitutes if request.param == "two classes" else three_classes[0]


@given(st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=20))
def test_no_threshold_is_right_more_often_than_the_best(rows):
    values = np.array([value / 8 for value, _ in rows])
    truth = np.array([label for _, label in rows])

    def right(threshold: float) -> int:
        return int(((values > threshold) == truth).sum())

    best = right(best_threshold(values, truth))
    assert best == max(right((half - 1) / 16) for half in range(19))


def test_the_average_follows_from_the_prototypes_shown(either, unseen_reviews):
    average = either["average"]
    slow = []
    for explanation in average.classifier_.explain(unseen_reviews.texts):
        means = {
            name: np.mean([sentence.scores[name] for sentence in explanation.sentences])
            for name in explanation.classes
        }
        best = max(means, key=lambda name: means[name])
        if average.reader_.threshold is not None:
            best = "good" if means["good"] > average.reader_.threshold else "bad"
        slow.append(best)
    assert average.predict(unseen_reviews.texts).tolist() == slow


@pytest.mark.parametrize("name", SUBSTITUTES)
def test_fitted_alone_a_substitute_is_the_same(substitutes, classifier, reviews, name):
    alone = SubstituteClassifier(name, classifier=classifier).fit(reviews.texts, reviews.labels)
    expected = substitutes[name].predict_proba(reviews.texts)
    assert (alone.predict_proba(reviews.texts) == expected).all()
    assert alone.score(reviews.texts, reviews.labels) > 0.75
    assert alone.validation_accuracy_ == substitutes[name].validation_accuracy_


@pytest.mark.parametrize(
    ("name", "before"), [("logistic_regression", "a constant of "), ("decision_tree", "with ")]
)
def test_the_evidence_adds_up_to_log_odds_or_probability(either, unseen_reviews, name, before):
    for text in unseen_reviews.texts[:8]:
        explanation = either[name].explain(text)
        start = float(explanation.how.split(before)[1].split(" ")[0])
        total = sum(item.weight for item in explanation.evidence) + start
        shares = dict(explanation.probabilities)
        expected = shares.pop(explanation.label)
        if name == "logistic_regression":
            expected = np.log(expected) - np.log(list(shares.values())).mean()
        assert total == pytest.approx(expected, abs=1e-3)


def test_the_rules_of_a_tree_speak_of_sentences_and_classes(substitutes, three_classes):
    rules = substitutes["decision_tree"].rules()
    assert "p(good) of sentence" in rules
    assert "class: good" in rules
    assert "class: long stay" in three_classes[0]["decision_tree"].rules()
    with pytest.raises(InputError, match="'average' has no rules"):
        substitutes["average"].rules()


def test_a_document_without_a_sentence_gets_the_most_frequent_class(three_classes, reviews):
    substitutes, labels = three_classes
    frequent = max(sorted(set(labels)), key=labels.count)
    for name in SUBSTITUTES:
        mixed = substitutes[name].predict(["", reviews.texts[0]]).tolist()
        assert mixed == [frequent, substitutes[name].predict(reviews.texts[:1])[0]]
        assert substitutes[name].predict([" "]).tolist() == [frequent]
        assert substitutes[name].explain(" ").evidence == ()


def test_unknown_substitutes_and_documents_of_other_classes_are_refused(classifier, reviews):
    with pytest.raises(InputError, match="reader='forest' is not one of 'average', "):
        SubstituteClassifier("forest", classifier=classifier).fit(reviews.texts, reviews.labels)
    labels = [f"very {label}" for label in reviews.labels]
    with pytest.raises(InputError, match="very bad, very good, those of the model of bad, good"):
        fit_substitutes(classifier, reviews.texts, labels)
