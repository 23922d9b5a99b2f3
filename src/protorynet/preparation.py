"""From documents to sentences and their embeddings."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.data import (
    OnEmpty,
    Sentences,
    Splitter,
    TokenCounter,
    check_texts,
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
from protorynet.threads import map_ahead, map_in_processes
from protorynet.words import WordWeights

DOCUMENTS_PER_WINDOW = 256  # split while a GPU reads the ones before


def prepare_documents(
    documents: Sequence[Any],
    encoder: Encoder | None,
    *,
    splitter: Splitter = Splitter(),
    on_empty: OnEmpty = "error",
    cache: EmbeddingCache | None = None,
    progress: bool = False,
    words: WordWeights | None = None,
) -> tuple[Sentences, Embeddings]:
    """Split documents into sentences that fit the encoder, and encode these.

    Without an encoder the documents are sequences of vectors. `splitter` and `on_empty` say how
    texts are split, and what to do with one that holds no sentence. What `words` tell of a
    sentence, if they are given, stands beside its vector.
    """
    if encoder is None:
        return prepare_vectors(documents)
    if getattr(encoder, "is_on_gpu", False) and len(documents) > DOCUMENTS_PER_WINDOW:
        return _prepare_overlapping(
            documents,
            encoder,
            splitter=splitter,
            on_empty=on_empty,
            cache=cache,
            progress=progress,
            words=words,
        )
    sentences = split_for(encoder, documents, splitter=splitter, on_empty=on_empty)
    found = encode_corpus(encoder, sentences.texts, cache=cache, progress=progress)
    return sentences, add_words(sentences, found, words)


def _prepare_overlapping(
    documents: Sequence[Any],
    encoder: Encoder,
    *,
    splitter: Splitter,
    on_empty: OnEmpty,
    cache: EmbeddingCache | None,
    progress: bool,
    words: WordWeights | None,
) -> tuple[Sentences, Embeddings]:
    """Do the same window by window: other cores split the next ones while a GPU reads.

    Without a GPU encoding takes all cores, and an empty document should not show at the end only.
    """
    texts = check_texts(documents)
    starts = range(0, len(texts), DOCUMENTS_PER_WINDOW)
    windows = [texts[at : at + DOCUMENTS_PER_WINDOW] for at in starts]
    position: dict[str, int] = {}
    parts: list[Sentences] = []

    def find_new() -> Iterator[tuple[list[str], NDArray[np.float32]]]:
        """Yield the sentences that no window before had, and what their words tell."""
        is_wanted = True
        split = partial(_split_window, splitter, _counter(encoder), words)
        for part, told in map_in_processes(split, windows):
            parts.append(part)
            is_wanted = is_wanted and (on_empty == "skip" or bool(part.filled.all()))
            rows = {text: row for row, text in enumerate(part.texts) if text not in position}
            if is_wanted and rows:
                position.update(zip(rows, count(len(position))))
                yield list(rows), told[list(rows.values())]
            advance(part.n_documents)

    def encode(new: tuple[list[str], NDArray[np.float32]]) -> NDArray[np.float32]:
        return np.hstack([encode_corpus(encoder, new[0], cache=cache).vectors, new[1]])

    with progress_bar("Encoding", len(documents), enabled=progress) as advance:
        vectors = list(map_ahead(encode, find_new()))
    sentences = join_sentences(parts, on_empty=on_empty)
    if not position:
        return sentences, encode_corpus(encoder, sentences.texts, cache=cache, progress=progress)
    index = np.array([position[text] for text in sentences.texts], dtype=np.int64)
    return sentences, Embeddings(np.concatenate(vectors), index)


def _split_window(
    splitter: Splitter, counter: TokenCounter | None, words: WordWeights | None, texts: list[str]
) -> tuple[Sentences, NDArray[np.float32]]:
    """Split texts, and return what words tell of each sentence, (n, C)."""
    sentences = split_documents(texts, splitter=splitter, counter=counter, on_empty="skip")
    if words is None:
        return sentences, np.empty((len(sentences), 0), np.float32)
    return sentences, words.read(sentences.texts)


def add_words(sentences: Sentences, found: Embeddings, words: WordWeights | None) -> Embeddings:
    """Put what words tell of the distinct sentences beside their vectors."""
    if words is None or not len(sentences):
        return found
    distinct = list(dict.fromkeys(sentences.texts))
    return Embeddings(words.beside(found.vectors, distinct), found.index)


def prepare_vectors(documents: Sequence[Any]) -> tuple[Sentences, Embeddings]:
    """Take sequences of vectors for documents whose sentences are encoded already."""
    embeddings, lengths = stack_sequences(documents)
    return sequence_sentences(lengths), embeddings


def split_for(
    encoder: Encoder, texts: Sequence[str], *, splitter: Splitter, on_empty: OnEmpty = "skip"
) -> Sentences:
    """Split texts into sentences that fit an encoder."""
    counter = _counter(encoder)
    return split_documents(texts, splitter=splitter, counter=counter, on_empty=on_empty)


def _counter(encoder: Encoder) -> TokenCounter | None:
    return encoder if isinstance(encoder, WindowedEncoder) else None
