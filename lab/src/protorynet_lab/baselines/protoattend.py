"""ProtoAttend: every prediction is a mixture of a few training documents."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from protorynet.encoders import Embeddings
from protorynet.settings import Settings
from protorynet.training import Score, Stage, derive_seed, validation_documents
from protorynet_lab.baselines.rival_base import (
    Evidence,
    Reasons,
    list_texts,
    number,
    plan_epoch,
    score_logits,
    softmax,
    train_network,
    whole,
)
from protorynet_lab.baselines.sentence_rivals import SentenceRival

_SETTINGS = Settings(encoder_training="none")
_HIDDEN, _ATTENTION, _VALUE = 128, 32, 64  # widths of documents, of queries and keys, of values
_DROPOUT = 0.2
_JOINT_SHARE = 0.5  # of the examples, in the loss between that of the document and of the examples
_SMALL = 1e-6
TOP_SCORES = 128  # scores looked at first; nearly always the others get nothing
DOCUMENTS_PER_BLOCK = 1_024  # that attend at once


class _Encoded(NamedTuple):
    """Documents as queries, keys and values, a vector each."""

    queries: Tensor
    keys: Tensor
    values: Tensor


class _PrototypeAttention(nn.Module):
    """From document vectors to queries, keys and values, and from values to logits."""

    def __init__(self, dimension: int, n_classes: int) -> None:
        super().__init__()
        self.document = nn.Linear(dimension, _HIDDEN)
        self.norm = nn.LayerNorm(_HIDDEN)
        self.dropout = nn.Dropout(_DROPOUT)
        self.query = nn.Linear(_HIDDEN, _ATTENTION)
        self.key = nn.Linear(_HIDDEN, _ATTENTION)
        self.value = nn.Linear(_HIDDEN, _VALUE)
        self.value_norm = nn.LayerNorm(_VALUE)
        # Without a bias, the logits of a mixture are the mixture of the examples' logits.
        self.decide = nn.Linear(_VALUE, n_classes, bias=False)

    def forward(self, vectors: Tensor) -> _Encoded:
        document = self.dropout(self.norm(functional.gelu(self.document(vectors))))
        values = self.value_norm(functional.relu(self.value(document)))
        return _Encoded(self.query(document), self.key(document), values)

    def loss(self, own: Tensor, mixture: Tensor, targets: Tensor) -> Tensor:
        """Return the loss by a document's own value, by the examples' mixture, and by the mean."""
        joint = (1 - _JOINT_SHARE) * own + _JOINT_SHARE * mixture
        losses = [
            functional.cross_entropy(self.decide(value), targets) for value in (own, mixture, joint)
        ]
        return torch.stack(losses).sum()


@dataclass(kw_only=True, eq=False, repr=False)
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
        Most epochs; epochs on end without improvement; documents per step; Adam's learning rate.
    splitter, random_state, device, cache, verbose
        As for `ProtoryNetClassifier`.
    """

    candidates: int = whole(1_024, 2)
    sparsity: float = number(0.03, "of at least 0 and below 10", lambda value: 0 <= value < 10)
    epochs: int = whole(30, 1)
    patience: int = whole(5, 1)
    batch_size: int = whole(128, 1)
    learning_rate: float = number(1e-3, "above 0 and below 10", lambda value: 0 < value < 10)

    def confidence(self, X: Any) -> NDArray[np.float32]:  # noqa: N803
        """Return the share of attention on training documents of the predicted class.

        Where it is low, the examples disagree and the prediction deserves a second look. It is 0
        for a document without a sentence, which attends to nothing.
        """
        self._code()
        return self._map_attention(list_texts(X), 1, self._agree)[:, 0]

    def _learn_all(self, texts: list[str], targets: NDArray[np.float32]) -> float:
        self._check_task()
        code = self._code()
        prepared, filled = self._prepare(texts, targets, _SETTINGS)
        held_out = validation_documents(
            targets[filled], code, _SETTINGS.validation_fraction, int(self.random_state)
        )
        kept = np.delete(np.flatnonzero(filled), held_out)
        self.examples_ = tuple(texts[document] for document in kept)
        self.example_classes_ = targets[kept].argmax(axis=1)
        base = prepared.source.base
        train, validation = (
            (_document_means(base, corpus.index, corpus.lengths), corpus.targets.argmax(dim=1))
            for corpus in (prepared.train, prepared.validation)
        )
        with torch.random.fork_rng():
            torch.manual_seed(derive_seed(int(self.random_state), "initialise"))
            self.network_ = _PrototypeAttention(base.shape[1], len(code.classes))
            self.network_.to(base.device)
            score = self._train(*train, *validation)
        self.network_.requires_grad_(False)
        self._database = self._encode(train[0])
        return score.accuracy

    def _train(self, vectors: Tensor, classes: Tensor, held_out: Tensor, truth: Tensor) -> Score:
        network, count = self.network_, len(vectors)
        size, passes = plan_epoch(count, self.batch_size, smallest=8, cuts=48, steps=48)

        def losses(epoch: int, random: np.random.Generator) -> Iterator[Tensor]:
            for _ in range(passes):
                for documents in torch.split(torch.randperm(count), size):
                    examples = torch.randperm(count)[: self.candidates]
                    own, others = network(vectors[documents]), network(vectors[examples])
                    # A document that could attend to itself would learn nothing else.
                    is_same = (documents[:, None] == examples).to(vectors.device)
                    weights = attend(own.queries, others.keys, is_same)
                    loss = network.loss(own.values, weights @ others.values, classes[documents])
                    entropy = -(weights * (weights + _SMALL).log()).sum(dim=1).mean()
                    yield loss + self.sparsity * entropy

        def validate() -> Score:
            self._database = self._encode(vectors)
            return score_logits(self._mix(self._encode(held_out).queries, self._decide), truth)

        return train_network(
            network,
            torch.optim.Adam(network.parameters(), lr=self.learning_rate),
            Stage("train", self.epochs, self.patience),
            seed=int(self.random_state),
            losses=losses,
            validate=validate,
            progress=self.verbose,
        )

    @torch.inference_mode()
    def _encode(self, vectors: Tensor) -> _Encoded:
        encoded: _Encoded = self.network_(vectors)
        return encoded

    @torch.inference_mode()
    def _mix(self, queries: Tensor, mix: Callable[[Tensor], Tensor]) -> Tensor:
        """Return what `mix` makes of the attention of documents to the examples."""
        blocks = torch.split(queries, DOCUMENTS_PER_BLOCK)
        return torch.cat([mix(attend(block, self._database.keys)) for block in blocks])

    def _decide(self, weights: Tensor) -> Tensor:
        """Return the logits of documents: those of the examples they attend to, mixed."""
        logits: Tensor = weights @ self.network_.decide(self._database.values)
        return logits

    def _agree(self, weights: Tensor) -> Tensor:
        predicted = self._decide(weights).argmax(dim=1, keepdim=True)
        classes = torch.from_numpy(self.example_classes_).to(weights.device)
        return (weights * (classes == predicted)).sum(dim=1, keepdim=True)

    def _queries(self, embeddings: Embeddings, lengths: NDArray[np.int64]) -> Tensor:
        device = self.centring_.mean.device
        arrays = (embeddings.vectors, embeddings.index, lengths)
        raw, index, counts = (torch.from_numpy(array).to(device) for array in arrays)
        return self._encode(_document_means(self.centring_(raw), index, counts)).queries

    def _read(self, embeddings: Embeddings, lengths: NDArray[np.int64]) -> NDArray[np.float32]:
        return softmax(self._mix(self._queries(embeddings, lengths), self._decide))

    def _map_attention(
        self, texts: list[str], n_values: int, mix: Callable[[Tensor], Tensor]
    ) -> NDArray[np.float32]:
        """Return what `mix` makes of the attention of texts; zeros where there is no sentence."""

        def read(embeddings: Embeddings, lengths: NDArray[np.int64]) -> NDArray[np.float32]:
            mixed = self._mix(self._queries(embeddings, lengths), mix)
            return np.asarray(mixed.cpu(), np.float32)

        return self._map_documents(texts, np.zeros(n_values, np.float32), read)

    def _evidence(self, text: str, label: int) -> Reasons:
        weights = self._map_attention([text], len(self.examples_), lambda weights: weights)[0]
        names = self._code().names
        evidence = []
        for example in np.flatnonzero(weights).tolist():
            known = int(self.example_classes_[example])
            weight = float(weights[example] if known == label else -weights[example])
            evidence.append(Evidence(self.examples_[example], weight, names[known]))
        confidence = weights[self.example_classes_ == label].sum()
        return evidence, (
            "A weight is the share of attention on a training document, with a minus where that "
            "document is of another class; the prediction is made from these documents alone. "
            f"Confidence, the share on documents of the predicted class: {confidence:.2f}."
        )


