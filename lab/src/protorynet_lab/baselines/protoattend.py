"""ProtoAttend: every prediction is a mixture of a few training documents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from protorynet.data import Splitter
from protorynet.encoders import Embeddings, Encoder
from protorynet.errors import InputError
from protorynet.settings import Settings
from protorynet.training import Score, Stage, derive_seed, train_epochs, validation_documents
from protorynet_lab.baselines.contract import Evidence, text_list
from protorynet_lab.baselines.prototype_attention import (
    Encoded,
    PrototypeAttention,
    attend,
    prototype_loss,
)
from protorynet_lab.baselines.sentence_rival import SentenceRival

__all__ = ["ProtoAttendClassifier"]

_SETTINGS = Settings(encoder_training="none")
_BLOCK = 1_024  # documents that attend at once
_SMALLEST_BATCH, _FEWEST_STEPS = 8, 48  # of an epoch, however small the corpus
_LEAST = {"candidates": 2, "epochs": 1, "patience": 1, "batch_size": 1}


class ProtoAttendClassifier(SentenceRival):
    """Attention over training documents, after Arik and Pfister (2020).

    A document is the mean of its frozen, centred sentence embeddings behind one trained layer. It
    attends to few of the training documents, by sparsemax, and the mixture of their values is all
    that decides the class.

    Parameters
    ----------
    encoder
        A name, a folder or an encoder.
    candidates
        Training documents to attend to in one step of training; a prediction may attend to all.
    sparsity
        Weight of the entropy of attention in the loss; more of it leaves fewer documents.
    epochs, patience, batch_size, learning_rate
        Most epochs; epochs in a row without improvement; documents per step; Adam's learning rate.
    splitter, random_state, device, cache, verbose
        As for `ProtoryNetClassifier`.

    Examples
    --------
    >>> texts = ["I loved it. Great film!", "Awful. I hated every minute."] * 10
    >>> rival = ProtoAttendClassifier(device="cpu").fit(texts, ["good", "bad"] * 10)
    >>> rival.predict(["What a great film."]).tolist()
    ['good']
    >>> rival.explain("What a great film.").evidence[0].text
    'I loved it. Great film!'
    >>> rival.confidence(["What a great film."]).tolist()
    [1.0]
    """

    def __init__(
        self,
        encoder: str | Path | Encoder = "minilm",
        *,
        candidates: int = 1_024,
        sparsity: float = 0.03,
        epochs: int = 30,
        patience: int = 5,
        batch_size: int = 128,
        learning_rate: float = 1e-3,
        splitter: Splitter = "sentencex",
        random_state: int = 0,
        device: str = "auto",
        cache: bool = True,
        verbose: bool = False,
    ) -> None:
        self.encoder = encoder
        self.candidates = candidates
        self.sparsity = sparsity
        self.epochs = epochs
        self.patience = patience
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.splitter = splitter
        self.random_state = random_state
        self.device = device
        self.cache = cache
        self.verbose = verbose

    def confidence(self, X: Any) -> NDArray[np.float32]:  # noqa: N803
        """Return the share of attention on training documents of the predicted class.

        Where it is low, the examples disagree and the prediction deserves a second look. It is 0
        for a document without a sentence, which attends to nothing.
        """
        self._code()
        return self._mapped(text_list(X), np.zeros(1, np.float32), self._agreement)[:, 0]

    def _learn_all(self, texts: list[str], targets: NDArray[np.float32]) -> float:
        self._check_parameters()
        code = self._code()
        if code.task != "multiclass":
            raise InputError("ProtoAttendClassifier gives one class per document, not several.")
        prepared, filled = self._prepare(texts, targets, _SETTINGS)
        held_out = validation_documents(
            targets[filled], code, _SETTINGS.validation_fraction, self._seed()
        )
        kept = np.delete(np.flatnonzero(filled), held_out)
        self.examples_ = tuple(texts[row] for row in kept)
        self.example_classes_ = targets[kept].argmax(axis=1)
        base = prepared.source.base
        train, validation = (
            (_document_means(base, corpus.rows, corpus.lengths), corpus.targets.argmax(dim=1))
            for corpus in (prepared.train, prepared.validation)
        )
        with torch.random.fork_rng():
            torch.manual_seed(derive_seed(self._seed(), "initialise"))
            self.network_ = PrototypeAttention(base.shape[1], len(code.classes))
            self.network_.to(base.device).eval()
            score = self._train(*train, *validation)
        self.network_.requires_grad_(False)
        self._database = self._encode(train[0])
        return score.accuracy

    def _train(self, vectors: Tensor, classes: Tensor, held_out: Tensor, truth: Tensor) -> Score:
        optimiser = torch.optim.Adam(self.network_.parameters(), lr=self.learning_rate)

        def validate() -> Score:
            self._database = self._encode(vectors)
            logits = self._decide(self._encode(held_out).queries)
            accuracy = (logits.argmax(dim=1) == truth).double().mean()
            return Score(float(functional.cross_entropy(logits, truth)), float(accuracy))

        return train_epochs(
            self.network_,
            optimiser,
            lambda epoch: self._run_epoch(epoch, vectors, classes, optimiser),
            validate,
            stage=Stage("train", self.epochs, self.patience),
            progress=self.verbose,
        )

    def _run_epoch(
        self, epoch: int, vectors: Tensor, classes: Tensor, optimiser: torch.optim.Optimizer
    ) -> None:
        network, count = self.network_, len(vectors)
        torch.manual_seed(derive_seed(self._seed(), f"train {epoch}"))
        size = min(self.batch_size, max(_SMALLEST_BATCH, count // _FEWEST_STEPS))
        network.train()
        for _ in range(math.ceil(_FEWEST_STEPS * size / count)):
            for documents in torch.split(torch.randperm(count), size):
                examples = torch.randperm(count)[: self.candidates]
                own, others = network(vectors[documents]), network(vectors[examples])
                # A document that could attend to itself would learn nothing else.
                is_same = (documents[:, None] == examples).to(vectors.device)
                weights = attend(own.queries, others.keys, is_same)
                loss = prototype_loss(
                    network, own.values, others.values, weights, classes[documents], self.sparsity
                )
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
        network.eval()

    @torch.inference_mode()
    def _encode(self, vectors: Tensor) -> Encoded:
        encoded: Encoded = self.network_(vectors)
        return encoded

    @torch.inference_mode()
    def _decide(self, queries: Tensor) -> Tensor:
        """Return the logits of documents: those of the examples they attend to, mixed."""
        verdicts = self.network_.decide(self._database.values)
        keys = self._database.keys
        return torch.cat([attend(part, keys) @ verdicts for part in torch.split(queries, _BLOCK)])

    def _queries(self, embeddings: Embeddings, lengths: NDArray[np.int64]) -> Tensor:
        device = self.centring_.mean.device
        arrays = (embeddings.vectors, embeddings.rows, lengths)
        raw, rows, counts = (torch.from_numpy(array).to(device) for array in arrays)
        return self._encode(_document_means(self.centring_(raw), rows, counts)).queries

    def _read(self, embeddings: Embeddings, lengths: NDArray[np.int64]) -> NDArray[np.float32]:
        logits = self._decide(self._queries(embeddings, lengths))
        result: NDArray[np.float32] = logits.softmax(dim=1).cpu().numpy()
        return result

    @torch.inference_mode()
    def _agreement(self, embeddings: Embeddings, lengths: NDArray[np.int64]) -> NDArray[np.float32]:
        queries = self._queries(embeddings, lengths)
        predicted = self._decide(queries).argmax(dim=1)
        classes = torch.from_numpy(self.example_classes_).to(queries.device)
        shares = [
            (attend(part, self._database.keys) * (classes == place[:, None])).sum(dim=1)
            for part, place in zip(
                *(torch.split(each, _BLOCK) for each in (queries, predicted)), strict=True
            )
        ]
        result: NDArray[np.float32] = torch.cat(shares)[:, None].cpu().numpy()
        return result

    def _attention(self, embeddings: Embeddings, lengths: NDArray[np.int64]) -> NDArray[np.float32]:
        weights = attend(self._queries(embeddings, lengths), self._database.keys)
        result: NDArray[np.float32] = weights.cpu().numpy()
        return result

    def _evidence(self, text: str, place: int) -> tuple[Sequence[Evidence], str]:
        nothing = np.zeros(len(self.examples_), np.float32)
        weights = self._mapped([text], nothing, self._attention)[0]
        names = self._code().names
        evidence = []
        for example in np.flatnonzero(weights).tolist():
            known = int(self.example_classes_[example])
            weight = float(weights[example] if known == place else -weights[example])
            evidence.append(Evidence(self.examples_[example], weight, names[known]))
        confidence = weights[self.example_classes_ == place].sum()
        return evidence, (
            "A weight is the share of attention on a training document, with a minus where that "
            "document is of another class; the prediction is made from these documents alone. "
            f"Confidence, the share on documents of the predicted class: {confidence:.2f}."
        )

    def _check_parameters(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
                raise InputError(f"{name}={value!r} should be a whole number of at least {least}.")
        for name, is_zero_allowed in (("sparsity", True), ("learning_rate", False)):
            value = getattr(self, name)
            is_number = isinstance(value, Real) and not isinstance(value, bool)
            if not is_number or not 0 <= value < 10 or (value == 0 and not is_zero_allowed):
                bound = "of at least 0" if is_zero_allowed else "above 0"
                raise InputError(f"{name}={value!r} should be a number {bound} and below 10.")


def _document_means(base: Tensor, rows: Tensor, lengths: Tensor) -> Tensor:
    """Return the mean embedding of each document of so many sentences."""
    return torch.segment_reduce(base[rows], "mean", lengths=lengths, axis=0)
