"""Text classification that shows its reasons.

>>> from protorynet import ProtoryNetClassifier
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protorynet.classifier import NotFittedError, ProtoryNetClassifier
    from protorynet.errors import ProtoryNetError
    from protorynet.explain import Evaluation, Explanation
    from protorynet.prototypes import Prototype, Prototypes
    from protorynet.settings import Settings
    from protorynet.text import read_table

__all__ = [
    "Evaluation",
    "Explanation",
    "NotFittedError",
    "ProtoryNetClassifier",
    "ProtoryNetError",
    "Prototype",
    "Prototypes",
    "Settings",
    "read_table",
]

__version__ = "0.1.0"

# torch and scikit-learn take seconds to import: each name is loaded when it is first used.
_HOMES = {
    "Evaluation": "protorynet.explain",
    "Explanation": "protorynet.explain",
    "NotFittedError": "protorynet.classifier",
    "Prototype": "protorynet.prototypes",
    "ProtoryNetClassifier": "protorynet.classifier",
    "ProtoryNetError": "protorynet.errors",
    "Prototypes": "protorynet.prototypes",
    "Settings": "protorynet.settings",
    "read_table": "protorynet.text",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'protorynet' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
