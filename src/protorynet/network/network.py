"""ProtoryNet: sentences to prototypes to a trajectory to a label."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from protorynet.labels import Task
from protorynet.network.layers import (
    Reader,
    at_last_sentence,
    pairwise_distance,
    select,
    similarity,
)
from protorynet.reading import Reading, group_by_length
from protorynet.settings import AccuracyLoss, Settings
from protorynet.threads import map_in_threads

# Distances of sentences to members that are held at once, best in the cache of a processor.
_DISTANCES_PER_BLOCK, _DISTANCES_ON_A_GPU = 2**21, 2**26
_STEPS_PER_BATCH = 65_536  # sentences, padding included, read by the LSTM at once


class ProtoryNetwork(nn.Module):
    """The prototype layer, the sparsity transformation and the reader.

    The vectors of the `members` of all prototypes, (M, d), stand prototype after prototype; `sizes`
    says how many each has, one where it is not given, as in training by the paper.
    """

    families: Tensor
    members: nn.Parameter

    def __init__(
        self,
        members: Tensor,
        reader: Reader,
        settings: Settings,
        sizes: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        self.members = nn.Parameter(members)
        self.reader = reader
        self.settings = settings
        self.sizes = (1,) * len(members) if sizes is None else tuple(sizes)
        numbers = torch.repeat_interleave(torch.tensor(self.sizes))
        # It follows from the sizes, so it is no state to be saved.
        self.register_buffer("families", numbers.to(members.device), persistent=False)

    @property
    def n_prototypes(self) -> int:
        """The number of prototypes, each of them a family of members."""
        return len(self.sizes)

    def steps(self, distances: Tensor, *, ids_only: Tensor | None = None) -> Tensor:
        """Return what the reader sees of each sentence at these distances (n, K), as (n, K).

        Where the mask `ids_only` (n,) is true, the similarity counts as 1.
        """
        similarities = similarity(distances, self.settings.psi_squared)
        if ids_only is not None:
            similarities = torch.where(ids_only[:, None], 1.0, similarities)
        return select(
            distances,
            similarities,
            self.settings.selection,
            gamma=self.settings.gamma,
            temperature=self.settings.temperature,
        )


def pad_documents(steps: Tensor, lengths: Tensor, longest: int) -> Tensor:
    """Lay the steps (n, K) of consecutive documents out as (documents, longest, K), zero-padded."""
    each = torch.arange(len(lengths), device=steps.device)
    # With the size given, nothing waits for a GPU.
    document = torch.repeat_interleave(each, lengths, output_size=len(steps))
    starts = torch.cumsum(lengths, 0) - lengths
    step = torch.arange(len(steps), device=steps.device) - starts[document]
    padded = steps.new_zeros(len(lengths) * longest, steps.shape[-1])
    padded = padded.index_copy(0, document * longest + step, steps)
    return padded.view(len(lengths), longest, -1)


def find_nearest_two(
    embedded: Tensor, members: Tensor, families: Tensor, settings: Settings
) -> tuple[Tensor, Tensor]:
    """Return the two nearest members (n, 2), of two prototypes, and their similarities.

    Where there is only one prototype, its nearest member is named twice. `families` (M,) says whose
    the members (M, d) are. Only the two distances are computed in double precision, in which a
    member's own sentence is at distance zero, not at 3e-4.
    """
    if settings.distance == "cosine":
        embedded, members = (functional.normalize(part, dim=-1) for part in (embedded, members))
    # |e - m|² without |e|², halved and negated: the largest is the nearest.
    closeness = torch.addmm(members.square().sum(dim=1) / -2, embedded, members.T)
    first = closeness.argmax(dim=1, keepdim=True)
    own = families[first] == families
    second = closeness.masked_fill(own, -torch.inf).argmax(dim=1, keepdim=True)
    two = torch.cat([first, torch.where(own.all(dim=1, keepdim=True), first, second)], dim=1)
    squared = (embedded.double()[:, None] - members.double()[two]).square().sum(dim=-1)
    # Of vectors of length one, half of it is one less their cosine.
    distances = squared / 2 if settings.distance == "cosine" else squared.sqrt()
    return two, similarity(distances, settings.psi_squared).float()


def all_similarities(embedded: Tensor, members: Tensor, settings: Settings) -> Tensor:
    """Return the similarities to all members (n, M), computed in double precision."""
    distances = pairwise_distance(embedded.double(), members.double(), settings.distance)
    return similarity(distances, settings.psi_squared).float()


@torch.inference_mode()
def match_sentences(
    network: ProtoryNetwork, embedded: Tensor, index: Tensor, lengths: Tensor
) -> Reading:
    """Match every sentence to its prototype.

    `index` points into the distinct sentences `embedded` (m, d); `lengths` are the documents'.
    """
    is_dense = network.settings.selection == "dense"
    matched = torch.empty((len(embedded), 2), dtype=torch.long)
    similarities = torch.empty((len(embedded), 2))
    dense = torch.empty((len(embedded), network.n_prototypes if is_dense else 0))
    members, families, settings = network.members, network.families, network.settings
    most = _DISTANCES_ON_A_GPU if members.is_cuda else _DISTANCES_PER_BLOCK
    size = max(1, most // len(members))

    @torch.inference_mode()
    def match_block(start: int) -> None:
        block = slice(start, start + size)
        two, near = find_nearest_two(embedded[block], members, families, settings)
        matched[block], similarities[block] = two.cpu(), near.cpu()
        if is_dense:
            dense[block] = all_similarities(embedded[block], members, settings).cpu()

    map_in_threads(match_block, range(0, len(embedded), size), device=members.device.type)
    where = index.cpu()
    two = matched[where]
    both = families.cpu()[two]
    return Reading(
        prototypes=both[:, 0].numpy(),
        similarities=similarities[where, 0].numpy(),
        runner_up=both[:, 1].numpy(),
        runner_up_similarities=similarities[where, 1].numpy(),
        lengths=lengths.cpu().numpy(),
        dense=dense[where].numpy() if is_dense else None,
        members=two[:, 0].numpy(),
        runner_up_members=two[:, 1].numpy(),
        ids_only=network.settings.selection == "one_hot",
    )


@torch.inference_mode()
def read_matches(reader: Reader, trajectory: Reading, task: Task) -> Reading:
    """Let the reader read matched sentences; long and short documents go in separate batches."""
    device = reader.head.weight.device
    width, n_classes = reader.lstm.input_size, reader.head.out_features
    final = np.empty((len(trajectory.lengths), n_classes), np.float32)
    running = np.empty((len(trajectory.prototypes), n_classes), np.float32)
    offsets = trajectory.offsets
    training = reader.training
    reader.eval()

    @torch.inference_mode()
    def read_some(documents: NDArray[np.int64]) -> None:
        sentences = np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in documents])
        lengths = torch.from_numpy(trajectory.lengths[documents]).to(device)
        if trajectory.dense is not None:
            steps = torch.from_numpy(trajectory.dense[sentences])
        else:
            prototypes = torch.from_numpy(trajectory.prototypes[sentences])[:, None]
            entries = torch.from_numpy(trajectory.entries[sentences])[:, None]
            steps = torch.zeros(len(sentences), width).scatter_(1, prototypes, entries)
        longest = int(trajectory.lengths[documents].max())
        outputs = probabilities(reader(pad_documents(steps.to(device), lengths, longest)), task)
        final[documents] = at_last_sentence(outputs, lengths).cpu().numpy()
        inside = torch.arange(outputs.shape[1], device=device)[None] < lengths[:, None]
        running[sentences] = outputs[inside].cpu().numpy()

    groups = group_by_length(trajectory.lengths, _STEPS_PER_BATCH)
    map_in_threads(read_some, groups, device=device.type)
    reader.train(training)
    return replace(trajectory, probabilities=final, running=running)


def probabilities(logits: Tensor, task: Task) -> Tensor:
    """Turn the head's outputs into probabilities."""
    return torch.softmax(logits, dim=-1) if task == "multiclass" else torch.sigmoid(logits)


