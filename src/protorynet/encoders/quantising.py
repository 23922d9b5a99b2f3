"""Weights and activations of an ONNX encoder in 8 bits, each row of activations by itself.

ONNX Runtime's own dynamic quantisation gives a whole batch one scale, so that a sentence's vector
would depend on the sentences beside it. Here every token has a scale of its own::

    row = max |x| / 127      x ≈ row · (u − 128)      x·W ≈ row · column · ((u − 128)·w)
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from protorynet.encoders.cache import EmbeddingCache
from protorynet.encoders.onnx_encoder import OnnxEncoder
from protorynet.errors import EncoderError, MissingExtraError, ModelFormatError
from protorynet.files import write_atomically

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto

    from protorynet.encoders.transformer import TransformerEncoder

__all__ = ["quantise", "quantised_encoder"]

# Raised with every change of what is computed.
_RECIPE = 1
_LEVELS = 127.0
_ZERO = 128
# A row of zeros would be divided by zero.
_SMALLEST = 1e-12
_RUNTIME_DOMAIN = "com.microsoft"


def quantise(source: Path, target: Path) -> None:
    """Write an ONNX encoder whose products with weights are computed in 8 bits.

    Parameters
    ----------
    source
        A graph in float32, as `export_encoder` writes it.
    target
        The file to write; it needs ONNX Runtime.
    """
    try:
        import onnx
    except ImportError:
        raise MissingExtraError("Quantising an encoder", "onnx", extra="onnx") from None
    model = onnx.load(str(source), load_external_data=False)
    if not _Rewriter(model.graph).run():
        raise EncoderError(
            f"{source} holds no product with weights that could be quantised; use the encoder in "
            "float32."
        )
    if all(each.domain != _RUNTIME_DOMAIN for each in model.opset_import):
        model.opset_import.append(onnx.helper.make_opsetid(_RUNTIME_DOMAIN, 1))
    onnx.save(model, str(target))


def quantised_encoder(
    teacher: TransformerEncoder, *, name: str, cache_folder: Path | None = None
) -> OnnxEncoder:
    """Return an encoder in 8 bits; its graph is made once and kept in the cache.

    Parameters
    ----------
    teacher
        The encoder in float32.
    name
        What people call the encoder in 8 bits.
    cache_folder
        The folder of the cache; by default that of the embeddings.
    """
    path = _cached_graph(teacher, cache_folder)
    try:
        return _opened(_read_graph(path), path, teacher, name)
    except (OSError, ModelFormatError):
        # Not made yet, or damaged: making it again mends it.
        return _opened(_make_graph(teacher, path), path, teacher, name)


def _read_graph(path: Path) -> bytes:
    """Return a graph as it was written: a damaged one may open, and give other vectors."""
    graph = path.read_bytes()
    if hashlib.sha256(graph).hexdigest().encode() != _digest_path(path).read_bytes().strip():
        raise ModelFormatError(f"the sha256 of {path} differs")
    return graph


def _digest_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _opened(graph: bytes, path: Path, teacher: TransformerEncoder, name: str) -> OnnxEncoder:
    recipe = json.dumps([teacher.fingerprint, "int8", _RECIPE])
    return OnnxEncoder(
        graph,
        teacher.tokenizer,
        name=name,
        fingerprint=hashlib.sha256(recipe.encode()).hexdigest(),
        source=path,
    )


def _make_graph(teacher: TransformerEncoder, path: Path) -> bytes:
    from protorynet.encoders.onnx_graph import export_encoder

    with TemporaryDirectory() as folder:
        whole, small = Path(folder) / "float32.onnx", Path(folder) / "int8.onnx"
        export_encoder(teacher.network, whole)
        quantise(whole, small)
        graph = small.read_bytes()
    try:
        _keep_graph(path, graph)
    except OSError as error:
        raise EncoderError(
            f"the encoder {teacher.name!r} in 8 bits cannot be kept at {path} ({error}); set the "
            "environment variable PROTORYNET_CACHE to a folder with room."
        ) from None
    return graph


def _keep_graph(path: Path, graph: bytes) -> None:
    try:
        write_atomically(path, graph)
    except FileNotFoundError:
        # Another process cleared the cache, what was half written included.
        write_atomically(path, graph)
    write_atomically(_digest_path(path), hashlib.sha256(graph).hexdigest() + "\n")


def _cached_graph(teacher: TransformerEncoder, cache_folder: Path | None) -> Path:
    try:
        import onnxruntime
        import torch
    except ImportError:
        raise MissingExtraError("An encoder in 8 bits", "onnxruntime", extra="onnx") from None
    # Another exporter may draw another graph, and another runtime may not open it.
    facts = [teacher.fingerprint, _RECIPE, torch.__version__, onnxruntime.__version__]
    key = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]
    root = EmbeddingCache().folder if cache_folder is None else Path(cache_folder)
    return root / "int8" / f"{key}.onnx"


class _Rewriter:
    """Replaces products with constant matrices, node by node and in order."""

    def __init__(self, graph: GraphProto) -> None:
        from onnx import TensorProto, numpy_helper

        self._graph = graph
        self._weights: dict[str, NDArray[Any]] = {
            each.name: numpy_helper.to_array(each)
            for each in graph.initializer
            if len(each.dims) == 2 and each.data_type == TensorProto.FLOAT
        }
        self._rows: dict[str, tuple[str, str]] = {}
        self._nodes: list[NodeProto] = []
        self._constants: set[str] = set()
        self._replaced = 0

    def run(self) -> int:
        """Rewrite the graph and return the number of products replaced."""
        for node in self._graph.node:
            if node.op_type == "MatMul" and node.input[1] in self._weights:
                self._replace(node.input[0], node.input[1], node.output[0])
            else:
                self._nodes.append(node)
        del self._graph.node[:]
        self._graph.node.extend(self._nodes)
        used = {name for node in self._nodes for name in node.input}
        kept = [each for each in self._graph.initializer if each.name in used]
        del self._graph.initializer[:]
        self._graph.initializer.extend(kept)
        return self._replaced

    def _replace(self, given: str, weight: str, result: str) -> None:
        matrix = self._weights[weight]
        columns = np.maximum(np.abs(matrix).max(axis=0), _SMALLEST) / _LEVELS
        levels, row = self._quantised_rows(given)
        # Unsigned weights, which no processor could overflow on, take half as long again.
        operands = [
            levels,
            self._constant(f"{weight}_levels", np.rint(matrix / columns), np.int8),
            self._scalar("one", 1.0),
            self._constant(f"{weight}_columns", columns, np.float32),
            self._zero(),
        ]
        product = f"{result}_product"
        self._add("MatMulIntegerToFloat", operands, product, domain=_RUNTIME_DOMAIN)
        self._add("Mul", [product, row], result)
        self._replaced += 1

    def _quantised_rows(self, given: str) -> tuple[str, str]:
        """Return the names of a tensor's rows in 8 bits and of their scales."""
        if given not in self._rows:
            names = ("size", "most", "some", "row", "share", "levels")
            size, most, some, row, share, levels = (f"{given}_{name}" for name in names)
            self._add("Abs", [given], size)
            self._add("ReduceMax", [size], most, axes=[-1], keepdims=1)
            self._add("Max", [most, self._scalar("smallest", _SMALLEST)], some)
            self._add("Div", [some, self._scalar("steps", _LEVELS)], row)
            self._add("Div", [given, row], share)
            self._add("QuantizeLinear", [share, self._scalar("one", 1.0), self._zero()], levels)
            self._rows[given] = levels, row
        return self._rows[given]

    def _zero(self) -> str:
        return self._constant("quantised_zero", np.array(_ZERO), np.uint8)

    def _scalar(self, name: str, value: float) -> str:
        return self._constant(f"quantised_{name}", np.array(value), np.float32)

    def _constant(self, name: str, value: NDArray[Any], kind: type[np.generic]) -> str:
        from onnx import numpy_helper

        if name not in self._constants:
            self._graph.initializer.append(numpy_helper.from_array(value.astype(kind), name))
            self._constants.add(name)
        return name

    def _add(self, kind: str, given: list[str], result: str, **options: Any) -> None:
        from onnx import helper

        name = f"{result}_node"
        self._nodes.append(helper.make_node(kind, given, [result], name=name, **options))
