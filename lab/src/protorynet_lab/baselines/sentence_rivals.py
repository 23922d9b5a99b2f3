"""Rivals that read sentence embeddings, and the ceiling among them: no prototypes in between."""

import copy
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from protorynet.data import Splitter
from protorynet.encoders import EmbeddingCache, Embeddings, Encoder, choose_device, load_encoder
from protorynet.errors import InputError
from protorynet.labels import Task
from protorynet.network import Reader, accuracy_loss, at_last_sentence, pad_documents, read_matches
from protorynet.preparation import prepare_documents
from protorynet.reading import Reading
from protorynet.settings import Settings, load_settings
from protorynet.training import (
    AdaptedSource,
    Batch,
    Labelled,
    Prepared,
    Run,
    Score,
    adam,
    derive_seed,
    prepare,
    train_epochs,
    train_one_epoch,
    tunable_encoder,
)
from protorynet_lab.baselines.rival_base import Reasons, Rival, leave_one_out

DOCUMENTS_READ_AT_ONCE = 4_096


@dataclass(eq=False, repr=False)
class SentenceRival(Rival):
    """A rival that reads the embeddings of a document's sentences.

    As for ProtoryNet, documents without a sentence are left out before others are held out; they
    are given the class frequencies.
    """

    encoder: str | Path | Encoder = "minilm"
    _: KW_ONLY
    splitter: Splitter = Splitter()
    device: str = "auto"
    cache: bool = True
    verbose: bool = False

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
            Labelled(sentences.without_empty(), embeddings, targets[filled]),
            self._code(),
            settings=settings,
            seed=int(self.random_state),
            tunable=tunable_encoder(self.encoder_) if is_full else None,
            device=str(choose_device(self.device)),
        )
        self.centring_ = prepared.centring
        return prepared, filled

    def _probabilities(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._map_documents(texts, self._frequencies, self._read)

    @abstractmethod
    def _read(self, embeddings: Embeddings, lengths: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the probabilities of documents of so many sentences each, none without any."""

    def _map_documents(
        self,
        texts: Sequence[str],
        otherwise: NDArray[np.float32],
        read: Callable[[Embeddings, NDArray[np.int64]], NDArray[np.float32]],
    ) -> NDArray[np.float32]:
        """Return what `read` gives for each document, `otherwise` for one without a sentence."""
        result = np.tile(otherwise, (len(texts), 1))
        for start in range(0, len(texts), DOCUMENTS_READ_AT_ONCE):
            sentences, embeddings = prepare_documents(
                texts[start : start + DOCUMENTS_READ_AT_ONCE],
                self.encoder_,
                splitter=self.splitter,
                on_empty="skip",
                cache=self._cache,
            )
            if len(sentences):
                filled = np.flatnonzero(sentences.filled)
                result[start + filled] = read(embeddings, sentences.lengths[filled])
        return result


@dataclass(kw_only=True, eq=False, repr=False)
class BlackBoxClassifier(SentenceRival):
    """Sentence embeddings read by an LSTM.

    Everything but the prototypes is as for ProtoryNet: the sources of embeddings, the batches, the
    optimiser and its schedule, the documents held out, early stopping. Of the settings those of
    the reader, of the optimiser and of stopping count. ProtoryNet trains in two stages; the black
    box has as many epochs in one. Several labels at once are welcome.

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
    stage_seconds_
        Time taken by preparation and by training.
    """

    settings: str | Path | Settings = "default"

    def _learn_all(self, texts: list[str], targets: NDArray[np.float32]) -> float:
        start = time.perf_counter()
        settings = load_settings(self.settings)
        prepared, _ = self._prepare(texts, targets, settings)
        run = Run(
            train=prepared.train,
            validation=prepared.validation,
            candidates=prepared.train.index[:0],
            source=prepared.source,
            settings=settings,
            labels=self._code(),
            seed=int(self.random_state),
            progress=self.verbose,
        )
        ready = time.perf_counter()
        reader, score = _train_reader(run)
        source = prepared.source
        self.adapter_ = source.adapter if isinstance(source, AdaptedSource) else None
        self.reader_ = reader.eval().requires_grad_(False)
        self.stage_seconds_ = {"prepare": ready - start, "train": time.perf_counter() - ready}
        return score.accuracy

    @torch.inference_mode()
    def _read(self, embeddings: Embeddings, lengths: NDArray[np.int64]) -> NDArray[np.float32]:
        centring, adapter = self.centring_, self.adapter_
        base = centring(torch.from_numpy(embeddings.vectors).to(centring.mean.device))
        distinct: Tensor = base if adapter is None else adapter(base)
        vectors = distinct.cpu()[torch.from_numpy(embeddings.index)]
        return _read_vectors(self.reader_, vectors, lengths, self._code().task)

    def _evidence(self, text: str, label: int) -> Reasons:
        return leave_one_out(text, label, self._probabilities, splitter=self.splitter)


def _train_reader(run: Run) -> tuple[Reader, Score]:
    """Train an LSTM and the run's source together, by the means of Algorithm 1."""
    settings = run.settings
    first, second = run.stage("train"), run.stage("retrain")
    stage = replace(first, epochs=first.epochs + second.epochs)

    def loss_of(batch: Batch) -> Tensor:
        steps = pad_documents(run.source(batch.index), batch.lengths, batch.longest)
        logits = at_last_sentence(reader(steps), batch.lengths)
        return accuracy_loss(logits, batch.targets, run.labels.task, "cross_entropy")

    with torch.random.fork_rng():
        torch.manual_seed(derive_seed(run.seed, "initialise"))
        reader = Reader(
            run.source.base.shape[1],
            len(run.labels.classes),
            hidden=settings.reader_size,
            layers=settings.reader_layers,
            dropout=settings.reader_dropout,
        ).to(run.source.base.device)
        module = nn.ModuleDict({"network": reader, "source": run.source})
        optimiser = adam(module, run)
        score = train_epochs(
            module,
            optimiser,
            lambda epoch: train_one_epoch(module, run, optimiser, stage, epoch, loss_of),
            lambda: _validate(reader, run),
            stage=stage,
            progress=run.progress,
        )
        run.source.settle()
    return reader, score


def _validate(reader: Reader, run: Run) -> Score:
    corpus, task = run.validation, run.labels.task
    distinct, index = torch.unique(corpus.index, return_inverse=True)
    vectors = run.source.embed_all(distinct)[index].cpu()
    predicted = _read_vectors(reader, vectors, corpus.lengths.cpu().numpy(), task)
    # Logits that softmax or sigmoid turns back into these probabilities.
    safe = torch.from_numpy(predicted).clamp(1e-7, 1 - 1e-7)
    logits = safe.log() if task == "multiclass" else safe.logit()
    targets = corpus.targets.cpu()
    loss = accuracy_loss(logits, targets, task, "cross_entropy")
    return Score(float(loss), run.labels.share_equal(predicted, targets.numpy()))


def _read_vectors(
    reader: Reader, vectors: Tensor, lengths: NDArray[np.int64], task: Task
) -> NDArray[np.float32]:
    """Let the reader read documents whose every step is a whole vector, not one prototype."""
    nothing, ones = np.zeros(len(vectors), np.int64), np.ones(len(vectors), np.float32)
    steps = Reading(nothing, ones, nothing, ones, lengths, dense=vectors.numpy())
    return read_matches(reader, steps, task).probabilities
