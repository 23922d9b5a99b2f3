"""Matching sentences to prototypes and reading the trajectory, against one document at a time."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import Tensor

from protorynet.network import (
    ProtoryNetwork,
    Reader,
    match_sentences,
    network as network_module,
    probabilities,
    read_matches,
)
from protorynet.reading import Reading
from protorynet.settings import Settings

K, DIMENSION, CLASSES = 5, 6, 3
TASKS = st.sampled_from(["multiclass", "multilabel"])


def random_tensor(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def make_reader() -> Reader:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Reader(K, CLASSES, hidden=7, layers=1, dropout=0.0)


def make_network(vectors: Tensor, sizes: tuple[int, ...] = (1,) * K, **changes: object):
    return ProtoryNetwork(vectors, make_reader(), Settings(psi_squared=1.3, **changes), sizes)


def random_trajectory(lengths: list[int]) -> Reading:
    random = np.random.default_rng(0)
    n = sum(lengths)
    return Reading(
        prototypes=random.integers(K, size=n),
        similarities=random.random(n, dtype=np.float32),
        runner_up=random.integers(K, size=n),
        runner_up_similarities=random.random(n, dtype=np.float32),
        lengths=np.array(lengths, np.int64),
        members=random.permutation(n),
        runner_up_members=random.permutation(n),
    )


def slow_lstm(reader: Reader, steps: Tensor) -> list[list[float]]:
    """Run a one-layer LSTM by its equations; return the logits after every step."""
    lstm = reader.lstm
    hidden = cell = torch.zeros(lstm.hidden_size)
    logits = []
    for step in steps:
        gates = (
            lstm.weight_ih_l0 @ step
            + lstm.bias_ih_l0
            + lstm.weight_hh_l0 @ hidden
            + lstm.bias_hh_l0
        )
        enter, forget, candidate, output = gates.chunk(4)
        cell = forget.sigmoid() * cell + enter.sigmoid() * candidate.tanh()
        hidden = output.sigmoid() * cell.tanh()
        logits.append((reader.head.weight @ hidden + reader.head.bias).tolist())
    return logits


def test_steps_are_one_hot_similarities_or_one_where_ids_alone_count():
    network = make_network(random_tensor(K, DIMENSION), members=1, selection="straight_through")
    distances = torch.tensor([[1.0, 0.5, 2.0, 3.0, 4.0]] * 2)
    steps = network.steps(distances, ids_only=torch.tensor([True, False]))
    assert steps[0].tolist() == pytest.approx([0, 1, 0, 0, 0])
    assert steps[1].tolist() == pytest.approx([0, math.exp(-0.5 / 1.3), 0, 0, 0])
    assert torch.equal(network.steps(distances)[1], steps[1])


def slow_distance(a: Tensor, b: Tensor, metric: str) -> float:
    if metric == "cosine":
        return 1 - float(a @ b / (a.norm() * b.norm()))
    return float((a - b).norm())


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("at_once", [50, 2**22])
@pytest.mark.parametrize("sizes", [(1, 1, 1, 1, 1), (3, 1, 6, 2, 1), (7,)])
def test_sentences_are_matched_to_the_nearest_members_of_two_prototypes(
    metric, at_once, sizes, monkeypatch
):
    monkeypatch.setattr(network_module, "_DISTANCES_PER_BLOCK", at_once)
    embedded, members = random_tensor(20, DIMENSION), random_tensor(sum(sizes), DIMENSION, seed=1)
    index, lengths = torch.arange(30) % 20, torch.tensor([10, 15, 5])
    network = make_network(members, sizes, distance=metric)
    found = match_sentences(network, embedded, index, lengths)
    family = [number for number, size in enumerate(sizes) for _ in range(size)]
    for sentence, number in enumerate(index.tolist()):
        distances = [slow_distance(embedded[number], member, metric) for member in members]
        order = sorted(range(len(members)), key=lambda at: distances[at])
        first = order[0]
        second = next((at for at in order if family[at] != family[first]), first)
        assert [found.members[sentence], found.runner_up_members[sentence]] == [first, second]
        assert found.prototypes[sentence] == family[first]
        assert found.runner_up[sentence] == family[second]
        near = [found.similarities[sentence], found.runner_up_similarities[sentence]]
        expected = [math.exp(-distances[position] / 1.3) for position in (first, second)]
        assert near == pytest.approx(expected, abs=1e-5)
    assert found.lengths.tolist() == lengths.tolist()


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("length", [0.1, 1.0, 30.0])
def test_a_prototypes_own_vector_is_matched_to_it_with_full_similarity(metric, length):
    prototypes = length * torch.nn.functional.normalize(random_tensor(K, 384))
    trajectory = match_sentences(
        make_network(prototypes, distance=metric),
        prototypes.clone(),
        torch.arange(K),
        torch.ones(K),
    )
    assert trajectory.prototypes.tolist() == list(range(K))
    assert (trajectory.similarities > 1 - 1e-5).all()
    assert (trajectory.similarities <= 1).all()


def test_members_and_similarities_stay_with_their_sentences():
    whole = random_trajectory([3, 1, 4, 2])
    some = np.array([True, False, True, True])
    joined = Reading.join([whole.part(some), whole.part(~some)])
    assert joined.lengths.tolist() == [3, 4, 2, 1]
    ones = whole.with_ids_only()
    for other in (whole.take(np.arange(10)[::-1], np.array([10])), joined, whole.shuffle(0), ones):
        assert sorted(other.members) == list(range(10))
        order = np.argsort(whole.members)[other.members]  # where each sentence was
        assert (other.prototypes == whole.prototypes[order]).all()
        assert (other.runner_up_members == whole.runner_up_members[order]).all()
        if other is not ones:
            assert (other.similarities == whole.similarities[order]).all()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.sampled_from([10, 1000]), TASKS)
@torch.no_grad()
def test_reading_many_documents_equals_reading_each_alone(lengths, most, task):
    reader, trajectory = make_reader(), random_trajectory(lengths)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network_module, "_STEPS_PER_BATCH", most)
        prediction = read_matches(reader, trajectory, task)
    start = 0
    for document, length in enumerate(lengths):
        steps = torch.zeros(length, K)
        for step in range(length):
            prototype = trajectory.prototypes[start + step]
            steps[step, prototype] = float(trajectory.similarities[start + step])
        alone = probabilities(torch.tensor(slow_lstm(reader, steps)), task).numpy()
        np.testing.assert_allclose(prediction.running[start : start + length], alone, atol=1e-5)
        np.testing.assert_allclose(prediction.probabilities[document], alone[-1], atol=1e-5)
        start += length
