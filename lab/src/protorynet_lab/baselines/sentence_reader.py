"""An LSTM that reads sentence embeddings themselves: how it is trained, and how it reads.

Sources, batches, optimiser, its schedule and early stopping are those of Algorithm 1.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from protorynet.labels import LabelCode
from protorynet.network import Reader, accuracy_loss, at_last_sentence, pad_documents, read_matches
from protorynet.reading import Reading
from protorynet.training import (
    Batch,
    Corpus,
    Run,
    Score,
    SentenceSource,
    Stage,
    adam,
    derive_seed,
    train_epochs,
    train_one_epoch,
)

__all__ = ["read_vectors", "train_sentence_reader"]


def train_sentence_reader(run: Run, labels: LabelCode) -> tuple[Reader, Score]:
    """Train a reader and the run's source together.

    Algorithm 1 trains in two stages; this has as many epochs in one.
    """
    settings = run.settings
    with torch.random.fork_rng():
        torch.manual_seed(derive_seed(run.seed, "initialise"))
        reader = Reader(
            run.source.base.shape[1],
            len(labels.classes),
            hidden=settings.reader_size,
            layers=settings.reader_layers,
            dropout=settings.reader_dropout,
        ).to(run.source.base.device)
        module = nn.ModuleDict({"network": reader, "source": run.source})
        optimiser = adam(module, run)
        stage = _stage(run)

        def loss(batch: Batch) -> Tensor:
            return _batch_loss(reader, run, batch)

        score = train_epochs(
            module,
            optimiser,
            lambda epoch: train_one_epoch(module, run, optimiser, stage, epoch, loss),
            lambda: _validate(reader, run, labels),
            stage=stage,
            progress=run.progress,
        )
        run.source.settle()
    return reader, score


def _stage(run: Run) -> Stage:
    """Return one stage of as many epochs as Algorithm 1 has in all of its own."""
    first, second = run.stage("train"), run.stage("retrain")
    return replace(first, epochs=first.epochs + second.epochs)


def read_vectors(
    reader: Reader, vectors: Tensor, lengths: NDArray[np.int64], labels: LabelCode
) -> NDArray[np.float32]:
    """Let the reader read documents whose every step is a whole vector."""
    nothing = np.zeros(len(vectors), np.int64)
    ones = np.ones(len(vectors), np.float32)
    steps = Reading(nothing, ones, nothing, ones, lengths, dense=vectors.numpy())
    return read_matches(reader, steps, labels.task).probabilities


def _batch_loss(reader: Reader, run: Run, batch: Batch) -> Tensor:
    steps = pad_documents(run.source(batch.rows), batch.lengths, batch.longest)
    logits = at_last_sentence(reader(steps), batch.lengths)
    return accuracy_loss(logits, batch.targets, run.labels.task, "cross_entropy")


def _validate(reader: Reader, run: Run, labels: LabelCode) -> Score:
    """Score the reader on the validation documents."""
    corpus = run.validation
    vectors = _vectors(run.source, corpus)
    lengths = corpus.lengths.cpu().numpy()
    predicted = torch.from_numpy(read_vectors(reader, vectors, lengths, labels))
    # Logits that softmax or sigmoid turns back into these probabilities.
    safe = predicted.clamp(1e-7, 1 - 1e-7)
    logits = safe.log() if run.labels.task == "multiclass" else safe.logit()
    targets = corpus.targets.cpu()
    loss = accuracy_loss(logits, targets, run.labels.task, "cross_entropy")
    truth = labels.decode(targets.numpy())
    right = labels.decode(predicted.numpy()) == truth
    accuracy = right.mean() if right.ndim == 1 else right.all(axis=1).mean()
    return Score(float(loss), float(accuracy))


def _vectors(source: SentenceSource, corpus: Corpus) -> Tensor:
    """Return the embedding of every sentence of some documents."""
    distinct, places = torch.unique(corpus.rows, return_inverse=True)
    return source.all_rows(distinct)[places].cpu()
