"""Prototypes that are families: a few kinds of statement, each with many real sentences.

Learn what a sentence tells of the label, choose real sentences as members, group them into
families of one kind and one tone, let the reader learn to read families, score. Each step is a
function of its own. What was tried is in docs/research.md.
"""

from __future__ import annotations

import bisect
import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from protorynet.labels import Task
from protorynet.network import (
    Evidence,
    ProtoryNetwork,
    Reader,
    match_sentences,
    pack_rows,
    probabilities,
    read_matches,
    unpack_rows,
)
from protorynet.prototypes import score_alone
from protorynet.reading import Reading
from protorynet.settings import Distance
from protorynet.threads import map_in_threads
from protorynet.training.algorithm import Clock, Trained, match_corpus, score_of
from protorynet.training.epochs import Run, derive_seed
from protorynet.training.evidence import Learned, learn_evidence, learn_kinds
from protorynet.training.parallel import agree, agree_on_all
from protorynet.training.reader_training import fit_reader

_CLASSES_WITHOUT_MORE = 6  # classes up to which `max_prototypes` families do
_FAMILIES_PER_CLASS = 3
# Bytes of a model's directory that members may take, and those of one besides its vector.
_MEMBERS_BYTES, _BYTES_BESIDE = 8_000_000, 150
_NUMBERS_AT_ONCE, _NUMBERS_ON_A_GPU = 2**24, 2**26  # of a matrix of products
# Axes of meaning that sentences are compared by, and sentences that tell them.
_AXES, _AXES_SENTENCES = 192, 50_000
# Of the sentences that could be members, those are kept that lie deepest in their family, and of
# these those that most sentences are matched to.
_SHARE_KEPT, _FEWEST_KEPT, _TRIED_PER_MEMBER = 0.3, 4, 4
_TWIN_COSINE = 0.9  # of two members that say the same, one goes
_OVERFIT = 0.15  # most that a member's evidence may differ from its out-of-fold evidence
_FEWEST_MATCHES = 3  # training sentences of a member
_SENTENCES_PER_MEMBER = 8  # of the training, on average
_COMPARED_SENTENCES = 20_000  # with the members they are matched to
_SENTENCES_PER_BLOCK = 65_536
_GROUPED_SENTENCES, _TOPIC_DIMENSIONS = 20_000, 32
# Weights of what a sentence tells of the label beside what it says, to match sentences by.
_WEIGHTS = (1.0, 1.2, 1.4, 1.7, 2.0, 2.4, 2.8, 3.4, 4.0, 4.8, 5.6, 6.7, 8.0)
_TONE_IN_FAMILY, _TONE_OF_MATCH = 0.085, 0.07  # most deviation of the probabilities
_OTHER_KIND = 0.08  # most lone sentences that are matched to another kind
_SLACK = 1.5  # of the least deviation that any weight gives, where that is larger
_LEAST_NARROWING = 3.0  # of the deviation by families, where the evidence is weak
_TONE_WEIGHT = 8.0  # beside the topic, where the depth of a member in its family is measured
_UNFAMILIAR_SHARE = 0.005  # of the sentences of held-out documents; by distance, more are


