"""Views of explanations and models: terminal, SVG, notebook and self-contained HTML pages.

Every view is drawn from `Explanation`, `Prototypes` and `Evaluation` alone. Names are loaded when
first used, so that importing the room costs neither rich nor jinja2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from protorynet.lazy import lazy_names

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

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "auditing": "audit_fragment print_audit",
        "automaton": "automaton_svg",
        "automaton_words": "pattern_sentence print_automaton",
        "pages": "explanation_fragment explanation_page model_page prototypes_fragment "
        "prototypes_page rationale_fragment",
        "picture": "explanation_svg picture_png write_picture",
        "story": "ModelStory",
        "terminal": "print_evaluation print_explanation print_prototypes printed",
        "trajectory": "trajectory_svg",
        "words": "print_rationale",
    },
)
