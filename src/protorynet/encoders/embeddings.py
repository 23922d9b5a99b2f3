"""What an encoder offers, and the embeddings of a corpus, each distinct sentence stored once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from protorynet.data import TokenCounter
from protorynet.errors import EncoderError, InputError
from protorynet.progress import Advance, progress_bar
from protorynet.threads import count_threads

if TYPE_CHECKING:
    from protorynet.encoders.embedding_cache import EmbeddingCache
    from protorynet.encoders.sentence_tokenizer import Tokens

# What an interrupt may lose, and the steps in which the bar moves: enough work for each thread,
# and for a GPU.
SENTENCES_PER_SEGMENT = 4_096
SENTENCES_PER_STEP, SENTENCES_PER_GPU_STEP = 512, 16_384


@runtime_checkable
class Encoder(Protocol):
    """The whole contract a user's own encoder must meet; plain attributes serve as properties.

    Examples
    --------
    >>> class LengthEncoder:
    ...     name = "length"
    ...     fingerprint = "length-1"
    ...
    ...     def encode(self, sentences):
    ...         return np.array([[len(text)] for text in sentences], dtype=np.float32)
    >>> isinstance(LengthEncoder(), Encoder)
    True
    """

    @property
    def name(self) -> str:
        """What people call the encoder, and what `load_encoder` may find it by."""

    @property
    def fingerprint(self) -> str:
        """A text that changes whenever the vectors would change."""

    def encode(self, sentences: list[str]) -> NDArray[np.float32]:
        """Return one vector per sentence, each of the same width."""


@runtime_checkable
class WindowedEncoder(Encoder, TokenCounter, Protocol):
    """An encoder that knows how much text it can read at once."""


@runtime_checkable
class TokenEncoder(Encoder, Protocol):
    """An encoder that can be given tokens in place of sentences."""

    def tokenize(self, sentences: Sequence[str]) -> Tokens:
        """Return the token ids of each sentence; another process may do that."""

    def encode_tokens(self, tokens: Tokens) -> NDArray[np.float32]:
        """Return one vector per sentence, of what `tokenize` returned."""


@dataclass(frozen=True)
class Embeddings:
    """One float32 vector per distinct sentence, and the index into these of each sentence."""

    vectors: NDArray[np.float32]
    index: NDArray[np.int64]


def encode_corpus(
    encoder: Encoder,
    texts: Sequence[str],
    *,
    cache: EmbeddingCache | None = None,
    progress: bool = False,
) -> Embeddings:
    """Return the embeddings of sentences; repeated ones share a vector.

    The cache is asked first and keeps what is new, unless the encoder says that it `is_quick`.
    """
    position: dict[str, int] = {}
    index = np.array([position.setdefault(text, len(position)) for text in texts], dtype=np.int64)
    sentences = list(position)
    if not sentences:
        width = int(getattr(encoder, "dimension", 0))
        return Embeddings(np.empty((0, width), dtype=np.float32), index)
    found = np.zeros(len(sentences), dtype=np.bool_)
    known = np.empty((0, 0), dtype=np.float32)
    if getattr(encoder, "is_quick", False):
        cache = None
    if cache is not None:
        found, known = cache.get(encoder, sentences)
    missing = np.flatnonzero(~found)
    with progress_bar(f"Encoding {len(missing)} sentences", len(missing), enabled=progress) as bar:
        fresh = _encode_missing(encoder, [sentences[number] for number in missing], cache, bar)
    if len(known) and len(fresh) and known.shape[1] != fresh.shape[1]:
        raise EncoderError(
            f"the encoder {encoder.name!r} returned {fresh.shape[1]} components per sentence, but "
            f"{known.shape[1]} are cached under its fingerprint; give it a new fingerprint."
        )
    width = (fresh if len(fresh) else known).shape[1]
    vectors = np.empty((len(sentences), width), dtype=np.float32)
    vectors[found] = known.reshape(-1, width)
    vectors[missing] = fresh.reshape(-1, width)
    return Embeddings(vectors, index)


def stack_sequences(sequences: Sequence[NDArray[Any]]) -> tuple[Embeddings, NDArray[np.int64]]:
    """Return the embeddings of documents given as arrays of sentences, and their lengths."""
    if len(sequences) == 0:
        raise InputError("no sequences were given; one array per document was expected.")
    arrays: list[NDArray[np.float32]] = []
    for number, sequence in enumerate(sequences):
        array = _read_numbers(f"sequence {number} holds", sequence, InputError)
        if array.ndim != 2 or 0 in array.shape:
            raise InputError(
                f"sequence {number} has shape {array.shape}; (sentences, components), at least one "
                "of each, was expected."
            )
        if arrays and array.shape[1] != arrays[0].shape[1]:
            raise InputError(
                f"sequence {number} has {array.shape[1]} components per sentence, but sequence 0 "
                f"has {arrays[0].shape[1]}; all should come from one encoder."
            )
        arrays.append(array)
    vectors = np.concatenate(arrays)
    lengths = np.array([len(array) for array in arrays], dtype=np.int64)
    return Embeddings(vectors, np.arange(len(vectors), dtype=np.int64)), lengths


def _encode_missing(
    encoder: Encoder, sentences: list[str], cache: EmbeddingCache | None, advance: Advance
) -> NDArray[np.float32]:
    # Like lengths together need little padding; the longest first, so that the time left is
    # never guessed too short and a lack of memory shows at once.
    order = sorted(range(len(sentences)), key=lambda number: -len(sentences[number]))
    result = np.empty((0, 0), dtype=np.float32)
    is_on_gpu = getattr(encoder, "is_on_gpu", False)
    per_step = SENTENCES_PER_GPU_STEP if is_on_gpu else SENTENCES_PER_STEP * count_threads()
    per_segment = max(SENTENCES_PER_SEGMENT, per_step)
    for start in range(0, len(order), per_segment):
        chunk = order[start : start + per_segment]
        texts = [sentences[number] for number in chunk]
        parts: list[NDArray[np.float32]] = []
        for step in range(0, len(texts), per_step):
            some = texts[step : step + per_step]
            width = parts[0].shape[1] if parts else result.shape[1] or None
            parts.append(_check_answer(encoder, encoder.encode(some), len(some), width))
            advance(len(some))
        vectors = np.concatenate(parts)
        if not result.size:
            result = np.empty((len(sentences), vectors.shape[1]), dtype=np.float32)
        result[chunk] = vectors
        if cache is not None:
            cache.put(encoder, texts, vectors)
    return result


def _check_answer(
    encoder: Encoder, answer: Any, count: int, width: int | None
) -> NDArray[np.float32]:
    who = f"the encoder {encoder.name!r} returned"
    vectors = _read_numbers(who, answer, EncoderError)
    if vectors.ndim != 2 or len(vectors) != count or vectors.shape[1] == 0:
        raise EncoderError(
            f"{who} shape {vectors.shape} for {count} sentences; ({count}, d) was expected."
        )
    if width is not None and vectors.shape[1] != width:
        raise EncoderError(
            f"{who} {vectors.shape[1]} components per sentence after {width} for earlier ones."
        )
    return vectors


def _read_numbers(
    who: str, given: Any, error: type[EncoderError | InputError]
) -> NDArray[np.float32]:
    """Return finite numbers as float32; `who` begins the message of the error."""
    try:
        array = np.asarray(given)
    except (TypeError, ValueError, RuntimeError) as problem:
        raise error(f"{who} what is no array: {problem}") from None
    if array.dtype.kind not in "fiub":
        raise error(f"{who} values of type {array.dtype}; float32 was expected.")
    with np.errstate(over="ignore"):
        vectors = array.astype(np.float32, copy=False)
    if not np.isfinite(vectors).all():
        raise error(f"{who} values that are not finite float32 numbers.")
    return vectors
