"""Whether other seeds find the same prototypes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from protorynet.data import split_documents
from protorynet.encoders import EmbeddingCache, Encoder, encode_corpus

__all__ = ["corpus_mean", "matched_share", "stability"]

_LIKE = 0.6  # cosine from which two sentences count as counterparts
_SAMPLED_DOCUMENTS = 1_000


def stability(
    encoder: Encoder, sets_of_sentences: Sequence[Sequence[str]], mean: NDArray[np.float32]
) -> float:
    """Return the share of a model's prototypes that another seed's model has as well.

    Parameters
    ----------
    encoder
        The encoder as it was before training.
    sets_of_sentences
        The prototypes' sentences of two models or more.
    mean
        Mean vector of the corpus: raw cosines lie in a narrow band, those around it do not.

    Returns
    -------
    The mean over all pairs of models.
    """
    vectors = [_unit(encoder.encode(list(sentences)) - mean) for sentences in sets_of_sentences]
    return float(np.mean([matched_share(a, b) for a, b in combinations(vectors, 2)]))


def matched_share(first: NDArray[np.float32], second: NDArray[np.float32]) -> float:
    """Return the share of vectors with a counterpart in the other set, each used only once.

    Parameters
    ----------
    first, second
        Vectors of length one, in rows.

    Examples
    --------
    >>> matched_share(np.eye(3, dtype=np.float32), np.eye(3, dtype=np.float32)[:1])
    0.666...
    """
    from scipy.optimize import linear_sum_assignment

    cosines = first @ second.T
    rows, columns = linear_sum_assignment(cosines, maximize=True)
    matched = int((cosines[rows, columns] >= _LIKE).sum())
    return (matched / len(first) + matched / len(second)) / 2


def corpus_mean(encoder: Encoder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the mean vector of the sentences of the first documents."""
    sentences = split_documents(texts[:_SAMPLED_DOCUMENTS], on_empty="skip")
    vectors = encode_corpus(encoder, sentences.texts, cache=EmbeddingCache()).vectors
    mean: NDArray[np.float32] = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    return mean


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True).astype(np.float32)
    unit: NDArray[np.float32] = vectors / np.maximum(lengths, np.float32(1e-12))
    return unit
