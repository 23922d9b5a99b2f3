"""The layers: representation, distances to prototypes, selection of one, and the reader."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext

import torch
from torch import Tensor, nn
from torch.nn import functional

from protorynet.labels import Task
from protorynet.settings import Distance, Selection, Settings
from protorynet.threads import all_threads

# Below this squared distance two vectors count as equal; the square root has no gradient at zero.
_TINY = 1e-12
_ROUNDING = 1e-5  # by which similarities differ between backends, where a member is the sentence
_STEP_BITS, _MOST_EXPONENT = 15, 100  # of a component that was rounded, beside its sign
_LARGE_PRODUCT = 2**31  # multiplications that are worth all threads


class Centring(nn.Module):
    """Subtract the corpus mean, then scale.

    Embeddings of text go to unit length, since their length says nothing and their raw cosines
    lie in a narrow band. Vectors given by the user keep their relative lengths and are divided by
    `scale`, the corpus's root mean square length; 0 asks for unit length.
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, mean: Tensor, scale: float = 0.0) -> None:
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("scale", torch.tensor(float(scale)))
        self.unit_length = scale == 0.0

    def forward(self, raw: Tensor) -> Tensor:
        """Map vectors of the encoder (n, d) to base embeddings (n, d)."""
        centred = raw - self.mean
        return functional.normalize(centred, dim=-1) if self.unit_length else centred / self.scale

    def distance(self, raw: Tensor) -> Tensor:
        """Return how far vectors of the encoder (n, d) lie from the mean, (n,)."""
        return (raw - self.mean).square().sum(dim=-1).sqrt()


class Adapter(nn.Module):
    """A small residual network that bends the space of frozen embeddings to the task.

    Its last layer starts at zero, so training starts from the pre-trained space.
    """

    def __init__(self, dimension: int, hidden: int, *, unit_length: bool) -> None:
        super().__init__()
        self.down = nn.Linear(dimension, hidden)
        self.up = nn.Linear(hidden, dimension)
        self._unit_length = unit_length
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, base: Tensor) -> Tensor:
        """Map base embeddings (n, d) to adapted ones (n, d)."""
        moved = base + self.up(functional.gelu(self.down(base)))
        return functional.normalize(moved, dim=-1) if self._unit_length else moved


class Kinds(nn.Module):
    """Tell which of a few kinds of statement a sentence is, from what it tells of many classes."""

    def __init__(self, n_classes: int, hidden: int, count: int) -> None:
        super().__init__()
        self.down = nn.Linear(n_classes, hidden)
        self.up = nn.Linear(hidden, count)

    def forward(self, logits: Tensor, dropout: float = 0.0) -> Tensor:
        """Map logits of the classes (n, C) to logits of the kinds (n, K)."""
        kinds: Tensor = self.up(functional.dropout(functional.gelu(self.down(logits)), dropout))
        return kinds


