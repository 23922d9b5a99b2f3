"""The ceiling: the same encoder and reader with no prototypes in between.

Sentence embeddings go straight into the LSTM. Everything else is as for ProtoryNet: the sources of
embeddings, the batches, the optimiser and its schedule, the documents held out, early stopping.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from protorynet.data import Splitter
from protorynet.encoders import Embeddings, Encoder
from protorynet.settings import Settings, load_settings
from protorynet.training import AdaptedSource, Run
from protorynet_lab.baselines.contract import Evidence
from protorynet_lab.baselines.leaving_out import leave_one_out
from protorynet_lab.baselines.sentence_reader import read_vectors, train_sentence_reader
from protorynet_lab.baselines.sentence_rival import SentenceRival

__all__ = ["BlackBoxClassifier"]


class BlackBoxClassifier(SentenceRival):
    """Sentence embeddings read by an LSTM.

    Of the settings those of the reader, of the optimiser and of stopping count. ProtoryNet trains
    in two stages; the black box has as many epochs in one. Several labels at once are welcome.

    Parameters
    ----------
    encoder
        A name, a folder or an encoder. With ``encoder_training="full"`` a copy of it is trained;
        the one given stays as it is.
    settings
        ``"default"``, ``"paper"``, a TOML or JSON file, or a `Settings`.
    splitter, random_state, device, cache, verbose
        As for `ProtoryNetClassifier`.

    Attributes
    ----------
    encoder_, centring_, adapter_, reader_
        The path from texts to probabilities; the adapter may be None.
    stage_seconds_
        Time taken by preparation and by training.

    Examples
    --------
    >>> texts = ["I loved it. Great film!", "Awful. I hated every minute."] * 10
    >>> box = BlackBoxClassifier(device="cpu").fit(texts, ["good", "bad"] * 10)
    >>> box.predict(["What a great film."]).tolist()
    ['good']
    """

    def __init__(
        self,
        encoder: str | Path | Encoder = "minilm",
        *,
        settings: str | Path | Settings = "default",
        splitter: Splitter = "sentencex",
        random_state: int = 0,
        device: str = "auto",
        cache: bool = True,
        verbose: bool = False,
    ) -> None:
        self.encoder = encoder
        self.settings = settings
        self.splitter = splitter
        self.random_state = random_state
        self.device = device
        self.cache = cache
        self.verbose = verbose

    def _learn_all(self, texts: list[str], targets: NDArray[np.float32]) -> float:
        start = time.perf_counter()
        settings, code = load_settings(self.settings), self._code()
        prepared, _ = self._prepare(texts, targets, settings)
        run = Run(
            train=prepared.train,
            validation=prepared.validation,
            candidates=prepared.train.rows[:0],
            source=prepared.source,
            settings=settings,
            labels=code,
            seed=self._seed(),
            progress=self.verbose,
        )
        ready = time.perf_counter()
        reader, score = train_sentence_reader(run, code)
        source = prepared.source
        self.adapter_ = source.adapter if isinstance(source, AdaptedSource) else None
        self.reader_ = reader.eval().requires_grad_(False)
        self.stage_seconds_ = {"prepare": ready - start, "train": time.perf_counter() - ready}
        return score.accuracy

    def _read(self, embeddings: Embeddings, lengths: NDArray[np.int64]) -> NDArray[np.float32]:
        vectors = self._adapted(embeddings.vectors)[torch.from_numpy(embeddings.rows)]
        return read_vectors(self.reader_, vectors, lengths, self._code())

    @torch.inference_mode()
    def _adapted(self, vectors: NDArray[np.float32]) -> Tensor:
        base = self.centring_(torch.from_numpy(vectors).to(self.centring_.mean.device))
        embedded: Tensor = base if self.adapter_ is None else self.adapter_(base)
        return embedded.cpu()

    def _evidence(self, text: str, place: int) -> tuple[Sequence[Evidence], str]:
        return leave_one_out(text, place, self._probabilities, splitter=self.splitter)
