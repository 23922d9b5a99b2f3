"""The floor: a bag of words, and an explanation that is the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from protorynet.errors import InputError
from protorynet_lab.baselines import BagOfWordsClassifier


def margin(probabilities: dict[str, float], label: str) -> float:
    """Return the log-odds of a class against the mean of the others."""
    others = [np.log(value) for name, value in probabilities.items() if name != label]
    return float(np.log(probabilities[label]) - np.mean(others))


def constant(how: str) -> float:
    return float(how.partition("constant of ")[2].split()[0])


@pytest.mark.parametrize("ngrams", [1, 2])
def test_the_weights_of_two_classes_add_up_to_the_log_odds(
    reviews: Any, unseen_reviews: Any, ngrams: int
) -> None:
    bag = BagOfWordsClassifier(ngrams=ngrams).fit(reviews.texts, reviews.labels)
    for text in unseen_reviews.texts[:4]:
        explanation = bag.explain(text)
        total = sum(item.weight for item in explanation.evidence) + constant(explanation.how)
        assert total == pytest.approx(
            margin(explanation.probabilities, explanation.label), abs=1e-3
        )


def test_the_weights_of_three_classes_add_up_to_the_log_odds() -> None:
    texts = ["Red apples here.", "Green pears here.", "Blue plums here."] * 6
    bag = BagOfWordsClassifier().fit(texts, ["red", "green", "blue"] * 6)
    explanation = bag.explain("Green pears and one red apple.")
    total = sum(item.weight for item in explanation.evidence) + constant(explanation.how)
    assert explanation.label == "green"
    assert total == pytest.approx(margin(explanation.probabilities, "green"), abs=1e-3)


def test_a_word_of_the_other_class_speaks_against() -> None:
    bag = BagOfWordsClassifier(ngrams=1).fit(["good food", "bad food"] * 6, [1, 0] * 6)
    weights = {item.text: item.weight for item in bag.explain("good good bad").evidence}
    assert weights["good"] > 0 > weights["bad"]


def test_pairs_of_words_are_counted_on_demand(reviews: Any) -> None:
    pairs, words = (
        BagOfWordsClassifier(ngrams=ngrams).fit(reviews.texts, reviews.labels) for ngrams in (2, 1)
    )
    assert any(" " in name for name in pairs.vectorizer_.vocabulary_)
    assert not any(" " in name for name in words.vectorizer_.vocabulary_)


def test_whole_numbers_stay_whole_numbers_as_labels() -> None:
    bag = BagOfWordsClassifier().fit(["Good food here.", "Bad food here."] * 6, [1, 0] * 6)
    assert bag.predict(["good"]).tolist() == [1]


def test_documents_without_words_are_refused_in_one_line() -> None:
    with pytest.raises(InputError, match="hold no words to count"):
        BagOfWordsClassifier().fit(["!", "?"] * 4, [0, 1] * 4)


def test_triples_of_words_are_refused(reviews: Any) -> None:
    with pytest.raises(InputError, match="ngrams=3 should be 1"):
        BagOfWordsClassifier(ngrams=3).fit(reviews.texts, reviews.labels)
