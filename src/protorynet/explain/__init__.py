"""Explanations of predictions and measures of how far to trust them.

Names are loaded when first used, so that an explanation can be made and shown without torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from protorynet.automaton import Automaton, Edge, Pattern, State
from protorynet.lazy import lazy_names

if TYPE_CHECKING:
    from protorynet.explain.documents import explain_documents
    from protorynet.explain.evaluation import Evaluation, Measure
    from protorynet.explain.explanation import (
        AutomatonReading,
        DecidingPattern,
        Explanation,
        Rationale,
        SentenceExplanation,
        WordEffect,
    )
    from protorynet.explain.faithfulness import evaluate_model
    from protorynet.explain.judging import Judge, choose_judge, encoder_judge, tfidf_judge
    from protorynet.explain.labelled import LabelledDocuments
    from protorynet.explain.pretrained import Encode, pretrained_encode
    from protorynet.explain.rationale import explain_match, explain_matches, explain_words
    from protorynet.explain.summarising import (
        class_place,
        learn_automata,
        learn_automaton,
        stored_automaton,
    )

__all__ = [
    "Automaton",
    "AutomatonReading",
    "DecidingPattern",
    "Edge",
    "Encode",
    "Evaluation",
    "Explanation",
    "Judge",
    "LabelledDocuments",
    "Measure",
    "Pattern",
    "Rationale",
    "SentenceExplanation",
    "State",
    "WordEffect",
    "choose_judge",
    "class_place",
    "encoder_judge",
    "evaluate_model",
    "explain_documents",
    "explain_match",
    "explain_matches",
    "explain_words",
    "learn_automata",
    "learn_automaton",
    "pretrained_encode",
    "stored_automaton",
    "tfidf_judge",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "documents": "explain_documents",
        "evaluation": "Evaluation Measure",
        "explanation": "AutomatonReading DecidingPattern Explanation Rationale "
        "SentenceExplanation WordEffect",
        "faithfulness": "evaluate_model",
        "judging": "Judge choose_judge encoder_judge tfidf_judge",
        "labelled": "LabelledDocuments",
        "pretrained": "Encode pretrained_encode",
        "rationale": "explain_match explain_matches explain_words",
        "summarising": "class_place learn_automata learn_automaton stored_automaton",
    },
)
