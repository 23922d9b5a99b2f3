"""Exported models in ONNX Runtime: scores and explanations without torch.

Names are loaded when first used, so that importing the room costs nothing.
"""

from protorynet.lazy import attach_names

__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
