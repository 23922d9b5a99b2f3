"""The floor: a bag of words, and an explanation that is the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from protorynet_lab.baselines import BagOfWordsClassifier, RivalExplanation


def check_weights_add_up_to_the_log_odds(explanation: RivalExplanation) -> None:
    constant = float(explanation.how.partition("constant of ")[2].split()[0])
    total = sum(item.weight for item in explanation.evidence) + constant
    logs = {name: np.log(value) for name, value in explanation.probabilities.items()}
    own = logs.pop(explanation.label)
    assert total == pytest.approx(own - np.mean(list(logs.values())), abs=1e-3)


@pytest.mark.parametrize("ngrams", [1, 2])
def test_the_weights_of_two_classes_add_up_to_the_log_odds(
    reviews: Any, unseen_reviews: Any, ngrams: int
) -> None:
    bag = BagOfWordsClassifier(ngrams=ngrams).fit(reviews.texts, reviews.labels)
    for text in unseen_reviews.texts[:4]:
        check_weights_add_up_to_the_log_odds(bag.explain(text))


def test_the_weights_of_three_classes_add_up_to_the_log_odds() -> None:
    texts = ["Red apples here.", "Green pears here.", "Blue plums here."] * 6
    bag = BagOfWordsClassifier().fit(texts, ["red", "green", "blue"] * 6)
    explanation = bag.explain("Green pears and one red apple.")
    assert explanation.label == "green"
    check_weights_add_up_to_the_log_odds(explanation)


def test_a_word_of_the_other_class_speaks_against() -> None:
    bag = BagOfWordsClassifier(ngrams=1).fit(["good food", "bad food"] * 6, [1, 0] * 6)
    weights = {item.text: item.weight for item in bag.explain("good good bad").evidence}
    assert weights["good"] > 0 > weights["bad"]
    assert bag.predict(["good"]).tolist() == [1]


def test_pairs_of_words_are_counted_on_demand(reviews: Any) -> None:
    for ngrams in (1, 2):
        bag = BagOfWordsClassifier(ngrams=ngrams).fit(reviews.texts, reviews.labels)
        assert any(" " in name for name in bag.vectorizer_.vocabulary_) == (ngrams == 2)
