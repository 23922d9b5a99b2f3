"""The command line: one thin command per capability."""

from protorynet.lazy import attach_names

__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
