"""Sentence encoders behind one protocol, and the cache of what they computed."""

from protorynet.lazy import attach_names

__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
