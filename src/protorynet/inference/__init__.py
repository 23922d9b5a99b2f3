"""Documents in, predictions and explanations out: on this machine, in ONNX Runtime, with Ray."""

from protorynet.lazy import attach_names

__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
