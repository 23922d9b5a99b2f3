"""How ProSeNet learns: warm-up, prototypes among real documents, projection, the last layer."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from protorynet.prototypes import k_medoids, project
from protorynet.training import Corpus, Score, Stage, derive_seed, train_epochs
from protorynet_lab.baselines.prosenet_network import LossWeights, ProSeNetwork
from protorynet_lab.baselines.sequence_encoder import SequenceEncoder
from protorynet_lab.baselines.sequence_training import (
    WordBatch,
    WordRun,
    adam_with_rates,
    read_corpus,
    score_of,
    train_reader,
)

__all__ = [
    "Fitted",
    "ProSeNetRun",
    "distinct_documents",
    "fit_prototypes",
    "project_network",
    "warm_up",
]

_HEAD_DROPOUT = 0.5
# Of the learning rate of the warm-up: the encoder has little left to learn, the last layer more.
_ENCODER_RATE, _LAST_LAYER_RATE = 0.5, 3.0
_TUNING_RATE, _TUNING_STEPS = 0.05, 10
_TUNING = Stage("last layer", epochs=100, patience=5)
_SPREAD = 0.5  # mean squared distance of documents to the middle of their class at the start
_LEAST_SPREAD = 0.05  # of it, as a share of that to the middle of all


@dataclass(frozen=True)
class ProSeNetRun:
    """What the training of networks with different numbers of prototypes shares.

    Parameters
    ----------
    words
        The documents, as for every rival that reads words.
    candidates
        Documents that may be prototypes: no two with the same words.
    weights, nonnegative
        Weights of the loss terms; whether the last layer may hold no weight below zero.
    warm_up
        Epochs and patience of the warm-up.
    epochs, project_every
        Epochs in which prototypes and encoder learn together, and those between projections.
    learning_rate
        Of the warm-up; the stages after it go by it.
    """

    words: WordRun
    candidates: NDArray[np.int64]
    weights: LossWeights
    nonnegative: bool
    warm_up: Stage
    epochs: int
    project_every: int
    learning_rate: float


@dataclass(frozen=True)
class Fitted:
    """A trained network, the training documents that its prototypes are, and how it does."""

    network: ProSeNetwork
    documents: NDArray[np.int64]
    score: Score


def distinct_documents(corpus: Corpus) -> NDArray[np.int64]:
    """Return the first of all documents that have the same words.

    Examples
    --------
    >>> rows, lengths = torch.tensor([1, 2, 3, 1, 2]), torch.tensor([2, 1, 2])
    >>> distinct_documents(Corpus(rows, lengths, torch.eye(3))).tolist()
    [0, 1]
    """
    rows = corpus.rows.numpy()
    ends = np.cumsum(corpus.lengths.numpy())
    first: dict[bytes, int] = {}
    for place, (end, length) in enumerate(zip(ends, corpus.lengths.tolist(), strict=True)):
        first.setdefault(rows[end - length : end].tobytes(), place)
    return np.array(list(first.values()), np.int64)


def warm_up(encoder: SequenceEncoder, run: ProSeNetRun) -> None:
    """Train the encoder as a plain classifier, so that prototypes start in a space with order."""
    words = run.words
    n_classes = words.train.targets.shape[1]
    head = nn.Sequential(nn.Dropout(_HEAD_DROPOUT), nn.Linear(encoder.size, n_classes))
    module = nn.ModuleDict({"encoder": encoder, "head": head.to(words.device)})

    def logits(batch: WordBatch) -> Tensor:
        result: Tensor = module["head"](encoder(batch.words, batch.lengths))
        return result

    train_reader(
        module,
        adam_with_rates([(list(module.parameters()), run.learning_rate)]),
        words,
        run.warm_up,
        loss_of=lambda batch: functional.cross_entropy(logits(batch), batch.targets),
        logits_of=logits,
    )


def fit_prototypes(encoder: SequenceEncoder, k: int, run: ProSeNetRun) -> Fitted:
    """Train `k` prototypes and a copy of a warm encoder together; deliver real documents.

    The prototypes start at medoids of the training documents. Where training together gives no
    lower validation loss, once all prototypes are documents again, the medoids remain.
    """
    start = _start_at_medoids(copy.deepcopy(encoder), k, run)
    trained = _train_together(copy.deepcopy(start.network), run)
    return trained if trained.score.loss < start.score.loss else start


def _start_at_medoids(encoder: SequenceEncoder, k: int, run: ProSeNetRun) -> Fitted:
    """Put the prototypes on medoids, each at first speaking for the class of its document."""
    words = run.words
    vectors = read_corpus(
        lambda batch: encoder(batch.words, batch.lengths), words.train, words.device
    )
    vectors = vectors * (scale := _scale(vectors, words.train.targets))
    candidates = vectors[torch.from_numpy(run.candidates)]
    medoids = k_medoids(candidates.numpy(), k, seed=derive_seed(words.seed, f"{k} medoids"))
    documents = run.candidates[medoids]
    places = torch.from_numpy(documents)
    network = ProSeNetwork(encoder, vectors[places], words.train.targets[places].T, scale=scale)
    network.to(words.device)
    return Fitted(network, documents, _tune_last_layer(network, run))


def _train_together(network: ProSeNetwork, run: ProSeNetRun) -> Fitted:
    """Train encoder, prototypes and last layer; then make every prototype a document for good."""
    network.to(run.words.device)  # also puts the weights of a copied LSTM back into one piece
    others = [*network.encoder.parameters(), network.prototypes]
    optimiser = adam_with_rates(
        [
            (others, _ENCODER_RATE * run.learning_rate),
            ([network.weight], _LAST_LAYER_RATE * run.learning_rate),
        ]
    )
    if run.nonnegative:
        optimiser.register_step_post_hook(lambda *_: network.keep_nonnegative())

    def project_now_and_then(epoch: int) -> None:
        if epoch and epoch % run.project_every == 0:
            project_network(network, run)

    train_reader(
        network,
        optimiser,
        run.words,
        # To the end: before the last layer is tuned, the validation loss is no fair judge.
        Stage(f"{len(network.prototypes)} prototypes", run.epochs, run.epochs, to_the_end=True),
        loss_of=lambda batch: network.loss(batch, run.weights),
        logits_of=network,
        before_epoch=project_now_and_then,
    )
    documents = project_network(network, run)
    return Fitted(network, documents, _tune_last_layer(network, run))


def _scale(vectors: Tensor, targets: Tensor) -> float:
    """Return the factor by which documents of one class are neither all alike nor all strange."""
    middles = (targets.T @ vectors) / targets.sum(dim=0).clamp_min(1)[:, None]
    within = float((vectors - targets @ middles).square().sum(dim=1).mean())
    overall = float((vectors - vectors.mean(dim=0)).square().sum(dim=1).mean())
    # Where a class is one point, as in tiny data, rounding errors must not be blown up.
    spread = max(within, _LEAST_SPREAD * overall)
    return (_SPREAD / spread) ** 0.5 if spread > 0 else 1.0


def project_network(network: ProSeNetwork, run: ProSeNetRun) -> NDArray[np.int64]:
    """Move each prototype onto its nearest training document; return the documents."""
    words = run.words
    network.eval()
    vectors = read_corpus(network.encode, words.train, words.device)
    candidates = vectors[torch.from_numpy(run.candidates)]
    documents = run.candidates[project(network.prototypes.detach().cpu(), candidates)]
    with torch.no_grad():
        network.prototypes.copy_(vectors[torch.from_numpy(documents)])
    return documents


def _tune_last_layer(network: ProSeNetwork, run: ProSeNetRun) -> Score:
    """Train the last layer alone until the validation loss stops falling."""
    words = run.words
    network.eval()

    def similarities(corpus: Corpus) -> Tensor:
        return read_corpus(
            lambda batch: network.similarities(network.encode(batch)), corpus, words.device
        ).to(words.device)

    seen, unseen = similarities(words.train), similarities(words.validation)
    targets = words.train.targets.argmax(dim=1).to(words.device)
    weight = network.weight
    optimiser = adam_with_rates([([weight], _TUNING_RATE)])

    def run_epoch(epoch: int) -> None:
        for _ in range(_TUNING_STEPS):
            loss = functional.cross_entropy(seen @ weight.T, targets)
            loss = loss + run.weights.sparsity * network.sparsity()
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            if run.nonnegative:
                network.keep_nonnegative()

    def validate() -> Score:
        return score_of((unseen @ weight.T).detach().cpu(), words.validation.targets)

    return train_epochs(
        nn.ParameterDict({"weight": weight}), optimiser, run_epoch, validate, stage=_TUNING
    )
