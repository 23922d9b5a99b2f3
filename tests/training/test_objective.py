"""Embeddings in training, the loss of a batch, and steps of Algorithm 1 done in blocks."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from protorynet.encoders import TransformerEncoder
from protorynet.network import Adapter, Centring, ProtoryNetwork, Reader, balance_loss
from protorynet.settings import Settings
from protorynet.training import (
    AdaptedSource,
    Batch,
    Corpus,
    FineTunedSource,
    FrozenSource,
    SentenceSource,
    batch_loss,
    graphs,
    sources,
)

K, DIMENSION, CLASSES, SENTENCES = 4, 6, 3, 48
TEXTS = ["we left", "the room was clean and the staff was friendly", "", "the room was dirty"]
ROWS = torch.tensor([3, 1, 0, 2, 1])
TIED = torch.tensor([0, 3, 5, 7])


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def make_network(settings: Settings) -> ProtoryNetwork:
    reader = Reader(K, CLASSES, hidden=5, layers=1, dropout=0.0)
    return ProtoryNetwork(torch.randn(K, DIMENSION), reader, settings)


def make_source(kind: str) -> SentenceSource:
    base = functional.normalize(torch.randn(SENTENCES, DIMENSION), dim=-1)
    if kind == "frozen":
        return FrozenSource(base)
    adapter = Adapter(DIMENSION, 3, unit_length=True)
    torch.nn.init.normal_(adapter.up.weight)
    return AdaptedSource(base, adapter)


def make_batch(task: str) -> Batch:
    targets = torch.eye(CLASSES) if task == "multiclass" else torch.tensor([[1.0, 1, 0]] * 3)
    corpus = Corpus(torch.randint(12, (9,)), torch.tensor([2, 4, 3]), targets)
    return corpus.batch(np.arange(3))


def gradients(network: ProtoryNetwork, source: SentenceSource) -> list[Tensor]:
    parameters = [*network.parameters(), *source.parameters()]
    return [p.grad for p in parameters if p.grad is not None]


@pytest.mark.parametrize("selection", ["one_hot", "straight_through", "paper", "dense"])
@pytest.mark.parametrize("loss", ["cross_entropy", "mse"])
@pytest.mark.parametrize("task", ["multiclass", "multilabel"])
@pytest.mark.parametrize("distance", ["euclidean", "cosine"])
@pytest.mark.parametrize("source", ["frozen", "adapted"])
@pytest.mark.parametrize("tied", [False, True])
def test_every_combination_gives_a_finite_loss_and_gradients(
    selection, loss, task, distance, source, tied
):
    network = make_network(
        Settings(members=1, selection=selection, accuracy_loss=loss, distance=distance)
    )
    sentences = make_source(source)
    network.members.data.copy_(sentences.base[:K])  # at no distance, where roots have no slope
    tied_index = TIED if tied else None
    value = batch_loss(network, sentences, make_batch(task), task, tied_index=tied_index)
    value.backward()
    found = gradients(network, sentences)
    assert value.isfinite()
    assert found
    assert all(gradient.isfinite().all() for gradient in found)
    assert (network.members.grad is None) == tied


def test_evenly_used_prototypes_have_no_balance_loss_and_a_single_one_the_most():
    even, one = torch.eye(4).mul(-9).add(9), torch.tensor([[0.0, 9, 9, 9]]).expand(4, 4)
    assert balance_loss(even, temperature=0.1).item() == pytest.approx(0, abs=1e-6)
    assert balance_loss(one, temperature=0.1).item() == pytest.approx(np.log(4))


@pytest.fixture
def encoder(tiny_bert_folder):
    return TransformerEncoder(tiny_bert_folder, name="tiny", device="cpu")


@pytest.fixture
def tuned(encoder):
    centring = Centring(torch.full((encoder.dimension,), 0.01))
    return FineTunedSource(torch.zeros(4, encoder.dimension), encoder, centring, TEXTS).eval()


def test_an_encoder_in_training_gives_vectors_in_the_order_asked_for(tuned, encoder, monkeypatch):
    encoded = torch.from_numpy(encoder.encode(TEXTS))
    expected = functional.normalize(encoded - 0.01, dim=-1)[ROWS]
    torch.testing.assert_close(tuned(ROWS), expected, atol=1e-5, rtol=0)
    monkeypatch.setattr(sources, "_CPU_TOKENS", 12)
    torch.testing.assert_close(tuned(ROWS), expected, atol=1e-5, rtol=0)


def test_a_machine_that_cannot_make_graphs_trains_without_them(tuned, monkeypatch):
    def refuse(*given, **options):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(graphs, "_ROW_STEP", 16)  # so that there are several rows
    monkeypatch.setattr(torch.cuda, "make_graphed_callables", refuse)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: None)
    tuned._half, tuned._graphs = True, graphs.StepGraphs()
    for part in tuned.train().modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    batch = Corpus(ROWS, torch.tensor([len(ROWS)]), torch.ones(1, 1)).batch(np.array([0]))
    expected = tuned(batch.index)
    tuned.expect(batch)
    with pytest.warns(RuntimeWarning, match="out of memory"):
        found = tuned(batch.index)
    torch.testing.assert_close(found, expected)


def test_a_step_that_is_filled_up_for_a_graph_gives_the_same_vectors_and_gradients(
    tuned, monkeypatch
):
    """Graphs themselves need a GPU: here they are the functions that they would be made of."""
    monkeypatch.setattr(graphs, "_ROW_STEP", 16)  # so that there are several rows
    captured = []
    monkeypatch.setattr(
        torch.cuda, "make_graphed_callables", lambda read, *_, **__: captured.append(read) or read
    )
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: None)
    tuned._half, tuned._graphs = True, graphs.StepGraphs()
    for part in tuned.train().modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    corpus = Corpus(ROWS, torch.tensor([len(ROWS)]), torch.ones(1, 1))
    found = []
    for source in (tuned, tuned, tuned.twin()):
        batch = corpus.batch(np.array([0]))
        if found:
            source.expect(batch)
        embedded = source(batch.index)
        embedded[:, 0].sum().backward()
        gradients = {name: weight.grad for name, weight in source.network.named_parameters()}
        found.append((embedded.detach(), gradients))
        source.zero_grad()
    assert len(captured) == 1  # twins share it
    for embedded, gradients in found[1:]:
        torch.testing.assert_close(embedded, found[0][0], atol=1e-2, rtol=0)
        for name, gradient in gradients.items():
            torch.testing.assert_close(gradient, found[0][1][name], atol=2e-2, rtol=2e-2, msg=name)
