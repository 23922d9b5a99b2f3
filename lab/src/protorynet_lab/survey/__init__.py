"""The paper's user study: questions made from models, pages for participants, and the analysis."""

from protorynet.lazy import attach_names

__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
