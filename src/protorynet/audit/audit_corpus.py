"""The documents of an audit: both splits together, as words and as the model reads them."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.audit.findings import quote
from protorynet.errors import list_names
from protorynet.explain import LabelledDocuments, documents_at
from protorynet.figures import Figures, measure_figures
from protorynet.model import Model
from protorynet.reading import Reading

# People write formulas of eight words ("one of the worst films I have ever seen"), seldom of
# twelve: of film reviews one sentence in a thousand, of management replies one in five. So many
# words together, shared by three documents, are a formula at least, or more than one.
FORMULA_WORDS, PASSAGE_WORDS = 8, 12

# Scripts written without spaces: every character counts as a word.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(f"[{_UNSPACED}]|[^\\W_{_UNSPACED}]+")
_COPIED_DOCUMENTS = 3
_HASH_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class WordSequences:
    """The words of a list of texts, one after another, as numbers; equal words have equal ones."""

    words: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each text starts among the words; one more than there are texts."""
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)

    @property
    def owners(self) -> NDArray[np.int64]:
        """The text that each word belongs to."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def keys(self) -> list[bytes]:
        """Return a key per text; texts of the same words, and only these, share one."""
        packed = self.words.tobytes()
        ends = (8 * self.offsets).tolist()
        return [packed[a:b] for a, b in pairwise(ends)]

    def joined(self, lengths: NDArray[np.int64]) -> WordSequences:
        """Return longer texts, each made of so many of these."""
        starts = np.concatenate([[0], np.cumsum(lengths)])
        return WordSequences(self.words, np.diff(self.offsets[starts]))


def read_words(texts: Sequence[str]) -> WordSequences:
    """Read the words of texts, without case, punctuation and spacing."""
    number: dict[str, int] = {}
    read: dict[str, NDArray[np.int64]] = {}
    for text in texts:
        if text not in read:
            found = _WORD.findall(text.casefold())
            numbers = [number.setdefault(word, len(number)) for word in found]
            read[text] = np.array(numbers, np.int64)
    pieces = [read[text] for text in texts]
    words = np.concatenate(pieces) if pieces else np.zeros(0, np.int64)
    return WordSequences(words, np.array([len(p) for p in pieces], np.int64))


def shingles(texts: WordSequences, size: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return a hash of every run of so many words within a text, and where each run starts."""
    count = len(texts.words) - size + 1
    if count <= 0:
        return np.zeros(0, np.uint64), np.zeros(0, np.int64)
    random = np.random.default_rng(0)
    values = random.integers(0, 2**63, texts.words.max() + 1, dtype=np.uint64)[texts.words]
    hashes = np.zeros(count, np.uint64)
    for at in range(size):
        hashes = hashes * _HASH_MULTIPLIER + values[at : at + count]
    owners = texts.owners
    starts = np.flatnonzero(owners[:count] == owners[size - 1 :])
    return hashes[starts], starts


