"""A model's encoder as an ONNX file, whatever kind it is."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from onnx import TensorProto, helper

from protorynet.encoders import (
    Bfloat16Encoder,
    Encoder,
    OnnxEncoder,
    SentenceNetwork,
    SentenceTokenizer,
    StaticEncoder,
    TransformerEncoder,
    export_encoder,
    quantise,
    split_variant,
)
from protorynet.errors import EncoderError, InputError
from protorynet.inference.export_folder import Precision
from protorynet.inference.graph import Graph

__all__ = ["Written", "tokenizer_of", "write_encoder"]


@dataclass(frozen=True)
class Written:
    """What became of an encoder.

    Parameters
    ----------
    precision
        What the file is computed with.
    is_same
        Whether its vectors should be those of the encoder, but for rounding in float32.
    """

    precision: Precision
    is_same: bool


def tokenizer_of(encoder: Encoder | None) -> SentenceTokenizer | None:
    """Return the tokenizer of an encoder that can be exported, None for any other one."""
    if isinstance(encoder, Bfloat16Encoder):
        return encoder.teacher.tokenizer
    if isinstance(encoder, TransformerEncoder | OnnxEncoder | StaticEncoder):
        return encoder.tokenizer
    return None


def write_encoder(encoder: Encoder, path: Path, precision: Precision) -> Written:
    """Write an encoder as an ONNX file from ``ids`` and ``mask`` to ``vectors``."""
    if isinstance(encoder, TransformerEncoder):
        return _write_network(encoder.network, path, precision, is_same=precision == "float32")
    if isinstance(encoder, Bfloat16Encoder):
        # ONNX Runtime has no products in bfloat16 on a CPU.
        network = copy.deepcopy(encoder.teacher.network).float()
        return _write_network(network, path, precision, is_same=False)
    is_small = split_variant(encoder.name)[1] == "int8"
    if precision == "int8" and not is_small:
        raise InputError(
            f"the encoder {encoder.name!r} cannot be quantised; leave out --precision int8."
        )
    if isinstance(encoder, StaticEncoder):
        path.write_bytes(_static_graph(encoder))
    elif isinstance(encoder, OnnxEncoder):
        path.write_bytes(encoder.graph())
    else:
        raise EncoderError(f"the encoder {encoder.name!r} cannot be exported.")
    return Written("int8" if is_small else "float32", is_same=True)


def _write_network(
    network: SentenceNetwork, path: Path, precision: Precision, *, is_same: bool
) -> Written:
    if precision == "float32":
        export_encoder(network, path)
    else:
        with TemporaryDirectory(dir=path.parent, prefix=".float32.") as folder:
            whole = Path(folder) / path.name
            export_encoder(network, whole)
            quantise(whole, path)
    return Written(precision, is_same)


def _static_graph(encoder: StaticEncoder) -> bytes:
    """Sum the vectors of the tokens, and bring the sum to length one."""
    graph = Graph()
    last = graph.constant(np.array([2], np.int64))
    mask = graph.add("Unsqueeze", graph.add("Cast", "mask", to=TensorProto.FLOAT), last)
    tokens = graph.add("Mul", graph.add("Gather", graph.constant(encoder.vectors), "ids"), mask)
    total = graph.add("ReduceSum", tokens, graph.constant(np.array([1], np.int64)), keepdims=0)
    length = graph.add("ReduceL2", total, axes=[-1], keepdims=1)
    filled = graph.add("Greater", length, graph.constant(np.float32(0)))
    safe = graph.add("Where", filled, length, graph.constant(np.float32(1)))
    unit = graph.add("Div", total, safe)
    graph.add("Where", filled, unit, graph.constant(encoder.blank), result="vectors")
    value, shape = helper.make_tensor_value_info, ["rows", "tokens"]
    return graph.finished(
        [value(name, TensorProto.INT64, shape) for name in ("ids", "mask")],
        [value("vectors", TensorProto.FLOAT, ["rows", encoder.dimension])],
    )
