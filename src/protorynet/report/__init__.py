"""Views of explanations and models: terminal, SVG, notebook and self-contained HTML pages.

Every view is drawn from `Explanation`, `Prototypes` and `Evaluation` alone. Names are loaded when
first used, so that importing the room costs neither rich nor jinja2.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protorynet.report.pages import (
        explanation_fragment,
        explanation_page,
        model_page,
        prototypes_fragment,
        prototypes_page,
    )
    from protorynet.report.story import ModelStory
    from protorynet.report.terminal import print_evaluation, print_explanation, print_prototypes
    from protorynet.report.trajectory import trajectory_svg

__all__ = [
    "ModelStory",
    "explanation_fragment",
    "explanation_page",
    "model_page",
    "print_evaluation",
    "print_explanation",
    "print_prototypes",
    "prototypes_fragment",
    "prototypes_page",
    "trajectory_svg",
]

_MODULES = {
    "ModelStory": "story",
    "explanation_fragment": "pages",
    "explanation_page": "pages",
    "model_page": "pages",
    "print_evaluation": "terminal",
    "print_explanation": "terminal",
    "print_prototypes": "terminal",
    "prototypes_fragment": "pages",
    "prototypes_page": "pages",
    "trajectory_svg": "trajectory",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
