"""Algorithm 1 of the paper, readable top to bottom.

Initialise the prototypes by k-medoids, train, project them onto real sentences, prune, retrain
with the prototypes at their sentences, score. Each step is a function of its own.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from protorynet.labels import Task
from protorynet.network import (
    ProtoryNetwork,
    Reader,
    accuracy_loss,
    anchor_loss,
    at_last_sentence,
    balance_loss,
    diversity_loss,
    match_sentences,
    pad_documents,
    pairwise_distance,
    prototypicality_loss,
    read_matches,
)
from protorynet.progress import progress_bar
from protorynet.prototypes import (
    PruningPoint,
    choose_size,
    cluster_means,
    k_medoids,
    project,
    score_alone,
    sizes_to_try,
)
from protorynet.reading import Reading
from protorynet.training.batches import Batch, Corpus
from protorynet.training.epochs import Run, Score, Stage, adam, derive_seed, learn
from protorynet.training.parallel import agree
from protorynet.training.sources import FineTunedSource, FixedSource, FrozenSource, SentenceSource

# Readers that only help to choose a number need not be perfect.
_PRUNE_EPOCHS, _PRUNE_PATIENCE, _PRUNE_DOCUMENTS = 8, 2, 2048
_CANDIDATES_PER_BLOCK = 16_384  # candidates that are compared with the prototypes at once


@dataclass(frozen=True)
class Trained:
    """A delivered network and how it came to be."""

    network: ProtoryNetwork
    index: NDArray[np.int64]  # of the prototypes' sentences among the distinct ones
    curve: tuple[PruningPoint, ...]
    free: Score  # before the prototypes were projected
    validation: Score
    scores: NDArray[np.float32]  # of each prototype read alone, (K, C)
    usage: NDArray[np.float64]  # shares of the training sentences
    class_rate: NDArray[np.float64]  # classes of the documents of these, (K, C)
    seconds: dict[str, float]
    source: SentenceSource  # of the space that sentences are matched in
    # Where prototypes have several members: the prototype of each training sentence, and the
    # shares of these and the classes of their documents, member by member.
    matched: NDArray[np.int64] | None = None
    member_usage: NDArray[np.float64] | None = None
    member_rate: NDArray[np.float64] | None = None
    familiar: float = 0.0
    word_scale: float = 1.0  # what the weights of words are multiplied by


def train_protorynet(run: Run) -> Trained:
    """Train a network and deliver it with at most `max_prototypes` real sentences."""
    clock = Clock()
    with torch.random.fork_rng():
        network = initialise(run)
        clock.lap("initialise")
        free = train(network, run)
        clock.lap("train")
        fixed, original = _with_fixed_embeddings(run)
        chosen = project_prototypes(network, fixed)
        clock.lap("project")
        network, chosen, curve = prune(network, chosen, fixed)
        index = original[chosen]
        del fixed  # as large as all embeddings
        clock.lap("prune")
        score = retrain(network, index, run)
        clock.lap("retrain")
        network, index, matches = drop_dead(network, index, run)
        scores, usage, class_rate = score_prototypes(network, matches, run)
        clock.lap("score")
    return Trained(
        network,
        index.cpu().numpy(),
        curve,
        free,
        score,
        scores,
        usage,
        class_rate,
        clock.seconds,
        run.source,
    )


def initialise(run: Run) -> ProtoryNetwork:
    """Build a network whose prototypes are medoids of the training sentences."""
    settings = run.settings
    torch.manual_seed(derive_seed(run.seed, "initialise"))
    base = run.source.base
    medoids = k_medoids(
        base.cpu().numpy(),
        min(settings.n_prototypes, len(run.candidates)),
        seed=run.seed,
        memory_mb=settings.kmedoids_memory_mb,
        among=run.candidates.cpu().numpy(),
    )
    return _network(base[agree(torch.from_numpy(medoids)).to(base.device)], run)


def train(network: ProtoryNetwork, run: Run) -> Score:
    """Train prototypes, reader and source with Adam, projecting every few epochs."""

    def project_now_and_then(epoch: int) -> None:
        if (epoch + 1) % run.settings.project_every == 0:
            index = project_prototypes(network, run)
            network.members.data.copy_(run.source.embed_all(index))

    return _learn(network, run, run.stage("train"), finish=project_now_and_then)


def project_prototypes(network: ProtoryNetwork, run: Run) -> Tensor:
    """Return the index of the real sentences that stand for the prototypes, all different.

    The nearest sentence of the trained space may be an odd one. So it is also asked to lie near
    the middle, in the pre-trained space, of the sentences matched to the prototype.
    """
    metric, weight = run.settings.distance, run.settings.typicality
    base, index = run.source.base, run.candidates
    embedded = run.source.embed_all(index)
    prototypes = network.members.data
    if weight:
        middles = cluster_means(base, embedded, prototypes, metric, index=index)
        # Both spaces side by side, in blocks: all of it would be twice the embeddings again.
        blocks = (torch.split(part, _CANDIDATES_PER_BLOCK) for part in (embedded, index))
        both = (
            torch.cat([part, weight * base[here]], dim=1)
            for part, here in zip(*blocks, strict=True)
        )
        nearest = project(torch.cat([prototypes, weight * middles], dim=1), both, distance=metric)
    else:
        nearest = project(prototypes, embedded, distance=metric)
    return index[agree(torch.from_numpy(nearest)).to(index.device)]


def prune(
    network: ProtoryNetwork, index: Tensor, run: Run
) -> tuple[ProtoryNetwork, Tensor, tuple[PruningPoint, ...]]:
    """Keep the most used prototypes: the fewest that keep validation accuracy.

    Every number tried gets a reader of its own, which starts from the one trained with all of
    them and learns on with the prototypes fixed.
    """
    settings = run.settings
    prototypes = run.source.embed_all(index) if settings.exact else network.members.data
    random = np.random.default_rng(derive_seed(run.seed, "prune"))
    documents = np.sort(random.permutation(len(run.train))[:_PRUNE_DOCUMENTS])
    some = replace(run, train=run.train.subset(documents), progress=False)
    whole = ProtoryNetwork(prototypes, network.reader, settings)
    matched = match_corpus(whole, run.source, run.validation).prototypes
    usage = np.bincount(matched, minlength=len(prototypes)) / len(matched)
    order = agree(torch.from_numpy(np.argsort(-usage, kind="stable"))).numpy()
    live = int(agree(torch.tensor((usage > 0).sum())))
    sizes = sizes_to_try(live, settings.max_prototypes, settings.min_prototypes)
    points: list[PruningPoint] = []
    networks: dict[int, ProtoryNetwork] = {}
    with progress_bar("Prune", len(sizes), enabled=run.progress) as advance:
        for size in sizes:
            networks[size] = keep_some(whole, np.sort(order[:size]), run)
            stage = Stage(f"prune {size}", _PRUNE_EPOCHS, _PRUNE_PATIENCE)
            score = train_reader(networks[size], some, stage)
            points.append(PruningPoint(size, float(usage[order[size - 1]]), score.accuracy))
            advance(1)
    best = choose_size(points, least=settings.min_prototypes, tolerance=settings.prune_tolerance)
    kept = torch.from_numpy(np.sort(order[:best])).to(index.device)
    return networks[best], index[kept], tuple(points)


def keep_some(network: ProtoryNetwork, prototypes: NDArray[np.int64], run: Run) -> ProtoryNetwork:
    """Return a copy of the network with some of its prototypes; the reader keeps what it knows."""
    kept = torch.from_numpy(prototypes).to(network.members.device)
    smaller = _network(network.members.data[kept].clone(), run)
    state = dict(network.reader.state_dict())
    state["lstm.weight_ih_l0"] = state["lstm.weight_ih_l0"][:, kept]
    smaller.reader.load_state_dict(state)
    return smaller


def train_reader(network: ProtoryNetwork, run: Run, stage: Stage) -> Score:
    """Train the reader alone: prototypes and embeddings stay as they are."""
    network.members.requires_grad_(False)
    return _learn(network, run, stage, reader_alone=True)


def retrain(network: ProtoryNetwork, index: Tensor, run: Run) -> Score:
    """Train on, with every prototype tied to the embedding of its sentence.

    With `retrain="reader"`, and wherever embeddings are frozen or prototypes free, only the reader
    learns, as in the paper.
    """
    settings = run.settings
    if settings.retrain == "reader" or not settings.exact or isinstance(run.source, FrozenSource):
        run.source.settle()
        if settings.exact:
            # Until then a GPU may have embedded the sentences in half precision.
            network.members.data.copy_(run.source.embed_all(index))
        stage = Stage("retrain", settings.retrain_epochs, settings.patience)
        return train_reader(network, _with_fixed_embeddings(run)[0], stage)

    def tie(epoch: int) -> None:
        network.members.data.copy_(run.source.embed_all(index))

    network.members.requires_grad_(False)
    stage = run.stage("retrain")
    score = _learn(network, run, stage, tied_index=index, finish=tie)
    run.source.settle()
    tie(stage.epochs)
    return score


def drop_dead(
    network: ProtoryNetwork, index: Tensor, run: Run
) -> tuple[ProtoryNetwork, Tensor, Reading]:
    """Remove prototypes that no training sentence is matched to; no prediction changes.

    A reader that sees the similarities to all prototypes keeps them all. Return the network, the
    index of its prototypes' sentences, and what every training sentence is matched to.
    """
    trajectory = match_corpus(network, run.source, run.train)
    used = torch.from_numpy(trajectory.prototypes_used(len(index)))
    alive = np.flatnonzero(agree(used).numpy())
    if network.settings.selection == "dense":
        alive = np.arange(len(index))
    if len(alive) < len(index):
        network = keep_some(network, alive, run)
        index = index[torch.from_numpy(alive).to(index.device)]
    return (
        network,
        index,
        replace(trajectory, prototypes=np.searchsorted(alive, trajectory.prototypes)),
    )


def score_prototypes(
    network: ProtoryNetwork, matches: Reading, run: Run
) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.float64]]:
    """Feed each prototype to the reader alone; count the training sentences matched to it."""
    targets = run.train.targets.cpu().numpy().astype(np.float64)
    counts, class_rate = matches.class_rates(targets, network.n_prototypes)
    return score_alone(network, run.labels.task), counts / counts.sum(), class_rate


def validate(network: ProtoryNetwork, run: Run) -> Score:
    """Score the network on the validation documents."""
    trajectory = match_corpus(network, run.source, run.validation)
    return score_of(read_matches(network.reader, trajectory, run.labels.task).probabilities, run)


def score_of(predicted: NDArray[np.float32], run: Run) -> Score:
    """Score the probabilities of the validation documents, the same in every process."""
    targets = run.validation.targets.cpu().numpy()
    likelihood = np.clip(predicted, 1e-7, 1 - 1e-7)
    if run.labels.task == "multiclass":
        losses = -np.log((likelihood * targets).sum(axis=1))
    else:
        losses = -np.where(targets > 0, np.log(likelihood), np.log(1 - likelihood)).mean(axis=1)
    weights = run.validation.weights
    loss = losses.mean() if weights is None else (losses * weights.cpu().numpy()).mean()
    accuracy = run.labels.share_equal(predicted, targets)
    return Score(*agree(torch.tensor([float(loss), accuracy], dtype=torch.float64)).tolist())


def _learn(
    network: ProtoryNetwork,
    run: Run,
    stage: Stage,
    *,
    reader_alone: bool = False,
    tied_index: Tensor | None = None,
    finish: Callable[[int], None] = lambda epoch: None,
) -> Score:
    """Train network and source, or the reader alone; `finish` is called after each epoch."""

    def loss(batch: Batch) -> Tensor:
        return batch_loss(network, run.source, batch, run.labels.task, tied_index)

    module: nn.Module
    if reader_alone:
        module = network.reader
        optimiser = torch.optim.Adam(module.parameters(), lr=run.settings.learning_rate)
    else:
        module = nn.ModuleDict({"network": network, "source": run.source})
        optimiser = adam(module, run)
    return learn(module, optimiser, run, stage, loss, lambda: validate(network, run), finish)


def batch_loss(
    network: ProtoryNetwork,
    source: SentenceSource,
    batch: Batch,
    task: Task,
    tied_index: Tensor | None = None,
) -> Tensor:
    """Return L = L_acc + α L_div + β L_proto, and what the settings add to it.

    With `tied_index`, that of the prototypes' sentences, the prototypes are the embeddings of
    these at every step, so that they can never drift away from them.
    """
    settings = network.settings
    if tied_index is None:
        embedded, prototypes = source(batch.index), network.members
    else:
        both = source(torch.cat([batch.index, tied_index]))
        embedded, prototypes = both.split([len(batch.index), len(tied_index)])
    distances = pairwise_distance(embedded, prototypes, settings.distance)
    # Only where one prototype is active does a step without its similarity still tell which.
    share = settings.ids_only_share if settings.selection == "straight_through" else 0.0
    ids_only = None
    if share:
        ids_only = (torch.rand(len(batch.lengths), device=distances.device) < share)[batch.document]
    steps = network.steps(distances, ids_only=ids_only)
    padded = pad_documents(steps, batch.lengths, batch.longest)
    logits = at_last_sentence(network.reader(padded), batch.lengths)

    loss = accuracy_loss(logits, batch.targets, task, settings.accuracy_loss, batch.weights)
    if settings.lone_sentences:
        alone = network.reader.read_alone(steps)
        truth, weights = batch.targets[batch.document], batch.weights_of(batch.document)
        lone = accuracy_loss(alone, truth, task, settings.accuracy_loss, weights)
        loss = loss + settings.lone_sentences * lone
    if prototypes.requires_grad:
        diversity = diversity_loss(prototypes, delta=settings.delta, eta=settings.eta)
        loss = loss + settings.alpha * diversity + settings.beta * prototypicality_loss(distances)
    anchor, balance = settings.anchor, settings.balance
    if isinstance(source, FineTunedSource):
        anchor, balance = settings.full_anchor, settings.full_balance
    if balance and distances.requires_grad:
        loss = loss + balance * balance_loss(distances, settings.temperature)
    if anchor and not isinstance(source, FrozenSource):
        loss = loss + anchor * anchor_loss(embedded, source.base[batch.index])
    return loss


def match_corpus(network: ProtoryNetwork, source: SentenceSource, corpus: Corpus) -> Reading:
    """Match every sentence of a corpus to its prototype; each distinct one is embedded once."""
    distinct, index = torch.unique(corpus.index, return_inverse=True)
    return match_sentences(network, source.embed_all(distinct), index, corpus.lengths)


def _network(prototypes: Tensor, run: Run) -> ProtoryNetwork:
    reader = Reader.of(run.settings, len(prototypes), run.train.targets.shape[1])
    return ProtoryNetwork(prototypes, reader, run.settings).to(prototypes.device)


def _with_fixed_embeddings(run: Run) -> tuple[Run, Tensor]:
    """Return the run with frozen embeddings, sentences renumbered, and the old index of each."""
    if isinstance(run.source, FrozenSource):
        return run, torch.arange(len(run.source.base), device=run.candidates.device)
    every = torch.cat([run.train.index, run.validation.index])
    distinct, index = torch.unique(every, return_inverse=True)
    base = run.source.base
    fixed = FixedSource(
        base if len(distinct) == len(base) else base[distinct], run.source.embed_all(distinct)
    )
    train, validation = index.split([len(run.train.index), len(run.validation.index)])
    fixed_run = replace(
        run,
        train=replace(run.train, index=train),
        validation=replace(run.validation, index=validation),
        candidates=torch.searchsorted(distinct, run.candidates),
        source=fixed,
    )
    return fixed_run, distinct


class Clock:
    """Seconds per step."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, step: str) -> None:
        """Count the seconds since the last lap for a step."""
        now = time.perf_counter()
        self.seconds[step] = now - self._last
        self._last = now
