"""Writing an encoder's network as an ONNX graph."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from protorynet.encoders.folder import first_line
from protorynet.encoders.pooling import SentenceNetwork
from protorynet.errors import EncoderError, MissingExtraError

__all__ = ["OPSET", "export_encoder"]

OPSET = 17


def export_encoder(network: SentenceNetwork, path: Path) -> None:
    """Write a network as one ONNX file without side files.

    Its inputs are ``ids`` and ``mask`` (rows, tokens), whole numbers of 64 bits; its output is
    ``vectors`` (rows, dimension). Both sizes are free.

    Parameters
    ----------
    network
        The network; its weights are written in float32, as they are now.
    path
        The file.
    """
    try:
        import onnx
    except ImportError:
        raise MissingExtraError("The export to ONNX", "onnx", extra="onnx") from None
    device = next(network.parameters()).device
    # Two rows of unequal length, so that nothing in the graph is taken for a constant.
    ids = torch.ones(2, 5, dtype=torch.long, device=device)
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], device=device)
    try:
        with _as_exported(network), torch.inference_mode():
            torch.onnx.export(
                _ByKeyword(network),
                (ids, mask),
                str(path),
                input_names=["ids", "mask"],
                output_names=["vectors"],
                dynamic_axes={
                    "ids": {0: "rows", 1: "tokens"},
                    "mask": {0: "rows", 1: "tokens"},
                    "vectors": {0: "rows"},
                },
                opset_version=OPSET,
                # The newer exporter takes ten times as long, and its graphs run no faster.
                dynamo=False,
            )
        onnx.checker.check_model(str(path))
    except Exception as error:
        # Exporters raise nearly every type there is for a network that they cannot follow.
        kind = type(network.backbone).__name__
        raise EncoderError(
            f"the encoder ({kind}) cannot be written as ONNX: {first_line(error)}. "
            "Use the model with torch instead."
        ) from error


class _ByKeyword(nn.Module):
    """Hand the inputs on by keyword, which transformers' own signatures need under a tracer."""

    def __init__(self, network: SentenceNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        vectors: Tensor = self.network(input_ids=input_ids, attention_mask=attention_mask)
        return vectors


@contextmanager
def _as_exported(network: SentenceNetwork) -> Iterator[None]:
    """Give the network the state that a graph is drawn from, and its own one back afterwards."""
    config: Any = network.backbone.config
    attention, training = config._attn_implementation, network.training
    # Written out step by step, attention is a smaller graph, and a faster one, than the kernel's.
    config._attn_implementation = "eager"
    network.eval()
    try:
        with warnings.catch_warnings():
            # The tracer warns of constants; whoever exports compares the results.
            warnings.simplefilter("ignore")
            yield
    finally:
        config._attn_implementation = attention
        network.train(training)
