"""What ProtoryNet is measured against: bag of words, and its own encoder without prototypes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protorynet.baselines.bag_of_words import BagOfWords, fit_bag_of_words
    from protorynet.baselines.black_box import BlackBox, fit_black_box

__all__ = ["BagOfWords", "BlackBox", "fit_bag_of_words", "fit_black_box"]

_MODULES = {
    "BagOfWords": "bag_of_words",
    "BlackBox": "black_box",
    "fit_bag_of_words": "bag_of_words",
    "fit_black_box": "black_box",
}


def __getattr__(name: str) -> Any:
    # torch and scikit-learn take seconds to import, so they wait until a model is asked for.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
