"""Noise is the same for the same seed, and its measures are those of the texts with noise."""

import pytest

from protorynet.explain import measure_robustness, perturb
from protorynet.explain.evaluation import PERTURBATIONS

TEXT = "The film was good, really. The staff was friendly (and kind)! We came back."


@pytest.mark.parametrize("name", PERTURBATIONS)
def test_noise_follows_from_the_seed_and_keeps_the_number_of_sentences(name):
    noisy = {perturb(TEXT, name, seed) for seed in range(20)}
    assert len(noisy) > 1
    assert perturb(TEXT, name, 3) == perturb(TEXT, name, 3)
    assert all(len(each.split()) == len(TEXT.split()) for each in noisy)


def test_robustness_is_measured_on_the_texts_with_noise(clf, unseen_reviews):
    texts, model = unseen_reviews.texts, clf.model_
    targets = model.labels.encode(unseen_reviews.labels)
    none, typos, case = measure_robustness(model, clf.read, texts, targets, ["typos", "case"])
    assert (none.perturbation, none.same_label, none.same_trajectory) == ("none", 1.0, 1.0)
    noisy = [perturb(text, "typos") for text in texts]
    assert typos.accuracy == (clf.predict(noisy) == unseen_reviews.labels).mean()
    assert typos.same_trajectory < 1.0
    # Neither the encoder of the tests nor the words look at the case.
    assert (case.same_label, case.same_trajectory) == (1.0, 1.0)
    assert case.words_accuracy == none.words_accuracy is not None
