"""A real Ray on this machine trains as one process does."""

import numpy as np
import pytest

pytest.importorskip("ray", reason="needs the extra 'scale'")

from protorynet import ProtoryNetClassifier
from protorynet.errors import InputError
from protorynet.inference import ray_session
from protorynet.ray_training import fit_with_ray

pytestmark = [
    pytest.mark.slow,
    # Ray's own, about Ray's own.
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray", "ignore::FutureWarning:ray"),
]


@pytest.fixture(scope="module", autouse=True)
def one_ray():
    """Starting Ray takes seconds, so the tests share one, as calls within a session do."""
    with ray_session():
        yield


@pytest.fixture
def make(tiny_bert_folder, quick):
    def untrained(training: str = "adapter") -> ProtoryNetClassifier:
        settings = quick.replace(encoder_training=training)
        folder = str(tiny_bert_folder)
        return ProtoryNetClassifier(folder, settings=settings, device="cpu", cache=False)

    return untrained


def test_two_workers_train_as_good_a_model_as_one_process(make, reviews, unseen_reviews, tmp_path):
    texts, labels = unseen_reviews.texts, np.array(unseen_reviews.labels)
    alone = make("full").fit(reviews.texts, reviews.labels)
    together = fit_with_ray(
        make("full"), reviews.texts, reviews.labels, workers=2, checkpoint=tmp_path / "run"
    )
    shared = np.mean(together.predict(texts) == labels)
    assert shared >= np.mean(alone.predict(texts) == labels) - 0.1
    together.save(tmp_path / "model")
    loaded = ProtoryNetClassifier.load(tmp_path / "model", device="cpu")
    assert loaded.model_.encoder.tuned
    assert np.array_equal(loaded.predict_proba(texts), together.predict_proba(texts))


def test_without_fine_tuning_the_model_is_that_of_one_process(make, reviews, unseen_reviews):
    alone = make().fit(reviews.texts, reviews.labels)
    encoded = fit_with_ray(make(), reviews.texts, reviews.labels)
    assert [p.sentence for p in encoded.prototypes_] == [p.sentence for p in alone.prototypes_]
    found, expected = (clf.predict_proba(unseen_reviews.texts) for clf in (encoded, alone))
    np.testing.assert_allclose(found, expected, atol=1e-3)
    assert encoded.encoder == alone.encoder


def test_what_workers_find_wrong_is_told_in_one_line(make):
    with pytest.raises(InputError, match=r"^3 documents are too few to train on"):
        fit_with_ray(make("full"), ["Good.", "Bad.", "Good."], ["a", "b", "a"], workers=1)
