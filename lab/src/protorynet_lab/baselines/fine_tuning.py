"""Fine-tuning a transformer on whole documents: AdamW, warm-up and decay, the best epoch kept."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from protorynet.encoders import SentenceNetwork
from protorynet.progress import Advance, progress_bar
from protorynet.training import Score, Stage, derive_seed, train_epochs
from protorynet_lab.baselines.document_tokens import DocumentBatch, DocumentTokens

__all__ = ["FineTuning", "LabelledTokens", "document_logits", "fine_tune", "score_epoch"]

# Most tokens of a step, padding included, and most that are read at once.
_GPU_TOKENS, _CPU_TOKENS = 65_536, 8_192
# Steps of an epoch, where there are documents enough, and the fewest however few there are.
_STEPS, _FEWEST_STEPS, _SMALLEST_BATCH = 100, 16, 8
_WARM_UP = 0.1
_HEAD_RATE = 20.0  # times the learning rate of the transformer, whose weights are not new
_WEIGHT_DECAY = 0.01
_LONGEST_GRADIENT = 1.0


class LabelledTokens(NamedTuple):
    """Documents and the number of the class of each, on the device to work on."""

    documents: DocumentTokens
    targets: Tensor


@dataclass(frozen=True)
class FineTuning:
    """How to fine-tune.

    Parameters
    ----------
    epochs, patience
        Most epochs, and most epochs in a row without improvement.
    batch_size, learning_rate
        Most documents per step, and the highest learning rate of the transformer.
    seed, progress
        Seed, and whether to show a progress bar.
    """

    epochs: int
    patience: int
    batch_size: int
    learning_rate: float
    seed: int
    progress: bool


def fine_tune(
    network: SentenceNetwork, train: LabelledTokens, validation: LabelledTokens, how: FineTuning
) -> float:
    """Train a network that ends in logits, and leave it at its best epoch.

    Parameters
    ----------
    network
        The network, on the device of the targets.
    train, validation
        What to learn from, and what to choose the epoch by.
    how
        The hyper-parameters.

    Returns
    -------
    The validation accuracy of the epoch that is kept.
    """
    documents, targets = train
    optimiser = _adamw(network, how.learning_rate)
    size = min(how.batch_size, max(_SMALLEST_BATCH, len(documents) // _STEPS))
    passes = math.ceil(_FEWEST_STEPS * size / len(documents))

    def run_epoch(epoch: int) -> None:
        seed = derive_seed(how.seed, f"train {epoch}")
        torch.manual_seed(seed)
        random = np.random.default_rng(seed)
        most = _most_tokens(targets.device)
        drawn = (documents.random_batches(size, random, most) for _ in range(passes))
        batches = list(itertools.chain.from_iterable(drawn))
        classes = targets[torch.from_numpy(np.concatenate(batches)).to(targets.device)]
        network.train()
        start = 0
        for step, batch in enumerate(documents.on(targets.device, batches)):
            _set_rate(optimiser, (epoch + step / len(batches)) / how.epochs)
            stop = start + batch.n_documents
            _step(network, optimiser, batch, classes[start:stop])
            advance(batch.n_documents)
            start = stop
        network.eval()

    def validate() -> Score:
        logits = torch.from_numpy(document_logits(network, validation.documents, targets.device))
        return score_epoch(logits, validation.targets.cpu())

    advance: Advance
    stage = Stage("train", how.epochs, how.patience)
    total = how.epochs * passes * len(documents)
    with progress_bar("Fine-tuning", total, enabled=how.progress) as advance:
        return train_epochs(network, optimiser, run_epoch, validate, stage=stage).accuracy


def score_epoch(logits: Tensor, truth: Tensor) -> Score:
    """Count the documents that are wrong; the cross-entropy counts less than one of them.

    Late epochs grow too sure of themselves while they still improve, so that it may only decide
    between epochs that are right equally often.
    """
    wrong = int((logits.argmax(dim=1) != truth).sum())
    loss = float(functional.cross_entropy(logits, truth))
    return Score(wrong + loss / (1 + loss), 1 - wrong / len(truth))


@torch.inference_mode()
def document_logits(
    network: SentenceNetwork, documents: DocumentTokens, device: torch.device
) -> NDArray[np.float32]:
    """Return the logits of documents, which may not be none."""
    batches = documents.batches_by_length(_most_tokens(device))
    logits = torch.cat([_read(network, batch) for batch in documents.on(device, batches)])
    result = np.empty(logits.shape, np.float32)
    result[np.concatenate(batches)] = logits.cpu().numpy()
    return result


def _step(
    network: SentenceNetwork, optimiser: torch.optim.AdamW, batch: DocumentBatch, classes: Tensor
) -> None:
    loss = functional.cross_entropy(_read(network, batch), classes)
    optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(network.parameters(), _LONGEST_GRADIENT)
    optimiser.step()


def _read(network: SentenceNetwork, batch: DocumentBatch) -> Tensor:
    """Return the logits of some documents: the mean over the windows of each."""
    device = batch.tokens.device
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        logits = network.forward_packed(batch.tokens, batch.lengths, batch.longest).float()
    if len(logits) == batch.n_documents:
        return logits
    totals = logits.new_zeros(batch.n_documents, logits.shape[1])
    counts = torch.bincount(batch.document, minlength=batch.n_documents)
    return totals.index_add(0, batch.document, logits) / counts[:, None]


def _adamw(network: SentenceNetwork, rate: float) -> torch.optim.AdamW:
    groups = []
    for part, peak in ((network.backbone, rate), (network.heads, _HEAD_RATE * rate)):
        # Biases and the scales of normalisation have one dimension, and do not decay.
        for decay, is_flat in ((_WEIGHT_DECAY, False), (0.0, True)):
            parameters = [each for each in part.parameters() if (each.ndim == 1) == is_flat]
            groups.append({"params": parameters, "peak": peak, "weight_decay": decay})
    return torch.optim.AdamW(groups, lr=rate, fused=True)


def _set_rate(optimiser: torch.optim.Optimizer, progress: float) -> None:
    """Let the learning rates rise at first and then fall to zero."""
    share = min(progress / _WARM_UP, (1 - progress) / (1 - _WARM_UP))
    for group in optimiser.param_groups:
        group["lr"] = group["peak"] * share


def _most_tokens(device: torch.device) -> int:
    return _CPU_TOKENS if device.type == "cpu" else _GPU_TOKENS
