"""ProSeNet: classification by similarity to whole training documents (Ming et al., 2019)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from protorynet.errors import InputError
from protorynet.training import Stage
from protorynet_lab.baselines.contract import Evidence, Part
from protorynet_lab.baselines.prosenet_network import LossWeights
from protorynet_lab.baselines.prosenet_training import (
    Fitted,
    ProSeNetRun,
    distinct_documents,
    fit_prototypes,
    warm_up,
)
from protorynet_lab.baselines.sequence_rival import Ranges, SequenceRival
from protorynet_lab.baselines.sequence_training import WordRun, read_corpus

__all__ = ["DocumentPrototype", "ProSeNetClassifier"]

_SIZES = (5, 20, 50, 100, 200, 400)  # the paper's choices of K
_RANGES: Ranges = {
    "prototype_epochs": (1, 100_000),
    "project_every": (1, 100_000),
    "clustering": (0.0, 1e6),
    "evidence": (0.0, 1e6),
    "diversity": (0.0, 1e6),
    "sparsity": (0.0, 1e6),
    "d_min": (0.0, 1e6),
}
_SHOWN = 5  # prototypes of an explanation
_HOW = (
    "The weight of a training document is its similarity to this one times its weight for the "
    "predicted class, less the same for the other classes on average. The weights of all "
    "prototypes add up to the logit by which the class leads; the similarity itself, between "
    "vectors that an LSTM gave, is not explained."
)


@dataclass(frozen=True)
class DocumentPrototype:
    """A training document that others are compared with.

    Parameters
    ----------
    text
        The document.
    row
        Its place in the training data, counted from 0.
    label
        Its class.
    weights
        Its weight for each class.
    """

    text: str
    row: int
    label: str
    weights: dict[str, float]


class ProSeNetClassifier(SequenceRival):
    """Prototypes that are whole documents, compared in the space of an LSTM.

    The encoder (two layers of 128, as in `VanillaLSTMClassifier`) first learns as a plain
    classifier. Prototypes start at medoids of the training documents and learn with the encoder;
    every few epochs, and at the end, each moves onto its nearest training document, so the
    document shown is the prototype used. The last layer is then tuned to these. Where that is no
    better on the validation documents than the medoids were, the medoids are kept. All accuracies
    are those of the final model.

    Parameters
    ----------
    n_prototypes
        Number of prototypes K. None: the best of 5, 20, 50, 100, 200 and 400 by accuracy on the
        validation documents, and of equals the smallest.
    nonnegative
        No weight of the last layer is below zero, so prototypes only speak for classes.
    clustering, evidence, diversity, sparsity
        Weights λ of the losses: documents near prototypes, prototypes near documents, prototypes
        apart, and few weights in the last layer.
    d_min
        Distance below which two prototypes are too close.
    prototype_epochs, project_every
        Epochs in which prototypes and encoder learn together, for each K; and epochs between
        projections onto documents.
    vectors, max_vocabulary, max_length, hidden_size
        As for `VanillaLSTMClassifier`.
    epochs, patience
        Most epochs of the warm-up, and most in a row without a lower validation loss.
    batch_size, learning_rate, device, verbose, random_state
        As for `VanillaLSTMClassifier`.

    Attributes
    ----------
    prototypes_
        The prototypes, in the order of the last layer's columns.
    validation_accuracies_
        Accuracy on the validation documents for each K tried.
    vocabulary_
        The words it knows.

    Examples
    --------
    >>> texts = ["A great film, truly great.", "A dull film, truly dull."] * 20
    >>> rival = ProSeNetClassifier(
    ...     n_prototypes=2, hidden_size=8, epochs=3, prototype_epochs=1, device="cpu"
    ... )
    >>> rival.fit(texts, ["good", "bad"] * 20).predict(["A great film."]).tolist()
    ['good']
    >>> sorted(prototype.text for prototype in rival.prototypes_)
    ['A dull film, truly dull.', 'A great film, truly great.']
    """

    def __init__(
        self,
        *,
        n_prototypes: int | None = None,
        nonnegative: bool = True,
        clustering: float = 0.01,
        evidence: float = 0.01,
        diversity: float = 0.01,
        sparsity: float = 1e-3,
        d_min: float = 1.0,
        prototype_epochs: int = 8,
        project_every: int = 4,
        vectors: str | os.PathLike[str] | None = None,
        max_vocabulary: int = 30_000,
        max_length: int = 400,
        hidden_size: int = 128,
        epochs: int = 20,
        patience: int = 4,
        batch_size: int = 128,
        learning_rate: float = 1e-3,
        device: str = "auto",
        verbose: bool = False,
        random_state: int = 0,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.nonnegative = nonnegative
        self.clustering = clustering
        self.evidence = evidence
        self.diversity = diversity
        self.sparsity = sparsity
        self.d_min = d_min
        self.prototype_epochs = prototype_epochs
        self.project_every = project_every
        self.vectors = vectors
        self.max_vocabulary = max_vocabulary
        self.max_length = max_length
        self.hidden_size = hidden_size
        self.epochs = epochs
        self.patience = patience
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.device = device
        self.verbose = verbose
        self.random_state = random_state

    def _learn(self, train: Part, validation: Part) -> float:
        with torch.random.fork_rng():
            words, encoder = self._start(train, validation)
            run = self._run(words)
            sizes = self._sizes(len(run.candidates))
            warm_up(encoder, run)
            self.validation_accuracies_: dict[int, float] = {}
            best: Fitted | None = None
            for size in sizes:
                fitted = fit_prototypes(encoder, size, run)
                self.validation_accuracies_[size] = fitted.score.accuracy
                if best is None or fitted.score.accuracy > best.score.accuracy:
                    best = fitted
        assert best is not None
        self.network_ = best.network.requires_grad_(False)
        self.prototypes_ = tuple(self._prototypes(train, best))
        return best.score.accuracy

    def _prototypes(self, train: Part, fitted: Fitted) -> Iterator[DocumentPrototype]:
        names = self.labels_.names
        columns = fitted.network.weight.T.tolist()
        for place, weights in zip(fitted.documents.tolist(), columns, strict=True):
            yield DocumentPrototype(
                text=train.texts[place],
                row=int(train.rows[place]),
                label=names[train.targets[place]],
                weights=dict(zip(names, weights, strict=True)),
            )

    def _run(self, words: WordRun) -> ProSeNetRun:
        return ProSeNetRun(
            words=words,
            candidates=distinct_documents(words.train),
            weights=LossWeights(
                clustering=self.clustering,
                evidence=self.evidence,
                diversity=self.diversity,
                sparsity=self.sparsity,
                d_min=self.d_min,
            ),
            nonnegative=bool(self.nonnegative),
            warm_up=Stage("warm-up", self.epochs, self.patience),
            epochs=self.prototype_epochs,
            project_every=self.project_every,
            learning_rate=self.learning_rate,
        )

    def _sizes(self, n_documents: int) -> list[int]:
        """Return the numbers of prototypes to try."""
        if self.n_prototypes is None:
            return [size for size in _SIZES if size <= n_documents] or [n_documents]
        if self.n_prototypes > n_documents:
            raise InputError(
                f"n_prototypes={self.n_prototypes} is more than the {n_documents} different "
                "documents to train on; ask for fewer."
            )
        return [self.n_prototypes]

    def _ranges(self) -> Ranges:
        chosen = {} if self.n_prototypes is None else {"n_prototypes": (1, 100_000)}
        return super()._ranges() | _RANGES | chosen

    def _probabilities(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not texts:
            return np.zeros((0, len(self.labels_.classes)), np.float32)
        logits = torch.from_numpy(self._similarities(texts)) @ self.network_.weight.cpu().T
        probabilities: NDArray[np.float32] = torch.softmax(logits, dim=1).numpy()
        return probabilities

    def _evidence(self, text: str, place: int) -> tuple[Sequence[Evidence], str]:
        weight = self.network_.weight.cpu().numpy()
        others = np.delete(weight, place, axis=0).mean(axis=0)
        leads = self._similarities([text])[0] * (weight[place] - others)
        shown = np.argsort(-np.abs(leads), kind="stable")[:_SHOWN]
        chosen = [(self.prototypes_[column], float(leads[column])) for column in shown]
        return [Evidence(item.text, lead, item.label) for item, lead in chosen], _HOW

    def _similarities(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the similarities of documents to all prototypes, (documents, K)."""
        network = self.network_
        similar: NDArray[np.float32] = read_corpus(
            lambda batch: network.similarities(network.encode(batch)),
            self._corpus(self._words(texts)),
            network.weight.device,
        ).numpy()
        return similar
