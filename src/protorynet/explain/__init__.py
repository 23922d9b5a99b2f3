"""Explanations of predictions and measures of how far to trust them."""

from protorynet.explain.audit import audit_model
from protorynet.explain.audit_corpus import LabelledDocuments
from protorynet.explain.automaton import Automaton, Edge, Pattern, State
from protorynet.explain.documents import explain_documents
from protorynet.explain.evaluation import Evaluation, Measure
from protorynet.explain.explanation import (
    Explanation,
    Rationale,
    SentenceExplanation,
    WordEffect,
)
from protorynet.explain.faithfulness import evaluate_model
from protorynet.explain.findings import Audit, Finding
from protorynet.explain.judging import Judge, choose_judge, encoder_judge, tfidf_judge
from protorynet.explain.pretrained import Encode, pretrained_encode
from protorynet.explain.rationale import explain_match, explain_matches, explain_words
from protorynet.explain.summarising import class_place, learn_automaton

__all__ = [
    "Audit",
    "Automaton",
    "Edge",
    "Encode",
    "Evaluation",
    "Explanation",
    "Finding",
    "Judge",
    "LabelledDocuments",
    "Measure",
    "Pattern",
    "Rationale",
    "SentenceExplanation",
    "State",
    "WordEffect",
    "audit_model",
    "choose_judge",
    "class_place",
    "encoder_judge",
    "evaluate_model",
    "explain_documents",
    "explain_match",
    "explain_matches",
    "explain_words",
    "learn_automaton",
    "pretrained_encode",
    "tfidf_judge",
]
