"""Token vectors from a transformer: its vocabulary encoded, reduced and weighted.

The recipe was chosen on held-out parts of training splits (docs/static-encoder.md). Each token is
described twice: by the embedding of the token alone, which knows what the transformer was trained
for, and by the transformer's input vector, which kept more of the sentiment. Their leading
principal components, times the logarithm of the token's rank, make the token's vector:
vocabularies are ordered by frequency, and frequent tokens say little.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from protorynet.progress import progress_bar

if TYPE_CHECKING:
    from protorynet.encoders.tokens import SentenceTokenizer
    from protorynet.encoders.transformer import TransformerEncoder

__all__ = ["distil_tokens"]

_BATCH = 1_024


def distil_tokens(
    teacher: TransformerEncoder,
    tokenizer: SentenceTokenizer,
    dimension: int,
    *,
    progress: bool = False,
) -> NDArray[np.float32]:
    """Return a weighted vector for every token id; special tokens get zeros.

    Parameters
    ----------
    teacher
        The transformer whose vocabulary is encoded.
    tokenizer
        The teacher's tokenizer.
    dimension
        The most components to keep.
    progress
        Whether to show progress on standard error.
    """
    ids = _spoken_ids(tokenizer)
    backbone: Any = teacher.network.backbone
    inputs = backbone.get_input_embeddings().weight.detach().float().cpu().numpy()
    alone = _encode_alone(teacher, tokenizer, ids, progress=progress)
    described = np.concatenate([_standardised(alone), _standardised(inputs[ids])], axis=1)
    reduced = described @ _principal_axes(described, dimension)
    highest = max(tokenizer.tokenizer.get_vocab().values())
    vectors = np.zeros((highest + 1, reduced.shape[1]), dtype=np.float32)
    vectors[ids] = reduced * np.log1p(ids)[:, None]
    return vectors


def _spoken_ids(tokenizer: SentenceTokenizer) -> NDArray[np.int64]:
    """Return the ids, in rising order, of the tokens that stand for text."""
    inner = tokenizer.tokenizer
    special = {i for i, token in inner.get_added_tokens_decoder().items() if token.special}
    special.update([tokenizer.pad_token_id], *_surroundings(tokenizer))
    unknown = getattr(inner.model, "unk_token", None)
    if isinstance(unknown, str):
        special.add(inner.get_vocab().get(unknown, -1))
    return np.array(sorted(set(inner.get_vocab().values()) - special), dtype=np.int64)


def _encode_alone(
    teacher: TransformerEncoder,
    tokenizer: SentenceTokenizer,
    ids: NDArray[np.int64],
    *,
    progress: bool,
) -> NDArray[np.float32]:
    """Return the teacher's embedding of each token as a text of its own."""
    before, after = _surroundings(tokenizer)
    device = next(teacher.network.parameters()).device
    result = np.empty((len(ids), teacher.dimension), dtype=np.float32)
    with (
        _evaluating(teacher.network),
        progress_bar(f"Distilling {len(ids)} tokens", len(ids), enabled=progress) as advance,
    ):
        for start in range(0, len(ids), _BATCH):
            some = ids[start : start + _BATCH]
            rows = np.tile(np.array([*before, 0, *after], dtype=np.int64), (len(some), 1))
            rows[:, len(before)] = some
            tokens = torch.from_numpy(rows).to(device)
            vectors = teacher.network(tokens, torch.ones_like(tokens))
            result[start : start + len(some)] = vectors.float().cpu().numpy()
            advance(len(some))
    return result


@contextmanager
def _evaluating(network: nn.Module) -> Iterator[None]:
    training = network.training
    network.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        network.train(training)


def _surroundings(tokenizer: SentenceTokenizer) -> tuple[list[int], list[int]]:
    """Return the special tokens that stand before and after a text."""
    encoding = tokenizer.tokenizer.encode("a")
    spoken = [place for place, special in enumerate(encoding.special_tokens_mask) if not special]
    first, last = (spoken[0], spoken[-1]) if spoken else (1, 0)
    return encoding.ids[:first], encoding.ids[last + 1 :]


def _standardised(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the vectors around zero, at a mean square of 1 over all components."""
    centred = vectors - vectors.mean(axis=0, dtype=np.float64)
    scale = np.sqrt(np.mean(centred**2))
    result: NDArray[np.float32] = (centred / (scale or 1.0)).astype(np.float32)
    return result


def _principal_axes(centred: NDArray[np.float32], dimension: int) -> NDArray[np.float32]:
    """Return the axes of most variance as columns, the largest component of each positive."""
    exact = centred.astype(np.float64)
    _, axes = np.linalg.eigh(exact.T @ exact)
    leading = axes[:, ::-1][:, :dimension]
    largest = np.abs(leading).argmax(axis=0)
    signs = np.sign(leading[largest, np.arange(leading.shape[1])])
    turned: NDArray[np.float32] = (leading * signs).astype(np.float32)
    return turned
