"""Splitting documents into sentences, with their places in the original text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from protorynet.data.sentence_spans import (
    Span,
    TokenCounter,
    fit_to_window,
    paper_reading,
    paper_spans,
    sentencex_spans,
)
from protorynet.errors import EmptyDocumentError, InputError

__all__ = [
    "OnEmpty",
    "Sentences",
    "Splitter",
    "document_list",
    "sequence_sentences",
    "sequence_text",
    "split_documents",
]

Splitter = Literal["sentencex", "paper"]
OnEmpty = Literal["error", "skip"]


@dataclass(frozen=True)
class Sentences:
    """All sentences of a list of documents, in reading order.

    Parameters
    ----------
    texts
        What the encoder reads, one string per sentence.
    starts, ends
        Character offsets of each sentence in its original document.
    documents
        Index of each sentence's document; never decreasing.
    n_documents
        Number of documents. One without sentences has no index in `documents`.
    """

    texts: tuple[str, ...]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    documents: NDArray[np.int64]
    n_documents: int

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of sentences of each document."""
        return np.bincount(self.documents, minlength=self.n_documents).astype(np.int64)

    @property
    def filled(self) -> NDArray[np.bool_]:
        """Which documents hold a sentence."""
        return self.lengths > 0

    def without_empty(self) -> Sentences:
        """Renumber the documents so that those without a sentence are gone."""
        filled = self.filled
        if filled.all():
            return self
        number = np.cumsum(filled) - 1
        return replace(self, documents=number[self.documents], n_documents=int(filled.sum()))


def split_documents(
    texts: Sequence[str],
    *,
    splitter: Splitter = "sentencex",
    counter: TokenCounter | None = None,
    on_empty: OnEmpty = "error",
) -> Sentences:
    """Split every document into sentences.

    Newlines and ``<br />`` tags end a sentence with either splitter, and belong to none.

    Parameters
    ----------
    texts
        The documents.
    splitter
        ``"sentencex"`` knows abbreviations, numbers and quotations, and keeps the sentences as
        they are written. ``"paper"`` ends a sentence at every '.', '?' and '!', and gives the
        encoder lower-case text without punctuation.
    counter
        The encoder's window; sentences that do not fit are cut, at a comma or a space if possible.
    on_empty
        What to do with a document that holds no sentence: raise, or leave it without sentences.

    Returns
    -------
    Sentences
        The sentences in reading order.

    Raises
    ------
    EmptyDocumentError
        If a document holds no sentence and `on_empty` is ``"error"``.

    Examples
    --------
    >>> split_documents(["Good food. Slow service!", "Mr. Hill was kind."]).texts
    ('Good food.', 'Slow service!', 'Mr. Hill was kind.')
    >>> split_documents(["Good food. Slow service!"], splitter="paper").texts
    ('good food', 'slow service')
    """
    _check_choice("splitter", splitter, get_args(Splitter))
    _check_choice("on_empty", on_empty, get_args(OnEmpty))
    documents = _check_texts(texts)
    find, reading = _RULES[splitter]
    spans = [
        Span(row, start, end)
        for row, document in enumerate(documents)
        for start, end in find(document)
    ]
    if counter is not None:
        spans = fit_to_window(spans, documents, counter, reading)
    sentences = _collect(spans, documents, reading)
    if on_empty == "error" and (sentences.lengths == 0).any():
        raise EmptyDocumentError(np.flatnonzero(sentences.lengths == 0).tolist())
    return sentences


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise InputError(f"{name}={value!r} is not one of {listed}.")


def _as_written(sentence: str) -> str:
    return sentence


_RULES: dict[Splitter, tuple[Callable[[str], list[tuple[int, int]]], Callable[[str], str]]] = {
    "sentencex": (sentencex_spans, _as_written),
    "paper": (paper_spans, paper_reading),
}


def _check_texts(texts: Sequence[str]) -> list[str]:
    if isinstance(texts, str | bytes):
        raise InputError(
            f"texts is a single {type(texts).__name__}; expected a list of documents. "
            "Did you mean [text]?"
        )
    documents = list(texts)
    for row, document in enumerate(documents):
        if not isinstance(document, str):
            raise InputError(
                f"the document in row {row} (counted from 0) is {_shorten(document)} of type "
                f"{type(document).__name__}; expected str. Remove the row or convert it to text."
            )
        if not document.isascii():
            _check_unicode(document, row)
    return documents


def _shorten(value: object) -> str:
    written = repr(value)
    return written if len(written) <= 40 else written[:39] + "…"


def _check_unicode(document: str, row: int) -> None:
    try:
        document.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"the document in row {row} (counted from 0) holds half a Unicode character "
            f"({document[error.start]!a}) at position {error.start}. Repair it with "
            "text.encode('utf-8', 'replace').decode()."
        ) from None


def _collect(spans: list[Span], documents: list[str], reading: Callable[[str], str]) -> Sentences:
    read = [(reading(documents[span.document][span.start : span.end]), span) for span in spans]
    # A piece cut from a long sentence may be punctuation only, of which the paper reads nothing.
    read = [(text, span) for text, span in read if text]
    places = np.array([span for _, span in read], dtype=np.int64).reshape(-1, 3)
    return Sentences(
        texts=tuple(text for text, _ in read),
        starts=places[:, 1].copy(),
        ends=places[:, 2].copy(),
        documents=places[:, 0].copy(),
        n_documents=len(documents),
    )


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
