"""Whether an exported model says what the model says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from protorynet.encoders import Encoder
from protorynet.errors import InputError
from protorynet.inference.opening import open_predictor
from protorynet.inference.predictor import Predictor, torch_model
from protorynet.model import Model

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
    predictor: Predictor, folder: Path, documents: Sequence[Any], labels: Any = None
) -> Comparison:
    """Let a model and its export read the same documents.

    Parameters
    ----------
    predictor
        The model, computed by torch.
    folder
        Its export.
    documents
        Texts, or arrays of vectors where there is no encoder.
    labels
        Their right labels, if known.
    """
    from protorynet.inference.encoder_graph import tokenizer_of

    model, encoder = torch_model(predictor), predictor.encoder
    own = encoder if tokenizer_of(encoder) is None else None
    expected = Predictor(predictor.backend, encoder, cache=False).read(documents)
    if not len(expected.lengths):
        raise InputError("there are no documents with a sentence to compare by.")
    given = open_predictor(folder, encoder=own, cache=False).read(documents)
    if not np.array_equal(given.lengths, expected.lengths):
        raise InputError("the exported model splits the documents into other sentences.")
    right = None if labels is None else model.labels.encode(labels)[expected.filled]
    share = model.labels.share_equal
    return Comparison(
        n_documents=len(expected.lengths),
        same_labels=share(expected.probabilities, given.probabilities),
        same_prototypes=float((given.columns == expected.columns).mean()),
        largest_difference=float(np.abs(given.probabilities - expected.probabilities).max()),
        accuracy=None if right is None else share(expected.probabilities, right),
        exported_accuracy=None if right is None else share(given.probabilities, right),
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
