"""Sentence encoders as ONNX graphs: run without torch, written from a network, and in 8 bits."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from protorynet.encoders.encoder_folder import first_line
from protorynet.encoders.sentence_tokenizer import SentenceTokenizer
from protorynet.errors import EncoderError, ModelFormatError, import_extra
from protorynet.threads import map_in_threads

if TYPE_CHECKING:
    from onnx import GraphProto
    from onnxruntime import InferenceSession
    from torch import Tensor, nn

    from protorynet.encoders.sentence_network import SentenceNetwork

BATCH_TOKENS = 4_096  # padding included
_INPUTS = ("ids", "mask")
_OUTPUT = "vectors"
OPSET = 17
_RUNTIME_DOMAIN = "com.microsoft"
LARGEST_LEVEL = 127.0
ZERO_LEVEL = 128
# A vector of zeros would be divided by zero.
SMALLEST_SCALE = 1e-12


class OnnxEncoder:
    """A sentence encoder in ONNX Runtime: a graph with inputs ``ids`` and ``mask``.

    Its output is ``vectors``; `source` is the file that it was read from.
    """

    def __init__(
        self,
        graph: bytes,
        tokenizer: SentenceTokenizer,
        *,
        name: str,
        fingerprint: str,
        source: Path,
    ) -> None:
        self.name = name
        self.fingerprint = self.plain_fingerprint = fingerprint
        self.tokenizer = tokenizer
        self.window, self.count_tokens = tokenizer.window, tokenizer.count_tokens
        self.source = source
        self._session = open_session(graph, source, inputs=_INPUTS, outputs=(_OUTPUT,))
        shapes = {output.name: output.shape for output in self._session.get_outputs()}
        if len(shapes[_OUTPUT]) != 2:
            raise ModelFormatError(
                f"{source} gives {_OUTPUT!r} of {len(shapes[_OUTPUT])} dimension(s), not one row "
                "per sentence; export the model again."
            )
        width = shapes[_OUTPUT][1]
        self.dimension: int = width if isinstance(width, int) else self.encode([""]).shape[1]

    def encode(self, sentences: list[str]) -> NDArray[np.float32]:
        """Return one vector per sentence; what lies beyond the window is not read."""
        tokens = self.tokenizer.tokenize(sentences)
        if not len(tokens):
            return np.empty((0, self.dimension), dtype=np.float32)
        order, batches = self.tokenizer.batches(tokens, most=BATCH_TOKENS, spare=None)
        vectors = np.concatenate(map_in_threads(self._run, batches))
        result = np.empty_like(vectors)
        result[order] = vectors
        return result

    def __deepcopy__(self, memo: dict[int, Any]) -> OnnxEncoder:
        return self  # nothing in it ever changes, and a session cannot be copied

    def _run(self, batch: tuple[NDArray[np.int64], NDArray[np.int64]]) -> NDArray[np.float32]:
        ids, mask = batch
        # A text by itself is summed in another order than one among others, which the last bit of
        # its vector would show.
        twice = [0, 0] if len(ids) == 1 else slice(None)
        feed = dict(zip(_INPUTS, (ids[twice], mask[twice]), strict=True))
        (vectors,) = run_session(self._session, (_OUTPUT,), feed, self.source)
        expected = len(feed["ids"])
        if vectors.ndim != 2 or len(vectors) != expected or vectors.dtype != np.float32:
            raise EncoderError(
                f"{self.source} gave {vectors.dtype} of shape {vectors.shape} for {expected} "
                "sentences; it is no sentence encoder. Export it again."
            )
        return vectors[: len(ids)]


def open_session(
    graph: bytes, source: Path, *, inputs: Sequence[str], outputs: Sequence[str]
) -> InferenceSession:
    """Return a session for a graph of these inputs and outputs; `source` is named in messages."""
    ort = import_extra("A model in ONNX", "onnxruntime", extra="onnx")
    # Whatever names a file outside of the graph does so under this key.
    if b"location" in graph:
        raise ModelFormatError(f"{source} refers to other files; only whole graphs are read.")
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads = 1  # batches are computed side by side
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        # The runtime's errors share no base but this one.
        raise ModelFormatError(
            f"{source} cannot be opened by ONNX Runtime {ort.__version__} ({first_line(error)}); "
            "export the model again."
        ) from None
    named = [entry.name for entry in session.get_inputs()]
    given = [entry.name for entry in session.get_outputs()]
    if set(named) != set(inputs) or not set(outputs) <= set(given):
        raise ModelFormatError(
            f"{source} has the inputs {', '.join(named)} and the outputs {', '.join(given)}; "
            f"expected were {', '.join(inputs)} and {', '.join(outputs)}."
        )
    return session


def run_session(
    session: InferenceSession,
    outputs: Sequence[str],
    feed: Mapping[str, NDArray[Any]],
    source: Path,
) -> list[NDArray[Any]]:
    """Run a graph; what goes wrong is reported in one line."""
    try:
        return list(session.run(list(outputs), dict(feed)))
    except Exception as error:
        raise ModelFormatError(
            f"{source} failed in ONNX Runtime ({first_line(error)}); export the model again."
        ) from None


def export_encoder(network: SentenceNetwork, path: Path) -> None:
    """Write a network as one ONNX file without side files.

    Its inputs are ``ids`` and ``mask`` (rows, tokens), whole numbers of 64 bits; its output is
    ``vectors`` (rows, dimension). Both sizes are free. Weights are written as they are now.
    """
    onnx = import_extra("The export to ONNX", "onnx", extra="onnx")
    import torch

    config: Any = network.backbone.config
    attention = config._attn_implementation
    device = next(network.parameters()).device
    # Two texts of unequal length, so that nothing in the graph is taken for a constant.
    ids = torch.ones(2, 5, dtype=torch.long, device=device)
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], device=device)
    sizes = {0: "rows", 1: "tokens"}
    axes = {**dict.fromkeys(_INPUTS, sizes), _OUTPUT: {0: "rows"}}
    try:
        # Written out step by step, attention is a smaller and faster graph than the kernel's.
        config._attn_implementation = "eager"
        export_graph(network, (ids, mask), path, _INPUTS, (_OUTPUT,), axes)
        onnx.checker.check_model(str(path))
    except Exception as error:
        # Exporters raise nearly every type there is for a network that they cannot follow.
        kind = type(network.backbone).__name__
        raise EncoderError(
            f"the encoder ({kind}) cannot be written as ONNX: {first_line(error)}. "
            "Use the model with torch instead."
        ) from error
    finally:
        config._attn_implementation = attention


def export_int8(network: SentenceNetwork, path: Path) -> None:
    """Write a network like `export_encoder`, its products with weights in 8 bits."""
    with TemporaryDirectory(dir=path.parent, prefix=".float32.") as folder:
        whole = Path(folder) / path.name
        export_encoder(network, whole)
        quantise(whole, path)


def export_graph(
    module: nn.Module,
    example: tuple[Tensor, ...],
    path: Path,
    inputs: Sequence[str],
    outputs: Sequence[str],
    axes: Mapping[str, Mapping[int, str]],
) -> None:
    """Write a module as an ONNX file; `axes` names the sizes that are free."""
    import torch

    from protorynet.encoders.sentence_network import evaluating

    with evaluating(module), warnings.catch_warnings():
        # The tracer warns of constants and of its own age; whoever exports compares the results.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module,
            example,
            str(path),
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_axes=axes,
            opset_version=OPSET,
            # The newer exporter takes ten times as long, and its graphs run no faster.
            dynamo=False,
        )


def quantise(source: Path, target: Path) -> None:
    """Write an ONNX encoder whose products with weights are computed in 8 bits.

    ONNX Runtime's own dynamic quantisation gives a whole batch one scale, so that a sentence's
    vector would depend on the sentences beside it. Here every token has a scale of its own::

        s = max |x| / 127      x ≈ s · (u − 128)      x·W ≈ s · t · ((u − 128)·w)

    `source` is a graph in float32, as `export_encoder` writes it.
    """
    onnx = import_extra("Quantising an encoder", "onnx", extra="onnx")
    model = onnx.load(str(source), load_external_data=False)
    if not _quantise_products(model.graph):
        raise EncoderError(
            f"{source} holds no product with weights that could be quantised; use the encoder in "
            "float32."
        )
    if all(each.domain != _RUNTIME_DOMAIN for each in model.opset_import):
        model.opset_import.append(onnx.helper.make_opsetid(_RUNTIME_DOMAIN, 1))
    onnx.save(model, str(target))


def _quantise_products(graph: GraphProto) -> int:
    """Replace products with constant matrices, in order, and return how many there were."""
    from onnx import TensorProto, helper, numpy_helper

    weights: dict[str, NDArray[Any]] = {
        each.name: numpy_helper.to_array(each)
        for each in graph.initializer
        if len(each.dims) == 2 and each.data_type == TensorProto.FLOAT
    }
    nodes: list[Any] = []
    constants: dict[str, Any] = {}
    quantised: dict[str, tuple[str, str]] = {}
    products = 0

    def add(kind: str, given: list[str], result: str, **options: Any) -> str:
        nodes.append(helper.make_node(kind, given, [result], name=f"{result}_node", **options))
        return result

    def constant(name: str, value: Any, kind: type[np.generic]) -> str:
        constants[name] = numpy_helper.from_array(np.asarray(value).astype(kind), name)
        return name

    one = constant("quantised_one", 1.0, np.float32)
    zero = constant("quantised_zero", ZERO_LEVEL, np.uint8)
    smallest = constant("quantised_smallest", SMALLEST_SCALE, np.float32)
    steps = constant("quantised_steps", LARGEST_LEVEL, np.float32)
    for node in graph.node:
        if node.op_type != "MatMul" or node.input[1] not in weights:
            nodes.append(node)
            continue
        given, weight, result = node.input[0], node.input[1], node.output[0]
        if given not in quantised:
            size = add("Abs", [given], f"{given}_size")
            most = add("ReduceMax", [size], f"{given}_most", axes=[-1], keepdims=1)
            some = add("Max", [most, smallest], f"{given}_some")
            scale = add("Div", [some, steps], f"{given}_row")
            share = add("Div", [given, scale], f"{given}_share")
            levels = add("QuantizeLinear", [share, one, zero], f"{given}_levels")
            quantised[given] = levels, scale
        levels, scale = quantised[given]
        matrix = weights[weight]
        scales = np.maximum(np.abs(matrix).max(axis=0), SMALLEST_SCALE) / LARGEST_LEVEL
        # Unsigned weights, which no processor could overflow on, take half as long again.
        matrix_levels = constant(f"{weight}_levels", np.rint(matrix / scales), np.int8)
        matrix_scales = constant(f"{weight}_columns", scales, np.float32)
        operands = [levels, matrix_levels, one, matrix_scales, zero]
        product = f"{result}_product"
        add("MatMulIntegerToFloat", operands, product, domain=_RUNTIME_DOMAIN)
        add("Mul", [product, scale], result)
        products += 1
    used = {name for node in nodes for name in node.input}
    kept = [each for each in graph.initializer if each.name in used]
    del graph.node[:]
    graph.node.extend(nodes)
    del graph.initializer[:]
    graph.initializer.extend([*kept, *constants.values()])
    return products
