"""The path from sentence vectors to probabilities, drawn as an ONNX graph by hand.

It is what `protorynet.network.trace` and `read_matches` compute, in the same precisions: the
adapter in float32, distances in float64, the reader in float32. Documents are padded; since the
reader reads forward only, padding reaches nothing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper
from torch import Tensor

from protorynet.inference.graph import Graph
from protorynet.model import Model
from protorynet.network import Adapter, Centring, Reader

__all__ = ["reader_graph"]

_TINY_SQUARE = 1e-12  # as in protorynet.network.distances
_TINY_NORM = 1e-12  # as in torch's normalize


def reader_graph(model: Model) -> bytes:
    """Return the content of an ONNX file with everything of a model but its encoder.

    Inputs: ``vectors`` (m, d), the encoder's vectors; ``rows`` (documents, longest), the row of
    `vectors` for each sentence, anything where a document has ended; ``lengths`` (documents,).

    Outputs: ``probabilities`` (documents, C), and for each sentence ``running`` (documents,
    longest, C), ``columns``, ``similarities``, ``runner_up`` and ``runner_up_similarities``
    (documents, longest); where a document has ended, columns are −1 and similarities 0.
    """
    graph = Graph()
    embedded = _embedded(graph, model.centring, model.adapter)
    columns, near, everything = _matched(graph, embedded, model)
    inside = _inside(graph)
    n_prototypes = len(model.network.prototypes)
    steps = _steps(graph, columns[0], near[0], everything, n_prototypes)
    running = _read(graph, steps, model.network.reader, model.labels.task)
    graph.add("Identity", running, result="running")
    _last(graph, running)
    for name, column, similarity in zip(("", "runner_up"), columns, near, strict=True):
        laid_out = graph.add("Gather", column, "rows")
        graph.add("Where", inside, laid_out, graph.constant(np.int64(-1)), result=name or "columns")
        values = graph.add("Gather", similarity, "rows")
        named = f"{name}_similarities" if name else "similarities"
        graph.add("Where", inside, values, graph.constant(np.float32(0)), result=named)
    return graph.finished(*_signature(len(model.centring.mean), len(model.labels.classes)))


def _array(tensor: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = tensor.detach().cpu().numpy()
    return array


def _embedded(graph: Graph, centring: Centring, adapter: Adapter | None) -> str:
    """Map the encoder's vectors into the space of the prototypes."""
    base = graph.add("Sub", "vectors", graph.constant(_array(centring.mean)))
    if centring.unit_length:
        base = _normalised(graph, base, np.float32)
    else:
        base = graph.add("Div", base, graph.constant(_array(centring.scale)))
    if adapter is None:
        return base
    down = _linear(graph, base, adapter.down.weight, adapter.down.bias)
    # GELU written out: the operator is younger than this opset.
    error = graph.add("Erf", graph.add("Mul", down, graph.constant(np.float32(math.sqrt(0.5)))))
    share = graph.add("Add", error, graph.constant(np.float32(1)))
    half = graph.add("Mul", down, graph.constant(np.float32(0.5)))
    up = _linear(graph, graph.add("Mul", half, share), adapter.up.weight, adapter.up.bias)
    moved = graph.add("Add", base, up)
    return _normalised(graph, moved, np.float32) if centring.unit_length else moved


def _linear(graph: Graph, value: str, weight: Tensor, bias: Tensor) -> str:
    product = graph.add("MatMul", value, graph.constant(_array(weight).T.copy()))
    return graph.add("Add", product, graph.constant(_array(bias)))


def _normalised(graph: Graph, value: str, kind: type[np.floating[Any]]) -> str:
    norm = graph.add("ReduceL2", value, axes=[-1], keepdims=1)
    return graph.add("Div", value, graph.add("Max", norm, graph.constant(kind(_TINY_NORM))))


def _matched(
    graph: Graph, embedded: str, model: Model
) -> tuple[tuple[str, str], tuple[str, str], str | None]:
    """Find the two nearest prototypes: their columns, their similarities, and all of these."""
    distances = _distances(graph, graph.add("Cast", embedded, to=TensorProto.DOUBLE), model)
    n_prototypes = len(model.network.prototypes)
    count = graph.constant(np.array([min(2, n_prototypes)], np.int64))
    # Among equals the lowest column comes first, as in torch's argmin.
    values, columns = graph.add_many(
        "TopK",
        distances,
        count,
        results=("nearest", "nearest_columns"),
        axis=-1,
        largest=0,
        sorted=1,
    )
    similarity = _similarity(graph, values, model)
    places = [graph.constant(np.int64(place)) for place in (0, min(1, n_prototypes - 1))]
    first, second = (graph.add("Gather", columns, place, axis=1) for place in places)
    near, other = (graph.add("Gather", similarity, place, axis=1) for place in places)
    is_dense = model.settings.selection == "dense"
    everything = _similarity(graph, distances, model) if is_dense else None
    return (first, second), (near, other), everything


