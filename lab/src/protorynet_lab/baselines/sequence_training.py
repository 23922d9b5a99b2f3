"""How models that read documents word by word learn, and how they read."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from protorynet.training import Batch, Corpus, Score, Stage, derive_seed, train_epochs

__all__ = ["WordBatch", "WordRun", "adam_with_rates", "read_corpus", "score_of", "train_reader"]

# A small corpus is cut into small batches and read several times, so that an epoch is always long
# enough to learn something.
_SMALLEST_BATCH, _FEWEST_STEPS, _MOST_PASSES = 4, 64, 16
_LONGEST_GRADIENT = 1.0
_READ_AT_ONCE, _MOST_WORDS = 512, 65_536  # documents and words, padding included


@dataclass(frozen=True)
class WordBatch:
    """Some documents of like length, on the device that reads them.

    Parameters
    ----------
    words
        Rows of words, (documents, longest), padded at the end.
    lengths
        Words per document.
    targets
        Number of the class of each document.
    """

    words: Tensor
    lengths: Tensor
    targets: Tensor


@dataclass(frozen=True)
class WordRun:
    """What all stages of training one model share.

    Parameters
    ----------
    train, validation
        The documents as rows of words, on the CPU.
    batch_size
        Most documents per step.
    device, seed, progress
        Where to compute, the seed, and whether to show progress bars.
    """

    train: Corpus
    validation: Corpus
    batch_size: int
    device: torch.device
    seed: int
    progress: bool


def train_reader(
    module: nn.Module,
    optimiser: torch.optim.Optimizer,
    run: WordRun,
    stage: Stage,
    *,
    loss_of: Callable[[WordBatch], Tensor],
    logits_of: Callable[[WordBatch], Tensor],
    before_epoch: Callable[[int], None] = lambda epoch: None,
) -> Score:
    """Train while watching the cross-entropy on the validation documents.

    Parameters
    ----------
    module, optimiser
        What learns, and what takes the steps.
    run, stage
        Documents and their like; name, epochs and patience of this round of training.
    loss_of, logits_of
        Give the loss of a batch in training, and the logits by which the module is judged.
    before_epoch
        Called with the number of each epoch before it starts.

    Returns
    -------
    The score of the epoch kept (the best, or the last where the stage says so), at which the module
    is left, in evaluation mode.
    """

    def run_epoch(epoch: int) -> None:
        before_epoch(epoch)
        seed = derive_seed(run.seed, f"{stage.name} {epoch}")
        torch.manual_seed(seed)
        module.train()
        for documents in _batches(run, np.random.default_rng(seed)):
            loss = loss_of(_to_device(run.train.batch(documents), run.device))
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(module.parameters(), _LONGEST_GRADIENT)
            optimiser.step()
        module.eval()

    # A learning rate that falls where the loss does not: the steps were too long for it.
    rates = torch.optim.lr_scheduler.ReduceLROnPlateau(optimiser, factor=0.5, patience=1)

    def validate() -> Score:
        logits = read_corpus(logits_of, run.validation, run.device)
        score = score_of(logits, run.validation.targets)
        rates.step(score.loss)
        return score

    module.eval()
    return train_epochs(
        module,
        optimiser,
        run_epoch,
        validate,
        stage=stage,
        progress=run.progress,
    )


def _batches(run: WordRun, random: np.random.Generator) -> list[NDArray[np.int64]]:
    """Return the batches of an epoch."""
    count = len(run.train)
    size = min(run.batch_size, max(_SMALLEST_BATCH, count // _FEWEST_STEPS))
    passes = min(_MOST_PASSES, math.ceil(_FEWEST_STEPS * size / count))
    return [
        batch
        for _ in range(passes)
        for batch in run.train.batches(size, random, most_sentences=_MOST_WORDS)
    ]


def adam_with_rates(groups: Sequence[tuple[Sequence[nn.Parameter], float]]) -> torch.optim.Adam:
    """Adam over groups of parameters, each with its learning rate."""
    named = [{"params": list(parameters), "lr": rate} for parameters, rate in groups]
    return torch.optim.Adam(named, fused=True)


@torch.no_grad()
def read_corpus(
    read: Callable[[WordBatch], Tensor], corpus: Corpus, device: torch.device
) -> Tensor:
    """Return what `read` gives for each document, in the documents' order, on the CPU."""
    # Every document counts once and alone, so the order of the batches is of no matter.
    batches = corpus.batches(_READ_AT_ONCE, np.random.default_rng(0), most_sentences=_MOST_WORDS)
    parts = [read(_to_device(corpus.batch(documents), device)) for documents in batches]
    order = np.argsort(np.concatenate(batches))
    return torch.cat(parts).cpu()[torch.from_numpy(order)]


def score_of(logits: Tensor, targets: Tensor) -> Score:
    """Return the cross-entropy and the accuracy of logits against one-hot targets."""
    classes = targets.argmax(dim=1)
    right = logits.argmax(dim=1) == classes
    return Score(float(functional.cross_entropy(logits, classes)), float(right.float().mean()))


def _to_device(batch: Batch, device: torch.device) -> WordBatch:
    # Laid out on the CPU, where the lengths are known, so that nothing waits for a GPU.
    inside = torch.arange(batch.longest) < batch.lengths[:, None]
    words = torch.zeros(inside.shape, dtype=torch.int64).masked_scatter_(inside, batch.rows)
    targets = batch.targets.argmax(dim=1)
    return WordBatch(*(part.to(device) for part in (words, batch.lengths, targets)))