def train_families(run: Run) -> Trained:
    """Train a network whose prototypes are families of real sentences."""
    clock = Clock()
    with torch.random.fork_rng():
        learned = learn_evidence(run)
        targets = (run.train.targets + learned.judge_documents(run)) / 2
        if _needs_kinds(run):
            learn_kinds(learned, targets, _count_families(run) // targets.shape[1], run)
        clock.lap("evidence")
        is_frozen = run.settings.encoder_training == "none"
        if not is_frozen:
            learned.source.evidence.axes = find_axes(learned, run)
        members = choose_members(learned, run)
        clock.lap("members")
        members, sizes = group_members(members, learned, run)
        clock.lap("families")
        space = run.source if is_frozen else learned.source
        exact = run.source if is_frozen else learned.source.over(run.source)
        vectors = exact.embed_all(members)
        if learned.source.evidence.axes is not None:
            meaning = vectors[:, : learned.source.evidence.meaning_width]
            meaning.copy_(unpack_rows(*pack_rows(meaning)))
        network = _network(vectors, sizes, run)
        matches = _match_out_of_fold(network, learned, run)
        fit_reader(network.reader, matches, targets, run)
        clock.lap("reader")
        held_out = match_corpus(network, space, run.validation)
        read = read_matches(network.reader, held_out, run.labels.task)
        score = score_of(read.probabilities, run)
        truth = run.train.targets.cpu().numpy().astype(np.float64)
        counts, class_rate = matches.class_rates(truth, len(sizes))
        use, rates = replace(matches, prototypes=matches.members).class_rates(truth, len(members))
        alone = score_alone(network, run.labels.task)
        clock.lap("score")
    return Trained(
        network,
        members.cpu().numpy(),
        (),
        score,
        score,
        alone,
        counts / counts.sum(),
        class_rate,
        clock.seconds,
        space,
        matched=matches.prototypes,
        member_usage=use / use.sum(),
        member_rate=rates,
        familiar=float(np.quantile(held_out.similarities, _UNFAMILIAR_SHARE)),
        word_scale=learned.word_scale,
    )


def count_families(most: int, n_classes: int) -> int:
    """Return how many families a model may have: more than `most` only for many classes.

    Examples
    --------
    >>> count_families(20, 2), count_families(20, 14)
    (20, 42)
    """
    if n_classes <= _CLASSES_WITHOUT_MORE:
        return most
    return max(most, _FAMILIES_PER_CLASS * n_classes)


def _count_families(run: Run) -> int:
    return count_families(run.settings.max_prototypes, run.train.targets.shape[1])


def _needs_kinds(run: Run) -> bool:
    """Say whether there are too many classes for topics and tones, and sentences enough."""
    many = run.labels.task == "multiclass" and run.train.targets.shape[1] > _CLASSES_WITHOUT_MORE
    return many and len(run.candidates) >= _FEWEST_KEPT * _count_families(run)


@torch.no_grad()
def find_axes(learned: Learned, run: Run) -> Tensor | None:
    """Return the axes (d, k) in which most of what sentences say differs.

    Half as many numbers leave room for more members; None where there is room enough. The axes are
    turned at random, so that no component of a sentence is large and few bits hold all of them.
    """
    source, random = learned.source.source, np.random.default_rng(0)
    has_room = _count_wanted(run) <= _count_fitting(learned.source.evidence, run)
    if has_room or not run.unit_length or source.base.shape[1] <= _AXES:
        return None
    index = torch.unique(run.train.index)
    spaced = torch.linspace(0, len(index) - 1, min(len(index), _AXES_SENTENCES)).long()
    meaning = source.embed_all(index[spaced.to(index.device)]).double()
    axes = torch.linalg.eigh(meaning.T @ meaning)[1][:, -_AXES:]
    turn = torch.linalg.qr(torch.from_numpy(random.normal(size=(_AXES, _AXES))))[0]
    return agree((axes @ turn.to(axes)).float())


def choose_members(learned: Learned, run: Run) -> Tensor:
    """Return the index of real sentences that could stand for others, many more than will stay.

    They are drawn from the candidates, the same for every seed, so that what is often said has
    many, and tell of the label what they would if they had never been seen. The evidence is given
    the least weight that matches a sentence to one that tells alike, or nearly as alike as any
    weight does.
    """
    source, settings, index = learned.source, run.settings, run.train.index
    wanted = _count_members(learned, run)
    random = np.random.default_rng(0)
    fewest = round(wanted / _SHARE_KEPT)
    candidates = _drop_overfitted(learned, run, fewest)
    rank = torch.from_numpy(random.permutation(len(source.base))).to(index.device)
    members = candidates[rank[candidates].argsort()[: fewest * _TRIED_PER_MEMBER]]
    sample, some = _draw_sentences(index, random), members[:wanted]

    def deviation(weight: float) -> float:
        source.evidence.weight.fill_(weight)
        points = learned.out_of_fold_vectors(index, sample)
        matched = some[_nearest(points, source.embed_all(some), settings.distance)]
        found = _deviation(learned.out_of_fold[sample], learned.logits[matched], source.evidence)
        return found / most_allowed

    # What sentences of another kind tell evens out in long documents.
    most_allowed = _TONE_OF_MATCH
    if source.evidence.kinds is not None:
        most_allowed = _OTHER_KIND * math.sqrt(len(index) / len(run.train))
    # Embeddings as they are have nothing beside them.
    weights = (0.0,) if settings.encoder_training == "none" else _WEIGHTS
    # Where there are few members, no weight finds one that tells quite alike.
    most = max(1.0, _SLACK * deviation(weights[-1]))
    # The larger the weight, the less the deviation; the last one is never too small.
    enough = bisect.bisect_left(weights[:-1], -most, key=lambda weight: -deviation(weight))
    source.evidence.weight.fill_(weights[enough])
    source.evidence.weight.copy_(agree(source.evidence.weight))
    return agree_on_all(members.sort().values)


def _draw_sentences(index: Tensor, random: np.random.Generator) -> Tensor:
    drawn = random.permutation(len(index))[:_COMPARED_SENTENCES]
    return torch.from_numpy(np.sort(drawn)).to(index.device)


def _count_members(learned: Learned, run: Run) -> int:
    """Return how many members there should be, of all families together."""
    return min(_count_wanted(run), _count_fitting(learned.source.evidence, run))


def _count_wanted(run: Run) -> int:
    n_families = _count_families(run)
    fewest, most = _FEWEST_KEPT * n_families, run.settings.members * n_families
    return min(most, max(fewest, len(run.train.index) // _SENTENCES_PER_MEMBER))


def _count_fitting(evidence: Evidence, run: Run) -> int:
    """Return how many members may lie in a model's directory."""
    width = evidence.meaning_width if run.settings.encoder_training == "none" else evidence.width
    saved = 0 if evidence.axes is None else 2 * evidence.meaning_width
    return _MEMBERS_BYTES // (4 * width - saved + _BYTES_BESIDE)


def _drop_overfitted(learned: Learned, run: Run, fewest: int) -> Tensor:
    """Return the candidates whose evidence is not overfitted to their own documents."""
    task, candidates = run.labels.task, run.candidates
    unseen = learned.out_of_fold_of_distinct(run.train.index)[candidates]
    differences = probabilities(unseen, task) - probabilities(learned.logits[candidates], task)
    apart = differences.abs().amax(dim=1)
    kept = min(len(apart), max(fewest, int((apart <= _OVERFIT).sum())))
    return candidates[apart.argsort(stable=True)[:kept].sort().values]


def group_members(members: Tensor, learned: Learned, run: Run) -> tuple[Tensor, tuple[int, ...]]:
    """Return the members that stay, family by family, and how many each has.

    A family is what is said of one topic in one tone. Families do not depend on the seed but
    through the evidence. Members between two families go, be it by what makes a family or by what
    they say, as do those that say the same as another; of the others those stay that most sentences
    are matched to.
    """
    if len(members) == 1:
        return members, (1,)
    evidence = learned.source.evidence
    if evidence.kinds is None:
        distances = torch.cdist(*_find_middles(members, learned, run))
    else:
        distances = 1 - evidence.tone(learned.logits[members]).square()
    distances = distances[:, torch.unique(distances.argmin(dim=1))]  # families with members
    family, meaning = distances.argmin(dim=1), functional.normalize(learned.source.base[members])
    sums = meaning.new_zeros(distances.shape[1], meaning.shape[1]).index_add(0, family, meaning)
    cosines = meaning @ functional.normalize(sums).T
    depths = _depth(distances, family), _depth(-cosines, family)
    # Of few candidates more are kept, so that there are enough members.
    share = max(_SHARE_KEPT, min(1.0, _count_members(learned, run) / len(members)))
    deepest = []
    for number in range(distances.shape[1]):
        inside = torch.nonzero(family == number).squeeze(1)
        ranks = torch.stack([depth[inside].argsort(stable=True).argsort() for depth in depths])
        order = ranks.sum(dim=0).argsort(descending=True, stable=True)
        kept = max(_FEWEST_KEPT, math.ceil(len(inside) * share))
        deepest.append(inside[order[:kept]])
    chosen = torch.cat(deepest).sort().values
    chosen = chosen[_find_distinct(learned.source.base[members[chosen]])]
    chosen = chosen[_find_used(members[chosen], learned, run)]
    members, family = members[chosen], family[chosen]
    sizes = torch.bincount(agree_on_all(family))
    members = agree_on_all(members[family.argsort(stable=True)])
    return members, tuple(sizes[sizes > 0].tolist())


def _depth(distances: Tensor, family: Tensor) -> Tensor:
    """Return how much farther from each member the nearest other middle is than its family's."""
    own = family[:, None]
    others = distances.scatter(1, own, math.inf).amin(dim=1)
    return others - distances.gather(1, own).squeeze(1)


def _find_used(members: Tensor, learned: Learned, run: Run) -> Tensor:
    """Return the positions of the members that most training sentences are matched to."""
    index, metric = run.train.index, run.settings.distance
    vectors, wanted = learned.source.embed_all(members), _count_members(learned, run)
    sample = _draw_sentences(index, np.random.default_rng(0))
    points = learned.out_of_fold_vectors(index, sample)
    used = torch.arange(len(members), device=index.device)
    # In two rounds, since those that go leave their sentences to others.
    for most in (math.isqrt(len(members) * wanted), wanted):
        if len(used) > most:
            counts = torch.bincount(_nearest(points, vectors[used], metric), minlength=len(used))
            used = used[counts.argsort(descending=True, stable=True)[:most].sort().values]
    fewest = min(_FEWEST_MATCHES, len(index) // (10 * len(used)) + 1)
    matched = torch.full_like(index, -1)
    while True:
        unmatched = torch.nonzero(~torch.isin(matched, used)).squeeze(1)
        for block in torch.split(unmatched, _SENTENCES_PER_BLOCK):
            points = learned.out_of_fold_vectors(index, block)
            matched[block] = used[_nearest(points, vectors[used], metric)]
        counts = torch.bincount(matched, minlength=len(members))[used]
        if bool((counts >= fewest).all()):
            return used
        used = used[counts >= fewest]


def _find_middles(members: Tensor, learned: Learned, run: Run) -> tuple[Tensor, Tensor]:
    """Return the members as points, by topic and tone, and the middles of the families.

    Of two classes every topic has the same tones; of more, where topics tell classes apart, each
    tone has topics of its own. There are as few tones as keep the families of one tone.
    Both are clusters of sentences by their out-of-fold evidence. A member stands where the
    delivered model has it, since that is where sentences are matched to it.
    """
    from sklearn.decomposition import PCA

    base, task = learned.source.base, run.labels.task
    every = torch.unique(torch.cat([run.train.index, run.validation.index]))
    # Evenly spaced, so that other seeds see nearly the same sentences.
    spaced = torch.linspace(0, len(every) - 1, min(len(every), _GROUPED_SENTENCES)).long()
    sample = every[spaced.to(every.device)]
    given = base[sample].cpu().numpy()
    axes = PCA(min(_TOPIC_DIMENSIONS, *given.shape), random_state=0).fit(given)
    turn = torch.from_numpy(axes.components_.T).to(base)
    # Turned before they are centred, for a copy of so many embeddings takes much memory.
    topics = (
        base[torch.cat([sample, members])] @ turn - torch.from_numpy(axes.mean_).to(base) @ turn
    )
    topics = topics / topics[: len(sample)].square().sum(1).mean().sqrt().clamp_min(1e-6)
    unseen = learned.out_of_fold_of_distinct(run.train.index)[sample]
    tone = learned.source.evidence.tone(torch.cat([unseen, learned.logits[members]]))
    n_classes = run.train.targets.shape[1]
    # Of few members each may be a family of its own, so that every class has some.
    few = max(len(members) // 2, min(len(members), _FAMILIES_PER_CLASS * n_classes))
    count = min(_count_families(run), few)
    tones = tone[: len(sample)].cpu().numpy()
    most = _spread(unseen, torch.zeros_like(sample), 1, task) / _LEAST_NARROWING
    for n_tones in _count_tones(count, n_classes):
        labels = torch.from_numpy(_cluster(tones, n_tones, n_init=1).labels_).long()
        if _spread(unseen, labels.to(base.device), n_tones, task) <= min(most, _TONE_IN_FAMILY):
            break
    points = torch.cat([topics, _TONE_WEIGHT * tone], dim=1)
    grouped, width = points[: len(sample)].cpu().numpy(), topics.shape[1]
    if n_tones == count:  # no room for topics, but of sentences of one tone they tell
        middles = _cluster(grouped, count).cluster_centers_
    else:
        tones = _cluster(grouped[:, width:], n_tones)
        if n_classes > 2:  # what is said of one class has topics of its own
            shares = _divide(count, np.bincount(tones.labels_, minlength=n_tones))
            parts = [(grouped[tones.labels_ == tone, :width], n) for tone, n in enumerate(shares)]
            kinds = [_cluster(*part).cluster_centers_ for part in parts]
        else:
            kinds = [_cluster(grouped[:, :width], count // n_tones).cluster_centers_] * n_tones
        of_tone = np.repeat(tones.cluster_centers_, [len(some) for some in kinds], axis=0)
        middles = np.hstack([np.concatenate(kinds), of_tone])
    return points[len(sample) :], agree(torch.from_numpy(middles).float()).to(base.device)


def _count_tones(count: int, n_classes: int) -> list[int]:
    """Return the numbers of tones that so many families may have, the fewest first.

    Every class needs a tone of its own; where each can have two, topics stay. Of two classes no
    tone lies between: many sentences hardly tell of either, and what they tell adds up.

    Examples
    --------
    >>> _count_tones(20, 2), _count_tones(20, 4)
    ([2, 4, 6, 10], [4, 5, 6, 10])
    """
    fewest, most = (2 if count // 2 >= 2 * n_classes else 1), max(2, count // 2)
    step = 2 if n_classes == 2 and count > 3 else 1
    sizes = {count // n_topics // step * step for n_topics in range(fewest, most + 1)}
    return sorted(size for size in sizes if size >= min(n_classes, count))


def _divide(count: int, sizes: NDArray[np.int64]) -> list[int]:
    """Divide a number by sizes, each getting one at least, and none more than its size.

    Examples
    --------
    >>> _divide(6, np.array([100, 300]))
    [2, 4]
    """
    parts = np.ones(len(sizes), np.int64)
    while parts.sum() < count and (parts < sizes).any():
        parts[np.argmax(np.where(parts < sizes, sizes / parts, 0))] += 1
    divided: list[int] = parts.tolist()
    return divided


def _cluster(points: NDArray[np.float32], count: int, *, n_init: int = 10) -> Any:
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        # Different sentences may have equal vectors; then some clusters are empty.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KMeans(count, n_init=n_init, random_state=0).fit(points)


def _spread(logits: Tensor, family: Tensor, count: int, task: Task) -> float:
    """Return how far probabilities deviate from the mean of their family, as of two classes."""
    each = probabilities(logits, task)
    sums = each.new_zeros(count, each.shape[1]).index_add(0, family, each)
    mean = sums / torch.bincount(family, minlength=count).clamp_min(1)[:, None]
    return float(((each - mean[family]).square().sum(dim=1) / 2).mean().sqrt())


def _deviation(logits: Tensor, others: Tensor, evidence: Evidence) -> float:
    """Return how far sentences tell other than others: by probabilities, or how many by kind."""
    if evidence.kinds is not None:
        ones, twos = evidence.kinds(logits), evidence.kinds(others)
        return float((ones.argmax(1) != twos.argmax(1)).float().mean())
    differences = probabilities(logits, evidence.task) - probabilities(others, evidence.task)
    return float(differences.square().mean().sqrt())


def _nearest(points: Tensor, others: Tensor, metric: Distance) -> Tensor:
    """Return the position of the other vector nearest to each point."""
    if metric == "cosine":
        points, others = (functional.normalize(part, dim=-1) for part in (points, others))
    half = others.square().sum(dim=1) / -2

    def find(block: Tensor) -> Tensor:
        return torch.addmm(half, block, others.T).argmax(dim=1)

    return torch.cat(map_in_threads(find, _blocks(points, others), device=points.device.type))


def _find_distinct(vectors: Tensor) -> Tensor:
    """Return the positions of those that say something else than every earlier one.

    Vectors given by the user are of any length, and alike only if their lengths are too.
    """
    squared = vectors.square().sum(dim=1)
    positions = torch.arange(len(vectors), device=vectors.device)

    def find_twins(block: Tensor) -> Tensor:
        first, stop = int(block[0]), int(block[-1]) + 1
        mean_square = ((squared[block, None] + squared[:stop]) / 2).clamp_min(1e-12)
        alike = vectors[block] @ vectors[:stop].T >= _TWIN_COSINE * mean_square
        return torch.tril(alike, diagonal=first - 1).any(dim=1)

    blocks = _blocks(positions, vectors)
    twins = torch.cat(map_in_threads(find_twins, blocks, device=vectors.device.type))
    return positions[~twins]


def _blocks(rows: Tensor, others: Tensor) -> tuple[Tensor, ...]:
    """Cut rows so that a matrix of some of them and all others is small.

    Several threads that take and give back the memory of much smaller ones keep most of it.
    """
    most = _NUMBERS_ON_A_GPU if rows.is_cuda else _NUMBERS_AT_ONCE
    return torch.split(rows, max(1, most // max(1, len(others))))


def _network(members: Tensor, sizes: Sequence[int], run: Run) -> ProtoryNetwork:
    torch.manual_seed(derive_seed(run.seed, "reader"))
    reader = Reader.of(run.settings, len(sizes), run.train.targets.shape[1])
    network = ProtoryNetwork(members, reader, run.settings, sizes).to(members.device)
    network.members.requires_grad_(False)
    return network


@torch.no_grad()
def _match_out_of_fold(network: ProtoryNetwork, learned: Learned, run: Run) -> Reading:
    """Match the training sentences by their out-of-fold evidence."""
    index = run.train.index
    each = torch.arange(len(index), device=index.device)
    if run.settings.encoder_training == "none":
        vectors = run.source.embed_all(index)
    else:
        vectors = learned.out_of_fold_vectors(index, each)
    return match_sentences(network, vectors, each, run.train.lengths)
