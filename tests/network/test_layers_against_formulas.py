"""Every layer and loss against a slow version written from the paper's formula."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from torch import Tensor

from protorynet.network import (
    Adapter,
    Centring,
    Evidence,
    accuracy_loss,
    anchor_loss,
    diversity_loss,
    find_unfamiliar,
    pack_rows,
    pairwise_distance,
    probabilities,
    prototypicality_loss,
    select,
    similarity,
    unpack_rows,
)


def random_tensor(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def slow_euclidean(a: list[float], b: list[float]) -> float:
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)))


def slow_cosine(a: list[float], b: list[float]) -> float:
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return 1 - dot / (math.hypot(*a) * math.hypot(*b))


def slow_softmax(values: list[float]) -> list[float]:
    powers = [math.exp(value - max(values)) for value in values]
    return [power / sum(powers) for power in powers]


def slow_sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


@pytest.mark.parametrize(
    ("metric", "slow"), [("euclidean", slow_euclidean), ("cosine", slow_cosine)]
)
def test_pairwise_distance_is_the_distance_of_every_pair(metric, slow):
    a, b = random_tensor(7, 5), random_tensor(4, 5, seed=1)
    expected = torch.tensor([[slow(x, y) for y in b.tolist()] for x in a.tolist()])
    torch.testing.assert_close(pairwise_distance(a, b, metric), expected, atol=1e-5, rtol=1e-5)


def test_paper_selection_is_the_softmax_with_gamma_times_the_similarity():
    distances = random_tensor(5, 4).abs()
    similarities = similarity(distances, 1.0)
    expected = [
        [w * s for w, s in zip(slow_softmax([20 * s for s in each]), each, strict=True)]
        for each in similarities.tolist()
    ]
    selected = select(distances, similarities, "paper", gamma=20)
    torch.testing.assert_close(selected, torch.tensor(expected))
    assert torch.equal(select(distances, similarities, "dense"), similarities)


@pytest.mark.parametrize("selection", ["paper", "straight_through"])
def test_selection_keeps_only_the_similarity_to_the_active_prototype(selection):
    distances = random_tensor(50, 6).abs()
    similarities = similarity(distances, 1.0)
    selected = select(distances, similarities, selection, gamma=1e6, temperature=0.1)
    expected = torch.zeros_like(similarities)
    for i, values in enumerate(distances.tolist()):
        best = values.index(min(values))
        expected[i, best] = similarities[i, best]
    tolerance = 1e-4 if selection == "paper" else 2e-7
    torch.testing.assert_close(selected, expected, atol=tolerance, rtol=0)


def test_straight_through_gradient_reaches_the_choice():
    """The gradient is that of softmax(−d² / temperature) ⊙ s around the hard choice."""
    distances = random_tensor(3, 4).abs().double().requires_grad_()
    weights = random_tensor(3, 4, seed=1).double()
    temperature = 0.3
    similarities = similarity(distances.detach(), 1.0)
    selected = select(distances, similarities, "straight_through", temperature=temperature)
    (selected * weights).sum().backward()
    for i in range(3):
        d = distances[i].tolist()
        soft = slow_softmax([-(value**2) / temperature for value in d])
        for j in range(4):
            # ∂ softmax_k / ∂ d_j = softmax_k (1[k = j] − softmax_j) · (−2 d_j / temperature)
            expected = sum(
                weights[i, k].item()
                * similarities[i, k].item()
                * soft[k]
                * ((k == j) - soft[j])
                * (-2 * d[j] / temperature)
                for k in range(4)
            )
            assert distances.grad[i, j].item() == pytest.approx(expected, abs=1e-9)


def test_probabilities_are_a_softmax_for_one_class_and_sigmoids_for_several():
    logits = random_tensor(4, 3)
    softmax = torch.tensor([slow_softmax(each) for each in logits.tolist()])
    sigmoid = torch.tensor([[slow_sigmoid(value) for value in each] for each in logits.tolist()])
    torch.testing.assert_close(probabilities(logits, "multiclass"), softmax)
    torch.testing.assert_close(probabilities(logits, "multilabel"), sigmoid)


@pytest.mark.parametrize("task", ["multiclass", "multilabel"])
def test_mse_loss_is_the_mean_over_documents_of_the_squared_norm(task):
    logits = random_tensor(6, 3)
    targets = (random_tensor(6, 3, seed=1) > 0).float()
    predicted = probabilities(logits, task).tolist()
    expected = sum(
        sum((y - p) ** 2 for y, p in zip(truth, each, strict=True))
        for truth, each in zip(targets.tolist(), predicted, strict=True)
    ) / len(predicted)
    assert accuracy_loss(logits, targets, task, "mse").item() == pytest.approx(expected, abs=1e-6)


def test_cross_entropy_is_minus_the_mean_log_probability_of_the_truth():
    logits, truth = random_tensor(6, 3), [0, 2, 1, 1, 0, 2]
    targets = torch.nn.functional.one_hot(torch.tensor(truth), 3).float()
    pairs = list(zip(logits.tolist(), truth, strict=True))
    expected = -sum(math.log(slow_softmax(each)[label]) for each, label in pairs) / 6
    loss = accuracy_loss(logits, targets, "multiclass", "cross_entropy").item()
    assert loss == pytest.approx(expected, abs=1e-6)
    given = [slow_sigmoid(value) for each in logits.tolist() for value in each]
    terms = [math.log(p if y else 1 - p) for p, y in zip(given, targets.flatten(), strict=True)]
    loss = accuracy_loss(logits, targets, "multilabel", "cross_entropy").item()
    assert loss == pytest.approx(-sum(terms) / len(terms), abs=1e-6)


@pytest.mark.parametrize("loss", ["mse", "cross_entropy"])
@pytest.mark.parametrize("task", ["multiclass", "multilabel"])
def test_accuracy_loss_is_finite_for_extreme_logits(loss, task):
    logits = torch.tensor([[1e4, -1e4], [-1e4, 1e4]])
    targets = torch.tensor([[0.0, 1.0], [0.0, 1.0]])
    assert accuracy_loss(logits, targets, task, loss).isfinite()


def test_diversity_loss_is_the_sigmoid_of_the_missing_distance_of_the_closest_pair():
    prototypes = random_tensor(6, 4)
    each = prototypes.tolist()
    closest = min(slow_euclidean(each[i], each[j]) for i in range(6) for j in range(6) if i != j)
    loss = diversity_loss(prototypes, delta=1.5, eta=2.0).item()
    assert loss == pytest.approx(slow_sigmoid(2.0 * (1.5 - closest)), abs=1e-5)
    assert diversity_loss(prototypes[:1], delta=1.0, eta=1.0).item() == 0


def test_prototypicality_loss_is_the_mean_over_sentences_of_the_nearest_distance():
    sentences, prototypes = random_tensor(8, 3), random_tensor(4, 3, seed=1)
    expected = sum(
        min(slow_euclidean(x, p) for p in prototypes.tolist()) for x in sentences.tolist()
    ) / len(sentences)
    loss = prototypicality_loss(pairwise_distance(sentences, prototypes)).item()
    assert loss == pytest.approx(expected, abs=1e-5)


def test_anchor_loss_is_the_mean_cosine_distance_to_the_pretrained_embedding():
    trained, pretrained = random_tensor(7, 5), random_tensor(7, 5, seed=1)
    expected = sum(
        slow_cosine(a, b) for a, b in zip(trained.tolist(), pretrained.tolist(), strict=True)
    ) / len(trained)
    assert anchor_loss(trained, pretrained).item() == pytest.approx(expected, abs=1e-6)


def test_centring_brings_text_embeddings_to_unit_length_around_the_mean():
    raw, mean = random_tensor(6, 4), random_tensor(4, seed=1)
    expected = []
    for each in raw.tolist():
        centred = [x - m for x, m in zip(each, mean.tolist(), strict=True)]
        expected.append([x / math.hypot(*centred) for x in centred])
    torch.testing.assert_close(Centring(mean)(raw), torch.tensor(expected))
    torch.testing.assert_close(Centring(mean, 2.5)(raw), (raw - mean) / 2.5)


def test_an_adapter_adds_a_small_network_and_keeps_unit_length():
    base = Centring(torch.zeros(4))(random_tensor(5, 4))
    adapter = Adapter(4, 3, unit_length=True)
    torch.nn.init.normal_(adapter.up.weight, generator=torch.Generator().manual_seed(0))
    for each, adapted in zip(base, adapter(base), strict=True):
        hidden = [
            0.5 * z * (1 + math.erf(z / math.sqrt(2)))
            for z in (adapter.down.weight @ each + adapter.down.bias).tolist()
        ]
        moved = [
            x + sum(w * h for w, h in zip(weights, hidden, strict=True)) + bias
            for x, weights, bias in zip(
                each.tolist(), adapter.up.weight.tolist(), adapter.up.bias.tolist(), strict=True
            )
        ]
        expected = [x / math.hypot(*moved) for x in moved]
        assert adapted.tolist() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("task", ["multiclass", "multilabel"])
@torch.no_grad()
def test_evidence_joins_the_roots_of_what_a_sentence_tells_to_its_embedding(task):
    parts = [Evidence(5, hidden, 3, task) for hidden in (4, 7)]
    for number, part in enumerate(parts):
        for at, weight in enumerate(part.parameters()):
            weight.copy_(random_tensor(*weight.shape, seed=10 * number + at))
    base = random_tensor(6, 5)
    whole = Evidence.mean(parts)
    logits = whole.logits(base)
    torch.testing.assert_close(logits, (parts[0].logits(base) + parts[1].logits(base)) / 2)
    whole.weight.fill_(1.5)
    joined = whole(base)
    assert joined.shape == (6, whole.width) == (6, 8 if task == "multiclass" else 11)
    assert torch.equal(joined[:, :5], base)
    torch.testing.assert_close(joined[:, 5:].norm(dim=1), torch.full((6,), 1.5))
    for tone, each in zip(joined[:, 5:].tolist(), logits.tolist(), strict=True):
        likely = slow_softmax(each)
        if task == "multilabel":
            ways = [*map(slow_sigmoid, each), *(1 - slow_sigmoid(value) for value in each)]
            likely = [chance / 3 for chance in ways]
        assert tone == pytest.approx([1.5 * math.sqrt(chance) for chance in likely], abs=1e-5)


@torch.no_grad()
def test_evidence_with_axes_says_the_part_of_the_embedding_along_them_at_length_one():
    evidence = Evidence(5, 4, 3, "multiclass")
    evidence.axes = torch.linalg.qr(random_tensor(5, 2))[0]
    base = random_tensor(6, 5, seed=1)
    joined = evidence(base)
    assert joined.shape == (6, evidence.width) == (6, 5)
    for said, whole in zip(joined[:, :2].tolist(), base.tolist(), strict=True):
        along = [sum(x * y for x, y in zip(whole, axis, strict=True)) for axis in evidence.axes.T]
        expected = [float(part) / math.hypot(*map(float, along)) for part in along]
        assert said == pytest.approx(expected, abs=1e-5)


@given(arrays(np.float32, (3, 7), elements=st.floats(-1e3, 1e3, width=32)))
def test_rows_rounded_to_16_bits_are_near_and_rounded_again_the_same(rows):
    vectors = torch.from_numpy(rows)
    rounded = unpack_rows(*pack_rows(vectors))
    largest = vectors.abs().amax(dim=1, keepdim=True)
    assert bool(((rounded - vectors).abs() <= largest * 2**-14 + 1e-30).all())
    assert torch.equal(unpack_rows(*pack_rows(rounded)), rounded)


def test_a_sentence_that_is_a_member_is_familiar_however_it_is_rounded():
    near, far = torch.tensor([1 - 1e-6, 0.9]), torch.tensor([9.0, 9.0])
    assert find_unfamiliar(near, far, 1.0, 0.5).tolist() == [False, True]
