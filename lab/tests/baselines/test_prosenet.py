"""ProSeNet: its losses, its projection onto real documents, and the classifier."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone

from protorynet.errors import InputError, SettingsError
from protorynet.labels import learn_labels
from protorynet.training import Stage, validation_documents
from protorynet_lab.baselines import ProSeNetClassifier
from protorynet_lab.baselines.prosenet_losses import (
    clustering_loss,
    diversity_loss,
    evidence_loss,
    squared_distances,
)
from protorynet_lab.baselines.prosenet_network import LossWeights, ProSeNetwork
from protorynet_lab.baselines.prosenet_training import (
    ProSeNetRun,
    distinct_documents,
    project_network,
)
from protorynet_lab.baselines.sequence_encoder import SequenceEncoder
from protorynet_lab.baselines.sequence_training import WordBatch, WordRun, read_corpus
from protorynet_lab.baselines.words import Vocabulary

SMALL = {
    "hidden_size": 8,
    "epochs": 3,
    "prototype_epochs": 2,
    "project_every": 1,
    "learning_rate": 0.01,
    "device": "cpu",
}


@pytest.fixture(scope="module")
def fitted(reviews: Any) -> ProSeNetClassifier:
    return ProSeNetClassifier(n_prototypes=6, **SMALL).fit(reviews.texts, reviews.labels)


# losses, against slow and obvious versions


@pytest.fixture
def points() -> tuple[torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(0)
    return torch.randn(7, 3, generator=draw), torch.randn(4, 3, generator=draw)


def _squared(a: torch.Tensor, b: torch.Tensor) -> float:
    return sum((float(x) - float(y)) ** 2 for x, y in zip(a, b, strict=True))


def test_clustering_is_the_distance_of_documents_to_their_nearest_prototype(points: Any) -> None:
    documents, prototypes = points
    slow = sum(min(_squared(x, p) for p in prototypes) for x in documents) / len(documents)
    fast = clustering_loss(squared_distances(documents, prototypes))
    assert float(fast) == pytest.approx(slow, rel=1e-5)


def test_evidence_is_the_distance_of_prototypes_to_their_nearest_document(points: Any) -> None:
    documents, prototypes = points
    slow = sum(min(_squared(x, p) for x in documents) for p in prototypes) / len(prototypes)
    fast = evidence_loss(squared_distances(documents, prototypes))
    assert float(fast) == pytest.approx(slow, rel=1e-5)


def test_diversity_counts_pairs_that_are_too_close(points: Any) -> None:
    _, prototypes = points
    gaps = [
        max(0.0, 2.5 - math.sqrt(_squared(prototypes[i], prototypes[j]))) ** 2
        for i in range(4)
        for j in range(i)
    ]
    assert float(diversity_loss(prototypes, 2.5)) == pytest.approx(sum(gaps) / 6, rel=1e-5)


def test_diversity_of_one_prototype_or_of_equal_ones_has_a_finite_gradient() -> None:
    for prototypes in (torch.zeros(1, 2), torch.zeros(3, 2)):
        learning = prototypes.requires_grad_()
        loss = diversity_loss(learning, 1.0) + learning.sum()
        loss.backward()
        assert torch.isfinite(learning.grad).all()


def test_the_objective_is_the_weighted_sum_of_its_terms() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = ProSeNetwork(
            SequenceEncoder(torch.randn(9, 5), 4), torch.randn(3, 4), torch.randn(2, 3), scale=2.0
        ).eval()
    batch = WordBatch(torch.tensor([[1, 2], [3, 0]]), torch.tensor([2, 1]), torch.tensor([0, 1]))
    network.requires_grad_(False)
    vectors = 2.0 * network.encoder(batch.words, batch.lengths)
    squared = torch.tensor([[_squared(x, p) for p in network.prototypes] for x in vectors])
    logits = torch.exp(-squared) @ network.weight.T
    expected = (
        -logits.log_softmax(dim=1)[[0, 1], [0, 1]].mean()
        + 0.1 * clustering_loss(squared)
        + 0.2 * evidence_loss(squared)
        + 0.3 * diversity_loss(network.prototypes, 5.0)
        + 0.4 * network.weight.abs().sum() / 3
    )
    weights = LossWeights(clustering=0.1, evidence=0.2, diversity=0.3, sparsity=0.4, d_min=5.0)
    assert float(network.loss(batch, weights)) == pytest.approx(float(expected), rel=1e-4)


def test_projection_puts_every_prototype_on_a_document_of_its_own() -> None:
    documents = [list(text) for text in ("abc", "bca", "cab", "abc", "aab", "ccb")]
    corpus = Vocabulary(("a", "b", "c")).rows(documents, np.eye(2, dtype=np.float32)[[0, 1] * 3])
    words = WordRun(corpus, corpus, 4, torch.device("cpu"), seed=0, progress=False)
    nothing = LossWeights(clustering=0, evidence=0, diversity=0, sparsity=0, d_min=0)
    run = ProSeNetRun(
        words=words,
        candidates=distinct_documents(corpus),
        weights=nothing,
        nonnegative=True,
        warm_up=Stage("warm-up", 1, 1),
        epochs=1,
        project_every=1,
        learning_rate=0.01,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = ProSeNetwork(
            SequenceEncoder(torch.randn(4, 5), 4), torch.randn(5, 4), torch.ones(2, 5), scale=3.0
        )
    chosen = project_network(network, run)
    assert sorted(chosen.tolist()) == [0, 1, 2, 4, 5]  # document 3 is document 0 again
    vectors = read_corpus(network.encode, corpus, words.device)
    assert torch.allclose(network.prototypes, vectors[torch.from_numpy(chosen)], atol=1e-6)


# the classifier


def test_prosenet_beats_chance(fitted: ProSeNetClassifier, unseen_reviews: Any) -> None:
    right = fitted.predict(unseen_reviews.texts) == np.array(unseen_reviews.labels)
    assert right.mean() > 0.8


def test_the_same_seed_gives_the_same_prosenet(fitted: ProSeNetClassifier, reviews: Any) -> None:
    again = clone(fitted).fit(reviews.texts, reviews.labels)
    assert again.prototypes_ == fitted.prototypes_
    assert (again.predict_proba(reviews.texts) == fitted.predict_proba(reviews.texts)).all()


def test_every_prototype_is_the_vector_of_the_document_shown(fitted: ProSeNetClassifier) -> None:
    similarities = fitted._similarities([item.text for item in fitted.prototypes_])
    assert np.diag(similarities) == pytest.approx(np.ones(6), abs=1e-4)


def test_prototypes_are_different_training_documents(
    fitted: ProSeNetClassifier, reviews: Any
) -> None:
    for item in fitted.prototypes_:
        assert reviews.texts[item.row] == item.text
        assert reviews.labels[item.row] == item.label
    assert len({item.text for item in fitted.prototypes_}) == 6


def test_a_prototype_knows_its_row_among_equal_documents(reviews: Any) -> None:
    texts, labels = [*reviews.texts, *reviews.texts], [*reviews.labels, *reviews.labels]
    rival = ProSeNetClassifier(n_prototypes=50, **SMALL | {"epochs": 1, "prototype_epochs": 1})
    rival.fit(texts, labels)
    code = learn_labels(labels)
    held_out = set(validation_documents(code.encode(labels), code, 0.1, 0).tolist())
    rows = {item.row for item in rival.prototypes_}
    assert not rows & held_out
    assert all(texts[item.row] == item.text for item in rival.prototypes_)


def test_prototypes_only_speak_for_classes_unless_allowed_otherwise(
    fitted: ProSeNetClassifier, reviews: Any
) -> None:
    assert all(weight >= 0 for item in fitted.prototypes_ for weight in item.weights.values())
    free = clone(fitted).set_params(nonnegative=False).fit(reviews.texts, reviews.labels)
    assert min(weight for item in free.prototypes_ for weight in item.weights.values()) < 0


def test_the_evidence_adds_up_to_the_lead_of_the_class(reviews: Any) -> None:
    rival = ProSeNetClassifier(n_prototypes=4, **SMALL).fit(reviews.texts, reviews.labels)
    explanation = rival.explain(reviews.texts[0])
    mine = explanation.probabilities[str(explanation.label)]
    lead = sum(item.weight for item in explanation.evidence)
    assert 1 / (1 + math.exp(-lead)) == pytest.approx(mine, abs=1e-4)
    assert {item.label for item in explanation.evidence} <= {"good", "bad"}


def test_the_number_of_prototypes_is_chosen_on_validation_documents(reviews: Any) -> None:
    quick = SMALL | {"epochs": 1, "prototype_epochs": 1}
    rival = ProSeNetClassifier(**quick).fit(reviews.texts, reviews.labels)
    accuracies = rival.validation_accuracies_
    assert list(accuracies) == [5, 20, 50]  # of the paper's sizes, those with documents enough
    best = max(accuracies.values())
    chosen = min(size for size, accuracy in accuracies.items() if accuracy == best)
    assert len(rival.prototypes_) == chosen
    assert rival.validation_accuracy_ == best


def test_three_classes_are_told_apart() -> None:
    texts = [
        f"the {thing} is {word} ." for word in ("red", "green", "blue") for thing in "abcdefgh"
    ]
    labels = [place // 8 for place in range(24)]
    rival = ProSeNetClassifier(n_prototypes=6, **SMALL | {"epochs": 5}).fit(texts, labels)
    assert (rival.predict(texts) == labels).mean() > 0.8
    assert set(rival.prototypes_[0].weights) == {"0", "1", "2"}


def test_blank_documents_and_none_at_all_get_probabilities(fitted: ProSeNetClassifier) -> None:
    assert fitted.predict_proba(["", "ok"]).sum(axis=1) == pytest.approx([1, 1])
    assert fitted.predict_proba([]).shape == (0, 2)


def test_more_prototypes_than_documents_are_refused(reviews: Any) -> None:
    with pytest.raises(InputError, match="n_prototypes=500 is more than"):
        ProSeNetClassifier(n_prototypes=500, **SMALL).fit(reviews.texts, reviews.labels)


@pytest.mark.parametrize(
    "wrong", [{"n_prototypes": 0}, {"clustering": -1.0}, {"d_min": "far"}, {"project_every": 1.5}]
)
def test_settings_out_of_range_are_named(wrong: dict[str, Any], reviews: Any) -> None:
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        ProSeNetClassifier(**SMALL | wrong).fit(reviews.texts, reviews.labels)
