"""Explanations of predictions and measures of how far to trust them.

Names are loaded when first used, so that an explanation can be made and shown without torch.
"""

from protorynet.lazy import attach_names

__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
