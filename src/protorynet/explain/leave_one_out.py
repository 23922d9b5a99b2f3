"""Reading documents again with a few sentences left out, each time others."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from protorynet.labels import Task
from protorynet.model import Model
from protorynet.network import Reader, probabilities
from protorynet.reading import Reading
from protorynet.threads import one_thread

_VARIANTS_PER_DOCUMENT = 256
_VARIANTS_PER_BATCH = 4_096  # what stays in a processor's cache
_VARIANTS_PER_BATCH_ON_GPU = 65_536


class _LeftOut(NamedTuple):
    """Runs of sentences: their document, start and size, and the probabilities without each."""

    document: NDArray[np.int64]
    start: NDArray[np.int64]
    size: NDArray[np.int64]
    probabilities: NDArray[np.float32]


@one_thread()
def leave_one_out_effects(
    model: Model, reading: Reading, classes: NDArray[np.int64] | None = None
) -> NDArray[np.float32]:
    """Return, per sentence, the fall of a class's probability without that sentence.

    The class is the leading one of each document, or that in `classes`. A document's only sentence
    is compared with the share of that class in the training data. In a very long document several
    sentences are left out together and share the fall equally.
    """
    leading = reading.probabilities.argmax(axis=1) if classes is None else classes
    whole = reading.probabilities[np.arange(len(leading)), leading]
    frequencies = np.array(model.class_frequencies, np.float32)
    effects = np.empty(len(reading.prototypes), np.float32)
    only = reading.lengths == 1
    effects[reading.offsets[:-1][only]] = whole[only] - frequencies[leading[only]]
    for left_out in read_without_each(model.network.reader, reading, model.labels.task):
        document, start, size, without = left_out
        fall = whole[document] - without[np.arange(len(document)), leading[document]]
        before = np.repeat(start - (np.cumsum(size) - size), size)
        effects[before + np.arange(len(before))] = np.repeat(fall / size, size)
    return effects


def read_without_each(reader: Reader, reading: Reading, task: Task) -> Iterator[_LeftOut]:
    """Read every document of several sentences without each, or without some together."""
    device = reader.head.weight.device
    steps, layers = _Steps(reading, device), _weights(reader.lstm)
    size = -(-reading.lengths // _VARIANTS_PER_DOCUMENT)
    for documents in _batches(reading.lengths, size, device):
        lengths, run = reading.lengths[documents], int(size[documents[0]])
        counts = -(-lengths // run)
        starts = reading.offsets[documents]
        with torch.inference_mode():
            hidden = _read(layers, steps, torch.from_numpy(starts).to(device), lengths, run)
            outputs = probabilities(reader.head(hidden), task).cpu().numpy()
        number, position = np.nonzero(np.arange(len(hidden))[:, None] < counts)
        yield _LeftOut(
            documents[position],
            starts[position] + number * run,
            np.minimum(run, lengths[position] - number * run),
            outputs[number, position],
        )


def _batches(
    lengths: NDArray[np.int64], size: NDArray[np.int64], device: torch.device
) -> Iterator[NDArray[np.int64]]:
    """Group documents whose runs are of one size, the longest first, in bounded memory."""
    variants = _VARIANTS_PER_BATCH if device.type == "cpu" else _VARIANTS_PER_BATCH_ON_GPU
    order = np.argsort(-lengths, kind="stable")
    order = order[lengths[order] > 1]
    start = 0
    while start < len(order):
        first = order[start]
        most = max(variants // int(-(-lengths[first] // size[first]) + 1), 1)
        batch = order[start : start + most]
        batch = batch[size[batch] == size[first]]
        yield batch
        start += len(batch)


class _Layer(NamedTuple):
    """One layer's weights by input, by state, and its bias; gates side by side."""

    entry: Tensor
    recurrent: Tensor
    bias: Tensor


def _weights(lstm: nn.LSTM) -> list[_Layer]:
    """Bring the gates in the order input, forget, output, content, the last one doubled.

    For tanh(x) = 2σ(2x) − 1, and the sigmoid is several times as fast.
    """
    layers = []
    for number in range(lstm.num_layers):
        by_input, by_state = (getattr(lstm, f"weight_{kind}_l{number}") for kind in ("ih", "hh"))
        bias = getattr(lstm, f"bias_ih_l{number}") + getattr(lstm, f"bias_hh_l{number}")
        layers.append(_Layer(_gates(by_input).T, _gates(by_state).T, _gates(bias)))
    return layers


def _gates(values: Tensor) -> Tensor:
    entry, forget, content, output = values.detach().chunk(4)
    return torch.cat([entry, forget, output, 2 * content])


class _Steps:
    """What the reader's first layer makes of sentences, before it adds what it remembers."""

    def __init__(self, reading: Reading, device: torch.device) -> None:
        self._prototypes = torch.from_numpy(reading.prototypes).to(device)
        self._entries = torch.from_numpy(reading.entries).to(device)[:, None]
        self._dense = None
        if reading.dense is not None:
            self._dense = torch.from_numpy(reading.dense).to(device)

    def gates(self, sentences: Tensor, layer: _Layer) -> Tensor:
        if self._dense is not None:
            return self._dense[sentences] @ layer.entry + layer.bias
        chosen = layer.entry[self._prototypes[sentences]]
        return torch.addcmul(layer.bias, chosen, self._entries[sentences])


def _read(
    layers: list[_Layer], steps: _Steps, starts: Tensor, lengths: NDArray[np.int64], run: int
) -> Tensor:
    """Return the reader's last state of each document without each of its runs, (runs, n, H).

    Up to its run a variant is the whole document, so it starts from the state of that there;
    behind it, all variants of a document see the same sentence at the same time.
    """
    longest, n, hidden = int(lengths[0]), len(lengths), len(layers[0].recurrent)
    runs = -(-longest // run)
    # The whole document first, then the variants in the order in which they start.
    states = torch.zeros(len(layers), 2, 1 + runs, n, hidden, device=starts.device)
    remaining = n - np.searchsorted(lengths[::-1], np.arange(longest), side="right")
    for t, left in enumerate(remaining.tolist()):
        number, inside = divmod(t, run)
        if not inside:
            states[:, :, 1 + number, :left] = states[:, :, 0, :left]
        active = states[:, :, : 1 + number, :left]
        _advance(layers[0], steps.gates(starts[:left] + t, layers[0]), *active[0])
        for layer, below, state in zip(layers[1:], active[:-1, 0], active[1:], strict=True):
            _advance(layer, below @ layer.entry + layer.bias, *state)
    return states[-1, 0, 1:]


def _advance(layer: _Layer, seen: Tensor, hidden: Tensor, cell: Tensor) -> None:
    """Take one step of the LSTM in place."""
    gates = (hidden @ layer.recurrent).add_(seen).sigmoid_()
    entry, forget, output, content = gates.chunk(4, dim=-1)
    cell.mul_(forget).sub_(entry).addcmul_(entry, content, value=2)
    torch.mul(output, torch.sigmoid(2 * cell).mul_(2).sub_(1), out=hidden)
