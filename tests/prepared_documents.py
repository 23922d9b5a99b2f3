"""Labelled documents, prepared for a classifier as the commands prepare them."""

from typing import Any

import numpy as np

from protorynet import ProtoryNetClassifier
from protorynet.data import sequence_text
from protorynet.explain import LabelledDocuments


def prepare(
    clf: ProtoryNetClassifier, documents: Any, labels: Any, first_row: int = 0
) -> LabelledDocuments:
    """Return texts, or sequences of vectors, some of which may be empty."""
    sentences, embeddings = clf.prepare(list(documents), on_empty="skip")
    texts = [each if isinstance(each, str) else sequence_text(len(each)) for each in documents]
    targets = clf.model_.labels.encode(labels)
    rows = first_row + np.arange(len(texts))
    return LabelledDocuments(texts, rows, sentences, embeddings, targets)
