"""Explanations of predictions and measures of how far to trust them."""

from protorynet.explain.documents import explain_documents
from protorynet.explain.evaluation import Evaluation, Measure
from protorynet.explain.explanation import Explanation, SentenceExplanation
from protorynet.explain.faithfulness import evaluate_model
from protorynet.explain.judging import Judge, encoder_judge, tfidf_judge
from protorynet.explain.pretrained import Encode, pretrained_encode

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
    "pretrained_encode",
    "tfidf_judge",
]
