"""The floor: a bag of words, and an explanation that is the model."""

from __future__ import annotations

import numpy as np
import pytest

from protorynet_lab.baselines import BagOfWordsClassifier

FRUIT = ["Red apples here.", "Green pears here.", "Blue plums here."] * 6


@pytest.mark.parametrize("ngrams", [1, 2])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_weights_add_up_to_the_log_odds(reviews, unseen_reviews, n_classes, ngrams) -> None:
    texts, labels = reviews.texts, reviews.labels
    if n_classes == 3:
        texts, labels = FRUIT, [text.split()[0] for text in FRUIT]
    bag = BagOfWordsClassifier(ngrams=ngrams).fit(texts, labels)
    assert any(" " in name for name in bag.vectorizer_.vocabulary_) == (ngrams == 2)
    for text in [*unseen_reviews.texts[:4], "Green pears and one red apple."]:
        explanation = bag.explain(text)
        constant = float(explanation.how.partition("constant of ")[2].split()[0])
        total = sum(item.weight for item in explanation.evidence) + constant
        logs = {name: np.log(value) for name, value in explanation.probabilities.items()}
        own = logs.pop(explanation.label)
        assert total == pytest.approx(own - np.mean(list(logs.values())), abs=1e-3)
