"""From documents to sentences and their embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from protorynet.data import OnEmpty, Sentences, Splitter, sequence_sentences, split_documents
from protorynet.encoders import (
    EmbeddingCache,
    Embeddings,
    Encoder,
    WindowedEncoder,
    encode_corpus,
    stack_sequences,
)

__all__ = ["prepare_documents"]


def prepare_documents(
    documents: Sequence[Any],
    encoder: Encoder | None,
    *,
    splitter: Splitter = "sentencex",
    on_empty: OnEmpty = "error",
    cache: EmbeddingCache | None = None,
    progress: bool = False,
) -> tuple[Sentences, Embeddings]:
    """Split documents into sentences that fit the encoder, and encode these.

    Parameters
    ----------
    documents
        Texts; sequences of vectors where there is no encoder.
    encoder
        The encoder; None for vectors that the user gives.
    splitter, on_empty
        How texts are split, and what to do with one that holds no sentence.
    cache, progress
        Where embeddings are looked up and kept, and whether to show a progress bar.
    """
    if encoder is None:
        embeddings, lengths = stack_sequences(documents)
        return sequence_sentences(lengths), embeddings
    sentences = split_documents(
        documents,
        splitter=splitter,
        counter=encoder if isinstance(encoder, WindowedEncoder) else None,
        on_empty=on_empty,
    )
    if not len(sentences):
        return sentences, Embeddings(np.zeros((0, 1), np.float32), np.zeros(0, np.int64))
    return sentences, encode_corpus(encoder, sentences.texts, cache=cache, progress=progress)
