"""Splitting documents into sentences, with their places in the original text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np

from protorynet.data.fitting import Span, TokenCounter, fit_to_window
from protorynet.data.segmenting import paper_reading, paper_spans, sentencex_spans
from protorynet.data.sentences import Sentences
from protorynet.errors import EmptyDocumentError, InputError

__all__ = ["OnEmpty", "Splitter", "TokenCounter", "split_documents"]

Splitter = Literal["sentencex", "paper"]
OnEmpty = Literal["error", "skip"]


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
    _check_choice("on_empty", on_empty, ("error", "skip"))
    documents = _checked(texts)
    find, reading = _RULES[splitter]
    spans = [
        Span(row, start, end)
        for row, document in enumerate(documents)
        for start, end in find(document)
    ]
    if counter is not None:
        spans = fit_to_window(spans, documents, counter, reading)
    sentences = _collected(spans, documents, reading)
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


def _checked(texts: Sequence[str]) -> list[str]:
    if isinstance(texts, str | bytes):
        raise InputError(
            f"texts is a single {type(texts).__name__}; expected a list of documents. "
            "Did you mean [text]?"
        )
    documents = list(texts)
    for row, document in enumerate(documents):
        if not isinstance(document, str):
            raise InputError(
                f"the document in row {row} (counted from 0) is {_shown(document)} of type "
                f"{type(document).__name__}; expected str. Remove the row or convert it to text."
            )
        if not document.isascii():
            _check_unicode(document, row)
    return documents


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else shown[:39] + "…"


def _check_unicode(document: str, row: int) -> None:
    try:
        document.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"the document in row {row} (counted from 0) holds half a Unicode character "
            f"({document[error.start]!a}) at position {error.start}. Repair it with "
            "text.encode('utf-8', 'replace').decode()."
        ) from None


def _collected(spans: list[Span], documents: list[str], reading: Callable[[str], str]) -> Sentences:
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
