"""The ceiling: the same encoder and reader with no prototypes in between.

Sentence embeddings go straight into the LSTM. Everything else is as for ProtoryNet: the sources of
embeddings, the batches, the optimiser and its schedule, the documents held out, early stopping.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from protorynet.baselines.sentence_reader import read_vectors, train_sentence_reader
from protorynet.encoders import (
    EmbeddingCache,
    Embeddings,
    Encoder,
    WindowedEncoder,
    choose_device,
    encode_corpus,
    load_encoder,
)
from protorynet.errors import InputError
from protorynet.labels import LabelCode, check_labels, learn_labels
from protorynet.network import Adapter, Centring, Reader
from protorynet.settings import Settings
from protorynet.text import Sentences, Splitter, split_documents
from protorynet.training import tunable_encoder
from protorynet.training.fitting import prepare
from protorynet.training.run import Run
from protorynet.training.sources import AdaptedSource

__all__ = ["BlackBox", "fit_black_box"]

_READ_AT_ONCE = 4_096  # documents


@dataclass(frozen=True)
class BlackBox:
    """Sentence embeddings read by an LSTM.

    Parameters
    ----------
    encoder, splitter, cache
        How texts become vectors.
    centring, adapter, reader
        The path from the encoder's vectors to probabilities.
    labels
        The classes.
    class_frequencies
        Share of each class in training, predicted for a document that holds no sentence.
    validation_accuracy, seconds
        Accuracy on the documents held out; time taken by preparation and training.
    """

    encoder: Encoder
    splitter: Splitter
    cache: EmbeddingCache | None
    centring: Centring
    adapter: Adapter | None
    reader: Reader
    labels: LabelCode
    class_frequencies: NDArray[np.float32]
    validation_accuracy: float
    seconds: dict[str, float]

    def predict_proba(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the probability of each class for each document."""
        parts = [
            self._read(texts[start : start + _READ_AT_ONCE])
            for start in range(0, len(texts), _READ_AT_ONCE)
        ]
        return np.concatenate([self.class_frequencies[None][:0], *parts])

    def predict(self, texts: Sequence[str]) -> NDArray[Any]:
        """Return the most probable class of each document."""
        return self.labels.decode(self.predict_proba(texts))

    def _read(self, texts: Sequence[str]) -> NDArray[np.float32]:
        sentences, embeddings = _embedded(texts, self.encoder, self.splitter, self.cache)
        result = np.tile(self.class_frequencies, (len(texts), 1))
        if len(sentences):
            vectors = self._embed(embeddings.vectors)
            lengths = sentences.lengths[sentences.filled]
            result[sentences.filled] = read_vectors(
                self.reader, vectors[torch.from_numpy(embeddings.rows)], lengths, self.labels
            )
        return result

    @torch.inference_mode()
    def _embed(self, vectors: NDArray[np.float32]) -> Tensor:
        base = self.centring(torch.from_numpy(vectors).to(self.centring.mean.device))
        embedded: Tensor = base if self.adapter is None else self.adapter(base)
        return embedded.cpu()


def fit_black_box(
    texts: Sequence[str],
    labels: Any,
    *,
    encoder: str | Path | Encoder = "minilm",
    settings: Settings | None = None,
    seed: int = 0,
    device: str = "auto",
    splitter: Splitter = "sentencex",
    cache: EmbeddingCache | None = None,
    progress: bool = False,
) -> BlackBox:
    """Train the reader, and what `encoder_training` says, on sentence embeddings alone.

    Of the settings those of the reader, of the optimiser and of stopping count. ProtoryNet trains
    in two stages; the black box has as many epochs in one.

    Parameters
    ----------
    texts, labels
        The documents and their labels.
    encoder
        A name, a folder or an encoder. With ``encoder_training="full"`` a copy of it is trained;
        the one given stays as it is.
    settings
        Hyper-parameters; by default the package's.
    seed
        Seed; it also chooses the documents held out, the same as ProtoryNet's.
    device, splitter
        As for `ProtoryNetClassifier`.
    cache
        Where embeddings are looked up and kept.
    progress
        Show progress bars.

    Examples
    --------
    >>> texts = ["I loved it. Great film!", "Awful. I hated every minute."] * 10
    >>> box = fit_black_box(texts, ["good", "bad"] * 10, device="cpu")
    >>> box.predict(["What a great film."]).tolist()
    ['good']
    """
    start = time.perf_counter()
    settings = settings or Settings()
    check_labels(labels, len(texts))
    code = learn_labels(labels)
    targets = code.encode(labels)
    given = load_encoder(encoder, device=device)
    is_full = settings.encoder_training == "full"
    used = copy.deepcopy(tunable_encoder(given)) if is_full else given
    sentences, embeddings = _embedded(texts, given, splitter, cache, progress=progress)
    filled = sentences.filled
    if not filled.any():
        raise InputError("there are no documents with a sentence to train on.")
    prepared = prepare(
        sentences.without_empty(),
        embeddings,
        targets[filled],
        code,
        settings=settings,
        seed=seed,
        tunable=tunable_encoder(used) if is_full else None,
        device=str(choose_device(device)),
    )
    run = Run(
        train=prepared.train,
        validation=prepared.validation,
        candidates=prepared.train.rows[:0],
        source=prepared.source,
        settings=settings,
        task=code.task,
        seed=seed,
        progress=progress,
    )
    ready = time.perf_counter()
    reader, score = train_sentence_reader(run, code)
    source = prepared.source
    return BlackBox(
        encoder=used,
        splitter=splitter,
        # What a fine-tuned encoder gives is read once; keeping it would only push others out.
        cache=None if is_full else cache,
        centring=prepared.centring,
        adapter=source.adapter if isinstance(source, AdaptedSource) else None,
        reader=reader.eval().requires_grad_(False),
        labels=code,
        class_frequencies=targets[filled].mean(axis=0).astype(np.float32),
        validation_accuracy=score.accuracy,
        seconds={"prepare": ready - start, "train": time.perf_counter() - ready},
    )


def _embedded(
    texts: Sequence[str],
    encoder: Encoder,
    splitter: Splitter,
    cache: EmbeddingCache | None,
    *,
    progress: bool = False,
) -> tuple[Sentences, Embeddings]:
    """Split and encode documents; those without a sentence stay without."""
    sentences = split_documents(
        texts,
        splitter=splitter,
        counter=encoder if isinstance(encoder, WindowedEncoder) else None,
        on_empty="skip",
    )
    return sentences, encode_corpus(encoder, sentences.texts, cache=cache, progress=progress)
