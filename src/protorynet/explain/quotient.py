"""From trajectories to a small automaton: states of the reader that believe alike become one."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray

from protorynet.labels import Task
from protorynet.network import Reader
from protorynet.reading import Reading

_OUTLOOK_NUMBERS_AT_ONCE = 2**26
_CLUSTER_ROUNDS, _CLUSTERED_POINTS = 50, 10_000
# A vote of the reader itself, which decides only where no document has voted.
_READER_VOTE = 1e-3
_FIDELITY_TOLERANCE = 0.005  # fidelity that may be given up for fewer states
_MERGE_PARTNERS = 3  # nearest states that are tried for each
_LEAST_GAIN = 3  # documents that must be won for a transition to be changed
_LEAST_TRAFFIC = 20
_READ_AT_ONCE = 2**18  # nodes times automata, so that their states stay in the cache


@dataclass(frozen=True)
class PrefixTree:
    """Every beginning of every trajectory once: node 0 is empty, of parent and prototype -1.

    A node's parent comes before it; `levels` says where nodes of each length start. `nodes` is the
    node of each document, of these `lengths`, up to each of its sentences, and `ends` that of the
    whole document; some of the documents are `inside` a class.
    """

    parents: NDArray[np.int64]
    prototypes: NDArray[np.int64]
    levels: tuple[int, ...]
    nodes: NDArray[np.int64]
    ends: NDArray[np.int64]
    lengths: NDArray[np.int64]
    inside: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.parents)

    @cached_property
    def documents(self) -> NDArray[np.int64]:
        """How many documents begin so."""
        counts = np.bincount(self.nodes, minlength=len(self))
        counts[0] = len(self.lengths)
        return counts

    @cached_property
    def members(self) -> NDArray[np.int64]:
        """How many of these have the class."""
        chosen = np.repeat(self.inside, self.lengths)
        counts = np.bincount(self.nodes[chosen], minlength=len(self))
        counts[0] = self.inside.sum()
        return counts

    def states(self, table: NDArray[np.int64], start: int) -> NDArray[np.int64]:
        """Return the state that an automaton is in at each node."""
        return np.asarray(self._read(table[None], np.array([start]))[0])

    def _read(self, tables: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the states of some automata, (M, S, K) and (M,), at each node."""
        # A state is given by where its transitions start: a step is one sum and one look-up.
        n, n_states, width = tables.shape
        first = np.arange(n)[:, None] * n_states * width
        flat = (tables * width + first[:, None]).ravel()
        states = np.repeat(starts[:, None] * width + first, len(self), axis=1)
        for start, stop in pairwise(self.levels[1:]):
            level = slice(start, stop)
            states[:, level] = flat[states[:, self.parents[level]] + self.prototypes[level]]
        found: NDArray[np.int64] = (states - first) // width
        return found

    def fidelity(self, table: NDArray[np.int64], start: int, accepting: NDArray[np.bool_]) -> float:
        """Return the share of documents accepted if, and only if, they have the class."""
        return float(self.fidelities(table[None], np.array([start]), accepting[None])[0])

    def fidelities(
        self, tables: NDArray[np.int64], starts: NDArray[np.int64], accepting: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the fidelity of each of some automata, (M, S, K), (M,) and (M, S)."""
        found = np.empty(len(tables))
        at_once = max(1, _READ_AT_ONCE // len(self))
        for first in range(0, len(tables), at_once):
            part = slice(first, first + at_once)
            ends = self._read(tables[part], starts[part])[:, self.ends]
            accepted = np.take_along_axis(accepting[part], ends, axis=1)
            found[part] = (accepted == self.inside).mean(axis=1)
        return found

    def misjudged(
        self, table: NDArray[np.int64], start: int, accepting: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Return how many of the documents judged wrongly take each transition."""
        states = self.states(table, start)
        wrong = np.repeat(accepting[states[self.ends]] != self.inside, self.lengths)
        owners = np.repeat(np.arange(len(self.lengths)), self.lengths)[wrong]
        nodes = self.nodes[wrong]
        edges = states[self.parents[nodes]] * table.shape[1] + self.prototypes[nodes]
        taken = np.unique(owners * table.size + edges) % table.size
        return np.bincount(taken, minlength=table.size).reshape(table.shape)

    def prefix(self, node: int) -> tuple[int, ...]:
        """Return the prototypes that lead to a node."""
        prototypes = []
        while node:
            prototypes.append(int(self.prototypes[node]))
            node = int(self.parents[node])
        return tuple(reversed(prototypes))


def grow_tree(reading: Reading, inside: NDArray[np.bool_]) -> PrefixTree:
    """Put documents, some of which have a class, into a tree, one sentence of each at a time."""
    lengths, offsets = reading.lengths, reading.offsets
    width = int(reading.prototypes.max(initial=0)) + 1
    ends, nodes = np.zeros(len(lengths), np.int64), np.zeros_like(reading.prototypes)
    parts = [(np.array([-1]), np.array([-1]))]
    levels = [0, 1]
    for depth in range(int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > depth)
        here = offsets[longer] + depth
        steps = ends[longer] * width + reading.prototypes[here]
        distinct, numbers = np.unique(steps, return_inverse=True)
        parts.append(np.divmod(distinct, width))
        ends[longer] = nodes[here] = levels[-1] + numbers
        levels.append(levels[-1] + len(distinct))
    parents, prototypes = (np.concatenate(values) for values in zip(*parts, strict=True))
    return PrefixTree(parents, prototypes, tuple(levels), nodes, ends, lengths, inside)


def pure_prefixes(tree: PrefixTree, *, purity: float, support: int) -> list[int]:
    """Return the nodes of the shortest beginnings that give the class away, most frequent first."""
    pure = (tree.members >= purity * tree.documents) & (tree.documents >= support)
    pure[0] = False
    below = np.zeros(len(tree), np.bool_)
    for start, stop in zip(tree.levels[1:-1], tree.levels[2:], strict=True):
        parents = tree.parents[start:stop]
        below[start:stop] = below[parents] | pure[parents]
    found = np.flatnonzero(pure & ~below).tolist()
    return sorted(found, key=lambda node: (-int(tree.documents[node]), tree.prefix(node)))


@dataclass(frozen=True)
class Beliefs:
    """The reader's states for one class, as it reads prototype ids alone."""

    label: int
    memory: torch.Tensor  # the LSTM's, (states, 2 × layers, hidden)
    # Probability of the class now and after one more sentence of each probed prototype.
    outlook: NDArray[np.float32]  # (states, 1 + probes)


class BeliefReader:
    """A model's reader, one sentence at a time; `usage` is how often each prototype is used.

    Two beliefs are told apart by as many next sentences as `probes`, of the most used prototypes.
    """

    def __init__(
        self, reader: Reader, task: Task, usage: NDArray[np.int64], *, probes: int
    ) -> None:
        self.reader = reader
        self.task = task
        self.probes = np.argsort(-usage, kind="stable")[:probes]
        self.steps = torch.eye(len(usage), device=reader.head.weight.device)

    def beliefs(self, tree: PrefixTree, labels: Sequence[int]) -> Iterator[Beliefs]:
        """Read every beginning in a tree once, and say what it means for each class."""
        memory = self._read(tree)
        at_once = max(1, _OUTLOOK_NUMBERS_AT_ONCE // (len(tree) * (1 + len(self.probes))))
        for start in range(0, len(labels), at_once):
            group = labels[start : start + at_once]
            for label, outlook in zip(group, self._outlooks(memory, group), strict=True):
                yield Beliefs(label, memory, outlook)

    def outlook_after(
        self, beliefs: Beliefs, states: NDArray[np.int64], prototypes: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return the outlook after one more sentence in each of some states."""
        further = self._advance(beliefs.memory[torch.from_numpy(states)], prototypes)
        return np.asarray(self._outlooks(further, [beliefs.label])[0])

    @torch.inference_mode()
    def _read(self, tree: PrefixTree) -> torch.Tensor:
        lstm = self.reader.lstm
        memory = self.steps.new_zeros(len(tree), 2 * lstm.num_layers, lstm.hidden_size)
        for start, stop in zip(tree.levels[1:-1], tree.levels[2:], strict=True):
            parents = torch.from_numpy(tree.parents[start:stop])
            memory[start:stop] = self._advance(memory[parents], tree.prototypes[start:stop])
        return memory

    def _outlooks(self, memory: torch.Tensor, labels: Sequence[int]) -> NDArray[np.float32]:
        """Return the outlook of each memory for each class, (classes, memories, 1 + probes)."""
        outlooks = np.empty((len(labels), len(memory), 1 + len(self.probes)), np.float32)
        outlooks[:, :, 0] = self._probabilities(memory, labels)
        for position, probe in enumerate(self.probes, start=1):
            later = self._advance(memory, np.full(len(memory), probe))
            outlooks[:, :, position] = self._probabilities(later, labels)
        return outlooks

    @torch.inference_mode()
    def _advance(self, memory: torch.Tensor, prototypes: NDArray[np.int64]) -> torch.Tensor:
        lstm = self.reader.lstm
        steps = self.steps[torch.from_numpy(prototypes)][:, None]
        hidden, cell = memory.transpose(0, 1).contiguous().chunk(2)
        training = lstm.training
        lstm.eval()
        _, after = lstm(steps, (hidden, cell))
        lstm.train(training)
        return torch.cat(after).transpose(0, 1)

    @torch.inference_mode()
    def _probabilities(self, memory: torch.Tensor, labels: Sequence[int]) -> NDArray[np.float32]:
        """Return the belief in each class; where only one holds, against the strongest other."""
        logits = self.reader.head(memory[:, self.reader.lstm.num_layers - 1])
        odds = logits[:, list(labels)]
        if self.task == "multiclass":
            strongest, leading = logits.topk(2, dim=1)
            leads = leading[:, :1] == torch.tensor(list(labels), device=leading.device)
            odds = odds - torch.where(leads, strongest[:, 1:], strongest[:, :1])
        return np.asarray(torch.sigmoid(odds).T.cpu().numpy())


@dataclass(frozen=True)
class Quotient:
    """Votes on how an automaton should move and accept.

    `moves` counts documents by state, prototype and next state, `ends` those that ended in a state
    without and with the class. `outlook` is the mean belief over so many beginnings as `weight`.
    """

    moves: NDArray[np.float64]
    ends: NDArray[np.float64]
    outlook: NDArray[np.float64]
    weight: NDArray[np.float64]
    start: int

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def table(self) -> NDArray[np.int64]:
        """The state that most documents went to, by state and prototype."""
        return np.asarray(self.moves.argmax(axis=2))

    @property
    def accepting(self) -> NDArray[np.bool_]:
        """Whether most documents that ended in a state have the class."""
        return np.asarray(self.ends[:, 1] > self.ends[:, 0])

    def merge(self, first: int, second: int) -> Quotient:
        """Return the quotient with the second state counted into the first."""
        rest = np.arange(len(self)) != second
        moves = self.moves.copy()
        moves[first] += moves[second]
        moves[:, :, first] += moves[:, :, second]
        ends, weight, outlook = self.ends.copy(), self.weight.copy(), self.outlook.copy()
        ends[first] += ends[second]
        weight[first] += weight[second]
        share = self.weight[second] / max(weight[first], 1e-12)
        outlook[first] += share * (outlook[second] - outlook[first])
        start = first if self.start == second else self.start
        return Quotient(
            moves[rest][:, :, rest],
            ends[rest],
            outlook[rest],
            weight[rest],
            start - int(start > second),
        )


def form_quotient(
    tree: PrefixTree, beliefs: Beliefs, reader: BeliefReader, *, most: int
) -> Quotient:
    """Cluster the reader's states; where no document shows how to go on, the reader is asked."""
    from scipy.spatial.distance import cdist

    states = cluster(beliefs.outlook, tree.documents, most)
    n, k = int(states.max()) + 1, len(reader.steps)
    weight = np.bincount(states, tree.documents, n).astype(np.float64)
    beliefs_by_use = (beliefs.outlook * tree.documents[:, None]).T
    sums = [np.bincount(states, probe, n) for probe in beliefs_by_use]
    outlook = np.stack(sums, axis=1) / weight[:, None]
    moves, ends = np.zeros((n, k, n)), np.zeros((n, 2))
    went = (states[tree.parents[1:]], tree.prototypes[1:], states[1:])
    np.add.at(moves, went, tree.documents[1:])
    np.add.at(ends, (states[tree.ends], tree.inside.astype(np.int64)), 1)
    ends[np.arange(n), (outlook[:, 0] > 0.5).astype(np.int64)] += _READER_VOTE
    # The reader is asked where it is most typical of a state: nearest to the state's mean.
    away = ((beliefs.outlook - outlook[states]) ** 2).sum(axis=1)
    order = np.lexsort((away, states))
    typical = order[np.unique(states[order], return_index=True)[1]]
    source, prototype = np.divmod(np.arange(n * k), k)
    further = reader.outlook_after(beliefs, typical[source], prototype).astype(np.float64)
    nearest = cdist(further, outlook).argmin(axis=1)
    moves[source, prototype, nearest] += _READER_VOTE
    return Quotient(moves, ends, outlook, weight, int(states[0]))


def merge_while_faithful(quotient: Quotient, tree: PrefixTree, *, most: int) -> Quotient:
    """Merge the near states after whose merge most documents are judged as the model judges them.

    Then take the fewest states, of an allowed number, whose fidelity is little below the best.
    """
    found = [(quotient, tree.fidelity(quotient.table, quotient.start, quotient.accepting))]
    while len(quotient) > 1:
        pairs = _near_pairs(quotient)
        merged = (quotient.merge(*pair) for pair in pairs)
        tries = ((each.table, each.start, each.accepting) for each in merged)
        kept = tree.fidelities(*map(np.array, zip(*tries, strict=True)))
        quotient = quotient.merge(*pairs[int(np.argmax(kept))])
        found.append((quotient, float(kept.max())))
    allowed = [(candidate, value) for candidate, value in found if len(candidate) <= most]
    enough = max(value for _, value in allowed) - _FIDELITY_TOLERANCE
    return [candidate for candidate, value in allowed if value >= enough][-1]


def retarget(quotient: Quotient, tree: PrefixTree) -> NDArray[np.int64]:
    """Return the table, with transitions changed where that wins over several documents.

    Many small steps that each stay in a state, as most do, may together lead out of it. Only
    documents that are judged wrongly can be won, and only by a transition that they take.
    """
    n, table, accepting = len(quotient), quotient.table, quotient.accepting
    starts = np.full(n, quotient.start)
    best = tree.fidelity(table, quotient.start, accepting)
    traffic = quotient.moves.sum(axis=2)
    busiest = np.argsort(-traffic, axis=None, kind="stable")
    gain = (_LEAST_GAIN - 0.5) / len(tree.lengths)
    to_win = tree.misjudged(table, quotient.start, accepting)
    improved = True
    while improved:
        improved = False
        for busy in busiest[: int((traffic >= _LEAST_TRAFFIC).sum())]:
            state, prototype = divmod(int(busy), table.shape[1])
            if to_win[state, prototype] < _LEAST_GAIN:
                continue
            tables = np.tile(table, (n, 1, 1))
            tables[:, state, prototype] = np.arange(n)
            values = tree.fidelities(tables, starts, np.tile(accepting, (n, 1)))
            chosen = int(values.argmax())
            if values[chosen] >= best + gain:
                table[state, prototype] = chosen
                best, improved = values[chosen], True
                to_win = tree.misjudged(table, quotient.start, accepting)
    return table


def _near_pairs(quotient: Quotient) -> list[tuple[int, int]]:
    from scipy.spatial.distance import cdist

    distances = cdist(quotient.outlook, quotient.outlook)
    np.fill_diagonal(distances, np.inf)
    partners = min(_MERGE_PARTNERS, len(quotient) - 1)
    near = np.argsort(distances, axis=1, kind="stable")[:, :partners]
    return sorted({(min(a, b), max(a, b)) for a, bs in enumerate(near.tolist()) for b in bs})


def cluster(
    points: NDArray[np.float32], weights: NDArray[np.int64], most: int
) -> NDArray[np.int64]:
    """Group points into at most so many clusters by k-means, the same way every time.

    Of many points, the centres are those of some, evenly spaced.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    values = points.astype(np.float64)
    step = -(-len(values) // _CLUSTERED_POINTS)
    some = values[::step]
    means = KMeans(min(most, len(some)), n_init=1, max_iter=_CLUSTER_ROUNDS, random_state=0)
    # The order in which several threads add up shows in the last bit.
    with threadpool_limits(1, user_api="openmp"), warnings.catch_warnings():
        # Where points repeat, some clusters are empty.
        warnings.simplefilter("ignore", ConvergenceWarning)
        nearest = means.fit(some, sample_weight=weights[::step]).predict(values)
    _, firsts, numbers = np.unique(nearest, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(firsts))
    return np.asarray(rank[numbers], dtype=np.int64)
