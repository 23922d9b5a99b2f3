"""Checkpoints: what a stage of training needs to resume after a kill, in safetensors files."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from protorynet.errors import CheckpointError
from protorynet.files import write_atomically
from protorynet.training.parallel import agree, rank

__all__ = ["Checkpoint", "clear_checkpoint", "optimiser_tensors", "restore_optimiser"]

_SUFFIX = ".checkpoint.safetensors"


class Checkpoint:
    """A folder with one file per stage of training, each replaced atomically.

    Parameters
    ----------
    folder
        Where the files go; made when the first one is written.
    run
        What identifies the run: the same data, settings, encoder and seed. A file of another run
        is refused, never silently used.
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
        return self.folder / f"{stage}{_SUFFIX}"


def clear_checkpoint(folder: Path) -> None:
    """Remove a checkpoint, and nothing else that lies in its folder."""
    for path in folder.glob(f"*{_SUFFIX}"):
        path.unlink(missing_ok=True)
    # It stays where the user keeps other files in it.
    with contextlib.suppress(OSError):
        folder.rmdir()


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return Adam's moments as named tensors."""
    state = optimiser.state_dict()["state"]
    return {
        f"{index}.{name}": torch.as_tensor(value)
        for index, moments in state.items()
        for name, value in moments.items()
    }


def restore_optimiser(optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Put moments from `optimiser_tensors` back."""
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        index, moment = name.split(".", 1)
        state.setdefault(int(index), {})[moment] = tensor
    groups = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": state, "param_groups": groups})
