"""Algorithm 1 of the paper, readable top to bottom.

Initialise the prototypes by k-medoids, train, project them onto real sentences, prune, retrain
with the prototypes at their sentences, score. Each step is a function of its own.
"""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from protorynet.labels import Task
from protorynet.network import (
    ProtoryNetwork,
    Reader,
    Trajectory,
    read_trajectory,
    trace,
)
from protorynet.progress import progress_bar
from protorynet.prototypes import (
    PruningPoint,
    choose_size,
    k_medoids,
    project,
    sizes_to_try,
)
from protorynet.settings import Settings
from protorynet.training.checkpoint import Checkpoint
from protorynet.training.corpus import Corpus
from protorynet.training.loop import Score, train_epochs
from protorynet.training.objective import batch_loss
from protorynet.training.sources import FineTunedSource, FrozenSource, SentenceSource

__all__ = ["Run", "Trained", "train_protorynet"]

_SMALLEST_BATCH, _FEWEST_STEPS = 4, 16  # of an epoch, however small the corpus
# Readers that only help to choose a number need not be perfect.
_PRUNE_EPOCHS, _PRUNE_PATIENCE, _PRUNE_DOCUMENTS = 8, 2, 2048


@dataclass(frozen=True)
class Run:
    """What every step of one training run shares.

    Parameters
    ----------
    train, validation
        The documents, over the same base embeddings.
    candidates
        Rows of the training sentences that may become prototypes.
    source
        Where embeddings come from; its parameters, if any, are trained.
    settings, task, seed
        Hyper-parameters, kind of labels and seed.
    checkpoint, progress
        Where to keep the state, and whether to show progress bars.
    """

    train: Corpus
    validation: Corpus
    candidates: Tensor
    source: SentenceSource
    settings: Settings
    task: Task
    seed: int
    checkpoint: Checkpoint | None = None
    progress: bool = False

    @property
    def full(self) -> bool:
        """Whether the encoder itself is being trained."""
        return isinstance(self.source, FineTunedSource)


@dataclass(frozen=True)
class Trained:
    """A delivered network and how it came to be.

    Parameters
    ----------
    network
        The network with the remaining prototypes.
    rows
        Row of each prototype's sentence among the distinct sentences.
    curve
        Validation accuracy for each number of prototypes tried.
    validation
        Score of the delivered network on the validation documents.
    scores
        Probability of each class for each prototype read alone, (K, C).
    usage, class_rate
        Share of the training sentences matched to each prototype, and the classes of their
        documents, (K, C).
    seconds
        Time taken by each step.
    """

    network: ProtoryNetwork
    rows: NDArray[np.int64]
    curve: tuple[PruningPoint, ...]
    validation: Score
    scores: NDArray[np.float32]
    usage: NDArray[np.float64]
    class_rate: NDArray[np.float64]
    seconds: dict[str, float]


def train_protorynet(run: Run) -> Trained:
    """Train a network and deliver it with at most `max_prototypes` real sentences."""
    clock = _Clock()
    with torch.random.fork_rng():
        network = initialise(run)
        clock.lap("initialise")
        train(network, run)
        clock.lap("train")
        rows = project_prototypes(network, run)
        network, rows, curve = prune(network, rows, run)
        clock.lap("prune")
        score = retrain(network, rows, run)
        clock.lap("retrain")
        network, rows = drop_dead(network, rows, run)
        scores, usage, class_rate = score_prototypes(network, run)
        clock.lap("score")
    return Trained(
        network, rows.cpu().numpy(), curve, score, scores, usage, class_rate, clock.seconds
    )


def initialise(run: Run) -> ProtoryNetwork:
    """Build a network whose prototypes are medoids of the training sentences."""
    settings = run.settings
    torch.manual_seed(_seed(run.seed, "initialise"))
    base = run.source.base[run.candidates]
    k = min(settings.n_prototypes, len(base))
    medoids = k_medoids(base.cpu().numpy(), k, seed=run.seed, memory_mb=settings.kmedoids_memory_mb)
    return _network(base[torch.from_numpy(medoids).to(base.device)].clone(), run)


def train(network: ProtoryNetwork, run: Run) -> None:
    """Train prototypes, reader and source with Adam, projecting every few epochs."""
    settings = run.settings

    def run_epoch(epoch: int) -> None:
        _train_one_epoch(network, run, optimiser, "train", epoch)
        if (epoch + 1) % settings.project_every == 0:
            rows = project_prototypes(network, run)
            network.prototypes.data.copy_(run.source.all_rows(rows))

    module = nn.ModuleDict({"network": network, "source": run.source})
    optimiser = _adam(module, run)
    train_epochs(
        module,
        optimiser,
        run_epoch,
        lambda: validate(network, run),
        stage="train",
        epochs=settings.full_epochs if run.full else settings.epochs,
        patience=settings.patience,
        checkpoint=run.checkpoint,
        progress=run.progress,
    )


def project_prototypes(network: ProtoryNetwork, run: Run) -> Tensor:
    """Return the rows of the real sentences nearest to the prototypes, all different."""
    embedded = run.source.all_rows(run.candidates)
    nearest = project(network.prototypes.data, embedded, distance=run.settings.distance)
    return run.candidates[torch.from_numpy(nearest).to(run.candidates.device)]


