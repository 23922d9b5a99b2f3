"""Projection of prototypes onto real sentences, against brute force."""

import pytest
import torch
from torch import Tensor

from protorynet.prototypes import candidates, cluster_means, project


def random_tensor(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def slow_distance(a: Tensor, b: Tensor, metric: str) -> float:
    if metric == "cosine":
        return 1 - float(a.double() @ b.double() / (a.double().norm() * b.double().norm()))
    return float((a.double() - b.double()).norm())


def slow_projection(prototypes: Tensor, sentences: Tensor, metric: str) -> list[int]:
    """Give away, again and again, the closest pair of a free prototype and a free sentence."""
    pairs = sorted(
        (slow_distance(p, s, metric), i, j)
        for i, p in enumerate(prototypes)
        for j, s in enumerate(sentences)
    )
    chosen: dict[int, int] = {}
    for _, i, j in pairs:
        if i not in chosen and j not in chosen.values():
            chosen[i] = j
    return [chosen[i] for i in range(len(prototypes))]


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("seed", range(5))
def test_projection_gives_each_prototype_its_nearest_free_sentence(metric, seed):
    prototypes, sentences = random_tensor(7, 3, seed=seed), random_tensor(9, 3, seed=seed + 100)
    projected = project(prototypes, sentences, distance=metric)
    assert projected.tolist() == slow_projection(prototypes, sentences, metric)


def test_blocks_give_what_all_sentences_at_once_give(monkeypatch):
    prototypes, sentences = random_tensor(6, 3), random_tensor(40, 3, seed=1)
    whole = project(prototypes, sentences).tolist()
    assert project(prototypes, iter(torch.split(sentences, 11))).tolist() == whole
    monkeypatch.setattr(candidates, "_SENTENCES_PER_BLOCK", 7)
    assert project(prototypes, sentences).tolist() == whole


def test_cluster_means_are_those_of_the_sentences_nearest_to_each_prototype(monkeypatch):
    base, embedded, prototypes = random_tensor(100, 3), random_tensor(50, 4), random_tensor(5, 4)
    index = torch.arange(0, 100, 2)
    nearest = torch.cdist(embedded, prototypes).argmin(dim=1)
    monkeypatch.setattr(candidates, "_SENTENCES_PER_BLOCK", 7)
    means = cluster_means(base, embedded, prototypes, index=index)
    for prototype in range(5):
        expected = base[index][nearest == prototype].sum(dim=0)
        torch.testing.assert_close(means[prototype], expected / expected.norm())
