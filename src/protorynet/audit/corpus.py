"""The documents of an audit: both splits in one row, as the model reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.audit.findings import quoted
from protorynet.audit.words import FORMULA, PASSAGE, WordSequences, copied_texts, read_words
from protorynet.explain import LabelledDocuments
from protorynet.model import Model
from protorynet.reading import Reading

__all__ = ["AuditCorpus", "read_corpus"]


@dataclass(frozen=True)
class AuditCorpus:
    """All documents that hold a sentence, those of training first, with what the model says.

    Parameters
    ----------
    model
        The model.
    texts, rows, is_test
        Each document's text, its row in the table and its split.
    sentences, documents
        All sentences, and the document of each.
    reading
        The model's matches and probabilities.
    truth
        Which classes each document has.
    n_empty
        Documents without a sentence, in training and in test.
    """

    model: Model
    texts: list[str]
    rows: NDArray[np.int64]
    is_test: NDArray[np.bool_]
    sentences: list[str]
    documents: NDArray[np.int64]
    reading: Reading
    truth: NDArray[np.bool_]
    n_empty: tuple[int, int]

    @cached_property
    def words(self) -> WordSequences:
        """The words of each sentence."""
        return read_words(self.sentences)

    @cached_property
    def document_words(self) -> WordSequences:
        """The words of each document."""
        return self.words.joined(self.reading.lengths)

    @cached_property
    def same_document(self) -> NDArray[np.int64]:
        """A number per document; documents of the same words share one."""
        keys = self.document_words.keys()
        return _numbered([key or text for key, text in zip(keys, self.texts, strict=True)])

    @cached_property
    def same_sentence(self) -> NDArray[np.int64]:
        """A number per sentence; sentences of the same words share one, questions apart."""
        # "Really?" does not say what "Really" says.
        return _numbered(
            [
                (key or text, text.endswith("?"))
                for key, text in zip(self.words.keys(), self.sentences, strict=True)
            ]
        )

    @cached_property
    def is_first(self) -> NDArray[np.bool_]:
        """Which documents are the first of their words, so that copies do not count twice."""
        first = np.zeros(len(self.texts), np.bool_)
        first[np.unique(self.same_document, return_index=True)[1]] = True
        return first

    @cached_property
    def formulas(self) -> NDArray[np.bool_]:
        """Which sentences are runs of eight words that three documents share, or more."""
        return copied_texts(self.words, self.reading.lengths, self.is_first, FORMULA)

    @cached_property
    def passages(self) -> NDArray[np.bool_]:
        """Which sentences are part of longer passages that three documents share, or more."""
        return copied_texts(self.words, self.reading.lengths, self.is_first, PASSAGE)

    @cached_property
    def places_from_end(self) -> NDArray[np.float64]:
        """Where each sentence stands: 0 for the last of its document, 1 for the first."""
        behind = self.reading.offsets[1:][self.documents] - 1 - np.arange(len(self.documents))
        return behind / np.maximum(self.reading.lengths[self.documents] - 1, 1)

    @cached_property
    def places_from_start(self) -> NDArray[np.float64]:
        """Where each sentence stands: 0 for the first of its document, 1 for the last."""
        before = np.arange(len(self.documents)) - self.reading.offsets[:-1][self.documents]
        return before / np.maximum(self.reading.lengths[self.documents] - 1, 1)

    @cached_property
    def predicted(self) -> NDArray[np.bool_]:
        """Which classes the model gives each document."""
        return self.model.labels.decide(self.reading.probabilities)

    @property
    def in_test(self) -> NDArray[np.bool_]:
        """Which sentences are of test documents."""
        return self.is_test[self.documents]

    @property
    def right(self) -> NDArray[np.bool_]:
        """Which documents have all their classes right."""
        right: NDArray[np.bool_] = (self.predicted == self.truth).all(axis=1)
        return right

    def most_copied(self, places: NDArray[np.int64], most: int) -> list[tuple[int, int]]:
        """Return where those sentences stand that make the most text together, and how often."""
        _, first, counts = np.unique(
            self.same_sentence[places], return_index=True, return_counts=True
        )
        order = np.argsort(-counts * self.words.lengths[places[first]], kind="stable")[:most]
        return [(int(places[first[k]]), int(counts[k])) for k in order]

    def example(self, document: int) -> dict[str, Any]:
        """Return where a document stands and how it begins, as evidence."""
        return {
            "split": "test" if self.is_test[document] else "train",
            "row": int(self.rows[document]),
            "text": quoted(self.texts[document]),
        }

    def label(self, document: int) -> str:
        """Return a document's label in words."""
        return self.model.labels.name_of(self.truth[document].astype(np.float32))


def read_corpus(model: Model, train: LabelledDocuments, test: LabelledDocuments) -> AuditCorpus:
    """Let the model read both splits."""
    splits = (train, test)
    filled = [split.sentences.filled for split in splits]
    parts = [split.sentences.without_empty() for split in splits]
    traced = [
        model.match(split.embeddings, part.lengths)
        for split, part in zip(splits, parts, strict=True)
    ]
    reading = model.read(_joined(traced))
    return AuditCorpus(
        model=model,
        texts=[
            text
            for split, full in zip(splits, filled, strict=True)
            for text, is_full in zip(split.texts, full, strict=True)
            if is_full
        ],
        rows=np.concatenate([s.rows[full] for s, full in zip(splits, filled, strict=True)]),
        is_test=np.repeat([False, True], [part.n_documents for part in parts]),
        sentences=[text for part in parts for text in part.texts],
        documents=np.repeat(np.arange(len(reading.lengths)), reading.lengths),
        reading=reading,
        truth=np.concatenate(
            [s.targets[full] > 0.5 for s, full in zip(splits, filled, strict=True)]
        ),
        n_empty=(int((~filled[0]).sum()), int((~filled[1]).sum())),
    )


def _joined(parts: list[Reading]) -> Reading:
    dense = [part.dense for part in parts if part.dense is not None]
    return Reading(
        np.concatenate([part.columns for part in parts]),
        np.concatenate([part.similarities for part in parts]),
        np.concatenate([part.runner_up for part in parts]),
        np.concatenate([part.runner_up_similarities for part in parts]),
        np.concatenate([part.lengths for part in parts]),
        dense=np.concatenate(dense) if dense else None,
    )


def _numbered(keys: Sequence[object]) -> NDArray[np.int64]:
    number: dict[object, int] = {}
    return np.array([number.setdefault(key, len(number)) for key in keys], np.int64)
