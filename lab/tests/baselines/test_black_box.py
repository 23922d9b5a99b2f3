"""The ceiling: the encoder and the reader with no prototypes in between."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hashing_encoder import HashingEncoder
from protorynet import Settings
from protorynet.encoders import load_encoder
from protorynet.errors import InputError
from protorynet_lab.baselines import BlackBoxClassifier


def test_an_encoder_can_be_trained_in_full(
    quick: Settings, reviews: Any, unseen_reviews: Any, tiny_bert_folder: Path
) -> None:
    settings = quick.replace(encoder_training="full", full_epochs=4, encoder_learning_rate=0.01)
    box = BlackBoxClassifier(tiny_bert_folder, settings=settings, device="cpu")
    box.fit(reviews.texts, reviews.labels)
    right = box.predict(unseen_reviews.texts) == np.array(unseen_reviews.labels)
    assert right.mean() > 0.75


def test_an_encoder_can_stay_as_it_is(
    quick: Settings, reviews: Any, unseen_reviews: Any, encoder: HashingEncoder
) -> None:
    settings = quick.replace(encoder_training="none", epochs=6, retrain_epochs=6)
    box = BlackBoxClassifier(encoder, settings=settings, device="cpu")
    box.fit(reviews.texts, reviews.labels)
    right = box.predict(unseen_reviews.texts) == np.array(unseen_reviews.labels)
    assert right.mean() > 0.75


def test_full_training_leaves_the_callers_encoder_as_it_was(
    quick: Settings, reviews: Any, tiny_bert_folder: Path
) -> None:
    mine = load_encoder(tiny_bert_folder, device="cpu")
    fingerprint, vectors = mine.fingerprint, mine.encode(reviews.texts[:5])
    settings = quick.replace(encoder_training="full", encoder_learning_rate=0.01)
    box = BlackBoxClassifier(mine, settings=settings, device="cpu")
    box.fit(reviews.texts, reviews.labels)
    assert box.encoder_.fingerprint != fingerprint
    assert mine.fingerprint == fingerprint
    assert (mine.encode(reviews.texts[:5]) == vectors).all()


def test_a_cache_spares_encoding_again(
    quick: Settings, reviews: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Counting(HashingEncoder):
        encoded = 0

        def encode(self, sentences: list[str]) -> np.ndarray:
            self.encoded += len(sentences)
            return super().encode(sentences)

    monkeypatch.setenv("PROTORYNET_CACHE", str(tmp_path))
    encoder = Counting()
    BlackBoxClassifier(encoder, settings=quick, device="cpu").fit(reviews.texts, reviews.labels)
    first = encoder.encoded
    other = BlackBoxClassifier(encoder, settings=quick, random_state=1, device="cpu")
    other.fit(reviews.texts, reviews.labels)
    assert first > 0
    assert encoder.encoded == first


def test_a_document_without_a_sentence_gets_the_class_frequencies(
    quick: Settings, reviews: Any, encoder: HashingEncoder
) -> None:
    box = BlackBoxClassifier(encoder, settings=quick, device="cpu")
    box.fit(reviews.texts, reviews.labels)
    assert box.predict_proba(["   ", reviews.texts[0]])[0].tolist() == [0.5, 0.5]


def test_several_labels_at_once_are_learnt(
    quick: Settings, reviews: Any, encoder: HashingEncoder
) -> None:
    sets = [(label, "review") if label == "good" else (label,) for label in reviews.labels]
    box = BlackBoxClassifier(encoder, settings=quick, device="cpu").fit(reviews.texts, sets)
    assert box.predict(reviews.texts[:3]).shape == (3, 3)


def test_the_weight_of_a_sentence_is_what_the_prediction_loses_without_it(
    quick: Settings, reviews: Any, encoder: HashingEncoder
) -> None:
    box = BlackBoxClassifier(encoder, settings=quick, device="cpu")
    box.fit(reviews.texts, reviews.labels)
    explanation = box.explain("The room was lovely. We stayed for two nights.")
    place = box.classes_.tolist().index(explanation.label)
    whole, without = box.predict_proba(
        ["The room was lovely. We stayed for two nights.", "We stayed for two nights."]
    )[:, place]
    weights = {item.text: item.weight for item in explanation.evidence}
    assert weights["The room was lovely."] == pytest.approx(float(whole - without), abs=1e-6)


def test_full_training_needs_a_transformer(
    quick: Settings, reviews: Any, encoder: HashingEncoder
) -> None:
    settings = quick.replace(encoder_training="full")
    with pytest.raises(InputError, match="needs a transformer encoder"):
        BlackBoxClassifier(encoder, settings=settings, device="cpu").fit(
            reviews.texts, reviews.labels
        )


def test_blank_documents_alone_cannot_teach(quick: Settings, encoder: HashingEncoder) -> None:
    with pytest.raises(InputError, match="no documents with a sentence"):
        BlackBoxClassifier(encoder, settings=quick, device="cpu").fit([" "] * 8, [0, 1] * 4)
