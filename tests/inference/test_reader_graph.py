from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from protorynet import ProtoryNetClassifier
from protorynet.encoders import Embeddings
from protorynet.errors import InputError, ModelFormatError
from protorynet.inference import Exported, OnnxBackend
from protorynet.inference.exporting import _write_reader
from protorynet.labels import LabelCode
from protorynet.model import Model
from protorynet.network import Adapter, Centring, ProtoryNetwork, Reader
from protorynet.prototypes import Prototypes
from protorynet.settings import Distance, Selection, Settings

DIMENSION, K = 12, 5


def made(
    base: Model,
    *,
    task: str = "multiclass",
    adapter: bool = True,
    scale: float = 0.0,
    selection: Selection = "straight_through",
    distance: Distance = "euclidean",
    layers: int = 1,
    k: int = K,
    seed: int = 0,
) -> Model:
    """A model with random weights; what the graph does not read is that of `base`."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        settings = Settings(selection=selection, distance=distance, reader_layers=layers)
        centring = Centring(0.1 * torch.randn(DIMENSION), scale)
        bend = Adapter(DIMENSION, 7, unit_length=centring.unit_length)
        torch.nn.init.normal_(bend.up.weight, std=0.3)
        reader = Reader(k, 3, hidden=6, layers=layers, dropout=0.3)
        for weight in reader.parameters():
            torch.nn.init.normal_(weight, std=0.8)
        vectors = torch.nn.functional.normalize(torch.randn(k, DIMENSION), dim=-1)
    labels = LabelCode(("a", "b", "c"), task)  # type: ignore[arg-type]
    items = tuple(replace(base.prototypes[0], id=number) for number in range(k))
    return replace(
        base,
        centring=centring,
        adapter=bend if adapter else None,
        network=ProtoryNetwork(vectors, reader, settings).requires_grad_(False),
        prototypes=Prototypes(items, labels.names),
        labels=labels,
        settings=settings,
    )


def reader_graph(model: Model) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "reader.onnx"
        _write_reader(model, path)
        return path.read_bytes()


def opened(model: Model, graph: bytes | None = None) -> OnnxBackend:
    facts = Exported(
        version="0",
        labels=model.labels,
        prototypes=model.prototypes,
        splitter="sentencex",
        encoder_name="",
        encoder_fingerprint="",
        dimension=DIMENSION,
        encoder=None,
        class_frequencies=(0.2, 0.3, 0.5),
        validation_accuracy=1.0,
        reader_is_behind=False,
        sha256={},
    )
    return OnnxBackend(facts, graph or reader_graph(model), Path("reader.onnx"))


def documents(seed: int = 0, count: int = 40) -> tuple[Embeddings, np.ndarray]:
    draw = np.random.default_rng(seed)
    vectors = draw.normal(size=(60, DIMENSION)).astype(np.float32)
    lengths = draw.integers(1, 9, count)
    return Embeddings(vectors, draw.integers(0, 60, lengths.sum())), lengths


@pytest.fixture(scope="module")
def base(reviews, encoder, quick) -> Model:
    return ProtoryNetClassifier(encoder, settings=quick).fit(reviews.texts, reviews.labels).model_


@pytest.fixture(scope="module")
def whole(base) -> OnnxBackend:
    return opened(made(base))


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
        {"layers": 2},
        {"k": 1},
    ],
    ids=str,
)
def test_the_graph_says_what_the_model_says(base, options) -> None:
    model = made(base, **options)
    embeddings, lengths = documents()
    trajectory = model.match(embeddings, lengths)
    prediction = model.read(trajectory)
    reading = opened(model).read(embeddings, lengths)
    assert np.array_equal(reading.columns, trajectory.columns)
    assert np.array_equal(reading.runner_up, trajectory.runner_up)
    for mine, expected in (
        (reading.probabilities, prediction.probabilities),
        (reading.running, prediction.running),
        (reading.similarities, trajectory.similarities),
        (reading.runner_up_similarities, trajectory.runner_up_similarities),
    ):
        np.testing.assert_allclose(mine, expected, atol=2e-6, rtol=0)


def test_of_two_equal_prototypes_the_first_is_chosen(base) -> None:
    model = made(base, adapter=False)
    model.network.prototypes.data[3] = model.network.prototypes.data[1]
    embeddings, lengths = documents()
    trajectory = model.match(embeddings, lengths)
    reading = opened(model).read(embeddings, lengths)
    assert 1 in reading.columns
    assert 3 not in reading.columns
    assert np.array_equal(reading.columns, trajectory.columns)


@given(st.lists(st.integers(0, 39), min_size=1, max_size=12, unique=True))
def test_a_document_is_read_alike_whatever_is_read_beside_it(whole, chosen) -> None:
    embeddings, lengths = documents()
    everything = whole.read(embeddings, lengths)
    ends = np.cumsum(lengths)
    rows = np.concatenate([embeddings.rows[ends[i] - lengths[i] : ends[i]] for i in chosen])
    some = whole.read(Embeddings(embeddings.vectors, rows), lengths[chosen])
    np.testing.assert_allclose(
        some.probabilities, everything.probabilities[chosen], atol=1e-6, rtol=0
    )


def test_places_after_the_end_of_a_document_hold_nothing(base) -> None:
    import onnxruntime as ort

    session = ort.InferenceSession(reader_graph(made(base)), providers=["CPUExecutionProvider"])
    feed = {
        "vectors": documents()[0].vectors,
        "rows": np.array([[3, 0], [1, 2]]),
        "lengths": np.array([1, 2]),
    }
    columns, similarities = session.run(["columns", "similarities"], feed)
    assert columns[0, 1] == -1
    assert similarities[0, 1] == 0


def test_vectors_of_another_width_are_refused(base) -> None:
    with pytest.raises(InputError, match=r"have 4 components, but the model was trained on .* 12"):
        opened(made(base)).read(
            Embeddings(np.ones((1, 4), np.float32), np.zeros(1, int)), np.ones(1, int)
        )


def test_a_graph_of_other_prototypes_is_refused(base) -> None:
    reader = opened(made(base, k=1), reader_graph(made(base)))
    embeddings, lengths = documents()
    with pytest.raises(ModelFormatError, match="other classes or prototypes"):
        reader.read(embeddings, lengths)


def test_a_graph_whose_outputs_have_other_shapes_is_refused(base) -> None:
    import onnx

    graph = onnx.load_from_string(reader_graph(made(base)))
    by_name = {output.name: output for output in graph.graph.output}
    by_name["running"].name, by_name["similarities"].name = "similarities", "running"
    for node in graph.graph.node:
        swapped = {"running": "similarities", "similarities": "running"}
        node.output[:] = [swapped.get(name, name) for name in node.output]
    reader = opened(made(base), graph.SerializeToString())
    embeddings, lengths = documents()
    with pytest.raises(ModelFormatError, match="other classes or prototypes"):
        reader.read(embeddings, lengths)
