"""The floor: a bag of words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from protorynet.baselines import fit_bag_of_words
from protorynet.errors import InputError


def test_a_bag_of_words_tells_good_reviews_from_bad(reviews: Any, unseen_reviews: Any) -> None:
    bag = fit_bag_of_words(reviews.texts, reviews.labels)
    predicted = bag.predict(unseen_reviews.texts)
    assert (predicted == np.array(unseen_reviews.labels)).mean() > 0.9


def test_the_same_seed_gives_the_same_bag_of_words(reviews: Any) -> None:
    first, again = (fit_bag_of_words(reviews.texts, reviews.labels, seed=3) for _ in range(2))
    assert (first.regression.coef_ == again.regression.coef_).all()


def test_whole_numbers_stay_whole_numbers_as_labels() -> None:
    bag = fit_bag_of_words(["Good food here.", "Bad food here."] * 6, [1, 0] * 6)
    assert bag.predict(["good"]).tolist() == [1]


def test_documents_without_words_are_refused_in_one_line() -> None:
    with pytest.raises(InputError, match="hold no words to count"):
        fit_bag_of_words(["!", "?"] * 4, [0, 1] * 4)


def test_several_labels_at_once_are_refused() -> None:
    with pytest.raises(InputError, match="one class per document"):
        fit_bag_of_words(["a b", "c d"] * 4, np.array([[1, 0], [1, 1]] * 4))
