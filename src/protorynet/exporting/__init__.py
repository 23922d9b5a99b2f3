"""Writing trained models for other runtimes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protorynet.lazy import lazy_names

if TYPE_CHECKING:
    from protorynet.exporting.comparing import Comparison, compare
    from protorynet.exporting.onnx_folder import export_onnx

__all__ = ["Comparison", "compare", "export_onnx"]

__getattr__, __dir__ = lazy_names(
    __name__, {"comparing": "Comparison compare", "onnx_folder": "export_onnx"}
)
