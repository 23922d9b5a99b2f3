"""Every fit ends with an automaton per class, however odd the documents are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from protorynet import ProtoryNetClassifier, Settings
from protorynet.errors import InputError
from protorynet.training import evenly_chosen, validation_documents


def fitted(encoder: Any, settings: Settings, X: Any, y: Any) -> ProtoryNetClassifier:
    clf = ProtoryNetClassifier(encoder, settings=settings, device="cpu", cache=False)
    return clf.fit(X, y)


def test_fidelity_is_measured_on_the_documents_held_out(
    reviews: Any, encoder: Any, quick: Settings
) -> None:
    clf = fitted(encoder, quick, reviews.texts, reviews.labels)
    good = clf.automaton("good")
    assert (good.n_train, good.n_held_out) == (48, 12)
    assert "automata" in clf.model_.training.seconds


def test_the_stored_automaton_is_the_one_learnt_from_the_same_documents(
    reviews: Any, encoder: Any, quick: Settings
) -> None:
    clf = fitted(encoder, quick, reviews.texts, reviews.labels)
    labels = clf.model_.labels
    targets = labels.encode(reviews.labels)
    held_out = validation_documents(targets, labels, quick.validation_fraction, 0)
    kept = np.setdiff1d(np.arange(len(targets)), held_out)
    learnt, others = ([reviews.texts[place] for place in rows] for rows in (kept, held_out))
    assert clf.automaton("bad") == clf.automaton("bad", learnt, held_out=others)


def test_four_documents_of_one_sentence_are_enough(encoder: Any, quick: Settings) -> None:
    texts = ["Good room.", "Bad bed.", "Good view.", "Bad pool."]
    clf = fitted(encoder, quick, texts, ["good", "bad"] * 2)
    assert [automaton.label for automaton in clf.model_.automata] == ["bad", "good"]


def test_several_labels_have_an_automaton_each(reviews: Any, encoder: Any, quick: Settings) -> None:
    tags = [tuple(t for t in ("room", "pool", "bed") if t in text) for text in reviews.texts]
    clf = fitted(encoder, quick, reviews.texts, tags)
    assert {automaton.label for automaton in clf.model_.automata} == {"room", "pool", "bed"}


def test_vectors_in_place_of_texts_have_automata(quick: Settings) -> None:
    draw = np.random.default_rng(0)
    vectors = [draw.normal(size=(n, 5)).astype(np.float32) for n in draw.integers(1, 5, 20)]
    clf = fitted("precomputed", quick, vectors, [0, 1, 2, 0] * 5)
    assert [automaton.label for automaton in clf.model_.automata] == ["0", "1", "2"]


def test_the_readers_ablation_that_sees_all_similarities_has_automata(
    reviews: Any, encoder: Any, quick: Settings
) -> None:
    clf = fitted(encoder, quick.replace(selection="dense"), reviews.texts, reviews.labels)
    assert len(clf.model_.automata) == 2


def test_the_same_seed_gives_the_same_automata(reviews: Any, encoder: Any, quick: Settings) -> None:
    one, two = (fitted(encoder, quick, reviews.texts, reviews.labels) for _ in range(2))
    assert one.model_.automata == two.model_.automata


def test_documents_to_measure_on_need_some_to_learn_from(
    reviews: Any, encoder: Any, quick: Settings
) -> None:
    clf = fitted(encoder, quick, reviews.texts, reviews.labels)
    with pytest.raises(InputError, match="held_out=… needs X"):
        clf.automaton("good", held_out=reviews.texts)


@pytest.mark.parametrize(("count", "length"), [(20_000, 1), (6_000, 3), (900, 400), (1, 10**6)])
def test_many_or_long_documents_are_chosen_evenly(count: int, length: int) -> None:
    chosen = evenly_chosen(np.full(count, length))
    assert 1 <= len(chosen) <= 5_000
    assert len(chosen) == 1 or len(chosen) * length <= 100_000
    assert chosen[0] == 0
    assert len(chosen) == 1 or chosen[-1] == count - 1
