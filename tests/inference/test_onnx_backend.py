"""The exported graph of a reader says what the model says, and wrong graphs are refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from protorynet.encoders import Embeddings
from protorynet.errors import InputError
from protorynet.inference import Backend, Predictor, TorchBackend, export_onnx, open_predictor
from protorynet.labels import LabelCode
from protorynet.model import Model
from protorynet.network import Adapter, Centring, Evidence, ProtoryNetwork, Reader
from protorynet.prototypes import Member, Prototypes
from protorynet.settings import Settings

DIMENSION, K = 12, 5


def make_model(
    base: Model,
    *,
    task: Any = "multiclass",
    adapter: bool = True,
    scale: float = 0.0,
    k: int = K,
    sizes: tuple[int, ...] = (),
    axes: int = 0,
    **changes: Any,
) -> Model:
    """A model with random weights, with evidence where prototypes have `sizes` of several members.

    What the graph does not read is that of `base`.
    """
    settings = Settings(**{"members": 1, **changes})
    k, sizes = len(sizes) or k, sizes or (1,) * k
    with torch.random.fork_rng():
        torch.manual_seed(0)
        centring = Centring(0.1 * torch.randn(DIMENSION), scale)
        bend: Adapter | Evidence = Adapter(DIMENSION, 7, unit_length=centring.unit_length)
        width = DIMENSION
        if max(sizes) > 1:
            bend = Evidence(DIMENSION, 7, 3, task)
            bend.weight.fill_(0.7)
            if axes:
                bend.axes = torch.linalg.qr(torch.randn(DIMENSION, axes))[0]
            width = bend.width
        torch.nn.init.normal_(bend.up.weight, std=0.3)
        reader = Reader(k, 3, hidden=6, layers=settings.reader_layers, dropout=0.3)
        for weight in reader.parameters():
            torch.nn.init.normal_(weight, std=0.8)
        vectors = torch.nn.functional.normalize(torch.randn(sum(sizes), width), dim=-1)
    labels = LabelCode(("a", "b", "c"), task)
    ids, rates = iter(range(100)), dict.fromkeys(labels.names, 0.0)
    items = tuple(
        replace(
            base.prototypes[0],
            id=number,
            scores=rates,
            class_rate=rates,
            members=tuple(Member(next(ids), "Room", None, 0.0, (0.0,) * 3) for _ in range(size)),
        )
        for number, size in enumerate(sizes)
    )
    return replace(
        base,
        centring=centring,
        adapter=bend if adapter else None,
        network=ProtoryNetwork(vectors, reader, settings, sizes).requires_grad_(False),
        prototypes=Prototypes(items, labels.names),
        labels=labels,
        settings=settings,
        words=None,
        training=replace(base.training, class_frequencies=(0.2, 0.3, 0.5), figures=None),
    )


def export(model: Model, folder: Path) -> Backend:
    export_onnx(Predictor(TorchBackend(model), None, cache=False), folder)
    return open_predictor(folder, cache=False).backend


def documents(width: int = DIMENSION) -> tuple[Embeddings, np.ndarray]:
    draw = np.random.default_rng(0)
    vectors = draw.normal(size=(60, width)).astype(np.float32)
    lengths = draw.integers(1, 9, 40)
    return Embeddings(vectors, draw.integers(0, 60, lengths.sum())), lengths


@pytest.fixture(scope="module")
def base(trained):
    return trained.model_


@pytest.fixture(scope="module")
def whole(base, tmp_path_factory):
    return export(make_model(base), tmp_path_factory.mktemp("whole") / "m")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"task": "multilabel"},
        {"adapter": False},
        {"scale": 2.5},
        {"distance": "cosine"},
        {"selection": "dense"},
        {"selection": "paper"},
        {"reader_layers": 2},
        {"k": 1},
        {"sizes": (3, 1, 4)},
        {"sizes": (2, 5), "task": "multilabel"},
        {"sizes": (4,)},
        {"sizes": (3, 1, 4), "axes": 3},
        {"equal": True},
    ],
    ids=str,
)
def test_the_graph_says_what_the_model_says(base, options, tmp_path):
    are_equal = options.pop("equal", False)
    model = replace(make_model(base, **options), familiar=0.2, reach=3.5)
    if are_equal:  # of two equal prototypes the first is chosen
        model.network.members.data[3] = model.network.members.data[1]
    embeddings, lengths = documents(model.width)
    expected = model.read(model.match(embeddings, lengths))
    reading = export(model, tmp_path / "m").read(embeddings, lengths)
    assert 0 < expected.unfamiliar.mean() < 1
    for name in ("prototypes", "members", "runner_up", "runner_up_members", "unfamiliar"):
        assert np.array_equal(getattr(reading, name), getattr(expected, name))
    for name in ("probabilities", "running", "similarities", "runner_up_similarities"):
        mine, theirs = getattr(reading, name), getattr(expected, name)
        np.testing.assert_allclose(mine, theirs, atol=2e-6, rtol=0)


@given(st.lists(st.integers(0, 39), min_size=1, max_size=12, unique=True))
def test_a_document_is_read_alike_whatever_is_read_beside_it(whole, chosen):
    embeddings, lengths = documents()
    everything = whole.read(embeddings, lengths).probabilities
    ends = np.cumsum(lengths)
    index = np.concatenate([embeddings.index[ends[i] - lengths[i] : ends[i]] for i in chosen])
    some = whole.read(Embeddings(embeddings.vectors, index), lengths[chosen]).probabilities
    np.testing.assert_allclose(some, everything[chosen], atol=1e-6, rtol=0)


def test_vectors_of_another_width_are_refused(whole):
    narrow = Embeddings(np.ones((1, 4), np.float32), np.zeros(1, int))
    with pytest.raises(InputError, match=r"have 4 components, but the model was trained on .* 12"):
        whole.read(narrow, np.ones(1, int))
