"""What a careful colleague would tell about a model and its data before it is trusted."""

from protorynet.lazy import attach_names

__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
