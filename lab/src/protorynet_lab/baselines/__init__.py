"""What ProtoryNet is measured against, all behind one contract: `Rival`."""

from protorynet.lazy import attach_names

__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
