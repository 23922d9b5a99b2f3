"""Encoding all sentences of a corpus, each distinct one once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.encoders.cache import EmbeddingCache
from protorynet.encoders.embeddings import Embeddings
from protorynet.encoders.protocol import Encoder
from protorynet.errors import EncoderError
from protorynet.progress import Advance, progress_bar

__all__ = ["encode_corpus"]

# What an interrupt may lose, and the steps in which the bar moves.
_CHUNK = 4_096
_STEP = 512


def encode_corpus(
    encoder: Encoder,
    texts: Sequence[str],
    *,
    cache: EmbeddingCache | None = None,
    progress: bool = False,
) -> Embeddings:
    """Return the embeddings of sentences; repeated ones share a vector.

    Parameters
    ----------
    encoder
        Anything that meets the `Encoder` protocol.
    texts
        The sentences, repeats included.
    cache
        Where to look first and to keep what is new; not used for an encoder that says that it
        `is_quick`, as static ones do.
    progress
        Whether to show progress on standard error.

    Examples
    --------
    >>> from protorynet.encoders import load_encoder
    >>> embeddings = encode_corpus(load_encoder("minilm"), ["Good.", "Bad.", "Good."])
    >>> embeddings.vectors.shape, embeddings.rows.tolist()
    ((2, 384), [0, 1, 0])
    """
    position: dict[str, int] = {}
    rows = np.array([position.setdefault(text, len(position)) for text in texts], dtype=np.int64)
    sentences = list(position)
    if not sentences:
        width = int(getattr(encoder, "dimension", 0))
        return Embeddings(np.empty((0, width), dtype=np.float32), rows)
    found = np.zeros(len(sentences), dtype=np.bool_)
    known = np.empty((0, 0), dtype=np.float32)
    if getattr(encoder, "is_quick", False):
        cache = None
    if cache is not None:
        found, known = cache.get(encoder, sentences)
    missing = np.flatnonzero(~found)
    with progress_bar(f"Encoding {len(missing)} sentences", len(missing), enabled=progress) as bar:
        fresh = _encode_missing(encoder, [sentences[row] for row in missing], cache, bar)
    if len(known) and len(fresh) and known.shape[1] != fresh.shape[1]:
        raise EncoderError(
            f"the encoder {encoder.name!r} returned {fresh.shape[1]} components per sentence, but "
            f"{known.shape[1]} are cached under its fingerprint; give it a new fingerprint."
        )
    width = (fresh if len(fresh) else known).shape[1]
    vectors = np.empty((len(sentences), width), dtype=np.float32)
    vectors[found] = known.reshape(-1, width)
    vectors[missing] = fresh.reshape(-1, width)
    return Embeddings(vectors, rows)


def _encode_missing(
    encoder: Encoder, sentences: list[str], cache: EmbeddingCache | None, advance: Advance
) -> NDArray[np.float32]:
    # Like lengths together need little padding; the longest first, so that the time left is
    # never guessed too short and a lack of memory shows at once.
    order = sorted(range(len(sentences)), key=lambda row: -len(sentences[row]))
    result = np.empty((0, 0), dtype=np.float32)
    for start in range(0, len(order), _CHUNK):
        chunk = order[start : start + _CHUNK]
        texts = [sentences[row] for row in chunk]
        parts: list[NDArray[np.float32]] = []
        for step in range(0, len(texts), _STEP):
            some = texts[step : step + _STEP]
            width = parts[0].shape[1] if parts else result.shape[1] or None
            parts.append(_checked(encoder, encoder.encode(some), len(some), width))
            advance(len(some))
        vectors = np.concatenate(parts)
        if not result.size:
            result = np.empty((len(sentences), vectors.shape[1]), dtype=np.float32)
        result[chunk] = vectors
        if cache is not None:
            cache.put(encoder, texts, vectors)
    return result


def _checked(encoder: Encoder, result: Any, count: int, width: int | None) -> NDArray[np.float32]:
    """Return what an encoder gave as float32, or say what is wrong with it."""
    who = f"the encoder {encoder.name!r} returned"
    try:
        array = np.asarray(result)
    except (TypeError, ValueError, RuntimeError) as error:
        raise EncoderError(f"{who} no array: {error}") from None
    if array.dtype.kind not in "fiub":
        raise EncoderError(f"{who} values of type {array.dtype}; float32 was expected.")
    if array.ndim != 2 or len(array) != count or array.shape[1] == 0:
        raise EncoderError(
            f"{who} shape {array.shape} for {count} sentences; ({count}, d) was expected."
        )
    if width is not None and array.shape[1] != width:
        raise EncoderError(
            f"{who} {array.shape[1]} components per sentence after {width} for earlier ones."
        )
    with np.errstate(over="ignore"):
        vectors = array.astype(np.float32, copy=False)
    if not np.isfinite(vectors).all():
        raise EncoderError(f"{who} values that are not finite float32 numbers.")
    return vectors
