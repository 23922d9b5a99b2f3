"""Where the embeddings come from during training: frozen, adapted, or a fine-tuned encoder."""

from __future__ import annotations

import copy
import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from protorynet.errors import InputError
from protorynet.network import Adapter, Centring, Evidence
from protorynet.training.parallel import gather_vectors, n_processes, rank

if TYPE_CHECKING:
    from protorynet.encoders import Encoder, SentenceNetwork, TransformerEncoder

_SENTENCES_PER_BLOCK = 65_536
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
        """Return the vectors of many sentences, computed without gradients."""
        beside: Tensor = self.evidence(self.source.embed_all(index), self.words_of(index))
        return beside

    @torch.no_grad()
    def all_logits(self, index: Tensor) -> Tensor:
        """Return what many sentences tell of the label, as logits (n, C)."""
        return self.evidence.logits(self.source.embed_all(index), self.words_of(index))


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
        # A text without a single token still needs a place to look at.
        tokens = [ids or [encoder.pad_token_id] for ids in encoder.tokenize(list(texts))]
        flat = np.fromiter(itertools.chain.from_iterable(tokens), dtype=np.int64)
        self._tokens = torch.from_numpy(flat).to(base.device)
        self._lengths = torch.tensor([len(ids) for ids in tokens]).to(base.device)
        self._longest = max(len(ids) for ids in tokens)
        self._starts = self._lengths.cumsum(0) - self._lengths

    def forward(self, index: Tensor) -> Tensor:
        """Return the embeddings of some sentences, (n, d); each distinct one is read once."""
        distinct, where = torch.unique(index, return_inverse=True)
        order = torch.argsort(self._lengths[distinct], stable=True)
        outputs = [self._encode(part) for part in self._parts(distinct[order])]
        positions = torch.empty_like(order)
        positions[order] = torch.arange(len(order), device=order.device)
        return torch.cat(outputs)[positions[where]]

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

    def tokens_of(self, index: Tensor) -> int:
        """Count the tokens of some sentences."""
        return int(self._lengths[index].sum())

    def _parts(self, index: Tensor) -> tuple[Tensor, ...]:
        """Cut sentences into parts of bounded numbers of tokens."""
        until = self._lengths[index].cumsum(0)
        bound = _GPU_TOKENS if index.is_cuda else _CPU_TOKENS
        if len(index) == 0 or until[-1] <= bound:
            return (index,)
        return torch.split(index, torch.bincount((until - 1) // bound).tolist())

    def _encode(self, index: Tensor) -> Tensor:
        lengths = self._lengths[index]
        first = self._starts[index] - lengths.cumsum(0) + lengths
        runs = torch.repeat_interleave(first, lengths)
        tokens = self._tokens[runs + torch.arange(len(runs), device=index.device)]
        embedded: Tensor = self._centring[0](self._read(tokens, lengths))
        return embedded

    def _read(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Let the encoder read, in half precision with copies of its weights if so asked."""
        if not self._half:
            return self.network.forward_packed(tokens, lengths, self._longest)
        weights = dict(self.network.backbone.named_parameters())
        copies = _Halved.apply(*weights.values())  # type: ignore[no-untyped-call]
        halves = zip(weights, copies, strict=True)
        substitutes = {f"network.backbone.{name}": half for name, half in halves}
        encoded: Tensor = functional_call(
            self._packed[0], substitutes, (tokens, lengths, self._longest)
        )
        return encoded


class _PackedNetwork(nn.Module):
    """An encoder that reads packed sentences when it is called."""

    def __init__(self, network: SentenceNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, tokens: Tensor, lengths: Tensor, longest: int) -> Tensor:
        return self.network.forward_packed(tokens, lengths, longest)


class _Halved(torch.autograd.Function):
    """Copies of weights in bfloat16, and their gradients back in float32, all in one go each."""

    @staticmethod
    def forward(ctx: Any, *weights: Tensor) -> tuple[Tensor, ...]:
        halves = [torch.empty_like(weight, dtype=torch.bfloat16) for weight in weights]
        torch._foreach_copy_(halves, weights)
        return tuple(halves)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        given = [gradient for gradient in gradients if gradient is not None]
        whole = [torch.empty_like(gradient, dtype=torch.float32) for gradient in given]
        torch._foreach_copy_(whole, given)
        results = iter(whole)
        return tuple(None if gradient is None else next(results) for gradient in gradients)