def attend(queries: Tensor, keys: Tensor, forbidden: Tensor | None = None) -> Tensor:
    """Return how much each query attends to each key that is not forbidden; a query's sum to 1."""
    scores = queries @ keys.T / queries.shape[1] ** 0.5
    if forbidden is not None:
        scores = scores.masked_fill(forbidden, float("-inf"))
    return sparsemax(scores)


def sparsemax(scores: Tensor) -> Tensor:
    """Return scores as shares, most of them exactly 0 (Martins and Astudillo, 2016)."""
    scores = scores - scores.detach().amax(dim=1, keepdim=True)  # small numbers are exact
    size = min(TOP_SCORES, scores.shape[1])
    while True:
        top = scores.topk(size, dim=1).values
        ranks = torch.arange(1, size + 1, device=scores.device)
        excess = top.cumsum(dim=1) - 1
        count = (ranks * top > excess).sum(dim=1, keepdim=True)
        if size == scores.shape[1] or int(count.max()) < size:
            threshold = excess.gather(1, count - 1) / count
            return (scores - threshold).clamp(min=0)
        size = min(4 * size, scores.shape[1])


def _document_means(base: Tensor, index: Tensor, lengths: Tensor) -> Tensor:
    """Return the mean embedding of each document of so many sentences."""
    return torch.segment_reduce(base[index], "mean", lengths=lengths, axis=0)
