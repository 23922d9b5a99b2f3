"""Any transformer fine-tuned on whole documents: the strongest rival, and a black box."""

import copy
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from protorynet.encoders import (
    Encoder,
    SentenceNetwork,
    TransformerEncoder,
    choose_device,
    load_encoder,
)
from protorynet.errors import InputError, ProtoryNetError
from protorynet.progress import Advance, progress_bar
from protorynet.training import Corpus, Score, Stage, derive_seed
from protorynet_lab.baselines.rival_base import (
    Part,
    Reasons,
    Rival,
    leave_one_out,
    number,
    one_of,
    plan_epoch,
    score_logits,
    softmax,
    train_network,
    whole,
)

Pooling = Literal["mean", "cls"]
Long = Literal["head+tail", "windows"]
_HEAD_SHARE = 0.25  # 128 of 512 tokens, as in Sun et al. (2019)
_DROPOUT = 0.1
_WARM_UP = 0.1
_HEAD_RATE = 20.0  # times the learning rate of the transformer, whose weights are not new
_WEIGHT_DECAY = 0.01
_LONGEST_GRADIENT = 1.0
DOCUMENTS_READ_AT_ONCE = 16_384
GPU_TOKENS, CPU_TOKENS = 65_536, 8_192  # most of a step, padding included, or read at once


def cut_document(ids: list[int], most: int, long: Long, bare: list[int]) -> list[list[int]]:
    """Cut a document of more than `most` tokens to its ends, or into windows.

    `bare` are the special tokens of an empty document, which every window has.
    """
    if len(ids) <= most:
        return [ids]
    if long == "head+tail":
        head = round(_HEAD_SHARE * most)
        return [ids[:head] + ids[head - most :]]
    first = next((at for at, special in enumerate(bare) if special != ids[at]), len(bare))
    last, size = len(ids) - len(bare) + first, most - len(bare)
    return [
        ids[:first] + ids[start : min(start + size, last)] + ids[last:]
        for start in range(first, last, size)
    ]


class DocumentBatch(NamedTuple):
    """Some documents on the device."""

    tokens: Tensor  # of all windows, one after the other
    lengths: Tensor  # tokens of each window
    document: Tensor  # position of each window's document in the batch
    n_documents: int
    longest: int  # tokens of the longest window


class DocumentTokens:
    """Documents, each of one or several windows of tokens, none of them empty."""

    def __init__(self, documents: Iterable[list[list[int]]]) -> None:
        self._windows = [[np.array(window) for window in document] for document in documents]
        self.totals = np.array([sum(map(len, document)) for document in self._windows], np.int64)

    def __len__(self) -> int:
        return len(self.totals)

    def batches(
        self, size: int, random: np.random.Generator, most_tokens: int
    ) -> list[NDArray[np.int64]]:
        """Return all documents once, in random batches of like length."""
        # They are made of documents of tokens as of documents of sentences.
        totals = torch.from_numpy(self.totals)
        return Corpus(totals, totals, totals).batches(size, random, most_sentences=most_tokens)

    def on(
        self, device: torch.device, batches: Sequence[NDArray[np.int64]]
    ) -> Iterator[DocumentBatch]:
        """Yield batches of documents, all moved to the device in one go, so that it never waits."""
        windows = [window for batch in batches for at in batch for window in self._windows[at]]
        lengths = np.array([len(window) for window in windows])
        counts = [[len(self._windows[at]) for at in batch] for batch in batches]
        document = np.concatenate([np.repeat(np.arange(len(each)), each) for each in counts])
        n_tokens = [int(self.totals[batch].sum()) for batch in batches]
        n_windows = [sum(each) for each in counts]
        longest = np.maximum.reduceat(lengths, np.cumsum([0, *n_windows[:-1]]))
        arrays = (np.concatenate(windows), lengths, document)
        moved = [torch.from_numpy(array).to(device) for array in arrays]
        yield from map(
            DocumentBatch,
            torch.split(moved[0], n_tokens),
            torch.split(moved[1], n_windows),
            torch.split(moved[2], n_windows),
            map(len, batches),
            longest.tolist(),
        )


def score_epoch(logits: Tensor, truth: Tensor) -> Score:
    """Count the documents that are wrong; the cross-entropy counts less than one of them.

    Late epochs grow too sure of themselves while they still improve.
    """
    wrong, loss = int((logits.argmax(dim=1) != truth).sum()), score_logits(logits, truth).loss
    return Score(wrong + loss / (1 + loss), 1 - wrong / len(truth))


