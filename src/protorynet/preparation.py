"""From documents to sentences and their embeddings."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from protorynet.data import (
    OnEmpty,
    Sentences,
    Splitter,
    join_sentences,
    sequence_sentences,
    split_documents,
)
from protorynet.encoders import (
    EmbeddingCache,
    Embeddings,
    Encoder,
    WindowedEncoder,
    encode_corpus,
    stack_sequences,
)
from protorynet.progress import progress_bar
from protorynet.threads import read_ahead

DOCUMENTS_PER_WINDOW = 512  # split while a GPU reads the ones before


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
    if getattr(encoder, "is_on_gpu", False) and len(documents) > DOCUMENTS_PER_WINDOW:
        return _prepare_overlapping(
            documents, encoder, splitter=splitter, on_empty=on_empty, cache=cache, progress=progress
        )
    sentences = split_for(encoder, documents, splitter=splitter, on_empty=on_empty)
    return sentences, encode_corpus(encoder, sentences.texts, cache=cache, progress=progress)


def _prepare_overlapping(
    documents: Sequence[Any],
    encoder: Encoder,
    *,
    splitter: Splitter,
    on_empty: OnEmpty,
    cache: EmbeddingCache | None,
    progress: bool,
) -> tuple[Sentences, Embeddings]:
    """Do the same window by window: the next one is split while the GPU reads this one.

    Without a GPU encoding takes all cores, and an empty document should not show at the end only.
    """
    windows = (
        split_for(encoder, documents[at : at + DOCUMENTS_PER_WINDOW], splitter=splitter)
        for at in range(0, len(documents), DOCUMENTS_PER_WINDOW)
    )
    position: dict[str, int] = {}
    parts, vectors = [], []
    is_wanted = True
    with progress_bar("Encoding", len(documents), enabled=progress) as advance:
        for part in read_ahead(windows):
            parts.append(part)
            is_wanted = is_wanted and (on_empty == "skip" or bool(part.filled.all()))
            fresh = [text for text in dict.fromkeys(part.texts) if text not in position]
            if is_wanted and fresh:
                vectors.append(encode_corpus(encoder, fresh, cache=cache).vectors)
                position |= zip(fresh, itertools.count(len(position)), strict=False)
            advance(part.n_documents)
    sentences = join_sentences(parts, on_empty=on_empty)
    if not position:
        return sentences, encode_corpus(encoder, sentences.texts, cache=cache, progress=progress)
    index = np.array([position[text] for text in sentences.texts], dtype=np.int64)
    return sentences, Embeddings(np.concatenate(vectors), index)


def prepare_vectors(documents: Sequence[Any]) -> tuple[Sentences, Embeddings]:
    """Take sequences of vectors for documents whose sentences are encoded already."""
    embeddings, lengths = stack_sequences(documents)
    return sequence_sentences(lengths), embeddings


def split_for(
    encoder: Encoder, texts: Sequence[str], *, splitter: Splitter, on_empty: OnEmpty = "skip"
) -> Sentences:
    """Split texts into sentences that fit an encoder."""
    counter = encoder if isinstance(encoder, WindowedEncoder) else None
    return split_documents(texts, splitter=splitter, counter=counter, on_empty=on_empty)