def prune(
    network: ProtoryNetwork, rows: Tensor, run: Run
) -> tuple[ProtoryNetwork, Tensor, tuple[PruningPoint, ...]]:
    """Keep the most used prototypes: the fewest that keep validation accuracy.

    Every number tried gets a reader of its own, which starts from the one trained with all of
    them and learns on with the prototypes fixed.
    """
    settings = run.settings
    prototypes = run.source.all_rows(rows) if settings.exact else network.prototypes.data
    fixed = _with_fixed_embeddings(run)
    fixed = replace(fixed, train=fixed.train.subset(_some_documents(run)))
    whole = ProtoryNetwork(prototypes, network.reader, settings)
    usage = usage_of(whole, fixed)
    order = np.argsort(-usage, kind="stable")
    sizes = sizes_to_try(int((usage > 0).sum()), settings.max_prototypes)
    points: list[PruningPoint] = []
    networks: dict[int, ProtoryNetwork] = {}
    with progress_bar("Prune", len(sizes), enabled=run.progress) as advance:
        for size in sizes:
            networks[size] = keep_columns(whole, np.sort(order[:size]), run)
            score = train_reader(
                networks[size],
                fixed,
                stage=f"prune {size}",
                epochs=_PRUNE_EPOCHS,
                patience=_PRUNE_PATIENCE,
            )
            points.append(PruningPoint(size, float(usage[order[size - 1]]), score.accuracy))
            advance(1)
    best = choose_size(points, least=settings.min_prototypes, tolerance=settings.prune_tolerance)
    kept = torch.from_numpy(np.sort(order[:best])).to(rows.device)
    return networks[best], rows[kept], tuple(points)


def keep_columns(network: ProtoryNetwork, columns: NDArray[np.int64], run: Run) -> ProtoryNetwork:
    """Return a copy of the network with some of its prototypes; the reader keeps what it knows."""
    kept = torch.from_numpy(columns).to(network.prototypes.device)
    smaller = _network(network.prototypes.data[kept].clone(), run)
    state = dict(network.reader.state_dict())
    state["lstm.weight_ih_l0"] = state["lstm.weight_ih_l0"][:, kept]
    smaller.reader.load_state_dict(state)
    return smaller


def train_reader(
    network: ProtoryNetwork, run: Run, *, stage: str, epochs: int, patience: int
) -> Score:
    """Train the reader alone: prototypes and embeddings stay as they are."""
    network.prototypes.requires_grad_(False)
    optimiser = torch.optim.Adam(network.reader.parameters(), lr=run.settings.learning_rate)
    return train_epochs(
        network.reader,
        optimiser,
        lambda epoch: _train_one_epoch(network, run, optimiser, stage, epoch),
        lambda: validate(network, run),
        stage=stage,
        epochs=epochs,
        patience=patience,
        checkpoint=run.checkpoint,
        progress=run.progress and stage == "retrain",
    )


def retrain(network: ProtoryNetwork, rows: Tensor, run: Run) -> Score:
    """Train on, with every prototype tied to the embedding of its sentence.

    With `retrain="reader"`, and wherever embeddings are frozen or prototypes free, only the reader
    learns, as in the paper.
    """
    settings = run.settings
    reader_only = settings.retrain == "reader" or not settings.exact
    if reader_only or isinstance(run.source, FrozenSource):
        fixed = replace(_with_fixed_embeddings(run), progress=run.progress)
        return train_reader(
            network,
            fixed,
            stage="retrain",
            epochs=settings.retrain_epochs,
            patience=settings.patience,
        )

    def run_epoch(epoch: int) -> None:
        _train_one_epoch(network, run, optimiser, "retrain", epoch, tied_rows=rows)
        tie()

    def tie() -> None:
        network.prototypes.data.copy_(run.source.all_rows(rows))

    network.prototypes.requires_grad_(False)
    module = nn.ModuleDict({"network": network, "source": run.source})
    optimiser = _adam(module, run)
    score = train_epochs(
        module,
        optimiser,
        run_epoch,
        lambda: validate(network, run),
        stage="retrain",
        epochs=settings.full_epochs if run.full else settings.retrain_epochs,
        patience=settings.patience,
        checkpoint=run.checkpoint,
        progress=run.progress,
    )
    tie()
    return score


def drop_dead(network: ProtoryNetwork, rows: Tensor, run: Run) -> tuple[ProtoryNetwork, Tensor]:
    """Remove prototypes that no training sentence is matched to; no prediction changes."""
    alive = np.flatnonzero(_trajectory(network, run.source, run.train).columns_used(len(rows)))
    if len(alive) == len(rows):
        return network, rows
    return keep_columns(network, alive, run), rows[torch.from_numpy(alive).to(rows.device)]


