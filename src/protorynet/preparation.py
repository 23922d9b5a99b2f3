"""From documents to sentences and their embeddings."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from typing import Any, NamedTuple

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
    TokenEncoder,
    Tokens,
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

    def find_new() -> Iterator[tuple[_Window, dict[str, int]]]:
        """Yield the sentences that no window before had, and where they stand in theirs."""
        is_wanted = True
        # Asked here: another process must not touch the GPU.
        tokenize = encoder.tokenize if isinstance(encoder, TokenEncoder) else None
        read = partial(_read_window, splitter, _counter(encoder), tokenize, words)
        for window in map_in_processes(read, windows):
            part = window.sentences
            parts.append(part)
            is_wanted = is_wanted and (on_empty == "skip" or bool(part.filled.all()))
            rows = {text: row for row, text in enumerate(part.texts) if text not in position}
            if is_wanted and rows:
                position.update(zip(rows, count(len(position))))
                yield window, rows
            advance(part.n_documents)

    def encode(new: tuple[_Window, dict[str, int]]) -> NDArray[np.float32]:
        window, rows = new
        reader: Any = encoder
        if window.tokens is not None:
            reader = _Tokenized(reader, window.tokens, rows)
        vectors = encode_corpus(reader, list(rows), cache=cache).vectors
        return np.hstack([vectors, window.word_logits[list(rows.values())]])

    with progress_bar("Encoding", len(documents), enabled=progress) as advance:
        vectors = list(map_ahead(encode, find_new()))
    sentences = join_sentences(parts, on_empty=on_empty)
    if not position:
        return sentences, encode_corpus(encoder, sentences.texts, cache=cache, progress=progress)
    index = np.array([position[text] for text in sentences.texts], dtype=np.int64)
    return sentences, Embeddings(np.concatenate(vectors), index)


class _Window(NamedTuple):
    """What is known of the sentences of some documents before they are encoded."""

    sentences: Sentences
    word_logits: NDArray[np.float32]  # of each sentence, (n, C)
    tokens: Tokens | None  # of each sentence, where the encoder can be given them


def _read_window(
    splitter: Splitter,
    counter: TokenCounter | None,
    tokenize: Callable[[Sequence[str]], Tokens] | None,
    words: WordWeights | None,
    texts: list[str],
) -> _Window:
    """Split texts, and find the words and tokens of their sentences."""
    sentences = split_documents(texts, splitter=splitter, counter=counter, on_empty="skip")
    word_logits = np.empty((len(sentences), 0), np.float32)
    if words is not None:
        word_logits = words.read(sentences.texts)
    return _Window(sentences, word_logits, None if tokenize is None else tokenize(sentences.texts))


class _Tokenized:
    """An encoder with the tokens of sentences, which it then need not look for."""

    def __init__(self, encoder: TokenEncoder, tokens: Tokens, rows: dict[str, int]) -> None:
        self.name, self.is_on_gpu = encoder.name, getattr(encoder, "is_on_gpu", False)
        self._encoder, self._tokens, self._rows = encoder, tokens, rows

    @property
    def fingerprint(self) -> str:
        return self._encoder.fingerprint

    def encode(self, sentences: list[str]) -> NDArray[np.float32]:
        numbers = np.array([self._rows[text] for text in sentences], np.int64)
        return self._encoder.encode_tokens(self._tokens.take(numbers))


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
