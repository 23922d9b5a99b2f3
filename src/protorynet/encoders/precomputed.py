"""Embeddings that were computed elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.encoders.embeddings import Embeddings
from protorynet.errors import InputError

__all__ = ["stack_sequences"]


def stack_sequences(sequences: Sequence[NDArray[Any]]) -> tuple[Embeddings, NDArray[np.int64]]:
    """Return the embeddings of documents given as arrays, and each document's length.

    Parameters
    ----------
    sequences
        One array of shape (sentences, components) per document.

    Examples
    --------
    >>> embeddings, lengths = stack_sequences([np.ones((2, 3)), np.zeros((1, 3))])
    >>> embeddings.vectors.shape, lengths.tolist()
    ((3, 3), [2, 1])
    """
    if len(sequences) == 0:
        raise InputError("no sequences were given; one array per document was expected.")
    arrays: list[NDArray[np.float32]] = []
    for index, sequence in enumerate(sequences):
        array = _sequence(index, sequence)
        if arrays and array.shape[1] != arrays[0].shape[1]:
            raise InputError(
                f"sequence {index} has {array.shape[1]} components per sentence, but sequence 0 "
                f"has {arrays[0].shape[1]}; all should come from one encoder."
            )
        arrays.append(array)
    vectors = np.concatenate(arrays)
    lengths = np.array([len(array) for array in arrays], dtype=np.int64)
    return Embeddings(vectors, np.arange(len(vectors), dtype=np.int64)), lengths


def _sequence(index: int, sequence: NDArray[Any]) -> NDArray[np.float32]:
    try:
        array = np.asarray(sequence)
    except (TypeError, ValueError) as error:
        raise InputError(f"sequence {index} is not an array of numbers: {error}") from None
    if array.dtype.kind not in "fiub":
        raise InputError(
            f"sequence {index} holds values of type {array.dtype}; numbers were expected."
        )
    if array.ndim != 2:
        raise InputError(
            f"sequence {index} has shape {array.shape}; (sentences, components) was expected."
        )
    if 0 in array.shape:
        raise InputError(
            f"sequence {index} has shape {array.shape}, so it is empty; leave the document out."
        )
    with np.errstate(over="ignore"):
        result = array.astype(np.float32)
    if not np.isfinite(result).all():
        raise InputError(f"sequence {index} holds values that are not finite float32 numbers.")
    return result
