"""Prototypes: where they start, which real sentences they become, which of them stay.

Names are loaded when first used, so that reading what is known of prototypes does not need torch.
"""

from protorynet.lazy import attach_names

__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
