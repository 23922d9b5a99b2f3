"""Views of explanations and models: terminal, SVG, notebook and self-contained HTML pages.

Every view is drawn from `Explanation`, `Prototypes` and `Evaluation` alone. Names are loaded when
first used, so that importing the room costs neither rich nor jinja2.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protorynet.report.auditing import audit_fragment, print_audit
    from protorynet.report.automaton import automaton_svg
    from protorynet.report.automaton_words import pattern_sentence, print_automaton
    from protorynet.report.pages import (
        explanation_fragment,
        explanation_page,
        model_page,
        prototypes_fragment,
        prototypes_page,
        rationale_fragment,
    )
    from protorynet.report.picture import explanation_svg, picture_png, write_picture
    from protorynet.report.story import ModelStory
    from protorynet.report.terminal import (
        print_evaluation,
        print_explanation,
        print_prototypes,
        printed,
    )
    from protorynet.report.trajectory import trajectory_svg
    from protorynet.report.words import print_rationale

__all__ = [
    "ModelStory",
    "audit_fragment",
    "automaton_svg",
    "explanation_fragment",
    "explanation_page",
    "explanation_svg",
    "model_page",
    "pattern_sentence",
    "picture_png",
    "print_audit",
    "print_automaton",
    "print_evaluation",
    "print_explanation",
    "print_prototypes",
    "print_rationale",
    "printed",
    "prototypes_fragment",
    "prototypes_page",
    "rationale_fragment",
    "trajectory_svg",
    "write_picture",
]

_MODULES = {
    "ModelStory": "story",
    "audit_fragment": "auditing",
    "automaton_svg": "automaton",
    "explanation_fragment": "pages",
    "explanation_page": "pages",
    "explanation_svg": "picture",
    "model_page": "pages",
    "pattern_sentence": "automaton_words",
    "picture_png": "picture",
    "print_audit": "auditing",
    "print_automaton": "automaton_words",
    "print_evaluation": "terminal",
    "print_explanation": "terminal",
    "print_prototypes": "terminal",
    "print_rationale": "words",
    "printed": "terminal",
    "prototypes_fragment": "pages",
    "prototypes_page": "pages",
    "rationale_fragment": "pages",
    "trajectory_svg": "trajectory",
    "write_picture": "picture",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
