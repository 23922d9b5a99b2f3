"""What the rivals that read documents word by word have in common."""

from __future__ import annotations

import os
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch
from torch import Tensor

from protorynet.encoders import choose_device
from protorynet.errors import SettingsError
from protorynet.training import Corpus, derive_seed
from protorynet_lab.baselines.contract import Part, Rival
from protorynet_lab.baselines.sequence_encoder import SequenceEncoder
from protorynet_lab.baselines.sequence_training import WordRun
from protorynet_lab.baselines.word_vectors import WordVectors, read_word_vectors
from protorynet_lab.baselines.words import Vocabulary, learn_vocabulary, split_words

__all__ = ["Ranges", "SequenceRival"]

_LEARNT_DIMENSIONS = 100  # of word vectors where none are given
_SPREAD = 0.5  # of learnt word vectors at the start, about that of GloVe's
# Whole numbers where the bounds are whole.
Ranges = dict[str, tuple[float, float]]
_RANGES: Ranges = {
    "max_vocabulary": (1, 10_000_000),
    "max_length": (1, 100_000),
    "hidden_size": (1, 65_536),
    "epochs": (1, 100_000),
    "patience": (1, 100_000),
    "batch_size": (1, 1_000_000),
    "learning_rate": (1e-8, 10.0),
}


class SequenceRival(Rival):
    """A rival built on word vectors and an LSTM.

    A subclass stores the settings below in its constructor.
    """

    vectors: str | os.PathLike[str] | None
    max_vocabulary: int
    max_length: int
    hidden_size: int
    epochs: int
    patience: int
    batch_size: int
    learning_rate: float
    device: str
    verbose: bool

    def _start(self, train: Part, validation: Part) -> tuple[WordRun, SequenceEncoder]:
        """Learn the vocabulary; return the documents as words, and an untrained encoder."""
        self._check_settings()
        device = choose_device(self.device)
        documents = self._words(train.texts)
        found = self._pretrained(documents)
        self.vocabulary_ = learn_vocabulary(
            documents, self.max_vocabulary, known=found.rows if found else ()
        )
        run = WordRun(
            train=self._corpus(documents, train.targets),
            validation=self._corpus(self._words(validation.texts), validation.targets),
            batch_size=self.batch_size,
            device=device,
            seed=self._seed(),
            progress=bool(self.verbose),
        )
        torch.manual_seed(derive_seed(run.seed, "initialise"))
        encoder = SequenceEncoder(_initial_vectors(self.vocabulary_, found), self.hidden_size)
        return run, encoder.to(device)

    def _ranges(self) -> Ranges:
        """Return the least and the greatest value of every setting that is a number."""
        return _RANGES

    def _check_settings(self) -> None:
        for name, (low, high) in self._ranges().items():
            value = getattr(self, name)
            kind: Any = Integral if isinstance(low, int) else Real
            if isinstance(value, bool) or not isinstance(value, kind) or not low <= value <= high:
                what = "whole number" if kind is Integral else "number"
                raise SettingsError(
                    f"{name}={value!r} should be a {what} between {low:g} and {high:g}."
                )

    def _words(self, texts: Sequence[str]) -> list[list[str]]:
        return [split_words(text, self.max_length) for text in texts]

    def _pretrained(self, documents: Sequence[Sequence[str]]) -> WordVectors | None:
        if self.vectors is None:
            return None
        return read_word_vectors(self.vectors, {word for words in documents for word in words})

    def _corpus(self, documents: Sequence[Sequence[str]], targets: Any = None) -> Corpus:
        classes = np.eye(len(self.labels_.classes), dtype=np.float32)
        of_each = np.zeros(len(documents), np.int64) if targets is None else targets
        return self.vocabulary_.rows(documents, classes[of_each])


def _initial_vectors(vocabulary: Vocabulary, found: WordVectors | None) -> Tensor:
    """Return vectors of every row: those found as they are, the others drawn as wide."""
    if found is None:
        return torch.randn(len(vocabulary), _LEARNT_DIMENSIONS) * _SPREAD
    vectors = torch.randn(len(vocabulary), found.vectors.shape[1]) * float(found.vectors.std())
    rows = [row for row, word in enumerate(vocabulary.words, start=1) if word in found.rows]
    places = [found.rows[vocabulary.words[row - 1]] for row in rows]
    vectors[rows] = torch.from_numpy(found.vectors[places])
    return vectors
