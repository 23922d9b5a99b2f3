"""Documents as users pass them: lists, arrays and Series of texts, or sequences of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.data.sentences import Sentences
from protorynet.errors import InputError

__all__ = ["document_list", "sequence_sentences", "sequence_text"]


def document_list(documents: Any, *, are_texts: bool = True) -> list[Any]:
    """Return the documents as a list, refusing what is plainly not one.

    Examples
    --------
    >>> document_list(("One.", "Two."))
    ['One.', 'Two.']
    """
    if isinstance(documents, str):
        raise InputError("expected a sequence of texts, but got one text; wrap it in a list.")
    if hasattr(documents, "columns") and hasattr(documents, "iloc"):
        raise InputError(
            f"expected one column of texts, but got a table with columns "
            f"{', '.join(map(str, documents.columns))}; choose one, as in table['text']."
        )
    if getattr(documents, "ndim", 1) == 2 and are_texts:
        if documents.shape[1] != 1:
            raise InputError(f"expected a flat sequence of texts, but got shape {documents.shape}.")
        documents = documents[:, 0]
    try:
        return list(documents)
    except TypeError:
        kind = type(documents).__name__
        raise InputError(f"expected a sequence of texts, but got {kind}.") from None


def sequence_text(length: int) -> str:
    r"""Return a text that stands for a sequence of steps that are not text.

    Examples
    --------
    >>> sequence_text(2)
    'step 1\nstep 2'
    """
    return "\n".join(f"step {step}" for step in range(1, length + 1))


def sequence_sentences(lengths: NDArray[np.int64]) -> Sentences:
    """Describe the steps of sequences that are not text; offsets are those in `sequence_text`."""
    texts, starts, ends = [], [], []
    for document, length in enumerate(lengths.tolist()):
        at = 0
        for step, name in enumerate(sequence_text(length).split("\n"), start=1):
            texts.append(f"sequence {document}, step {step}")
            starts.append(at)
            ends.append(at + len(name))
            at += len(name) + 1
    return Sentences(
        tuple(texts),
        np.array(starts, np.int64),
        np.array(ends, np.int64),
        np.repeat(np.arange(len(lengths)), lengths).astype(np.int64),
        len(lengths),
    )
