"""A model stays with the form of the encoder that it was made with."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from protorynet import ProtoryNetClassifier, Settings
from protorynet.encoders import load_encoder
from protorynet.errors import CheckpointError, EncoderError
from protorynet.explain import choose_judge, tfidf_judge
from protorynet.model import EncoderRecord

pytestmark = pytest.mark.filterwarnings("ignore:this processor has no")


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PROTORYNET_CACHE", str(tmp_path / "cache"))


@pytest.fixture(params=["bf16", "int8", "static"])
def name(request: pytest.FixtureRequest, tiny_bert_folder: Path) -> str:
    return f"{tiny_bert_folder}:{request.param}"


@pytest.fixture
def fitted(name: str, reviews: Any, quick: Settings) -> ProtoryNetClassifier:
    classifier = ProtoryNetClassifier(name, settings=quick, device="cpu")
    return classifier.fit(reviews.texts, reviews.labels)


def test_it_predicts_the_same_after_saving(
    fitted: ProtoryNetClassifier, name: str, unseen_reviews: Any, tmp_path: Path
) -> None:
    fitted.save(tmp_path / "model")
    loaded = ProtoryNetClassifier.load(tmp_path / "model", device="cpu")
    assert loaded.model_.encoder.name == name
    expected = fitted.predict_proba(unseen_reviews.texts)
    np.testing.assert_allclose(loaded.predict_proba(unseen_reviews.texts), expected, atol=1e-6)


def test_it_refuses_the_encoder_in_float32(
    fitted: ProtoryNetClassifier, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    fitted.save(tmp_path / "model")
    with pytest.raises(EncoderError, match="made with another encoder"):
        ProtoryNetClassifier.load(tmp_path / "model", encoder=str(tiny_bert_folder), device="cpu")


def test_a_run_in_float32_is_not_resumed_with_it(
    name: str, tiny_bert_folder: Path, reviews: Any, quick: Settings, tmp_path: Path
) -> None:
    given = {"settings": quick, "device": "cpu"}
    ProtoryNetClassifier(str(tiny_bert_folder), **given).fit(
        reviews.texts, reviews.labels, checkpoint=tmp_path / "run"
    )
    with pytest.raises(CheckpointError, match="other data, settings, seed or encoder"):
        ProtoryNetClassifier(name, **given).fit(
            reviews.texts, reviews.labels, checkpoint=tmp_path / "run", resume=True
        )


def test_copies_give_the_same_vectors(name: str) -> None:
    encoder = load_encoder(name, device="cpu")
    copied = clone(ProtoryNetClassifier(encoder)).encoder
    for other in (copied, copy.deepcopy(encoder)):
        assert other.fingerprint == encoder.fingerprint
        assert np.array_equal(other.encode(["the room"]), encoder.encode(["the room"]))


@pytest.mark.parametrize("variant", ["", ":bf16", ":int8", ":static"])
def test_minilm_does_not_judge_models_made_with_a_form_of_itself(variant: str) -> None:
    judge, _ = choose_judge(EncoderRecord(f"minilm{variant}", "0"), None, device="cpu")
    assert judge is tfidf_judge
