"""The ceiling: the encoder and the reader with no prototypes in between."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hashing_encoder import HashingEncoder
from protorynet import Settings
from protorynet.baselines import fit_black_box
from protorynet.encoders import EmbeddingCache, load_encoder
from protorynet.errors import InputError


@pytest.fixture(scope="module")
def learning(quick: Settings) -> Settings:
    """Epochs enough to learn something."""
    return quick.replace(epochs=6, retrain_epochs=6, full_epochs=4, encoder_learning_rate=0.01)


@pytest.mark.parametrize("encoder_training", ["none", "adapter", "full"])
def test_a_black_box_beats_chance(
    encoder_training: str,
    learning: Settings,
    reviews: Any,
    unseen_reviews: Any,
    encoder: HashingEncoder,
    tiny_bert_folder: Path,
) -> None:
    box = fit_black_box(
        reviews.texts,
        reviews.labels,
        encoder=tiny_bert_folder if encoder_training == "full" else encoder,
        settings=learning.replace(encoder_training=encoder_training),
        device="cpu",
    )
    right = box.predict(unseen_reviews.texts) == np.array(unseen_reviews.labels)
    assert right.mean() > 0.75


def test_full_training_leaves_the_callers_encoder_as_it_was(
    quick: Settings, reviews: Any, tiny_bert_folder: Path
) -> None:
    mine = load_encoder(tiny_bert_folder, device="cpu")
    fingerprint, vectors = mine.fingerprint, mine.encode(reviews.texts[:5])
    settings = quick.replace(encoder_training="full", encoder_learning_rate=0.01)
    box = fit_black_box(
        reviews.texts, reviews.labels, encoder=mine, settings=settings, device="cpu"
    )
    assert box.encoder.fingerprint != fingerprint
    assert mine.fingerprint == fingerprint
    assert (mine.encode(reviews.texts[:5]) == vectors).all()


def test_the_same_seed_gives_the_same_probabilities(
    quick: Settings, reviews: Any, encoder: HashingEncoder
) -> None:
    first, again = (
        fit_black_box(
            reviews.texts, reviews.labels, encoder=encoder, settings=quick, seed=5, device="cpu"
        ).predict_proba(reviews.texts[:10])
        for _ in range(2)
    )
    assert (first == again).all()


def test_a_cache_spares_encoding_again(quick: Settings, reviews: Any, tmp_path: Path) -> None:
    class Counting(HashingEncoder):
        encoded = 0

        def encode(self, sentences: list[str]) -> np.ndarray:
            self.encoded += len(sentences)
            return super().encode(sentences)

    encoder, cache = Counting(), EmbeddingCache(tmp_path)
    options = {"encoder": encoder, "settings": quick, "device": "cpu", "cache": cache}
    fit_black_box(reviews.texts, reviews.labels, **options)
    first = encoder.encoded
    fit_black_box(reviews.texts, reviews.labels, seed=1, **options)
    assert first > 0
    assert encoder.encoded == first


def test_a_document_without_a_sentence_gets_the_class_frequencies(
    quick: Settings, reviews: Any, encoder: HashingEncoder
) -> None:
    box = fit_black_box(
        reviews.texts, reviews.labels, encoder=encoder, settings=quick, device="cpu"
    )
    assert box.predict_proba(["   ", reviews.texts[0]])[0].tolist() == [0.5, 0.5]
    assert box.predict_proba([]).shape == (0, 2)


def test_several_labels_at_once_are_learnt(
    quick: Settings, reviews: Any, encoder: HashingEncoder
) -> None:
    sets = [(label, "review") if label == "good" else (label,) for label in reviews.labels]
    box = fit_black_box(reviews.texts, sets, encoder=encoder, settings=quick, device="cpu")
    assert box.predict(reviews.texts[:3]).shape == (3, 3)


def test_full_training_needs_a_transformer(
    quick: Settings, reviews: Any, encoder: HashingEncoder
) -> None:
    settings = quick.replace(encoder_training="full")
    with pytest.raises(InputError, match="needs a transformer encoder"):
        fit_black_box(
            reviews.texts, reviews.labels, encoder=encoder, settings=settings, device="cpu"
        )


def test_blank_documents_alone_cannot_teach(quick: Settings, encoder: HashingEncoder) -> None:
    with pytest.raises(InputError, match="no documents with a sentence"):
        fit_black_box([" "] * 8, [0, 1] * 4, encoder=encoder, settings=quick, device="cpu")
