"""ProSeNet: classification by similarity to whole training documents (Ming et al., 2019)."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from protorynet.errors import InputError
from protorynet.prototypes import k_medoids, project
from protorynet.training import Corpus, Score, Stage, derive_seed
from protorynet_lab.baselines.rival_base import (
    Evidence,
    Part,
    Reasons,
    class_margin,
    number,
    score_logits,
    train_network,
    whole,
)
from protorynet_lab.baselines.sequence_rivals import (
    SequenceEncoder,
    SequenceRival,
    WordBatch,
    WordRun,
    read_corpus,
    train_classifier,
    train_on_words,
)

PAPER_SIZES = (5, 20, 50, 100, 200, 400)  # the paper's choices of K
PROTOTYPES_SHOWN = 5  # in an explanation
_HEAD_DROPOUT = 0.5
# Of the learning rate of the warm-up: the encoder has little left to learn, the last layer more.
_ENCODER_RATE, _LAST_LAYER_RATE = 0.5, 3.0
_TUNING_RATE, _TUNING_STEPS = 0.05, 10
_TUNING = Stage("last layer", epochs=100, patience=5)
_SPREAD = 0.5  # mean squared distance of documents to the middle of their class at the start
_LEAST_SPREAD = 0.05  # of it, as a share of that to the middle of all


@dataclass(frozen=True)
class DocumentPrototype:
    """A training document that others are compared with: its row, class, and weights by class."""

    text: str
    row: int
    label: str
    weights: dict[str, float]


_positive = partial(number, bounds="between 0 and 1e+06", is_within=lambda value: 0 <= value <= 1e6)


@dataclass(kw_only=True, eq=False, repr=False)
class ProSeNetClassifier(SequenceRival):
    """Prototypes that are whole documents, compared in the space of an LSTM.

    The encoder, as in `VanillaLSTMClassifier`, first learns as a plain classifier. Prototypes start
    at medoids of the training documents and learn with the encoder; every few epochs, and at the
    end, each moves onto its nearest training document, so the document shown is the prototype used.
    Where that is no better on the validation documents than the medoids, these are kept.

    Parameters
    ----------
    n_prototypes
        Number K. None: the best of 5, 20, 50, 100, 200 and 400 on the validation documents.
    nonnegative
        No weight of the last layer is below zero, so prototypes only speak for classes.
    clustering, evidence, diversity, sparsity, d_min
        Weights λ of the losses: documents near prototypes, prototypes near documents, prototypes
        apart, and few weights in the last layer; and the distance at which two are too close.
    prototype_epochs, project_every
        Epochs in which prototypes and encoder learn together, for each K; and epochs between
        projections onto documents.
    epochs, patience
        Most epochs of the warm-up, and most on end without a lower validation loss.
    vectors, max_vocabulary, max_length, hidden_size, batch_size, learning_rate, device, verbose, \
