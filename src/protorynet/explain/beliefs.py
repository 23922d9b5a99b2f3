"""What the reader believes after each beginning, and what it would believe one sentence later."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from protorynet.explain.prefix_tree import PrefixTree
from protorynet.labels import Task
from protorynet.network import Reader

__all__ = ["BeliefReader", "Beliefs"]

_PROBES = 32  # next sentences, by the most used prototypes, that tell two beliefs apart
_NUMBERS_AT_ONCE = 2**26  # of the outlooks of several classes, which are read together


@dataclass(frozen=True)
class Beliefs:
    """The reader's states for one class, as it reads prototype ids alone.

    Parameters
    ----------
    label
        Position of the class among the outputs.
    memory
        The LSTM's memory in each state, (states, 2 × layers, hidden).
    outlook
        What that memory comes to, (states, 1 + probes): the probability of the class now, and
        after one more sentence of each of the probed prototypes.
    """

    label: int
    memory: torch.Tensor
    outlook: NDArray[np.float32]


class BeliefReader:
    """A model's reader, one sentence at a time.

    Parameters
    ----------
    reader, task
        The model's.
    usage
        How often each prototype is used.
    """

    def __init__(self, reader: Reader, task: Task, usage: NDArray[np.int64]) -> None:
        self.reader = reader
        self.task = task
        self.probes = np.argsort(-usage, kind="stable")[:_PROBES]
        self._steps = torch.eye(len(usage), device=reader.head.weight.device)

    @property
    def n_prototypes(self) -> int:
        """How many prototypes a sentence may have."""
        return len(self._steps)

    def beliefs(self, tree: PrefixTree, labels: Sequence[int]) -> Iterator[Beliefs]:
        """Read every beginning in a tree once, and say what it means for each class."""
        memory = self._read(tree)
        at_once = max(1, _NUMBERS_AT_ONCE // (len(tree) * (1 + len(self.probes))))
        for start in range(0, len(labels), at_once):
            group = labels[start : start + at_once]
            for label, outlook in zip(group, self._outlooks(memory, group), strict=True):
                yield Beliefs(label, memory, outlook)

    def after(
        self, beliefs: Beliefs, states: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return the outlook after one more sentence in each of some states."""
        further = self._after(beliefs.memory[torch.from_numpy(states)], columns)
        outlooks = self._outlooks(further, [beliefs.label])
        return np.asarray(outlooks[0])

    @torch.inference_mode()
    def _read(self, tree: PrefixTree) -> torch.Tensor:
        lstm = self.reader.lstm
        memory = self._steps.new_zeros(len(tree), 2 * lstm.num_layers, lstm.hidden_size)
        for start, stop in zip(tree.levels[1:-1], tree.levels[2:], strict=True):
            parents = torch.from_numpy(tree.parents[start:stop])
            memory[start:stop] = self._after(memory[parents], tree.columns[start:stop])
        return memory

    def _outlooks(self, memory: torch.Tensor, labels: Sequence[int]) -> NDArray[np.float32]:
        """Return the outlook of each memory for each class, (classes, memories, 1 + probes)."""
        outlooks = np.empty((len(labels), len(memory), 1 + len(self.probes)), np.float32)
        outlooks[:, :, 0] = self._beliefs(memory, labels)
        for place, probe in enumerate(self.probes, start=1):
            later = self._after(memory, np.full(len(memory), probe))
            outlooks[:, :, place] = self._beliefs(later, labels)
        return outlooks

    @torch.inference_mode()
    def _after(self, memory: torch.Tensor, columns: NDArray[np.int64]) -> torch.Tensor:
        lstm = self.reader.lstm
        steps = self._steps[torch.from_numpy(columns)][:, None]
        hidden, cell = memory.transpose(0, 1).contiguous().chunk(2)
        training = lstm.training
        lstm.eval()
        _, after = lstm(steps, (hidden, cell))
        lstm.train(training)
        return torch.cat(after).transpose(0, 1)

    @torch.inference_mode()
    def _beliefs(self, memory: torch.Tensor, labels: Sequence[int]) -> NDArray[np.float32]:
        """Return the belief in each class; where only one holds, against the strongest other."""
        logits = self.reader.head(memory[:, self.reader.lstm.num_layers - 1])
        odds = logits[:, list(labels)]
        if self.task == "multiclass":
            strongest, place = logits.topk(2, dim=1)
            leads = place[:, :1] == torch.tensor(list(labels), device=place.device)
            odds = odds - torch.where(leads, strongest[:, 1:], strongest[:, :1])
        return np.asarray(torch.sigmoid(odds).T.cpu().numpy())
