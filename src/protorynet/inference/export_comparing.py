"""Whether an exported model says what the model says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from protorynet.encoders import Encoder
from protorynet.errors import InputError
from protorynet.inference import OnnxScorer
from protorynet.labels import LabelCode
from protorynet.model import Model
from protorynet.preparation import prepare_documents

if TYPE_CHECKING:
    from protorynet.classifier import ProtoryNetClassifier

__all__ = ["Comparison", "compare", "trial_documents"]

_SENTENCES = (
    "The room was clean and the staff could not have been kinder.",
    "Nothing worked, and nobody seemed to care!",
    "We arrived on Tuesday at 7:30 p.m., two hours late.",
    "Would I recommend it?",
    "Ein schöner Abend — naïve café, 東京, 100 %.",
    "ok",
    "It is neither good nor bad, but it is " + "very, " * 60 + "long.",
)
_TRIALS = 64  # documents of vectors tried where there is no encoder


@dataclass(frozen=True)
class Comparison:
    """How an exported model differs from the model it comes from.

    Parameters
    ----------
    n_documents
        How many documents both have read.
    same_labels
        Share of them that get the same label, or the same labels.
    same_prototypes
        Share of their sentences that get the same prototype.
    largest_difference
        The greatest difference between two probabilities.
    accuracy, exported_accuracy
        Accuracy of either one, where the right labels are known.
    """

    n_documents: int
    same_labels: float
    same_prototypes: float
    largest_difference: float
    accuracy: float | None = None
    exported_accuracy: float | None = None


def compare(
    classifier: ProtoryNetClassifier, folder: Path, documents: Sequence[Any], labels: Any = None
) -> Comparison:
    """Let a model and its export read the same documents.

    Parameters
    ----------
    classifier
        A fitted or loaded classifier.
    folder
        Its export.
    documents
        Texts, or arrays of vectors where there is no encoder.
    labels
        Their right labels, if known.
    """
    from protorynet.inference.encoder_graph import tokenizer_of

    model, encoder = classifier.model_, classifier.encoder_
    own = encoder if tokenizer_of(encoder) is None else None
    scorer = OnnxScorer.load(folder, encoder=own, cache=False)
    sentences, embeddings = prepare_documents(
        documents, encoder, splitter=model.splitter, on_empty="skip"
    )
    filled = sentences.filled
    if not filled.any():
        raise InputError("there are no documents with a sentence to compare by.")
    trajectory = model.trace(embeddings, sentences.lengths[filled])
    expected = model.read(trajectory).probabilities
    scores = scorer.score(documents)
    if not np.array_equal(scores.lengths, trajectory.lengths):
        raise InputError("the exported model splits the documents into other sentences.")
    right = None if labels is None else model.labels.encode(labels)[filled]
    return Comparison(
        n_documents=len(expected),
        same_labels=_share(model.labels, expected, scores.probabilities),
        same_prototypes=float((scores.columns == trajectory.columns).mean()),
        largest_difference=float(np.abs(scores.probabilities - expected).max()),
        accuracy=None if right is None else _share(model.labels, expected, right),
        exported_accuracy=None
        if right is None
        else _share(model.labels, scores.probabilities, right),
    )


def trial_documents(model: Model, encoder: Encoder | None) -> list[Any]:
    """Return documents that try every prototype, and sentences of many kinds and lengths."""
    if encoder is None:
        draw = np.random.default_rng(0)
        mean = model.centring.mean.cpu().numpy()
        spread = float(model.centring.scale) or 1.0
        lengths = draw.integers(1, 12, _TRIALS)
        return [
            (mean + spread * draw.normal(size=(length, len(mean)))).astype(np.float32)
            for length in lengths
        ]
    sentences = [*_SENTENCES, *(prototype.sentence for prototype in model.prototypes)]
    together = ["\n".join(sentences[at::7]) for at in range(7)]
    return [*sentences, *together, "\n".join(sentences)]


def _share(labels: LabelCode, ones: NDArray[np.float32], others: NDArray[np.float32]) -> float:
    if labels.task == "multiclass":
        return float((ones.argmax(axis=1) == others.argmax(axis=1)).mean())
    return float(((ones >= 0.5) == (others >= 0.5)).all(axis=1).mean())
