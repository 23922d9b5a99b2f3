"""Scoring texts batch by batch, whatever computes the scores and whatever brings the batches."""

from protorynet.scoring.batch import BatchScorer, prediction_names
from protorynet.scoring.opening import (
    Runtime,
    is_exported,
    model_digest,
    open_exported,
    open_scorer,
)
from protorynet.scoring.parts import PartsFolder
from protorynet.scoring.running import Written, predict_to_file, predict_to_stream
from protorynet.scoring.scores import ClassifierScorer, Scorer, Scores
from protorynet.scoring.writing import ENDINGS

__all__ = [
    "ENDINGS",
    "BatchScorer",
    "ClassifierScorer",
    "PartsFolder",
    "Runtime",
    "Scorer",
    "Scores",
    "Written",
    "is_exported",
    "model_digest",
    "open_exported",
    "open_scorer",
    "predict_to_file",
    "predict_to_stream",
    "prediction_names",
]
