"""Small tables with the default settings: few documents must still mean enough learning."""

from __future__ import annotations

import itertools
import random

from hashing_encoder import HashingEncoder
from protorynet import ProtoryNetClassifier

_ABOUT = {
    "food": ["The pasta was delicious.", "We loved every dish.", "The dessert was excellent."],
    "staff": ["The waiter was friendly.", "Our server was lovely.", "They were kind and quick."],
    "price": ["It was very cheap.", "Great value for money.", "The bill was small and fair."],
}


def _topical_reviews(count: int) -> tuple[list[str], list[tuple[str, ...]]]:
    draw = random.Random(0)
    sets = [chosen for n in (1, 2) for chosen in itertools.combinations(sorted(_ABOUT), n)]
    labels = [sets[number % len(sets)] for number in range(count)]
    texts = [" ".join(draw.choice(_ABOUT[topic]) for topic in chosen) for chosen in labels]
    return texts, labels


def test_a_hundred_documents_with_several_labels_each_are_learnt(encoder: HashingEncoder) -> None:
    texts, labels = _topical_reviews(120)
    classifier = ProtoryNetClassifier(encoder).fit(texts, labels)
    assert classifier.evaluate(texts, labels).accuracy >= 0.95


def test_twenty_documents_are_learnt(encoder: HashingEncoder) -> None:
    texts = ["I love this place. It was great.", "I hate this place. It was awful."] * 10
    classifier = ProtoryNetClassifier(encoder).fit(texts, ["très bon", "pas bon 😞"] * 10)
    assert classifier.predict(["It was great."]).tolist() == ["très bon"]