def _distances(graph: Graph, embedded: str, model: Model) -> str:
    prototypes = _array(model.network.prototypes.double())
    if model.settings.distance == "cosine":
        norms = np.maximum(np.linalg.norm(prototypes, axis=1, keepdims=True), _TINY_NORM)
        unit = _normalised(graph, embedded, np.float64)
        product = graph.add("MatMul", unit, graph.constant((prototypes / norms).T.copy()))
        return graph.add("Sub", graph.constant(np.float64(1)), product)
    product = graph.add("MatMul", embedded, graph.constant((2 * prototypes).T.copy()))
    own = graph.add("ReduceSumSquare", embedded, axes=[-1], keepdims=1)
    both = graph.add("Add", own, graph.constant(np.square(prototypes).sum(axis=1)))
    squared = graph.add("Sub", both, product)
    return graph.add("Sqrt", graph.add("Max", squared, graph.constant(np.float64(_TINY_SQUARE))))


def _similarity(graph: Graph, distances: str, model: Model) -> str:
    scaled = graph.add("Div", distances, graph.constant(np.float64(-model.settings.psi_squared)))
    return graph.add("Cast", graph.add("Exp", scaled), to=TensorProto.FLOAT)


def _inside(graph: Graph) -> str:
    """Say for each place of the layout whether a sentence stands there."""
    longest = graph.add("Gather", graph.add("Shape", "rows"), graph.constant(np.int64(1)), axis=0)
    zero, one = graph.constant(np.int64(0)), graph.constant(np.int64(1))
    step = graph.add("Range", zero, longest, one)
    ends = graph.add("Unsqueeze", "lengths", graph.constant(np.array([1], np.int64)))
    return graph.add("Less", step, ends)


def _steps(
    graph: Graph, columns: str, similarities: str, everything: str | None, n_prototypes: int
) -> str:
    """Lay out what the reader sees of each sentence, (longest, documents, K)."""
    by_step = graph.add("Transpose", "rows", perm=[1, 0])
    if everything is not None:
        return graph.add("Gather", everything, by_step)
    depth = graph.constant(np.int64(n_prototypes))
    values = graph.constant(np.array([0, 1], np.float32))
    chosen = graph.add("OneHot", graph.add("Gather", columns, by_step), depth, values, axis=-1)
    last = graph.constant(np.array([2], np.int64))
    height = graph.add("Unsqueeze", graph.add("Gather", similarities, by_step), last)
    return graph.add("Mul", chosen, height)


def _read(graph: Graph, steps: str, reader: Reader, task: str) -> str:
    """Return the probabilities after every sentence, (documents, longest, C)."""
    lengths = graph.add("Cast", "lengths", to=TensorProto.INT32)
    one = graph.constant(np.array([1], np.int64))
    hidden = steps
    for layer in range(reader.lstm.num_layers):
        weights = _lstm_weights(reader, layer)
        inputs = [hidden, *(graph.constant(array) for array in weights), lengths]
        states = graph.add("LSTM", *inputs, hidden_size=reader.lstm.hidden_size)
        hidden = graph.add("Squeeze", states, one)
    logits = _linear(graph, hidden, reader.head.weight, reader.head.bias)
    laid_out = graph.add("Transpose", logits, perm=[1, 0, 2])
    if task == "multiclass":
        return graph.add("Softmax", laid_out, axis=-1)
    return graph.add("Sigmoid", laid_out)


def _lstm_weights(reader: Reader, layer: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return a layer's weights with the gates in ONNX's order: in, out, forget, cell."""

    def ordered(name: str) -> NDArray[Any]:
        entry, forget, cell, out = np.split(_array(getattr(reader.lstm, f"{name}_l{layer}")), 4)
        return np.concatenate([entry, out, forget, cell])

    biases = np.concatenate([ordered("bias_ih"), ordered("bias_hh")])
    return ordered("weight_ih")[None], ordered("weight_hh")[None], biases[None]


def _last(graph: Graph, running: str) -> None:
    """Pick each document's probabilities after its last sentence."""
    last = graph.add("Sub", "lengths", graph.constant(np.int64(1)))
    place = graph.add("Unsqueeze", last, graph.constant(np.array([1], np.int64)))
    graph.add("GatherND", running, place, result="probabilities", batch_dims=1)


def _signature(dimension: int, n_classes: int) -> tuple[list[Any], list[Any]]:
    """Return the inputs and the outputs, with the sizes that are free under their names."""
    whole, real = TensorProto.INT64, TensorProto.FLOAT
    sentences = ["documents", "longest"]
    value = helper.make_tensor_value_info
    inputs = [
        value("vectors", real, ["distinct", dimension]),
        value("rows", whole, sentences),
        value("lengths", whole, ["documents"]),
    ]
    outputs = [
        value("probabilities", real, ["documents", n_classes]),
        value("running", real, [*sentences, n_classes]),
        value("columns", whole, sentences),
        value("similarities", real, sentences),
        value("runner_up", whole, sentences),
        value("runner_up_similarities", real, sentences),
    ]
    return inputs, outputs