def score_prototypes(
    network: ProtoryNetwork, run: Run
) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.float64]]:
    """Feed each prototype to the reader alone; count the training sentences matched to it."""
    k = len(network.prototypes)
    each = torch.arange(k)
    itself = trace(network, network.prototypes.data, each, torch.ones_like(each))
    alone = read_trajectory(network.reader, itself, run.task)
    trajectory = _trajectory(network, run.source, run.train)
    counts = np.bincount(trajectory.columns, minlength=k)
    targets = run.train.targets.cpu().numpy().astype(np.float64)
    per_sentence = np.repeat(targets, trajectory.lengths, axis=0)
    sums = np.zeros((k, targets.shape[1]))
    np.add.at(sums, trajectory.columns, per_sentence)
    class_rate = sums / np.maximum(counts, 1)[:, None]
    return alone.probabilities, counts / counts.sum(), class_rate


def validate(network: ProtoryNetwork, run: Run) -> Score:
    """Score the network on the validation documents."""
    trajectory = _trajectory(network, run.source, run.validation)
    predicted = read_trajectory(network.reader, trajectory, run.task).probabilities
    targets = run.validation.targets.cpu().numpy()
    likelihood = np.clip(predicted, 1e-7, 1 - 1e-7)
    if run.task == "multiclass":
        loss = -np.log((likelihood * targets).sum(axis=1)).mean()
        right = predicted.argmax(axis=1) == targets.argmax(axis=1)
    else:
        loss = -np.where(targets > 0, np.log(likelihood), np.log(1 - likelihood)).mean()
        right = ((predicted >= 0.5) == (targets > 0)).all(axis=1)
    return Score(float(loss), float(right.mean()))


def usage_of(network: ProtoryNetwork, run: Run) -> NDArray[np.float64]:
    """Return each prototype's share of the validation sentences."""
    columns = _trajectory(network, run.source, run.validation).columns
    return np.bincount(columns, minlength=len(network.prototypes)) / len(columns)


def _trajectory(network: ProtoryNetwork, source: SentenceSource, corpus: Corpus) -> Trajectory:
    distinct, places = torch.unique(corpus.rows, return_inverse=True)
    return trace(network, source.all_rows(distinct), places, corpus.lengths)


def _train_one_epoch(
    network: ProtoryNetwork,
    run: Run,
    optimiser: torch.optim.Optimizer,
    stage: str,
    epoch: int,
    tied_rows: Tensor | None = None,
) -> None:
    """Take one optimiser step per batch; all randomness comes from seed, stage and epoch.

    A small corpus is cut into smaller batches and read several times, so that an epoch is always
    long enough to learn something.
    """
    seed = _seed(run.seed, f"{stage} {epoch}")
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    most = run.settings.full_batch_size if run.full else run.settings.batch_size
    size = min(most, max(_SMALLEST_BATCH, len(run.train) // 8))
    passes = max(1, math.ceil(_FEWEST_STEPS * size / len(run.train)))
    network.train()
    run.source.train()
    for batch in itertools.chain.from_iterable(
        run.train.batches(size, random) for _ in range(passes)
    ):
        loss = batch_loss(network, run.source, batch, run.task, tied_rows=tied_rows)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    network.eval()
    run.source.eval()


def _network(prototypes: Tensor, run: Run) -> ProtoryNetwork:
    settings = run.settings
    reader = Reader(
        len(prototypes),
        run.train.targets.shape[1],
        hidden=settings.reader_size,
        layers=settings.reader_layers,
        dropout=settings.reader_dropout,
    )
    return ProtoryNetwork(prototypes, reader, settings).to(prototypes.device)


def _with_fixed_embeddings(run: Run) -> Run:
    """Return the run with every sentence's embedding computed once and frozen."""
    distinct, places = torch.unique(
        torch.cat([run.train.rows, run.validation.rows]), return_inverse=True
    )
    fixed = FrozenSource(run.source.all_rows(distinct))
    train_places, validation_places = places.split([len(run.train.rows), len(run.validation.rows)])
    return replace(
        run,
        train=replace(run.train, base=fixed.base, rows=train_places),
        validation=replace(run.validation, base=fixed.base, rows=validation_places),
        source=fixed,
        progress=False,
    )


def _some_documents(run: Run) -> NDArray[np.int64]:
    """Choose the training documents on which numbers of prototypes are compared."""
    random = np.random.default_rng(_seed(run.seed, "prune"))
    return np.sort(random.permutation(len(run.train))[:_PRUNE_DOCUMENTS])


def _adam(module: nn.ModuleDict, run: Run) -> torch.optim.Adam:
    """Adam over what may learn; a fine-tuned encoder has a learning rate of its own."""
    settings = run.settings
    slow = settings.encoder_learning_rate if run.full else settings.learning_rate
    groups = [
        {"params": list(module["network"].parameters()), "lr": settings.learning_rate},
        {"params": list(module["source"].parameters()), "lr": slow},
    ]
    return torch.optim.Adam(group for group in groups if group["params"])


def _seed(seed: int, purpose: str) -> int:
    """Derive a seed for one purpose, so that resumed and undisturbed runs draw the same."""
    return int(np.random.SeedSequence([seed, *purpose.encode()]).generate_state(1)[0])


class _Clock:
    """Seconds per step."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, step: str) -> None:
        now = time.perf_counter()
        self.seconds[step] = now - self._last
        self._last = now
