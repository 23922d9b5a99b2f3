"""The loss of a batch in every combination of its parts."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from protorynet.network import Adapter, ProtoryNetwork, Reader, balance_loss
from protorynet.settings import Settings
from protorynet.training import (
    AdaptedSource,
    Batch,
    Corpus,
    FrozenSource,
    SentenceSource,
    batch_loss,
)

K, DIMENSION, CLASSES = 4, 6, 3


@pytest.fixture(autouse=True)
def seeded() -> object:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def make_network(settings: Settings) -> ProtoryNetwork:
    reader = Reader(K, CLASSES, hidden=5, layers=1, dropout=0.0)
    return ProtoryNetwork(torch.randn(K, DIMENSION), reader, settings)


def make_source(kind: str) -> SentenceSource:
    base = torch.nn.functional.normalize(torch.randn(12, DIMENSION), dim=-1)
    if kind == "frozen":
        return FrozenSource(base)
    return AdaptedSource(base, Adapter(DIMENSION, 3, unit_length=True))


def make_batch(task: str) -> Batch:
    targets = torch.eye(CLASSES) if task == "multiclass" else torch.tensor([[1.0, 1, 0]] * 3)
    corpus = Corpus(torch.randint(12, (9,)), torch.tensor([2, 4, 3]), targets)
    return corpus.batch(np.arange(3))


def gradients(network: ProtoryNetwork, source: SentenceSource) -> list[Tensor]:
    parameters = [*network.parameters(), *source.parameters()]
    return [p.grad for p in parameters if p.grad is not None]


@pytest.mark.parametrize("selection", ["straight_through", "paper", "dense"])
@pytest.mark.parametrize("loss", ["cross_entropy", "mse"])
@pytest.mark.parametrize("task", ["multiclass", "multilabel"])
@pytest.mark.parametrize("distance", ["euclidean", "cosine"])
@pytest.mark.parametrize("source", ["frozen", "adapted"])
@pytest.mark.parametrize("tied", [False, True])
def test_every_combination_gives_a_finite_loss_with_finite_gradients(
    selection: str, loss: str, task: str, distance: str, source: str, tied: bool
) -> None:
    network = make_network(Settings(selection=selection, accuracy_loss=loss, distance=distance))
    sentences = make_source(source)
    rows = torch.tensor([0, 3, 5, 7]) if tied else None
    value = batch_loss(network, sentences, make_batch(task), task, tied_rows=rows)
    value.backward()
    found = gradients(network, sentences)
    assert value.isfinite()
    assert found
    assert all(gradient.isfinite().all() for gradient in found)


@pytest.mark.parametrize("selection", ["paper", "dense"])
def test_similarities_are_never_hidden_where_they_alone_tell_the_prototypes_apart(
    selection: str,
) -> None:
    losses = []
    for share in (0.0, 1.0):
        torch.manual_seed(0)
        network = make_network(Settings(selection=selection, ids_only_share=share))
        source, batch = make_source("frozen"), make_batch("multiclass")
        losses.append(batch_loss(network, source, batch, "multiclass").item())
    assert losses[0] == losses[1]


def test_the_prototypes_learn_unless_they_are_tied() -> None:
    network, source = make_network(Settings()), make_source("adapted")
    batch_loss(network, source, make_batch("multiclass"), "multiclass").backward()
    assert network.prototypes.grad.abs().sum() > 0
    network.prototypes.grad = None
    rows = torch.tensor([0, 3, 5, 7])
    batch_loss(network, source, make_batch("multiclass"), "multiclass", tied_rows=rows).backward()
    assert network.prototypes.grad is None


def test_sentences_equal_to_their_prototypes_give_finite_gradients() -> None:
    network, source = make_network(Settings()), make_source("adapted")
    network.prototypes.data.copy_(source.base[:K])
    corpus = Corpus(torch.tensor([0, 1, 2, 3]), torch.tensor([2, 2]), torch.eye(CLASSES)[:2])
    batch = corpus.batch(np.arange(2))
    batch_loss(network, source, batch, "multiclass").backward()
    assert all(gradient.isfinite().all() for gradient in gradients(network, source))


def test_a_document_of_one_sentence_can_be_a_batch() -> None:
    network, source = make_network(Settings()), make_source("frozen")
    corpus = Corpus(torch.tensor([4]), torch.tensor([1]), torch.eye(CLASSES)[:1])
    batch = corpus.batch(np.arange(1))
    assert batch_loss(network, source, batch, "multiclass").isfinite()


def test_evenly_used_prototypes_have_no_balance_loss_and_a_single_one_the_most() -> None:
    even, one = torch.eye(4).mul(-9).add(9), torch.tensor([[0.0, 9, 9, 9]]).expand(4, 4)
    assert balance_loss(even, temperature=0.1).item() == pytest.approx(0, abs=1e-6)
    assert balance_loss(one, temperature=0.1).item() == pytest.approx(np.log(4))
