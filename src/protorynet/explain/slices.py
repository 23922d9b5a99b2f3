"""Where mistakes gather: by length, class, prototype and word."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protorynet.explain.examples import LabelledDocuments
from protorynet.model import Model
from protorynet.prototypes import marking_words
from protorynet.reading import Reading

_BEYOND_CHANCE = 2.0  # standard errors
_MOST_PROTOTYPES = 5
_Cut = tuple[str, str, dict[str, str | int], NDArray[np.bool_]]


@dataclass(frozen=True)
class Slice:
    """Some of the documents, and how many of them are predicted wrongly.

    The `kind` is ``"length"``, ``"class"``, ``"prototype"`` or ``"word"``, and `holds` says which
    documents they are: ``{"min_sentences": 1, "max_sentences": 3}``, ``{"truth": "good"}``,
    ``{"prototype": 7}`` or ``{"word": "parking"}``.
    """

    kind: str
    name: str
    holds: dict[str, str | int]
    n_documents: int
    n_wrong: int


def find_slices(model: Model, documents: LabelledDocuments, reading: Reading) -> tuple[Slice, ...]:
    """Count the mistakes by length and class, and by what they hold more often than others do.

    No document is empty, and the reading is the model's of them.
    """
    truth = documents.targets > 0.5
    wrong = (model.labels.decide(reading.probabilities) != truth).any(axis=1)
    cuts = [*_by_length(reading.lengths), *_by_prototype(model, reading, wrong)]
    for name, inside in zip(model.labels.names, truth.T, strict=True):
        cuts.append(("class", name, {"truth": name}, inside))
    for word in marking_words(documents.texts, wrong.astype(np.int64), 2)[1]:
        inside = np.array([has_word(text, word) for text in documents.texts])
        cuts.append(("word", word, {"word": word}, inside))
    return tuple(
        Slice(kind, name, holds, int(inside.sum()), int(wrong[inside].sum()))
        for kind, name, holds, inside in cuts
    )


def has_word(text: str, word: str) -> bool:
    """Say whether a text holds a whole word, in any case."""
    return re.search(rf"\b{re.escape(word)}\b", text, re.IGNORECASE) is not None


def _by_length(lengths: NDArray[np.int64]) -> Iterator[_Cut]:
    ends = np.unique(np.quantile(lengths, (1 / 3, 2 / 3, 1), method="higher")).tolist()
    for below, high in itertools.pairwise([0, *ends]):
        inside = (lengths > below) & (lengths <= high)
        low = int(lengths[inside].min())
        name = f"{low} to {high} sentences" if low < high else f"{high} sentences"
        yield "length", name, {"min_sentences": low, "max_sentences": int(high)}, inside


def _by_prototype(model: Model, reading: Reading, wrong: NDArray[np.bool_]) -> Iterator[_Cut]:
    """Cut by the prototypes whose documents are wrong more often than all, beyond chance."""
    holding = np.zeros((len(reading.lengths), len(model.prototypes)), np.bool_)
    holding[np.repeat(np.arange(len(holding)), reading.lengths), reading.prototypes] = True
    counts, rate = holding.sum(axis=0), wrong.mean()
    error = np.sqrt(np.maximum(counts * rate * (1 - rate), 1e-9))
    excess = (wrong.astype(np.int64) @ holding - counts * rate) / error
    for position in np.argsort(-excess, kind="stable")[:_MOST_PROTOTYPES].tolist():
        if excess[position] >= _BEYOND_CHANCE:
            item = model.prototypes[position]
            yield "prototype", item.caption, {"prototype": item.id}, holding[:, position]