def accuracy_loss(
    logits: Tensor,
    targets: Tensor,
    task: Task,
    kind: AccuracyLoss,
    weights: Tensor | None = None,
) -> Tensor:
    """Return L_acc over documents with one-hot or multi-hot `targets` (n, C).

    ``"mse"`` is the paper's mean over documents of ‖y − ŷ‖². Weights of documents (n,) are 1 on
    average over the whole corpus.
    """
    if kind != "mse" and task == "multilabel":
        each = None if weights is None else weights[:, None]
        return functional.binary_cross_entropy_with_logits(logits, targets, each)
    if kind == "mse":
        losses = (targets - probabilities(logits, task)).square().sum(-1)
    else:
        reduction = "mean" if weights is None else "none"
        losses = functional.cross_entropy(logits, targets, reduction=reduction)
    return losses.mean() if weights is None else (losses * weights).mean()


def diversity_loss(prototypes: Tensor, *, delta: float, eta: float) -> Tensor:
    """Return L_div = σ(η (δ − d_min)), where d_min is the distance of the closest pair."""
    if len(prototypes) < 2:
        return prototypes.new_zeros(())
    distances = pairwise_distance(prototypes, prototypes)
    pairs = torch.triu_indices(len(prototypes), len(prototypes), offset=1)
    closest = distances[pairs[0], pairs[1]].min()
    return torch.sigmoid(eta * (delta - closest))


def prototypicality_loss(distances: Tensor) -> Tensor:
    """Return L_proto: the mean over sentences of the distance (n, K) to the nearest prototype."""
    return distances.min(dim=-1).values.mean()


def anchor_loss(trained: Tensor, pretrained: Tensor) -> Tensor:
    """Return the mean over sentences of 1 − cos between trained and pre-trained embedding.

    Without it, training moves sentences to wherever they are easiest to classify, and a prototype
    no longer resembles the sentences matched to it.
    """
    return (1 - functional.cosine_similarity(trained, pretrained, dim=-1)).mean()


def balance_loss(distances: Tensor, temperature: float) -> Tensor:
    """Return how uneven the use of the prototypes is: 0 when all are used alike, log K at most.

    It is log K less the entropy of the mean over sentences of Softmax(−d² / temperature), the
    choice that the straight-through gradient sees. Without it a few prototypes take most of the
    sentences, and trajectories say little.
    """
    share = torch.softmax(-distances.square() / temperature, dim=-1).mean(dim=0)
    entropy: Tensor = torch.special.entr(share).sum()
    return math.log(distances.shape[-1]) - entropy
