"""From documents to sentences and their embeddings."""

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


def prepare_documents(
    documents: Sequence[Any],
    encoder: Encoder | None,
    *,
    splitter: Splitter = Splitter(),
    on_empty: OnEmpty = "error",
    cache: EmbeddingCache | None = None,
    progress: bool = False,
) -> tuple[Sentences, Embeddings]:
    """Split documents into sentences that fit the encoder, and encode these.

    Without an encoder the documents are sequences of vectors. `splitter` and `on_empty` say how
    texts are split, and what to do with one that holds no sentence.
    """
    if encoder is None:
        return prepare_vectors(documents)
    sentences = split_for(encoder, documents, splitter=splitter, on_empty=on_empty)
    return sentences, encode_sentences(encoder, sentences, cache=cache, progress=progress)


def prepare_vectors(documents: Sequence[Any]) -> tuple[Sentences, Embeddings]:
    """Take sequences of vectors for documents whose sentences are encoded already."""
    embeddings, lengths = stack_sequences(documents)
    return sequence_sentences(lengths), embeddings


def split_for(
    encoder: Encoder, texts: Sequence[str], *, splitter: Splitter, on_empty: OnEmpty
) -> Sentences:
    """Split texts into sentences that fit an encoder."""
    counter = encoder if isinstance(encoder, WindowedEncoder) else None
    return split_documents(texts, splitter=splitter, counter=counter, on_empty=on_empty)


def encode_sentences(
    encoder: Encoder, sentences: Sentences, *, cache: EmbeddingCache | None, progress: bool
) -> Embeddings:
    """Encode sentences; there may be none."""
    if not len(sentences):
        return Embeddings(np.zeros((0, 1), np.float32), np.zeros(0, np.int64))
    return encode_corpus(encoder, sentences.texts, cache=cache, progress=progress)
