"""A trained model together with how it reads the documents it was trained on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from protorynet.model import Model
from protorynet.network import match_sentences
from protorynet.reading import Reading
from protorynet.training.corpus import Corpus
from protorynet.training.sources import SentenceSource

__all__ = ["Fitted", "evenly_chosen", "read_back"]

# An automaton of a few states learns nothing from more.
_MOST_DOCUMENTS = 5_000
_MOST_SENTENCES = 100_000


@dataclass(frozen=True)
class Fitted:
    """A trained model and trajectories to summarise it from.

    Parameters
    ----------
    model
        The model.
    train, held_out
        Some of the documents that it learned from, and of those held out from it.
    """

    model: Model
    train: Reading
    held_out: Reading


def read_back(model: Model, source: SentenceSource, train: Corpus, held_out: Corpus) -> Fitted:
    """Let a model that was just trained match the sentences of its own documents.

    Parameters
    ----------
    model
        The model.
    source
        Where the embeddings come from, its training over.
    train, held_out
        The documents; where they are many, some of them are read.
    """
    parts = []
    for corpus in (train, held_out):
        chosen = evenly_chosen(corpus.lengths.cpu().numpy())
        some = corpus if len(chosen) == len(corpus) else corpus.subset(chosen)
        distinct, places = torch.unique(some.rows, return_inverse=True)
        parts.append(
            match_sentences(model.network, source.all_rows(distinct), places, some.lengths)
        )
    return Fitted(model, *parts)


def evenly_chosen(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return so many documents of these lengths that reading them is quick, spread over all.

    Examples
    --------
    >>> evenly_chosen(np.array([3, 1, 4]))
    array([0, 1, 2])
    >>> len(evenly_chosen(np.ones(20_000, np.int64)))
    5000
    """
    count, sentences = len(lengths), int(lengths.sum())
    most = min(_MOST_DOCUMENTS, count * _MOST_SENTENCES // max(sentences, 1))
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, max(most, 1)).astype(np.int64))
