"""Epochs with early stopping, the best one restored at the end, and a checkpoint after each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from protorynet.progress import progress_bar
from protorynet.training.checkpoint import Checkpoint, optimiser_tensors, restore_optimiser

__all__ = ["Score", "Stage", "train_epochs"]

_LEAST_IMPROVEMENT = 1e-4


@dataclass(frozen=True)
class Stage:
    """One round of training.

    Parameters
    ----------
    name
        What it is called in the checkpoint and the progress bar.
    epochs, patience
        Most epochs, and most epochs in a row without improvement.
    to_the_end
        Do all epochs and keep the last, as befits learning rates that fall to zero.
    """

    name: str
    epochs: int
    patience: int
    to_the_end: bool = False


@dataclass(frozen=True)
class Score:
    """How a model does on the validation documents."""

    loss: float
    accuracy: float


def train_epochs(
    module: nn.Module,
    optimiser: torch.optim.Optimizer,
    run_epoch: Callable[[int], None],
    validate: Callable[[], Score],
    *,
    stage: Stage,
    checkpoint: Checkpoint | None = None,
    progress: bool = False,
) -> Score:
    """Train until validation loss stops falling; leave `module` at the epoch to keep.

    Parameters
    ----------
    module, optimiser
        What is trained, and by what.
    run_epoch
        Trains one epoch, given its number; it must draw all randomness from that number, so that
        a resumed run repeats it.
    validate
        Scores the module on the validation documents.
    stage
        Its name, most epochs and patience.
    checkpoint
        Where to keep, and from where to take up, the state after each epoch.
    progress
        Show a progress bar.

    Returns
    -------
    The score of the epoch that is kept: the best, or the last where the stage says so.
    """
    kept = checkpoint.load(stage.name) if checkpoint else None
    if kept is None:
        best, best_state, stale, start = validate(), _copy(module), 0, 0
    else:
        tensors, facts = kept
        module.load_state_dict(_part(tensors, "now."))
        restore_optimiser(optimiser, _part(tensors, "optimiser."))
        best_state = _part(tensors, "best.")
        best, stale, start = Score(**facts["best"]), facts["stale"], facts["epoch"] + 1
    with progress_bar(stage.name.capitalize(), stage.epochs, enabled=progress) as advance:
        advance(start)
        for epoch in range(start, stage.epochs):
            if stale >= stage.patience:
                break
            run_epoch(epoch)
            score = validate()
            if stage.to_the_end or score.loss < best.loss - _LEAST_IMPROVEMENT:
                best, best_state, stale = score, _copy(module), 0
            else:
                stale += 1
            if checkpoint:
                tensors = {f"now.{name}": value for name, value in module.state_dict().items()}
                tensors |= {f"best.{name}": value for name, value in best_state.items()}
                moments = optimiser_tensors(optimiser)
                tensors |= {f"optimiser.{name}": value for name, value in moments.items()}
                facts = {"epoch": epoch, "stale": stale, "best": vars(best)}
                checkpoint.save(stage.name, tensors, facts)
            advance(1)
    module.load_state_dict(best_state)
    return best


def _copy(module: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in module.state_dict().items()}


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }
