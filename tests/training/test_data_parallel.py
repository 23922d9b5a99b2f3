"""Several processes read sentences, and learn from them, as one would alone."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn

from protorynet.encoders import TransformerEncoder
from protorynet.network import Centring, ProtoryNetwork, Reader
from protorynet.settings import Settings
from protorynet.training import (
    Batch,
    Corpus,
    FineTunedSource,
    SharedNetwork,
    Team,
    batch_loss,
    sources,
)

ASSISTANT = """
import sys
import torch
import torch.distributed as dist
from protorynet.encoders import TransformerEncoder
from protorynet.training import assist
from protorynet.training import Team

folder, store, rank, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=store, rank=rank, world_size=size)
assist(TransformerEncoder(folder, name="tiny", device="cpu").network, Team(torch.device("cpu")))
dist.destroy_process_group()
"""
TEXTS = [
    "The room was clean.",
    "We stayed for two nights.",
    "The staff was friendly and the breakfast was lovely and the view was perfect.",
    "Awful.",
    "",
    "The shower was broken.",
    "The hotel has nine floors.",
]
ROWS = torch.tensor([3, 1, 0, 2, 1, 5, 4, 6, 2])
LENGTHS = torch.tensor([2, 4, 3])
CLASSES = torch.tensor([0, 1, 1])
SETTINGS = Settings(reader_size=8, lone_sentences=0.1, ids_only_share=0.5)


@pytest.fixture(scope="module", params=[2, pytest.param(3, marks=pytest.mark.slow)])
def team(
    request: pytest.FixtureRequest,
    tiny_bert_folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Team]:
    """This process leads; the others are started for it."""
    size = request.param
    store = f"file://{tmp_path_factory.mktemp('team') / 'store'}"
    command = [sys.executable, "-c", ASSISTANT, str(tiny_bert_folder), store]
    quiet = {**os.environ, "OMP_NUM_THREADS": "1"}
    others = [
        subprocess.Popen([*command, str(rank), str(size)], env=quiet) for rank in range(1, size)
    ]
    dist.init_process_group("gloo", init_method=store, rank=0, world_size=size)
    team = Team(torch.device("cpu"))
    yield team
    team.dismiss()
    dist.destroy_process_group()
    assert [other.wait(60) for other in others] == [0] * (size - 1)


@pytest.fixture
def alone(tiny_bert_folder: Path) -> TransformerEncoder:
    return TransformerEncoder(tiny_bert_folder, name="tiny", device="cpu")


@pytest.fixture
def together(alone: TransformerEncoder, team: Team) -> TransformerEncoder:
    encoder = copy.deepcopy(alone)
    encoder.network = SharedNetwork(encoder.network, team)
    return encoder


def test_encoding_gives_the_same_vectors(
    alone: TransformerEncoder, together: TransformerEncoder
) -> None:
    expected = torch.from_numpy(alone.encode(TEXTS))
    torch.testing.assert_close(torch.from_numpy(together.encode(TEXTS)), expected)


def test_fewer_sentences_than_processes_are_read(
    alone: TransformerEncoder, together: TransformerEncoder
) -> None:
    expected = torch.from_numpy(alone.encode(TEXTS[:1]))
    torch.testing.assert_close(torch.from_numpy(together.encode(TEXTS[:1])), expected)


def test_new_weights_reach_all_processes(
    alone: TransformerEncoder, together: TransformerEncoder
) -> None:
    together.encode(TEXTS)
    for encoder in (alone, together):
        with torch.no_grad():
            next(encoder.network.parameters()).mul_(1.5)
    expected = torch.from_numpy(alone.encode(TEXTS))
    torch.testing.assert_close(torch.from_numpy(together.encode(TEXTS)), expected)


def test_what_an_optimiser_writes_reaches_all_processes(
    alone: TransformerEncoder, together: TransformerEncoder
) -> None:
    for encoder in (alone, together):
        weights = [encoder.network.backbone.get_input_embeddings().weight]
        optimiser = torch.optim.Adam(weights, lr=0.1, fused=True)
        encoder.encode(TEXTS)
        weights[0].grad = torch.ones_like(weights[0]).cumsum(1)
        weights[0].grad[::2] *= -1
        optimiser.step()
    expected = torch.from_numpy(alone.encode(TEXTS))
    torch.testing.assert_close(torch.from_numpy(together.encode(TEXTS)), expected)


@pytest.mark.parametrize("tied", [False, True])
def test_one_step_has_the_gradients_of_a_single_process(
    alone: TransformerEncoder, together: TransformerEncoder, tied: bool
) -> None:
    compare(gradients(alone, tied=tied), gradients(together, tied=tied))


def test_a_batch_read_in_parts_has_the_same_gradients(
    alone: TransformerEncoder, together: TransformerEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = gradients(alone)
    monkeypatch.setattr(sources, "_CPU_TOKENS", 8)
    compare(gradients(together), expected)


def test_a_copied_encoder_has_the_same_gradients(
    alone: TransformerEncoder, together: TransformerEncoder
) -> None:
    compare(gradients(copy.deepcopy(together)), gradients(alone))


def test_half_precision_is_shared_too(
    alone: TransformerEncoder, together: TransformerEncoder
) -> None:
    # Sums in another order round differently, by up to a bit of eight.
    compare(gradients(together, half=True), gradients(alone, half=True), tolerance=0.02)


def test_dropout_is_drawn_from_the_seed(together: TransformerEncoder) -> None:
    together.network.train()
    first, again = gradients(together), gradients(together)
    compare(first, again, tolerance=0)
    together.network.eval()
    assert any(not torch.equal(first[name], value) for name, value in gradients(together).items())


def gradients(
    encoder: TransformerEncoder, *, tied: bool = False, half: bool = False
) -> dict[str, Tensor]:
    """Return the gradients of the whole objective on one batch."""
    centring = Centring(torch.full((encoder.dimension,), 0.01))
    torch.manual_seed(0)
    base = nn.functional.normalize(torch.randn(len(TEXTS), encoder.dimension), dim=-1)
    source = FineTunedSource(base, encoder, centring, TEXTS)
    source._half = half
    prototypes = nn.functional.normalize(torch.randn(4, encoder.dimension), dim=-1)
    network = ProtoryNetwork(prototypes, Reader(4, 2, hidden=8, layers=1, dropout=0.0), SETTINGS)
    tied_rows = torch.tensor([0, 2, 5, 6]) if tied else None
    loss = batch_loss(network, source, batch(), "multiclass", tied_rows)
    loss.backward()  # type: ignore[no-untyped-call]
    module = nn.ModuleDict({"network": network, "source": source})
    found = {
        name: weight.grad.clone()
        for name, weight in module.named_parameters()
        if weight.grad is not None and weight.grad.any()
    }
    module.zero_grad()
    return {"loss": loss.detach(), **found}


def batch() -> Batch:
    targets = nn.functional.one_hot(CLASSES).float()
    corpus = Corpus(ROWS, LENGTHS, targets)
    return corpus.batch(torch.arange(len(LENGTHS)).numpy())


def compare(
    found: dict[str, Tensor], expected: dict[str, Tensor], *, tolerance: float = 1e-5
) -> None:
    assert found.keys() == expected.keys()
    largest = max(float(value.abs().max()) for value in expected.values())
    for name, value in expected.items():
        error = float((found[name] - value).abs().max())
        assert error <= tolerance * largest, f"{name}: {error} of {largest}"
