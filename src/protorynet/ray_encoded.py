"""Training here on vectors that were made by many workers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.classifier import ProtoryNetClassifier
from protorynet.encoders import EmbeddingCache, Encoder, WindowedEncoder
from protorynet.inference import encode_with_ray

__all__ = ["fit_on_encoded"]


def fit_on_encoded(
    classifier: ProtoryNetClassifier,
    texts: list[str],
    labels: Any,
    *,
    sentences: Sequence[str],
    encoder: Encoder,
    address: str | None,
    checkpoint: Path | None,
    resume: bool,
) -> ProtoryNetClassifier:
    """Encode the sentences with Ray, as far as no cache knows them, then train as usual.

    Parameters
    ----------
    classifier, texts, labels, address, checkpoint, resume
        As for `fit_with_ray`.
    sentences
        The sentences of the texts.
    encoder
        The encoder; workers load it by its name.
    """
    distinct = list(dict.fromkeys(sentences))
    if getattr(encoder, "is_quick", False):
        distinct = []  # sending them would take longer than encoding them here
    elif classifier.cache:
        found, _ = EmbeddingCache().get(encoder, distinct)
        distinct = [text for text, known in zip(distinct, found, strict=True) if not known]
    vectors = encode_with_ray(
        encoder.name,
        distinct,
        fingerprint=encoder.fingerprint,
        device=classifier.device,
        address=address,
        progress=classifier.verbose,
    )
    given = classifier.encoder
    try:
        classifier.set_params(encoder=_Encoded(encoder, distinct, vectors))
        classifier.fit(texts, labels, checkpoint=checkpoint, resume=resume)
    finally:
        classifier.set_params(encoder=given)
    classifier._install(classifier.model_, encoder, tuned=None)
    return classifier


class _Encoded:
    """An encoder that knows some sentences by heart."""

    def __init__(self, encoder: Encoder, texts: list[str], vectors: NDArray[np.float32]) -> None:
        self.name, self.fingerprint = encoder.name, encoder.fingerprint
        self.is_quick = getattr(encoder, "is_quick", False)
        if isinstance(encoder, WindowedEncoder):
            self.window, self.count_tokens = encoder.window, encoder.count_tokens
        self._encoder = encoder
        self._rows = {text: row for row, text in enumerate(texts)}
        self._vectors = vectors

    def encode(self, sentences: list[str]) -> NDArray[np.float32]:
        rows = [self._rows.get(sentence, -1) for sentence in sentences]
        if -1 in rows:
            return self._encoder.encode(sentences)
        return self._vectors[rows]
