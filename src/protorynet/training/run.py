"""One training run: what its steps share, its optimiser, and one epoch of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from protorynet.labels import LabelCode
from protorynet.settings import Settings
from protorynet.training.checkpoint import Checkpoint
from protorynet.training.corpus import Batch, Corpus
from protorynet.training.loop import Stage
from protorynet.training.parallel import own_share
from protorynet.training.sources import FineTunedSource, SentenceSource

__all__ = ["Run", "adam", "derive_seed", "train_one_epoch"]

_SMALLEST_BATCH = 4
# Batches that a small corpus is cut into, steps of an epoch, and how often it is read for them.
_CUTS, _STEPS, _PASSES = 8, 16, 16
_FULL_CUTS, _FULL_STEPS, _FULL_PASSES = 160, 320, 4
_FULL_SENTENCES = 2_048  # of a batch; an encoder of 384 dimensions needs some 8 GB for them
_WARM_UP = 0.1  # share of a stage in which the learning rates of full training rise


@dataclass(frozen=True)
class Run:
    """What every step of one training run shares.

    Parameters
    ----------
    train, validation
        The documents, over the same base embeddings.
    candidates
        Rows of the training sentences that may become prototypes.
    source
        Where embeddings come from; its parameters, if any, are trained.
    settings, labels, seed
        Hyper-parameters, kind of labels and seed.
    checkpoint, progress
        Where to keep the state, and whether to show progress bars.
    """

    train: Corpus
    validation: Corpus
    candidates: Tensor
    source: SentenceSource
    settings: Settings
    labels: LabelCode
    seed: int
    checkpoint: Checkpoint | None = None
    progress: bool = False

    @property
    def full(self) -> bool:
        """Whether the encoder itself is being trained."""
        return isinstance(self.source, FineTunedSource)

    def stage(self, name: Literal["train", "retrain"]) -> Stage:
        """Return a stage of training, with as many epochs as the settings say."""
        settings = self.settings
        full = "full_" if self.full else ""
        epochs = getattr(settings, f"{full}epochs" if name == "train" else f"{full}retrain_epochs")
        return Stage(name, epochs, settings.patience, to_the_end=self.full)


def train_one_epoch(
    module: nn.Module,
    run: Run,
    optimiser: torch.optim.Optimizer,
    stage: Stage,
    epoch: int,
    loss_of: Callable[[Batch], Tensor],
) -> None:
    """Take one optimiser step per batch; all randomness comes from seed, stage and epoch.

    A small corpus is cut into smaller batches and read several times, so that an epoch is always
    long enough to learn something.

    Parameters
    ----------
    module
        What learns; it and the run's source are put into training mode for the epoch.
    run, optimiser, stage, epoch
        The run, what takes the steps, and where in the run we are.
    loss_of
        Gives the loss of a batch.
    """
    seed = derive_seed(run.seed, f"{stage.name} {epoch}")
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    most, cuts, steps, passes = run.settings.batch_size, _CUTS, _STEPS, _PASSES
    bound = {}
    if run.full:
        most, cuts = run.settings.full_batch_size, _FULL_CUTS
        steps, passes = _FULL_STEPS, _FULL_PASSES
        bound = {"most_sentences": _FULL_SENTENCES}
    size = min(most, max(_SMALLEST_BATCH, len(run.train) // cuts))
    passes = min(passes, math.ceil(steps * size / len(run.train)))
    batches = [batch for _ in range(passes) for batch in run.train.batches(size, random, **bound)]
    module.train()
    run.source.train()
    for step, documents in enumerate(batches):
        if run.full:
            _set_rate(optimiser, (epoch + step / len(batches)) / stage.epochs)
        loss = loss_of(run.train.batch(own_share(documents) if run.full else documents))
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    module.eval()
    run.source.eval()


def _set_rate(optimiser: torch.optim.Optimizer, progress: float) -> None:
    """Let the learning rates rise at first and then fall to zero, as transformers need it."""
    share = min(progress / _WARM_UP, (1 - progress) / (1 - _WARM_UP))
    for group in optimiser.param_groups:
        group["lr"] = group["peak"] * share


def adam(module: nn.ModuleDict, run: Run) -> torch.optim.Adam:
    """Adam over what may learn; a fine-tuned encoder has a learning rate of its own."""
    settings = run.settings
    slow = settings.encoder_learning_rate if run.full else settings.learning_rate
    rates = {"network": settings.learning_rate, "source": slow}
    groups = [
        {"params": parameters, "lr": rate, "peak": rate}
        for part, rate in rates.items()
        if (parameters := list(module[part].parameters()))
    ]
    return torch.optim.Adam(groups, fused=True)


def derive_seed(seed: int, purpose: str) -> int:
    """Derive a seed for one purpose, so that resumed and undisturbed runs draw the same."""
    return int(np.random.SeedSequence([seed, *purpose.encode()]).generate_state(1)[0])
