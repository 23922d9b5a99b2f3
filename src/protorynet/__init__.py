"""Text classification that shows its reasons.

>>> from protorynet import ProtoryNetClassifier
"""

from protorynet.lazy import attach_names

__version__ = "0.1.0"

# torch and scikit-learn take seconds to import: each name is loaded when it is first used.
__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
