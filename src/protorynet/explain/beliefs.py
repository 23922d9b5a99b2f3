"""What the reader believes after each beginning, and what it would believe one sentence later."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from protorynet.explain.prefix_tree import PrefixTree
from protorynet.labels import Task
from protorynet.network import Reader

__all__ = ["BeliefReader", "Beliefs"]

_PROBES = 32  # next sentences, by the most used prototypes, that tell two beliefs apart


@dataclass(frozen=True)
class Beliefs:
    """The reader's states, as it reads prototype ids alone.

    Parameters
    ----------
    memory
        The LSTM's memory in each state, (states, 2 × layers, hidden).
    outlook
        What that memory comes to, (states, 1 + probes): the probability of the class now, and
        after one more sentence of each of the probed prototypes.
    """

    memory: torch.Tensor
    outlook: NDArray[np.float32]


class BeliefReader:
    """A model's reader, one sentence at a time and for one class.

    Parameters
    ----------
    reader, task
        The model's.
    label
        Position of the class among the outputs.
    usage
        How often each prototype is used.
    """

    def __init__(self, reader: Reader, task: Task, label: int, usage: NDArray[np.int64]) -> None:
        self.reader = reader
        self.task = task
        self.label = label
        self.probes = np.argsort(-usage, kind="stable")[:_PROBES]
        self._steps = torch.eye(len(usage), device=reader.head.weight.device)

    @property
    def n_prototypes(self) -> int:
        """How many prototypes a sentence may have."""
        return len(self._steps)

    @torch.inference_mode()
    def beliefs(self, tree: PrefixTree) -> Beliefs:
        """Read every beginning in a tree."""
        lstm = self.reader.lstm
        memory = self._steps.new_zeros(len(tree), 2 * lstm.num_layers, lstm.hidden_size)
        for start, stop in zip(tree.levels[1:-1], tree.levels[2:], strict=True):
            parents = torch.from_numpy(tree.parents[start:stop])
            memory[start:stop] = self._after(memory[parents], tree.columns[start:stop])
        return Beliefs(memory, self._outlook(memory))

    @torch.inference_mode()
    def after(self, memory: torch.Tensor, columns: NDArray[np.int64]) -> Beliefs:
        """Read one more sentence in each state."""
        further = self._after(memory, columns)
        return Beliefs(further, self._outlook(further))

    def _outlook(self, memory: torch.Tensor) -> NDArray[np.float32]:
        later = (self._after(memory, np.full(len(memory), probe)) for probe in self.probes)
        odds = np.stack([self._odds(memory), *map(self._odds, later)], axis=1)
        # Bounded, since the exponential of large numbers overflows.
        return np.asarray(1 / (1 + np.exp(-np.clip(odds, -30, 30))), np.float32)

    def _after(self, memory: torch.Tensor, columns: NDArray[np.int64]) -> torch.Tensor:
        lstm = self.reader.lstm
        steps = self._steps[torch.from_numpy(columns)][:, None]
        hidden, cell = memory.transpose(0, 1).contiguous().chunk(2)
        training = lstm.training
        lstm.eval()
        _, after = lstm(steps, (hidden, cell))
        lstm.train(training)
        return torch.cat(after).transpose(0, 1)

    def _odds(self, memory: torch.Tensor) -> NDArray[np.float32]:
        """Return the log-odds of the class; where only one holds, against the strongest other."""
        top = memory[:, self.reader.lstm.num_layers - 1]
        logits: NDArray[np.float32] = self.reader.head(top).cpu().numpy()
        if self.task == "multilabel":
            return logits[:, self.label]
        others = np.delete(logits, self.label, axis=1)
        return np.asarray(logits[:, self.label] - others.max(axis=1))
