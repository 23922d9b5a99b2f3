"""What words tell of the label: learned fairly, carried along, and a floor to compare with."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from hashing_encoder import HashingEncoder
from protorynet import ProtoryNetClassifier
from protorynet.training import Corpus, validation_documents
from protorynet.training.bag_of_words import fit_words
from protorynet.words import Ngrams, WordWeights

TEXTS = st.lists(st.text("ab c'.\n", max_size=12), max_size=6)


def find_ngrams(text: str) -> list[str]:
    words = re.findall(r"\w+", text.lower())
    return words + [f"{first} {second}" for first, second in pairwise(words)]


def count_slowly(texts: list[str]) -> dict[tuple[int, str], float]:
    counts = Counter((row, ngram) for row, text in enumerate(texts) for ngram in find_ngrams(text))
    return {place: pytest.approx(1 + math.log(count)) for place, count in counts.items()}


def named(ngrams: Ngrams, counts) -> dict[tuple[int, str], float]:
    rows, columns, values = (part.tolist() for part in counts)
    return dict(zip(zip(rows, ngrams.names(columns), strict=True), values, strict=True))


@given(texts=TEXTS)
def test_all_words_and_pairs_of_texts_are_counted(texts):
    ngrams, counts = Ngrams.of(texts)
    assert named(ngrams, counts) == count_slowly(texts)


@given(texts=TEXTS, others=TEXTS)
def test_words_and_pairs_of_other_texts_are_counted_where_they_are_known(texts, others):
    ngrams, _ = Ngrams.of(texts)
    known = {ngram for text in texts for ngram in find_ngrams(text)}
    expected = count_slowly(others)
    found = named(ngrams, ngrams.count(others))
    assert found == {place: count for place, count in expected.items() if place[1] in known}


def read_slowly(weights: WordWeights, text: str) -> list[float]:
    sums = [0.0] * weights.n_classes
    for ngram, count in Counter(find_ngrams(text)).items():
        if ngram in weights.ngrams:
            row = weights.steps[weights.ngrams.index(ngram)]
            for label, steps in enumerate(row.tolist()):
                sums[label] += steps * weights.unit * (1 + math.log(count))
    return sums


@given(texts=TEXTS)
def test_logits_are_sums_over_known_words_and_pairs(texts):
    weights = WordWeights.of(("a", "b", "a b"), np.array([[1, -1], [0.5, 0], [2, 3]], np.float32))
    found = weights.read(texts)
    assert found.shape == (len(texts), 2)
    for logits, text in zip(found, texts, strict=True):
        assert logits.tolist() == pytest.approx(read_slowly(weights, text), abs=1e-5)


def test_several_cores_read_the_same_words(monkeypatch):
    weights = WordWeights.of(("a", "b", "a b"), np.array([[1, -1], [0.5, 0], [2, 3]], np.float32))
    texts = ["a b", "", "b a b", "c", "a a b a b"] * 3
    alone = weights.read(texts)
    monkeypatch.setattr("protorynet.words._TEXTS_PER_BLOCK", 4)
    monkeypatch.setattr("protorynet.threads.count_threads", lambda: 4)
    np.testing.assert_array_equal(weights.read(texts), alone)


@pytest.mark.parametrize(
    "change",
    [
        {"ngrams": ["a", "a"]},
        {"ngrams": ["a", 1]},
        {"ngrams": ["a", "a b c"]},
        {"unit": 0.0},
        {"unit": True},
        {"weights": [[1, 2]]},
        {"weights": [[1, 2], [3, 40_000]]},
        {"weights": [[1, 2], [3, -(2**63)]]},
        {"weights": [[1, 2], [3, 0.5]]},
    ],
)
def test_weights_that_do_not_fit_together_are_refused(change):
    values = {"ngrams": ["a", "b"], "unit": 0.5, "weights": [[1, 2], [3, 4]]}
    assert WordWeights.from_dict(values, 2).read(["a b"]).tolist() == [[2.0, 3.0]]
    with pytest.raises(ValueError):
        WordWeights.from_dict({**values, **change}, 2)


@pytest.fixture(scope="module")
def by_one_word() -> tuple[list[str], list[str]]:
    """Documents that only one word tells apart, of which the encoder knows nothing."""
    draw = np.random.default_rng(0)
    openings = ["The desk was busy", "We came on Monday", "There is a lift", "It was late"]
    texts, labels = [], []
    for number in range(120):
        label = "good" if number % 2 else "bad"
        word = "splendid" if label == "good" else "dismal"
        start = openings[draw.integers(len(openings))]
        texts.append(f"{start}. The soup number {draw.integers(9)} was {word}.")
        labels.append(label)
    return texts, labels


def test_weights_of_words_are_those_of_a_regression_on_naive_bayes_features():
    draw = np.random.default_rng(0)
    bags, truth = draw.random((60, 8)) * (draw.random((60, 8)) < 0.4), draw.integers(3, size=60)
    bags[:, 0] += truth == 1
    starts = torch.arange(60)
    train = Corpus(starts, torch.ones(60, dtype=torch.long), torch.eye(3)[truth])
    found = fit_words(sparse.csr_matrix(bags.astype(np.float32)), train)
    ratios = []
    for label in range(3):
        own = truth == label
        inside, outside = ((bags[part] > 0).sum(0) + 1 for part in (own, ~own))
        ratios.append(np.log(inside / inside.sum()) - np.log(outside / outside.sum()))
    scale = np.sqrt(np.mean(np.square(ratios)))
    for label, ratio in enumerate(np.array(ratios) / scale):
        slow = LogisticRegression(C=10, tol=1e-8, max_iter=5000).fit(bags * ratio, truth == label)
        np.testing.assert_allclose(found[:, label], ratio * slow.coef_[0], atol=0.02)


class BlindEncoder(HashingEncoder):
    """An encoder to which the two words are the same."""

    fingerprint = "blind"

    def encode(self, sentences):
        blind = [text.replace("splendid", "x").replace("dismal", "x") for text in sentences]
        return super().encode(blind)


def fit(given: tuple[list[str], list[str]], quick, **changes) -> ProtoryNetClassifier:
    clf = ProtoryNetClassifier(
        BlindEncoder(), settings=quick.replace(members=20, **changes), device="cpu", cache=False
    )
    return clf.fit(*given)


def test_words_tell_what_the_encoder_cannot(by_one_word, quick):
    words = {"good": "splendid", "bad": "dismal"}
    unseen = [f"There is a desk. The soup number 11 was {word}." for word in words.values()]
    assert fit(by_one_word, quick, retrain_epochs=4).predict(unseen).tolist() == list(words)
    assert fit(by_one_word, quick, words=False).score(*by_one_word) < 0.8


def test_no_words_are_learned_where_they_are_not_asked_for(by_one_word, quick):
    for changes in ({"words": False}, {"encoder_training": "none"}):
        assert fit(by_one_word, quick, **changes).model_.words is None


def test_the_floor_is_the_accuracy_of_a_bag_of_words_on_documents_held_out(fitted, reviews):
    model = fitted.model_
    targets = model.labels.encode(reviews.labels)
    fraction = model.settings.validation_fraction
    held_out = validation_documents(targets, model.labels, fraction, model.training.seed)
    learned = np.setdiff1d(np.arange(len(targets)), held_out)
    texts, truth = np.array(reviews.texts, object), targets.argmax(axis=1)
    bags = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2)
    rival = LogisticRegression(C=20).fit(bags.fit_transform(texts[learned]), truth[learned])
    expected = rival.score(bags.transform(texts[held_out]), truth[held_out])
    assert model.training.bag_of_words_accuracy == pytest.approx(expected, abs=0.15)
