"""Explanations of predictions and measures of how far to trust them."""

from protorynet.explain.documents import explain_documents
from protorynet.explain.evaluation import Evaluation, Measure
from protorynet.explain.explanation import Explanation, SentenceExplanation
from protorynet.explain.faithfulness import (
    Encode,
    Judge,
    encoder_judge,
    evaluate_model,
    tfidf_judge,
)

__all__ = [
    "Encode",
    "Evaluation",
    "Explanation",
    "Judge",
    "Measure",
    "SentenceExplanation",
    "encoder_judge",
    "evaluate_model",
    "explain_documents",
    "tfidf_judge",
]
