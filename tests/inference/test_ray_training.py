"""A real Ray on this machine trains as one process does."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

pytest.importorskip("ray", reason="needs the extra 'scale'")

from protorynet import ProtoryNetClassifier, Settings, ray_training
from protorynet.encoders import load_encoder
from protorynet.errors import EmptyDocumentError, EncoderError, InputError
from protorynet.inference import ray_session
from protorynet.ray_training import fit_with_ray

# Ray's own, about Ray's own.
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning:ray", "ignore::FutureWarning:ray"
)


@pytest.fixture(scope="module", autouse=True)
def one_ray() -> Iterator[None]:
    """Starting Ray takes seconds, so the tests share one, as calls within a session do."""
    with ray_session():
        yield


@pytest.fixture(scope="module")
def untrained(tiny_bert_folder: Path, quick: Settings) -> ProtoryNetClassifier:
    return ProtoryNetClassifier(str(tiny_bert_folder), settings=quick, device="cpu", cache=False)


@pytest.fixture(scope="module")
def together(
    untrained: ProtoryNetClassifier, reviews: Any, tmp_path_factory: pytest.TempPathFactory
) -> ProtoryNetClassifier:
    """A classifier whose encoder two workers fine-tuned."""
    classifier = copied(untrained, encoder_training="full")
    checkpoint = tmp_path_factory.mktemp("run") / "checkpoint"
    return fit_with_ray(classifier, reviews.texts, reviews.labels, workers=2, checkpoint=checkpoint)


@pytest.mark.slow
def test_two_workers_train_as_good_a_model_as_one_process(
    together: ProtoryNetClassifier,
    untrained: ProtoryNetClassifier,
    reviews: Any,
    unseen_reviews: Any,
) -> None:
    alone = copied(untrained, encoder_training="full").fit(reviews.texts, reviews.labels)
    accuracies = [
        np.mean(classifier.predict(unseen_reviews.texts) == np.array(unseen_reviews.labels))
        for classifier in (alone, together)
    ]
    assert accuracies[1] >= accuracies[0] - 0.1


@pytest.mark.slow
def test_the_fine_tuned_encoder_is_saved_with_the_model(
    together: ProtoryNetClassifier, unseen_reviews: Any, tmp_path: Path
) -> None:
    together.save(tmp_path / "model")
    loaded = ProtoryNetClassifier.load(tmp_path / "model", device="cpu")
    assert loaded.model_.encoder.tuned
    expected = together.predict_proba(unseen_reviews.texts)
    assert np.array_equal(loaded.predict_proba(unseen_reviews.texts), expected)


def test_without_fine_tuning_the_model_is_that_of_one_process(
    untrained: ProtoryNetClassifier, reviews: Any, unseen_reviews: Any
) -> None:
    alone = copied(untrained).fit(reviews.texts, reviews.labels)
    encoded = fit_with_ray(copied(untrained), reviews.texts, reviews.labels)
    assert [p.sentence for p in encoded.prototypes_] == [p.sentence for p in alone.prototypes_]
    np.testing.assert_allclose(
        encoded.predict_proba(unseen_reviews.texts),
        alone.predict_proba(unseen_reviews.texts),
        atol=1e-3,
    )
    assert encoded.encoder == untrained.encoder


@pytest.mark.slow
def test_what_workers_find_wrong_is_told_in_one_line(untrained: ProtoryNetClassifier) -> None:
    classifier = copied(untrained, encoder_training="full")
    with pytest.raises(InputError, match=r"^3 documents are too few to train on"):
        fit_with_ray(classifier, ["Good.", "Bad.", "Good."], ["a", "b", "a"], workers=1)


@pytest.mark.slow
def test_workers_that_have_another_encoder_are_refused(
    untrained: ProtoryNetClassifier,
    reviews: Any,
    tiny_bert_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    changed = tmp_path / "changed"
    shutil.copytree(tiny_bert_folder, changed)
    weights = load_file(changed / "model.safetensors")
    save_file({name: 2 * value for name, value in weights.items()}, changed / "model.safetensors")
    here = load_encoder(changed, device="cpu")
    here.name = str(tiny_bert_folder)  # the same name stands for other files on the workers
    monkeypatch.setattr(ray_training, "load_encoder", lambda *spec, **options: here)
    classifier = copied(untrained, encoder_training="full")
    with pytest.raises(EncoderError, match="is another one than on the machine of the command"):
        fit_with_ray(classifier, reviews.texts, reviews.labels, workers=2)


def test_more_workers_than_processors_are_refused(
    untrained: ProtoryNetClassifier, reviews: Any
) -> None:
    classifier = copied(untrained, encoder_training="full")
    with pytest.raises(InputError, match="workers=1000, but Ray has"):
        fit_with_ray(classifier, reviews.texts, reviews.labels, workers=1000)


def test_an_empty_document_is_told_by_its_row(untrained: ProtoryNetClassifier) -> None:
    with pytest.raises(EmptyDocumentError) as caught:
        fit_with_ray(copied(untrained), ["Good.", " "], ["a", "b"])
    assert caught.value.rows == [1]


def test_an_encoder_that_cannot_travel_is_refused(reviews: Any, encoder: Any) -> None:
    with pytest.raises(InputError, match="with a name or a folder"):
        fit_with_ray(ProtoryNetClassifier(encoder), reviews.texts, reviews.labels)


def copied(classifier: ProtoryNetClassifier, **changes: Any) -> ProtoryNetClassifier:
    return ProtoryNetClassifier(**{**classifier.get_params(deep=False), **changes})
