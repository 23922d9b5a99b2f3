"""Training by epochs: what a run shares, early stopping, and a checkpoint after each epoch."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from protorynet.errors import CheckpointError
from protorynet.files import write_atomically
from protorynet.labels import LabelCode
from protorynet.progress import progress_bar
from protorynet.settings import Settings
from protorynet.training.bag_of_words import LearnedWords
from protorynet.training.batches import Batch, Corpus
from protorynet.training.parallel import agree, average_gradients, own_share, rank
from protorynet.training.sources import FineTunedSource, SentenceSource

_CHECKPOINT_SUFFIX = ".checkpoint.safetensors"
_LEAST_IMPROVEMENT = 1e-4
_SMALLEST_BATCH = 4
# Batches that a small corpus is cut into, steps of an epoch, and how often it is read for them.
_CUTS, _STEPS, _PASSES = 8, 16, 16
_FULL_CUTS, _FULL_STEPS, _FULL_PASSES = 160, 180, 4
_FULL_SENTENCES = 2_048  # of a batch; an encoder of 384 dimensions needs some 8 GB for them
_WARM_UP = 0.1  # share of a stage in which the learning rates of full training rise


class Checkpoint:
    """A folder with one file per stage of training, each replaced atomically.

    `run` identifies the run: the same data, settings, encoder and seed. A file of another run is
    refused, never silently used.
    """

    def __init__(self, folder: Path, run: str) -> None:
        self.folder = folder
        self.run = run

    def save(self, stage: str, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        """Keep the tensors and facts of a stage."""
        if rank():
            return
        metadata = {"run": self.run, "facts": json.dumps(facts)}
        plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        write_atomically(self._path(stage), save(plain, metadata))

    def load(self, stage: str) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """Return what was kept of a stage, or None where nothing was."""
        path = self._path(stage)
        if not agree(torch.tensor(path.exists())):
            return None
        try:
            with safe_open(path, framework="pt") as file:
                metadata = file.metadata()
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            facts: dict[str, Any] = json.loads(metadata["facts"])
        except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"the checkpoint {path} is damaged ({error}). Train again without --resume."
            ) from None
        if metadata.get("run") != self.run:
            raise CheckpointError(
                f"the checkpoint in {self.folder} was made with other data, settings, seed or "
                "encoder. Resume with the same ones, or train again without --resume."
            )
        return tensors, facts

    def _path(self, stage: str) -> Path:
        return self.folder / f"{stage}{_CHECKPOINT_SUFFIX}"


def clear_checkpoint(folder: Path) -> None:
    """Remove a checkpoint, and nothing else that lies in its folder."""
    for path in folder.glob(f"*{_CHECKPOINT_SUFFIX}"):
        path.unlink(missing_ok=True)
    # It stays where the user keeps other files in it.
    with contextlib.suppress(OSError):
        folder.rmdir()


@dataclass(frozen=True)
class Stage:
    """One round of training, as checkpoint and progress bar name it."""

    name: str
    epochs: int
    patience: int  # most epochs on end without improvement
    to_the_end: bool = False  # keep the last epoch, as befits learning rates that fall to zero


@dataclass(frozen=True)
class Score:
    """How a model does on the validation documents."""

    loss: float
    accuracy: float


_UNKNOWN = Score(math.inf, 0.0)


@dataclass(frozen=True)
class Run:
    """What every step of one training run shares."""

    train: Corpus
    validation: Corpus
    candidates: Tensor  # index of the training sentences that may become prototypes
    source: SentenceSource  # its parameters, if any, are trained
    settings: Settings
    labels: LabelCode
    seed: int
    checkpoint: Checkpoint | None = None
    progress: bool = False
    words: LearnedWords | None = None
    unit_length: bool = True  # of embeddings; not of vectors given by the user

    @property
    def out_of_fold_words(self) -> Tensor | None:
        """What the words of the distinct sentences tell, as if these had never been seen."""
        return None if self.words is None else self.words.out_of_fold

    @property
    def full(self) -> bool:
        """Whether the encoder itself is being trained."""
        return isinstance(self.source, FineTunedSource)

    def stage(self, name: Literal["train", "retrain"]) -> Stage:
        """Return a stage of training, with as many epochs as the settings say."""
        kind = ("full_" if self.full else "") + ("retrain_" if name == "retrain" else "")
        epochs = getattr(self.settings, f"{kind}epochs")
        return Stage(name, epochs, self.settings.patience, to_the_end=self.full)


def learn(
    module: nn.Module,
    optimiser: torch.optim.Optimizer,
    run: Run,
    stage: Stage,
    loss: Callable[[Batch], Tensor],
    validate: Callable[[], Score],
    finish: Callable[[int], None] = lambda epoch: None,
) -> Score:
    """Train a module of a run through a stage; `finish` is called after each epoch."""
    loss_of = average_gradients(module, loss) if run.full else loss

    def run_epoch(epoch: int) -> None:
        train_one_epoch(module, run, optimiser, stage, epoch, loss_of)
        finish(epoch)

    return train_epochs(
        module,
        optimiser,
        run_epoch,
        validate,
        stage=stage,
        checkpoint=run.checkpoint,
        progress=run.progress,
    )


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
    long enough to learn something. What learns, `module` and the run's source, is put into
    training mode for the epoch.
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
        batch = run.train.batch(own_share(documents) if run.full else documents)
        run.source.expect(batch)
        loss = loss_of(batch)
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
        Scores the module on the validation documents; after the last epoch only where that is
        kept in any case.
    stage, checkpoint, progress
        Which stage this is, where its state is kept, and whether to show a progress bar.

    Returns
    -------
    The score of the epoch that is kept: the best, or the last where the stage says so.
    """
    kept = checkpoint.load(stage.name) if checkpoint else None
    if kept is None:
        best = _UNKNOWN if stage.to_the_end else validate()
        best_state, stale, start = _copy(module), 0, 0
    else:
        tensors, facts = kept
        module.load_state_dict(_part(tensors, "now."))
        _restore_optimiser(optimiser, _part(tensors, "optimiser."))
        best_state = _part(tensors, "best.")
        best, stale, start = Score(**facts["best"]), facts["stale"], facts["epoch"] + 1
    with progress_bar(stage.name.capitalize(), stage.epochs, enabled=progress) as advance:
        advance(start)
        for epoch in range(start, stage.epochs):
            if stale >= stage.patience:
                break
            run_epoch(epoch)
            is_judged = not stage.to_the_end or epoch + 1 == stage.epochs
            score = validate() if is_judged else _UNKNOWN
            if stage.to_the_end or score.loss < best.loss - _LEAST_IMPROVEMENT:
                best, best_state, stale = score, _copy(module), 0
            else:
                stale += 1
            if checkpoint:
                now, moments = module.state_dict(), _optimiser_tensors(optimiser)
                parts = {"now": now, "best": best_state, "optimiser": moments}
                tensors = {
                    f"{part}.{name}": parts[part][name] for part in parts for name in parts[part]
                }
                facts = {"epoch": epoch, "stale": stale, "best": vars(best)}
                checkpoint.save(stage.name, tensors, facts)
            advance(1)
    module.load_state_dict(best_state)
    return best


def _copy(module: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in module.state_dict().items()}


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    names = [name for name in tensors if name.startswith(prefix)]
    return {name.removeprefix(prefix): tensors[name] for name in names}


def _optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return Adam's moments as named tensors."""
    state = optimiser.state_dict()["state"]
    return {
        f"{index}.{name}": torch.as_tensor(value)
        for index, moments in state.items()
        for name, value in moments.items()
    }


def _restore_optimiser(optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        index, moment = name.split(".", 1)
        state.setdefault(int(index), {})[moment] = tensor
    groups = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": state, "param_groups": groups})
