"""An ONNX graph put together node by node."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

__all__ = ["Graph"]

_OPSET = 17
_IR_VERSION = 8


class Graph:
    """Nodes and constants as they are added, each result under a name of its own."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def add(self, kind: str, *inputs: str, result: str | None = None, **attributes: Any) -> str:
        """Add a node with one result, and return the result's name."""
        results = (result or f"result_{len(self._nodes)}",)
        return self.add_many(kind, *inputs, results=results, **attributes)[0]

    def add_many(
        self, kind: str, *inputs: str, results: tuple[str, ...], **attributes: Any
    ) -> tuple[str, ...]:
        """Add a node, and return the names of its results."""
        name = f"{kind}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), list(results), name, **attributes))
        return results

    def constant(self, value: NDArray[Any] | np.generic) -> str:
        """Add a constant, and return its name."""
        name = f"constant_{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def finished(self, inputs: list[Any], outputs: list[Any]) -> bytes:
        """Return the content of an ONNX file, after checking it."""
        graph = helper.make_graph(self._nodes, "reader", inputs, outputs, self._constants)
        made = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", _OPSET)],
            ir_version=_IR_VERSION,
            producer_name="protorynet",
        )
        onnx.checker.check_model(made, full_check=True)
        content: bytes = made.SerializeToString()
        return content