class Evidence(nn.Module):
    """Put beside what a sentence says what it tells of the label.

    A small network gives the probability of each class for the sentence alone, beginning, where
    they are known, from what the sentence's words tell. Its square root (so that distances are
    those of Hellinger) joins the embedding, of which `axes` (d, k), where there are any, keep what
    sentences differ in most: two sentences are near where they say alike and tell alike of the
    label. Of many classes, `kinds` of statements stand in their place.
    """

    weight: Tensor
    axes: Tensor | None
    kinds: Kinds | None

    def __init__(self, dimension: int, hidden: int, n_classes: int, task: Task) -> None:
        super().__init__()
        self.down = nn.Linear(dimension, hidden)
        self.up = nn.Linear(hidden, n_classes)
        self.task = task
        self.kinds = None
        self.register_buffer("axes", None)
        self.register_buffer("weight", torch.tensor(1.0))
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    @property
    def meaning_width(self) -> int:
        """Components that hold what a sentence says."""
        return self.down.in_features if self.axes is None else self.axes.shape[1]

    @property
    def width(self) -> int:
        """Components of the vectors it gives."""
        tone = self.up if self.kinds is None else self.kinds.up
        return self.meaning_width + tone.out_features * (1 if self.task == "multiclass" else 2)

    @classmethod
    def mean(cls, parts: Sequence[Evidence]) -> Evidence:
        """Return one whose logits are the mean of those of several: all of them side by side."""
        first = parts[0]
        whole = cls(
            first.down.in_features,
            sum(part.down.out_features for part in parts),
            first.up.out_features,
            first.task,
        )
        whole.down.weight.data = torch.cat([part.down.weight.data for part in parts])
        whole.down.bias.data = torch.cat([part.down.bias.data for part in parts])
        whole.up.weight.data = torch.cat([part.up.weight.data for part in parts], 1) / len(parts)
        whole.up.bias.data = torch.stack([part.up.bias.data for part in parts]).mean(0)
        return whole.to(first.weight.device)

    def logits(self, base: Tensor, words: Tensor | None = None) -> Tensor:
        """Map embeddings (n, d) to logits of the classes (n, C), added to those of the words."""
        result: Tensor = self.up(functional.gelu(self.down(base)))
        return result if words is None else result + words

    def forward(self, base: Tensor, words: Tensor | None = None) -> Tensor:
        """Map embeddings (n, d) to the space of the members (n, k + C), or k + 2C, or k + K."""
        return self.join(base, self.logits(base, words))

    def join(self, base: Tensor, logits: Tensor) -> Tensor:
        """Put what logits (n, C) tell of the label beside what embeddings (n, d) say."""
        meaning = base if self.axes is None else functional.normalize(base @ self.axes, dim=-1)
        return torch.cat([meaning, self.weight * self.tone(logits)], dim=-1)

    def tone(self, logits: Tensor) -> Tensor:
        """Return the square roots of the probabilities, a vector of length one."""
        if self.kinds is not None:
            logits = self.kinds(logits)
        if self.task == "multiclass":
            likely: Tensor = functional.log_softmax(logits, dim=-1)
            return (likely / 2).exp()
        both: Tensor = functional.logsigmoid(torch.cat([logits, -logits], dim=-1))
        return (both / 2).exp() / math.sqrt(logits.shape[-1])


def embed_vectors(
    vectors: Tensor, centring: Centring, adapter: Adapter | Evidence | None
) -> Tensor:
    """Map the encoder's vectors, with what words tell beside them if any, to the members' space."""
    width = len(centring.mean)
    base: Tensor = centring(vectors[:, :width])
    if adapter is None:
        return base
    beside = (vectors[:, width:],) if vectors.shape[1] > width else ()
    embedded: Tensor = adapter(base, *beside)
    return embedded


