"""Training the reader on documents whose sentences are matched, for families and after edits."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from protorynet.labels import Task
from protorynet.network import Reader, accuracy_loss, at_last_sentence, pad_documents
from protorynet.progress import progress_bar
from protorynet.reading import Reading
from protorynet.training.batches import Batch, Corpus
from protorynet.training.epochs import Run, derive_seed

# Steps of an epoch, of few documents or many.
_READER_STEPS, _MOST_READER_STEPS, _READER_RATE = 100, 128, 3e-3
_SENTENCES_LEFT_OUT = 0.5  # most of a document's, so that the reader does not count on any
_AVERAGED_STEPS = 200


def fit_reader(reader: Reader, reading: Reading, targets: Tensor, run: Run) -> None:
    """Train a reader on matched documents, in place.

    Random sentences are left out, and every sentence is read alone too. The weights kept are an
    average over the last steps, and no epoch is chosen, so that nothing depends on luck.
    """
    device = targets.device
    torch.manual_seed(derive_seed(run.seed, "fit reader"))
    random = np.random.default_rng(derive_seed(run.seed, "fit reader"))
    matched = torch.from_numpy(reading.prototypes).to(device)
    lengths = torch.from_numpy(reading.lengths).to(device)
    corpus = Corpus(torch.arange(len(matched), device=device), lengths, targets, run.train.weights)
    size = min(128, max(8, len(corpus) // 16), len(corpus))
    size = max(size, len(corpus) // _MOST_READER_STEPS)
    passes = max(1, math.ceil(_READER_STEPS * size / len(corpus)))
    optimiser = torch.optim.Adam(reader.parameters(), lr=_READER_RATE, fused=True)
    total = run.settings.retrain_epochs * passes
    averaged = min(_AVERAGED_STEPS, max(1, total * len(corpus) // (4 * size)))
    average = AveragedModel(reader, multi_avg_fn=get_ema_multi_avg_fn(1 - 1 / averaged))  # type: ignore[no-untyped-call]
    reader.train()
    with progress_bar("Reader", total, enabled=run.progress) as advance:
        for number in range(total):
            batches = corpus.batches(size, random)
            for step, documents in enumerate(batches):
                done = (number + step / len(batches)) / total
                optimiser.param_groups[0]["lr"] = _READER_RATE * max(0.02, 1 - done)
                loss = _reader_loss(reader, corpus.batch(documents), matched, run.labels.task)
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
                optimiser.step()
                average.update_parameters(reader)
            advance(1)
    reader.load_state_dict(average.module.state_dict())
    reader.eval()


def _reader_loss(reader: Reader, batch: Batch, matched: Tensor, task: Task) -> Tensor:
    n, device = len(batch.lengths), matched.device
    share = torch.rand(n, device=device) * _SENTENCES_LEFT_OUT
    kept = torch.rand(len(batch.index), device=device) >= share[batch.document]
    kept[batch.lengths.cumsum(0) - batch.lengths] = True  # the first, so that none is empty
    index, document = batch.index[kept], batch.document[kept]
    lengths = torch.bincount(document, minlength=n)
    steps = functional.one_hot(matched[index], reader.lstm.input_size).float()
    padded = pad_documents(steps, lengths, int(lengths.max()))
    logits = at_last_sentence(reader(padded), lengths)
    alone = reader.read_alone(steps)
    loss = accuracy_loss(logits, batch.targets, task, "cross_entropy", batch.weights)
    truth, weights = batch.targets[document], batch.weights_of(document)
    return loss + accuracy_loss(alone, truth, task, "cross_entropy", weights)
