"""What rivals that read sentence embeddings have in common: how texts become vectors."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from protorynet.data import Splitter
from protorynet.encoders import EmbeddingCache, Embeddings, Encoder, choose_device, load_encoder
from protorynet.errors import InputError
from protorynet.preparation import prepare_documents
from protorynet.settings import Settings
from protorynet.training import Prepared, prepare, tunable_encoder
from protorynet_lab.baselines.contract import Rival

__all__ = ["SentenceRival"]

_READ_AT_ONCE = 4_096  # documents


class SentenceRival(Rival):
    """A rival that reads the embeddings of a document's sentences.

    As for ProtoryNet, documents without a sentence are left out before others are held out; they
    are given the class frequencies.
    """

    encoder: str | Path | Encoder
    splitter: Splitter
    device: str
    cache: bool
    verbose: bool

    def _prepare(
        self, texts: Sequence[str], targets: NDArray[np.float32], settings: Settings
    ) -> tuple[Prepared, NDArray[np.bool_]]:
        """Split, encode and centre; return the documents, and which of them hold a sentence."""
        given = load_encoder(self.encoder, device=self.device)
        is_full = settings.encoder_training == "full"
        self.encoder_ = copy.deepcopy(tunable_encoder(given)) if is_full else given
        cache = EmbeddingCache() if self.cache else None
        sentences, embeddings = prepare_documents(
            texts,
            given,
            splitter=self.splitter,
            on_empty="skip",
            cache=cache,
            progress=self.verbose,
        )
        # What a fine-tuned encoder gives is read once; keeping it would only push others out.
        self._cache = None if is_full else cache
        filled = sentences.filled
        if not filled.any():
            raise InputError("there are no documents with a sentence to train on.")
        self._frequencies = targets[filled].mean(axis=0).astype(np.float32)
        prepared = prepare(
            sentences.without_empty(),
            embeddings,
            targets[filled],
            self._code(),
            settings=settings,
            seed=self._seed(),
            tunable=tunable_encoder(self.encoder_) if is_full else None,
            device=str(choose_device(self.device)),
        )
        self.centring_ = prepared.centring
        return prepared, filled

    def _probabilities(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._mapped(texts, self._frequencies, self._read)

    @abstractmethod
    def _read(self, embeddings: Embeddings, lengths: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the probabilities of documents of so many sentences each, none without any."""

    def _mapped(
        self,
        texts: Sequence[str],
        otherwise: NDArray[np.float32],
        read: Callable[[Embeddings, NDArray[np.int64]], NDArray[np.float32]],
    ) -> NDArray[np.float32]:
        """Return one row per document: what `read` gives, or the same for all without a sentence.

        Parameters
        ----------
        texts
            The documents.
        otherwise
            The row of a document without a sentence.
        read
            Maps documents, given as the embeddings and the number of their sentences, to rows.
        """
        result = np.tile(otherwise, (len(texts), 1))
        for start in range(0, len(texts), _READ_AT_ONCE):
            sentences, embeddings = prepare_documents(
                texts[start : start + _READ_AT_ONCE],
                self.encoder_,
                splitter=self.splitter,
                on_empty="skip",
                cache=self._cache,
            )
            if len(sentences):
                filled = np.flatnonzero(sentences.filled)
                result[start + filled] = read(embeddings, sentences.lengths[filled])
        return result
