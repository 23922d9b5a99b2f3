"""The paper's tables and figures measured again, and a comparison on a table of one's own."""

from protorynet.lazy import attach_names

__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