def holders(
    hashes: NDArray[np.uint64], documents: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return a number for each hash, and the distinct pairs of such a number and a document."""
    import pandas as pd

    numbers = pd.factorize(hashes)[0]
    n_documents = int(documents.max(initial=0)) + 1
    return (numbers, *np.divmod(pd.unique(numbers * n_documents + documents), n_documents))


def find_copied(
    texts: WordSequences, lengths: NDArray[np.int64], counted: NDArray[np.bool_], size: int
) -> NDArray[np.bool_]:
    """Say which texts, `lengths` a document, lie mostly in runs of `size` words of 3 documents."""
    documents = texts.joined(lengths)
    hashes, starts = shingles(documents, size)
    owners = documents.owners[starts]
    kept = counted[owners]
    hashes, starts, owners = hashes[kept], starts[kept], owners[kept]
    numbers, held, _ = holders(hashes, owners)
    copied = starts[np.bincount(held)[numbers] >= _COPIED_DOCUMENTS]
    edges = np.bincount(copied, minlength=len(texts.words) + 1)
    edges -= np.bincount(copied + size, minlength=len(edges))
    is_covered = np.cumsum(edges)[: len(texts.words)] > 0
    covered = np.bincount(texts.owners, weights=is_covered, minlength=len(texts.lengths))
    return np.asarray((2 * covered >= texts.lengths) & (texts.lengths > 0))


@dataclass(frozen=True)
class AuditCorpus:
    """All documents that hold a sentence, those of training first, with what the model says.

    `rows` is where each document stands in its table, `n_empty` counts the documents without a
    sentence, in training and in test.
    """

    model: Model
    texts: list[str]
    rows: NDArray[np.int64]
    is_test: NDArray[np.bool_]
    sentences: list[str]
    documents: NDArray[np.int64]
    reading: Reading
    truth: NDArray[np.bool_]
    n_empty: tuple[int, ...]

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
        return _number([key or text for key, text in zip(keys, self.texts, strict=True)])

    @cached_property
    def same_sentence(self) -> NDArray[np.int64]:
        """A number per sentence; sentences of the same words share one, questions apart."""
        # "Really?" does not say what "Really" says.
        pairs = zip(self.words.keys(), self.sentences, strict=True)
        return _number([(key or text, text.endswith("?")) for key, text in pairs])

    @cached_property
    def is_first(self) -> NDArray[np.bool_]:
        """Which documents are the first of their words, so that copies do not count twice."""
        first = np.zeros(len(self.texts), np.bool_)
        first[np.unique(self.same_document, return_index=True)[1]] = True
        return first

    @cached_property
    def formulas(self) -> NDArray[np.bool_]:
        """Which sentences are runs of eight words that three documents share, or more."""
        return find_copied(self.words, self.reading.lengths, self.is_first, FORMULA_WORDS)

    @cached_property
    def passages(self) -> NDArray[np.bool_]:
        """Which sentences are part of longer passages that three documents share, or more."""
        return find_copied(self.words, self.reading.lengths, self.is_first, PASSAGE_WORDS)

    @cached_property
    def share_from_end(self) -> NDArray[np.float64]:
        """Where each sentence stands: 0 for the last of its document, 1 for the first."""
        behind = self.reading.offsets[1:][self.documents] - 1 - np.arange(len(self.documents))
        return behind / np.maximum(self.reading.lengths[self.documents] - 1, 1)

    @cached_property
    def predicted(self) -> NDArray[np.bool_]:
        """Which classes the model gives each document."""
        return self.model.labels.decide(self.reading.probabilities)

    @cached_property
    def held_out_figures(self) -> Figures:
        """How right the model is on the test documents."""
        said = self.reading.probabilities[self.is_test]
        truth = self.truth[self.is_test].astype(np.float32)
        return measure_figures(self.model.labels, truth, said)

    def of_split(self, is_test: bool) -> tuple[list[str], NDArray[np.int64], NDArray[np.float32]]:
        """Return the sentences of a split, how many each document has, and their targets."""
        chosen = self.is_test == is_test
        sentences = np.array(self.sentences, object)[chosen[self.documents]].tolist()
        return sentences, self.reading.lengths[chosen], self.truth[chosen].astype(np.float32)

    @property
    def in_test(self) -> NDArray[np.bool_]:
        """Which sentences are of test documents."""
        return self.is_test[self.documents]

    @property
    def train_sentences(self) -> list[str]:
        """The sentences of training documents, which come first."""
        return self.sentences[: int((~self.in_test).sum())]

    @property
    def right(self) -> NDArray[np.bool_]:
        """Which documents have all their classes right."""
        return np.asarray((self.predicted == self.truth).all(axis=1))

    def most_copied(self, sentences: NDArray[np.int64], most: int) -> list[tuple[int, int]]:
        """Return where those sentences stand that make the most text together, and how often."""
        _, first, counts = np.unique(
            self.same_sentence[sentences], return_index=True, return_counts=True
        )
        order = np.argsort(-counts * self.words.lengths[sentences[first]], kind="stable")[:most]
        return [(int(sentences[first[k]]), int(counts[k])) for k in order]

    def example(self, document: int) -> dict[str, Any]:
        """Return where a document stands and how it begins, as evidence."""
        return {
            "split": "test" if self.is_test[document] else "train",
            "row": int(self.rows[document]),
            "text": quote(self.texts[document]),
        }

    def list_ids(self, positions: list[int]) -> str:
        """Return the ids of some prototypes for reading."""
        return list_names(sorted(self.model.prototypes[each].id for each in positions), 10)

    def label(self, document: int) -> str:
        """Return a document's label in words."""
        return self.model.labels.name_of(self.truth[document].astype(np.float32))


def read_corpus(model: Model, train: LabelledDocuments, test: LabelledDocuments) -> AuditCorpus:
    """Let the model read both splits."""
    splits = (train, test)
    parts = [documents_at(split, np.flatnonzero(split.sentences.filled)) for split in splits]
    matches = [model.match(part.embeddings, part.sentences.lengths) for part in parts]
    reading = model.read(Reading.join(matches))
    return AuditCorpus(
        model=model,
        texts=[text for part in parts for text in part.texts],
        rows=np.concatenate([part.rows for part in parts]),
        is_test=np.repeat([False, True], [len(part.texts) for part in parts]),
        sentences=[text for part in parts for text in part.sentences.texts],
        documents=reading.documents,
        reading=reading,
        truth=np.concatenate([part.targets > 0.5 for part in parts]),
        n_empty=tuple(len(s.texts) - len(p.texts) for s, p in zip(splits, parts, strict=True)),
    )


def _number(keys: Sequence[Hashable]) -> NDArray[np.int64]:
    number: dict[Hashable, int] = {}
    return np.array([number.setdefault(key, len(number)) for key in keys], np.int64)