random_state
        As for `VanillaLSTMClassifier`.

    Attributes
    ----------
    prototypes_
        The prototypes, in the order of the last layer.
    validation_accuracies_
        Accuracy on the validation documents for each K tried.
    """

    n_prototypes: int | None = whole(None, 1, 100_000)
    nonnegative: bool = True
    clustering: float = _positive(0.01)
    evidence: float = _positive(0.01)
    diversity: float = _positive(0.01)
    sparsity: float = _positive(1e-3)
    d_min: float = _positive(1.0)
    prototype_epochs: int = whole(8, 1, 100_000)
    project_every: int = whole(4, 1, 100_000)

    def _learn(self, train: Part, validation: Part) -> float:
        with torch.random.fork_rng():
            words, encoder = self._start(train, validation)
            training = _Training(words, self)
            sizes = self._sizes(len(training.candidates))
            training.warm_up(encoder)
            every = {size: training.fit_prototypes(encoder, size) for size in sizes}
        self.validation_accuracies_ = {size: each.score.accuracy for size, each in every.items()}
        best = max(every.values(), key=lambda each: each.score.accuracy)
        self.network_ = best.network.requires_grad_(False)
        names = self.labels_.names
        self.prototypes_ = tuple(
            DocumentPrototype(
                text=train.texts[document],
                row=int(train.rows[document]),
                label=names[train.targets[document]],
                weights=dict(zip(names, weights, strict=True)),
            )
            for document, weights in zip(
                best.documents.tolist(), best.network.weight.T.tolist(), strict=True
            )
        )
        return best.score.accuracy

    def _sizes(self, n_documents: int) -> list[int]:
        """Return the numbers of prototypes to try."""
        if self.n_prototypes is None:
            return [size for size in PAPER_SIZES if size <= n_documents] or [n_documents]
        if self.n_prototypes > n_documents:
            raise InputError(
                f"n_prototypes={self.n_prototypes} is more than the {n_documents} different "
                "documents to train on; ask for fewer."
            )
        return [self.n_prototypes]

    def _evidence(self, text: str, label: int) -> Reasons:
        weight = self.network_.weight
        corpus = self._corpus(self._words([text]))
        similarities = read_corpus(self.network_.similarities, corpus, weight.device).numpy()[0]
        leads = similarities * class_margin(weight.cpu().numpy(), label)
        shown = np.argsort(-np.abs(leads), kind="stable")[:PROTOTYPES_SHOWN]
        chosen = [(self.prototypes_[position], float(leads[position])) for position in shown]
        return [Evidence(item.text, lead, item.label) for item, lead in chosen], (
            "The weight of a training document is its similarity to this one times its weight for "
            "the predicted class, less the same for the other classes on average. The weights of "
            "all prototypes add up to the logit by which the class leads; the similarity itself, "
            "between vectors that an LSTM gave, is not explained."
        )


class ProSeNetwork(nn.Module):
    """Similarities of a document to prototypes, and a linear layer over them, without bias.

    `scale` leads from the encoder's units to those of exp(−d²), so that similarities are neither
    all 0 nor all 1.
    """

    scale: Tensor

    def __init__(
        self, encoder: SequenceEncoder, prototypes: Tensor, weight: Tensor, scale: float
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.prototypes = nn.Parameter(prototypes.clone())
        self.weight = nn.Parameter(weight.clone())
        self.register_buffer("scale", torch.tensor(scale))

    def encode(self, batch: WordBatch) -> Tensor:
        """Return the vectors of documents in the space of the prototypes."""
        vectors: Tensor = self.encoder(batch) * self.scale
        return vectors

    def similarities(self, batch: WordBatch) -> Tensor:
        """Return exp(−d²) of documents to all prototypes, (documents, K)."""
        return torch.exp(-squared_distances(self.encode(batch), self.prototypes))

    def forward(self, batch: WordBatch) -> Tensor:
        """Return the logits of documents."""
        return self.similarities(batch) @ self.weight.T

    def loss(self, batch: WordBatch, weights: ProSeNetClassifier) -> Tensor:
        """Return the objective: cross-entropy and the four terms of the paper, so weighted."""
        squared = squared_distances(self.encode(batch), self.prototypes)
        logits = torch.exp(-squared) @ self.weight.T
        return (
            functional.cross_entropy(logits, batch.targets)
            + weights.clustering * squared.min(dim=1).values.mean()
            + weights.evidence * squared.min(dim=0).values.mean()
            + weights.diversity * diversity_loss(self.prototypes, weights.d_min)
            + weights.sparsity * self.sparsity()
        )

    def sparsity(self) -> Tensor:
        """Return the mean over prototypes of the sum of their absolute weights."""
        return self.weight.abs().sum(dim=0).mean()

    @torch.no_grad()
    def keep_nonnegative(self) -> None:
        """Raise weights below zero to zero, so that prototypes only ever speak for a class."""
        self.weight.clamp_(min=0)


def squared_distances(documents: Tensor, prototypes: Tensor) -> Tensor:
    """Return the squared distances between `documents` (n, d) and `prototypes` (K, d)."""
    squares = documents.square().sum(-1, keepdim=True) + prototypes.square().sum(-1)
    return (squares - 2 * documents @ prototypes.T).clamp_min(0)


def diversity_loss(prototypes: Tensor, d_min: float) -> Tensor:
    """Return the mean over pairs of max(0, d_min − distance)², zero where all are far apart."""
    if len(prototypes) < 2:
        return prototypes.new_zeros(())
    return (d_min - torch.pdist(prototypes)).clamp_min(0).square().mean()


@dataclass(frozen=True)
class _Fitted:
    """A trained network, the training documents that its prototypes are, and how it does."""

    network: ProSeNetwork
    documents: NDArray[np.int64]
    score: Score


@dataclass(frozen=True)
class _Training:
    """Warm-up, prototypes among real documents, projection and the last layer, for any K."""

    words: WordRun
    rival: ProSeNetClassifier

    @cached_property
    def candidates(self) -> NDArray[np.int64]:
        """The documents that may be prototypes: the first of all that have the same words."""
        corpus, first = self.words.train, dict[bytes, int]()
        each = np.split(corpus.index.numpy(), np.cumsum(corpus.lengths.numpy())[:-1])
        for document, words in enumerate(each):
            first.setdefault(words.tobytes(), document)
        return np.array(list(first.values()), np.int64)

    def warm_up(self, encoder: SequenceEncoder) -> None:
        """Train the encoder as a plain classifier, so that prototypes start in an ordered space."""
        n_classes = self.words.train.targets.shape[1]
        head = nn.Sequential(nn.Dropout(_HEAD_DROPOUT), nn.Linear(encoder.size, n_classes))
        stage = Stage("warm-up", self.rival.epochs, self.rival.patience)
        train_classifier(encoder, head, self.words, stage, self.rival.learning_rate)

    def fit_prototypes(self, encoder: SequenceEncoder, k: int) -> _Fitted:
        """Train `k` prototypes and a copy of a warm encoder together, or else keep the medoids."""
        start = self._start_at_medoids(copy.deepcopy(encoder), k)
        trained = self._train_together(copy.deepcopy(start.network))
        return trained if trained.score.loss < start.score.loss else start

    def _start_at_medoids(self, encoder: SequenceEncoder, k: int) -> _Fitted:
        """Put the prototypes on medoids, each at first speaking for the class of its document."""
        words, candidates = self.words, self.candidates
        vectors = read_corpus(encoder, words.train, words.device)
        vectors = vectors * (scale := _scale(vectors, words.train.targets))
        seed = derive_seed(words.seed, f"{k} medoids")
        documents = candidates[k_medoids(vectors[candidates].numpy(), k, seed=seed)]
        weight = words.train.targets[documents].T
        network = ProSeNetwork(encoder, vectors[documents], weight, scale=scale).to(words.device)
        return _Fitted(network, documents, self._tune_last_layer(network))

    def _train_together(self, network: ProSeNetwork) -> _Fitted:
        """Train encoder, prototypes and last layer; then make every prototype a document."""
        rival = self.rival
        network.to(self.words.device)  # also puts the weights of a copied LSTM back into one piece
        rate = rival.learning_rate
        others = [*network.encoder.parameters(), network.prototypes]
        groups = [
            {"params": others, "lr": _ENCODER_RATE * rate},
            {"params": [network.weight], "lr": _LAST_LAYER_RATE * rate},
        ]
        optimiser = torch.optim.Adam(groups, fused=True)
        if rival.nonnegative:
            optimiser.register_step_post_hook(lambda *_: network.keep_nonnegative())

        def project_regularly(epoch: int) -> None:
            if epoch and epoch % rival.project_every == 0:
                self.project_prototypes(network)

        name, epochs = f"{len(network.prototypes)} prototypes", rival.prototype_epochs
        train_on_words(
            network,
            optimiser,
            self.words,
            # To the end: before the last layer is tuned, the validation loss is no fair judge.
            Stage(name, epochs, epochs, to_the_end=True),
            loss_of=lambda batch: network.loss(batch, rival),
            logits_of=network,
            before_epoch=project_regularly,
        )
        documents = self.project_prototypes(network)
        return _Fitted(network, documents, self._tune_last_layer(network))

    def project_prototypes(self, network: ProSeNetwork) -> NDArray[np.int64]:
        """Move each prototype onto its nearest training document; return the documents."""
        network.eval()
        vectors = read_corpus(network.encode, self.words.train, self.words.device)
        nearest = project(network.prototypes.detach().cpu(), vectors[self.candidates])
        documents = self.candidates[nearest]
        with torch.no_grad():
            network.prototypes.copy_(vectors[documents])
        return documents

    def _tune_last_layer(self, network: ProSeNetwork) -> Score:
        """Train the last layer alone until the validation loss stops falling."""
        words, rival, weight = self.words, self.rival, network.weight
        network.eval()

        def similarities(corpus: Corpus) -> Tensor:
            return read_corpus(network.similarities, corpus, words.device).to(words.device)

        seen, unseen = similarities(words.train), similarities(words.validation)
        targets = words.train.targets.argmax(dim=1).to(words.device)

        def losses(epoch: int, random: np.random.Generator) -> Iterator[Tensor]:
            for _ in range(_TUNING_STEPS):
                loss = functional.cross_entropy(seen @ weight.T, targets)
                yield loss + rival.sparsity * network.sparsity()
                if rival.nonnegative:
                    network.keep_nonnegative()

        return train_network(
            nn.ParameterDict({"weight": weight}),
            torch.optim.Adam([weight], lr=_TUNING_RATE, fused=True),
            _TUNING,
            seed=words.seed,
            losses=losses,
            validate=lambda: score_logits(
                (unseen @ weight.T).detach().cpu(), words.validation.targets.argmax(dim=1)
            ),
        )


def _scale(vectors: Tensor, targets: Tensor) -> float:
    """Return the factor by which documents of one class are neither all alike nor all strange."""
    middles = (targets.T @ vectors) / targets.sum(dim=0).clamp_min(1)[:, None]
    within = float((vectors - targets @ middles).square().sum(dim=1).mean())
    overall = float((vectors - vectors.mean(dim=0)).square().sum(dim=1).mean())
    # Where a class is one point, as in tiny data, rounding errors must not be blown up.
    spread = max(within, _LEAST_SPREAD * overall)
    return (_SPREAD / spread) ** 0.5 if spread > 0 else 1.0
