"""Where the embeddings come from during training: frozen, adapted, or a fine-tuned encoder."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call

from protorynet.errors import InputError
from protorynet.network import Adapter, Centring, Evidence
from protorynet.training.batches import Batch, send
from protorynet.training.graphs import StepGraphs, fill_rows, halve
from protorynet.training.parallel import gather_vectors, n_processes, rank

if TYPE_CHECKING:
    from protorynet.encoders import Encoder, Rows, SentenceNetwork, TransformerEncoder

_SENTENCES_PER_BLOCK = 32_768
# Most tokens that the encoder reads at once in one process: memory on a GPU, cache on a CPU.
_GPU_TOKENS, _CPU_TOKENS = 131_072, 8_192


def tunable_encoder(encoder: Encoder | None) -> TransformerEncoder:
    """Return the encoder if its weights can be trained."""
    from protorynet.encoders import TransformerEncoder

    if not isinstance(encoder, TransformerEncoder):
        given = f"; {encoder.name!r} was given" if encoder is not None else ""
        raise InputError(
            f"encoder_training='full' needs a transformer encoder in float32{given}. Name one "
            "without :bf16, :int8 or :static, or use 'adapter' or 'none'."
        )
    return encoder


class SentenceSource(nn.Module, ABC):
    """Gives the embeddings of distinct sentences by index; `base`, (m, d), is pre-trained."""

    def __init__(self, base: Tensor) -> None:
        super().__init__()
        self.base = base  # a plain attribute: data, not state to be saved

    @abstractmethod
    def forward(self, index: Tensor) -> Tensor:
        """Return the embeddings of some sentences, (n, d)."""

    def twin(self) -> SentenceSource:
        """Return one that can learn without this one: itself where nothing of it learns."""
        return self

    def expect(self, batch: Batch) -> None:
        """Say that `forward` reads this batch next, and that its gradients will be asked for."""

    def settle(self) -> None:
        """Detach from training: from here on embeddings are what the delivered model computes."""

    @torch.no_grad()
    def embed_all(self, index: Tensor) -> Tensor:
        """Return the embeddings of many sentences, computed in blocks without gradients."""
        training = self.training
        self.eval()
        result = torch.empty((len(index), self.base.shape[1]), device=self.base.device)
        for start in range(0, len(index), _SENTENCES_PER_BLOCK):
            block = slice(start, start + _SENTENCES_PER_BLOCK)
            result[block] = self(index[block])
        self.train(training)
        return result


class FrozenSource(SentenceSource):
    """The pre-trained embeddings as they are."""

    def forward(self, index: Tensor) -> Tensor:
        """Return the embeddings of some sentences, (n, d)."""
        return self.base[index]


class FixedSource(SentenceSource):
    """What training made of the embeddings, computed once and kept."""

    def __init__(self, base: Tensor, embedded: Tensor) -> None:
        super().__init__(base)
        self._embedded = embedded

    def forward(self, index: Tensor) -> Tensor:
        """Return the embeddings of some sentences, (n, d)."""
        return self._embedded[index]


class AdaptedSource(SentenceSource):
    """Pre-trained embeddings bent by an adapter."""

    def __init__(self, base: Tensor, adapter: Adapter) -> None:
        super().__init__(base)
        self.adapter = adapter

    def forward(self, index: Tensor) -> Tensor:
        """Return the embeddings of some sentences, (n, d)."""
        adapted: Tensor = self.adapter(self.base[index])
        return adapted


class EvidenceSource(SentenceSource):
    """Embeddings of another source with what their sentences tell of the label beside them.

    `words`, (m, C), is what the words of the distinct sentences tell, if that is known.
    """

    def __init__(
        self, source: SentenceSource, evidence: Evidence, words: Tensor | None = None
    ) -> None:
        super().__init__(source.base)
        self.source = source
        self.evidence = evidence
        self._words = [words]  # in a list: data, not state to be saved

    def over(self, source: SentenceSource) -> EvidenceSource:
        """Return the same evidence beside the embeddings of another source."""
        return EvidenceSource(source, self.evidence, self._words[0])

    def forward(self, index: Tensor) -> Tensor:
        """Return the vectors of some sentences, (n, d + C)."""
        beside: Tensor = self.evidence(self.source(index), self.words_of(index))
        return beside

    def words_of(self, index: Tensor) -> Tensor | None:
        """Return what the words of some sentences tell of the label, as logits (n, C)."""
        words = self._words[0]
        return None if words is None else words[index]

    @torch.no_grad()
    def embed_all(self, index: Tensor) -> Tensor:
        """Return the vectors of many sentences, computed in blocks without gradients."""
        return self._map_blocks(self.evidence, index)

    @torch.no_grad()
    def all_logits(self, index: Tensor) -> Tensor:
        """Return what many sentences tell of the label, as logits (n, C)."""
        return self._map_blocks(self.evidence.logits, index)

    def _map_blocks(self, tell: Callable[[Tensor, Tensor | None], Tensor], index: Tensor) -> Tensor:
        parts = torch.split(index, _SENTENCES_PER_BLOCK)
        return torch.cat([tell(self.source.embed_all(p), self.words_of(p)) for p in parts])


class FineTunedSource(SentenceSource):
    """Embeddings by an encoder that is being fine-tuned, on a GPU in bfloat16 until `settle`."""

    def __init__(
        self, base: Tensor, encoder: TransformerEncoder, centring: Centring, texts: Sequence[str]
    ) -> None:
        super().__init__(base)
        self.network = encoder.network
        self._centring = [centring]  # in a list: fixed, and not part of the state
        self._packed = [_PackedNetwork(self.network)]
        self._half = base.is_cuda
        tokens = encoder.tokenize(texts).filled(encoder.pad_token_id)
        self._tokens = torch.from_numpy(tokens.ids).to(base.device)
        self._lengths = tokens.lengths
        self._starts = np.cumsum(self._lengths) - self._lengths
        self._mean, self._longest = float(self._lengths.mean()), int(self._lengths.max())
        self._expected: Batch | None = None
        self._graphs = StepGraphs() if base.is_cuda and encoder.network.is_packable else None

    def expect(self, batch: Batch) -> None:
        """Say that `forward` reads this batch next, and that its gradients will be asked for."""
        self._expected = batch

    def forward(self, index: Tensor) -> Tensor:
        """Return the embeddings of some sentences, (n, d); each distinct one is read once."""
        batch, self._expected = self._expected, None
        if batch is not None and batch.index is not index:
            batch = None
        numbers = index.cpu().numpy() if batch is None else batch.numbers
        distinct, where = np.unique(numbers, return_inverse=True)
        order = np.argsort(self._lengths[distinct], kind="stable")
        distinct, places = distinct[order], np.arange(len(order))
        vectors = None
        if batch is not None and self._half and self.training:
            vectors, places = self._replay(distinct)
        if vectors is None:
            weights = halve(self.network) if self._half else []
            vectors = torch.cat([self._read(part, weights) for part in self._parts(distinct)])
        positions = np.empty_like(order)
        positions[order] = places
        embedded: Tensor = self._centring[0](vectors)
        return embedded[send(positions[where], index.device)]

    def embed_all(self, index: Tensor) -> Tensor:
        """Return the embeddings of many sentences, a share of them read by each process."""
        if n_processes() == 1:
            return super().embed_all(index)
        return gather_vectors(super().embed_all(index[rank() :: n_processes()]), len(index))

    def twin(self) -> FineTunedSource:
        """Return a copy with an encoder of its own, which shares the sentences."""
        other = copy.copy(self)
        other._modules = {}
        other.network = copy.deepcopy(self.network)
        other._packed = [_PackedNetwork(other.network)]
        return other

    def settle(self) -> None:
        """Compute in full precision from here on, as the delivered model does."""
        self._half = False
        if self._graphs is not None:
            self._graphs.clear()

    def tokens_of(self, numbers: NDArray[np.int64]) -> int:
        """Count the tokens of some sentences."""
        return int(self._lengths[numbers].sum())

    def _parts(self, numbers: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Cut sentences into parts of bounded numbers of tokens."""
        until = np.cumsum(self._lengths[numbers])
        bound = _GPU_TOKENS if self.base.is_cuda else _CPU_TOKENS
        return np.split(numbers, np.flatnonzero(np.diff((until - 1) // bound)) + 1)

    def _replay(self, numbers: NDArray[np.int64]) -> tuple[Tensor | None, NDArray[np.int64]]:
        """Let a CUDA graph read sentences, among others that fill it up, if there is one.

        The others are the first tokens of all. Return the vectors, and which are those asked for.
        """
        every, lengths = np.arange(len(numbers)), self._lengths[numbers]
        filled = fill_rows(lengths, mean=self._mean, longest=self._longest)
        if self._graphs is None or filled is None:
            return None, every
        starts, rows = np.zeros_like(filled.lengths), filled.rows
        starts[filled.given] = self._starts[numbers]
        total = int(filled.lengths.sum())
        places = send(np.stack([starts, filled.lengths]), self.base.device)

        def read(places: Tensor, *weights: Tensor) -> Tensor:
            return self._encode(places, total, weights, rows)

        vectors = self._graphs.run(read, self.network, places, tokens=total)
        return vectors, every if vectors is None else filled.given

    def _read(self, numbers: NDArray[np.int64], weights: Sequence[Tensor]) -> Tensor:
        places = np.stack([self._starts[numbers], self._lengths[numbers]])
        return self._encode(send(places, self.base.device), int(places[1].sum()), weights)

    def _encode(
        self, places: Tensor, total: int, weights: Sequence[Tensor], rows: Rows = ()
    ) -> Tensor:
        """Let the encoder read sentences, with other weights than its own if these are given.

        `places` has where they start among all tokens, and their lengths, which add up to `total`.
        No sentence crosses the end of a row, if there are `rows`.
        """
        starts, lengths = places
        runs = torch.repeat_interleave(
            starts - lengths.cumsum(0) + lengths, lengths, output_size=total
        )
        tokens = self._tokens[runs + torch.arange(total, device=runs.device)]
        names = [f"network.{name}" for name, _ in self.network.named_parameters()]
        others = dict(zip(names, weights, strict=True)) if weights else {}
        given = (tokens, lengths, self._longest, rows)
        encoded: Tensor = functional_call(self._packed[0], others, given)
        return encoded


class _PackedNetwork(nn.Module):
    """An encoder that reads packed sentences when it is called."""

    def __init__(self, network: SentenceNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, tokens: Tensor, lengths: Tensor, longest: int, rows: Rows) -> Tensor:
        return self.network.forward_packed(tokens, lengths, longest, rows)