def pack_rows(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Round vectors to 16 bits: whole numbers (n, d) of steps, a power of two for each row (n,).

    Of vectors of length one, hardly any component of which is above a half, a step is at most 2⁻¹⁶.

    Examples
    --------
    >>> pack_rows(torch.tensor([[0.25, -0.125]]))
    (tensor([[16384, -8192]], dtype=torch.int16), tensor([-1], dtype=torch.int8))
    """
    exponents = torch.frexp(vectors.abs().amax(dim=1))[1].clamp(-_MOST_EXPONENT, _MOST_EXPONENT)
    steps = torch.ldexp(vectors, _STEP_BITS - exponents[:, None]).round()
    return steps.clamp(1 - 2**_STEP_BITS, 2**_STEP_BITS - 1).short(), exponents.char()


def unpack_rows(steps: Tensor, exponents: Tensor) -> Tensor:
    """Return the vectors that `pack_rows` rounded; what was rounded before stays the same."""
    return torch.ldexp(steps.float(), exponents[:, None].int() - _STEP_BITS)


def pairwise_distance(a: Tensor, b: Tensor, metric: Distance = "euclidean") -> Tensor:
    """Return the distances between all vectors of `a` (n, d) and of `b` (k, d), as (n, k).

    Examples
    --------
    >>> pairwise_distance(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """
    with all_threads() if a.numel() * len(b) > _LARGE_PRODUCT else nullcontext():
        if metric == "cosine":
            return 1 - functional.normalize(a, dim=-1) @ functional.normalize(b, dim=-1).T
        squared = a.square().sum(-1, keepdim=True) + b.square().sum(-1) - 2 * a @ b.T
        return squared.clamp_min(_TINY).sqrt()


def find_unfamiliar(
    similarities: Tensor, distances: Tensor, familiar: float, reach: float
) -> Tensor:
    """Say which sentences are unfamiliar: like no member, or far from the mean.

    Far from the mean are a few members too, so that a sentence very like a member (at half the
    distance of `familiar`) is familiar all the same. A limit of 0 is not known, and keeps nothing.
    """
    least = familiar - _ROUNDING
    strange = similarities < least
    if reach:
        strange = strange | ((distances > reach) & (similarities.square() < least))
    return strange


def similarity(distance: Tensor, psi_squared: float) -> Tensor:
    """Return exp(−d / ψ²), the paper's proximity of a sentence to a prototype."""
    return torch.exp(-distance / psi_squared)


def active_prototype(distances: Tensor) -> Tensor:
    """Return the index of the nearest prototype of each sentence; the lowest index among equals."""
    return distances.argmin(dim=-1)


def select(
    distances: Tensor,
    similarities: Tensor,
    selection: Selection,
    *,
    gamma: float = 1e6,
    temperature: float = 0.1,
) -> Tensor:
    """Turn the similarity matrix (n, K) into what the reader sees.

    ``"paper"`` multiplies it by Softmax(γ·s), which is almost one-hot; its gradient reaches the
    chosen similarity but not the choice. ``"straight_through"`` is one-hot exactly and lets the
    gradient of Softmax(−d² / temperature) decide the choice; ``"one_hot"`` is the same with 1 in
    place of the similarity. ``"dense"`` changes nothing.

    Examples
    --------
    >>> d = torch.tensor([[0.5, 2.0]])
    >>> select(d, torch.exp(-d), "straight_through")
    tensor([[0.6065, 0.0000]])
    """
    if selection == "dense":
        return similarities
    if selection == "paper":
        return torch.softmax(gamma * similarities, dim=-1) * similarities
    chosen = active_prototype(distances)
    hard = functional.one_hot(chosen, distances.shape[-1]).to(similarities.dtype)
    soft = torch.softmax(-distances.square() / temperature, dim=-1)
    chosen_only = hard + soft - soft.detach()
    return chosen_only if selection == "one_hot" else chosen_only * similarities


class Reader(nn.Module):
    """Read a trajectory sentence by sentence and give class logits after each.

    A step has one entry per prototype, all but the active one zero. Dropout is between the layers
    of the LSTM and before the head.
    """

    def __init__(
        self, n_prototypes: int, n_classes: int, *, hidden: int, layers: int, dropout: float
    ) -> None:
        super().__init__()
        between = dropout if layers > 1 else 0.0
        self.lstm = nn.LSTM(n_prototypes, hidden, layers, batch_first=True, dropout=between)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(hidden, n_classes)

    @classmethod
    def of(cls, settings: Settings, n_prototypes: int, n_classes: int) -> Reader:
        """Build the reader that settings describe."""
        return cls(
            n_prototypes,
            n_classes,
            hidden=settings.reader_size,
            layers=settings.reader_layers,
            dropout=settings.reader_dropout,
        )

    def forward(self, steps: Tensor) -> Tensor:
        """Map steps (documents, sentences, K) to logits after every sentence (…, …, C).

        Padding at the end of a document cannot reach back, since the LSTM reads forward only.
        """
        hidden, _ = self.lstm(steps)
        logits: Tensor = self.head(self.dropout(hidden))
        return logits

    def read_alone(self, steps: Tensor) -> Tensor:
        """Map single sentences (n, K), each a document of its own, to logits (n, C).

        The same as `forward` on documents of one sentence, but without the recurrent products,
        which are zero at the first step.
        """
        hidden = steps
        for layer in range(self.lstm.num_layers):
            if layer:
                hidden = functional.dropout(hidden, self.lstm.dropout, self.training)
            weight = getattr(self.lstm, f"weight_ih_l{layer}")
            bias = getattr(self.lstm, f"bias_ih_l{layer}") + getattr(self.lstm, f"bias_hh_l{layer}")
            entry, _, content, output = functional.linear(hidden, weight, bias).chunk(4, dim=-1)
            cell = torch.sigmoid(entry) * torch.tanh(content)
            hidden = torch.sigmoid(output) * torch.tanh(cell)
        logits: Tensor = self.head(self.dropout(hidden))
        return logits


def at_last_sentence(values: Tensor, lengths: Tensor) -> Tensor:
    """Pick from (documents, sentences, …) the entry of each document's last sentence."""
    return values[torch.arange(lengths.shape[0], device=values.device), lengths - 1]
