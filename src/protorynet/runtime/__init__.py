"""Exported models in ONNX Runtime: scores and explanations without torch.

Names are loaded when first used, so that importing the room costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from protorynet.lazy import lazy_names

if TYPE_CHECKING:
    from protorynet.encoders.onnx_encoder import OnnxEncoder
    from protorynet.runtime.exported import EncoderPart, Exported, is_exported, read_exported
    from protorynet.runtime.reader import OnnxReader, Reading
    from protorynet.runtime.scorer import OnnxScorer
    from protorynet.runtime.scores import Scores

__all__ = [
    "EncoderPart",
    "Exported",
    "OnnxEncoder",
    "OnnxReader",
    "OnnxScorer",
    "Reading",
    "Scores",
    "is_exported",
    "read_exported",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "exported": "EncoderPart Exported is_exported read_exported",
        "reader": "OnnxReader Reading",
        "scorer": "OnnxEncoder OnnxScorer",
        "scores": "Scores",
    },
)
