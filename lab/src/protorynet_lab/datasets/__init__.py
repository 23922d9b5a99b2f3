"""The data sets of the paper: what is known of them, and how each is prepared as the paper says."""

from protorynet.lazy import attach_names

__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