@dataclass(eq=False, repr=False)
class TransformerClassifier(Rival):
    """A pre-trained transformer and a linear layer, fine-tuned on whole documents.

    On a GPU it computes in bfloat16. The epoch with the best validation accuracy is kept.

    Parameters
    ----------
    encoder
        ``"minilm"`` (comes with the package), the folder or Hugging Face name of any encoder, or a
        `TransformerEncoder`, which stays as it is.
    pooling
        What the linear layer reads: the mean of the token vectors, or the first (``"cls"``).
    long, max_tokens
        What is read of a document of more than `max_tokens`: its beginning and its end
        (``"head+tail"``), or all of it in windows whose logits are averaged (``"windows"``).
    epochs, patience, batch_size, learning_rate
        Most epochs; most epochs on end without improvement; most documents per step; and the
        highest learning rate of the transformer.
    random_state, device, verbose
        As for `ProtoryNetClassifier`.
    """

    encoder: str | Path | Encoder = "minilm"
    _: KW_ONLY
    pooling: Pooling = one_of("mean", "cls")  # noqa: RUF009 - it makes a field
    long: Long = one_of("head+tail", "windows")  # noqa: RUF009
    max_tokens: int = whole(512, 8)
    epochs: int = whole(3, 1)
    patience: int = whole(2, 1)
    batch_size: int = whole(32, 1)
    learning_rate: float = number(5e-5, "between 0 and 1", lambda value: 0 < value < 1)
    device: str = "auto"
    verbose: bool = False

    def _learn(self, train: Part, validation: Part) -> float:
        device = choose_device(self.device)
        given = load_encoder(self.encoder, device=self.device)
        remedy = (
            "long='head+tail', which reads less of long documents"
            if self.long == "windows"
            else f"a lower batch_size (now {self.batch_size}) or max_tokens (now {self.max_tokens})"
        )
        with torch.random.fork_rng():
            torch.manual_seed(derive_seed(int(self.random_state), "initialise"))
            self._install(given)
            self.network_.to(device)
            with self._within_memory(remedy):
                score = self._fine_tune(train, validation)
        self.network_.requires_grad_(False)
        return score.accuracy

    def _install(self, given: Encoder) -> None:
        """Make a network that ends in logits, and a tokenizer that cuts nothing."""
        if not isinstance(given, TransformerEncoder):
            raise InputError(
                f"the encoder {given.name!r} is no transformer that can be fine-tuned; give the "
                "name or folder of one, such as 'minilm'."
            )
        backbone: Any = copy.deepcopy(given.network.backbone)
        head = nn.Linear(backbone.config.hidden_size, len(self._code().classes))
        self.network_ = SentenceNetwork(backbone, (self.pooling,), [nn.Dropout(_DROPOUT), head])
        self._tokenizer = replace(given.tokenizer, window=sys.maxsize)
        # Sentence encoders often ask for less than their transformer can read. Of its position
        # embeddings, where it has any, two may hold no token.
        positions: Any = getattr(backbone.config, "max_position_embeddings", None)
        is_bounded = isinstance(positions, int) and positions > 0
        limit = max(given.window, positions - 2) if is_bounded else sys.maxsize
        self._window = min(self.max_tokens, limit)

    def _fine_tune(self, train: Part, validation: Part) -> Score:
        """Train by AdamW, with warm-up and decay, and leave the network at its best epoch."""
        network, device = self.network_, choose_device(self.device)
        documents, held_out = self._tokens(train.texts), self._tokens(validation.texts)
        targets = torch.from_numpy(train.targets).to(device)
        truth = torch.from_numpy(validation.targets)
        optimiser = _adamw(network, self.learning_rate)
        size, passes = plan_epoch(len(documents), self.batch_size, smallest=8, cuts=100, steps=16)
        advance: Advance

        def losses(epoch: int, random: np.random.Generator) -> Iterator[Tensor]:
            most = _most_tokens(device)
            batches = [
                batch for _ in range(passes) for batch in documents.batches(size, random, most)
            ]
            order = torch.from_numpy(np.concatenate(batches)).to(device)
            classes = torch.split(targets[order], [len(batch) for batch in batches])
            for step, batch in enumerate(documents.on(device, batches)):
                _set_rate(optimiser, (epoch + step / len(batches)) / self.epochs)
                yield functional.cross_entropy(_read_batch(network, batch), classes[step])
                advance(batch.n_documents)

        def validate() -> Score:
            return score_epoch(torch.from_numpy(_read(network, held_out, device)), truth)

        total = self.epochs * passes * len(documents)
        with progress_bar("Fine-tuning", total, enabled=self.verbose) as advance:
            return train_network(
                network,
                optimiser,
                Stage("train", self.epochs, self.patience),
                seed=int(self.random_state),
                losses=losses,
                validate=validate,
                longest_gradient=_LONGEST_GRADIENT,
            )

    def _tokens(self, texts: Sequence[str]) -> DocumentTokens:
        tokenizer = self._tokenizer
        bare = tokenizer.tokenize([""])[0].tolist()
        return DocumentTokens(
            cut_document(ids.tolist(), self._window, self.long, bare)
            for ids in tokenizer.tokenize(texts).filled(tokenizer.pad_token_id)
        )

    def _probabilities(self, texts: Sequence[str]) -> NDArray[np.float32]:
        result = np.empty((len(texts), len(self._code().classes)), np.float32)
        device = choose_device(self.device)
        for start in range(0, len(texts), DOCUMENTS_READ_AT_ONCE):
            tokens = self._tokens(texts[start : start + DOCUMENTS_READ_AT_ONCE])
            with self._within_memory("device='cpu', or free some of it"):
                logits = _read(self.network_, tokens, device)
            result[start : start + len(tokens)] = softmax(torch.from_numpy(logits))
        return result

    @contextmanager
    def _within_memory(self, remedy: str) -> Iterator[None]:
        """Say what to try where the memory of the device is too small."""
        try:
            yield
        except torch.OutOfMemoryError:
            raise ProtoryNetError(
                f"the device {self.device!r} has too little memory; try {remedy}."
            ) from None

    def _evidence(self, text: str, label: int) -> Reasons:
        return leave_one_out(text, label, self._probabilities)


@torch.inference_mode()
def _read(
    network: SentenceNetwork, documents: DocumentTokens, device: torch.device
) -> NDArray[np.float32]:
    """Return the logits of documents, of which there must be some."""
    # Every document is read alone, so the order of the batches does not matter.
    batches = documents.batches(len(documents), np.random.default_rng(0), _most_tokens(device))
    logits = torch.cat([_read_batch(network, batch) for batch in documents.on(device, batches)])
    result = np.empty(logits.shape, np.float32)
    result[np.concatenate(batches)] = logits.cpu().numpy()
    return result


def _read_batch(network: SentenceNetwork, batch: DocumentBatch) -> Tensor:
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
    return CPU_TOKENS if device.type == "cpu" else GPU_TOKENS
