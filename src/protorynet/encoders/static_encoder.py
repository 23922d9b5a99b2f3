"""A sentence encoder without a network: the mean of token vectors, distilled from a transformer.

The recipe was chosen on held-out parts of training splits (docs/static-encoder.md). Each token is
described twice: by the embedding of the token alone, which knows what the transformer was trained
for, and by the transformer's input vector, which kept more of the sentiment. Their leading
principal components, times the logarithm of the token's rank, make the token's vector:
vocabularies are ordered by frequency, and frequent tokens say little. Only distilling needs torch.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from protorynet.encoders.embedding_cache import EmbeddingCache, keep_file, read_kept
from protorynet.encoders.encoder_folder import hash_recipe
from protorynet.encoders.sentence_tokenizer import SentenceTokenizer
from protorynet.progress import progress_bar

if TYPE_CHECKING:
    from protorynet.encoders.transformer_encoder import TransformerEncoder

# Raised with every change of how token vectors are made or put together.
RECIPE_VERSION = 1
MOST_COMPONENTS = 384
TOKENS_PER_BATCH = 1_024
# Their sums stay in the processor's cache.
SENTENCES_AT_ONCE = 1_024


class StaticEncoder:
    """The mean of one vector per token, at length 1: fast, and blind to the order of words.

    `vectors` has one row per token id, its weight included; zeros where a token says nothing.
    """

    # Encoding a sentence is quicker than looking it up, so no cache is asked.
    is_quick = True

    def __init__(
        self,
        vectors: NDArray[np.float32],
        tokenizer: SentenceTokenizer,
        *,
        name: str,
        fingerprint: str,
    ) -> None:
        self.name = name
        self.fingerprint = fingerprint
        self.dimension = int(vectors.shape[1])
        self.window = tokenizer.window
        self.vectors = vectors
        self.blank = _mean_direction(vectors)
        self.tokenizer = tokenizer

    @classmethod
    def distil(cls, teacher: TransformerEncoder, *, progress: bool = False) -> StaticEncoder:
        """Return the static encoder of a transformer's vocabulary."""
        return cls(
            _distil_tokens(teacher, progress=progress),
            teacher.tokenizer,
            name=f"{teacher.name}:static",
            fingerprint=_fingerprint(teacher.fingerprint),
        )

    def encode(self, sentences: list[str]) -> NDArray[np.float32]:
        """Return one vector per sentence; what lies beyond the window is not read."""
        result = np.empty((len(sentences), self.dimension), dtype=np.float32)
        for start in range(0, len(sentences), SENTENCES_AT_ONCE):
            part = sentences[start : start + SENTENCES_AT_ONCE]
            result[start : start + len(part)] = self._sum(self.tokenizer.tokenize(part))
        lengths = np.linalg.norm(result, axis=1, keepdims=True)
        np.divide(result, lengths, out=result, where=lengths > 0)
        result[lengths[:, 0] == 0] = self.blank
        return result

    def count_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return the number of tokens of each text, special tokens included, nothing cut."""
        return self.tokenizer.count_tokens(texts)

    def __deepcopy__(self, memo: dict[int, Any]) -> StaticEncoder:
        return self  # nothing in it ever changes

    def _sum(self, tokens: list[list[int]]) -> NDArray[np.float32]:
        """Return the sum of the vectors of each list of token ids.

        Position by position, so that the order of adding, and with it every bit of a sum, does not
        depend on the other sentences.
        """
        lengths = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
        ids = np.fromiter(chain.from_iterable(tokens), dtype=np.int64, count=int(lengths.sum()))
        longest_first = np.argsort(-lengths, kind="stable")
        starts = (np.cumsum(lengths) - lengths)[longest_first]
        # How many sentences reach each position.
        reach = len(tokens) - np.cumsum(np.bincount(lengths))[:-1]
        sums = np.zeros((len(tokens), self.dimension), dtype=np.float32)
        for position, count in enumerate(reach):
            sums[:count] += self.vectors[ids[starts[:count] + position]]
        result = np.empty_like(sums)
        result[longest_first] = sums
        return result


def find_static(teacher: TransformerEncoder) -> StaticEncoder | None:
    """Return the encoder that was distilled before and kept beside the embeddings, or None."""
    from safetensors.numpy import load

    fingerprint = _fingerprint(teacher.fingerprint)
    # Distilling a damaged one again costs a minute and mends it.
    kept = read_kept(_kept_vectors(fingerprint))
    if kept is None:
        return None
    name, vectors = f"{teacher.name}:static", load(kept)["vectors"]
    return StaticEncoder(vectors, teacher.tokenizer, name=name, fingerprint=fingerprint)


def make_static(teacher: TransformerEncoder) -> StaticEncoder:
    """Return the static encoder of a teacher, distilled unless it is kept already."""
    from safetensors.numpy import save

    if (kept := find_static(teacher)) is not None:
        return kept
    encoder = StaticEncoder.distil(teacher, progress=True)
    path = _kept_vectors(encoder.fingerprint)
    try:
        keep_file(path, save({"vectors": encoder.vectors}))
    except OSError as error:
        warnings.warn(
            f"the encoder cannot be saved to {path.parent}: {error}; it will be distilled again "
            "next time. Set the environment variable PROTORYNET_CACHE to a folder with room.",
            RuntimeWarning,
            stacklevel=2,
        )
    return encoder


def _kept_vectors(fingerprint: str) -> Path:
    return EmbeddingCache().folder / "static" / fingerprint[:32] / "vectors.safetensors"


def _fingerprint(teacher_fingerprint: str) -> str:
    return hash_recipe([teacher_fingerprint, "static", RECIPE_VERSION, MOST_COMPONENTS])


def _mean_direction(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return, at length 1, what a text of every token would give: it says nothing in particular."""
    mean = vectors.sum(axis=0, dtype=np.float64)
    length = np.linalg.norm(mean)
    direction: NDArray[np.float32] = mean / length if length else np.eye(len(mean))[0]
    return direction.astype(np.float32)


def _distil_tokens(teacher: TransformerEncoder, *, progress: bool) -> NDArray[np.float32]:
    """Return a weighted vector for every token id; special tokens get zeros."""
    words = teacher.tokenizer.tokenizer
    encoding = words.encode("a")
    spoken = [at for at, special in enumerate(encoding.special_tokens_mask) if not special]
    first, last = (spoken[0], spoken[-1]) if spoken else (1, 0)
    before, after = encoding.ids[:first], encoding.ids[last + 1 :]
    special = {i for i, token in words.get_added_tokens_decoder().items() if token.special}
    unknown = words.get_vocab().get(getattr(words.model, "unk_token", None) or "", -1)
    special.update([teacher.pad_token_id, unknown, *before, *after])
    ids = np.array(sorted(set(words.get_vocab().values()) - special), dtype=np.int64)

    backbone: Any = teacher.network.backbone
    inputs = backbone.get_input_embeddings().weight.detach().float().cpu().numpy()
    alone = _encode_alone(teacher, before, ids, after, progress=progress)
    described = np.concatenate([_standardise(alone), _standardise(inputs[ids])], axis=1)
    reduced = described @ _principal_axes(described, MOST_COMPONENTS)
    highest = max(words.get_vocab().values())
    vectors = np.zeros((highest + 1, reduced.shape[1]), dtype=np.float32)
    vectors[ids] = reduced * np.log1p(ids)[:, None]
    return vectors


def _encode_alone(
    teacher: TransformerEncoder,
    before: list[int],
    ids: NDArray[np.int64],
    after: list[int],
    *,
    progress: bool,
) -> NDArray[np.float32]:
    """Return the teacher's embedding of each token as a text of its own."""
    import torch

    from protorynet.encoders.sentence_network import evaluating

    device = next(teacher.network.parameters()).device
    result = np.empty((len(ids), teacher.dimension), dtype=np.float32)
    with (
        evaluating(teacher.network),
        progress_bar(f"Distilling {len(ids)} tokens", len(ids), enabled=progress) as advance,
    ):
        for start in range(0, len(ids), TOKENS_PER_BATCH):
            some = ids[start : start + TOKENS_PER_BATCH]
            alone = np.tile(np.array([*before, 0, *after], dtype=np.int64), (len(some), 1))
            alone[:, len(before)] = some
            tokens = torch.from_numpy(alone).to(device)
            vectors = teacher.network(tokens, torch.ones_like(tokens))
            result[start : start + len(some)] = vectors.float().cpu().numpy()
            advance(len(some))
    return result


def _standardise(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the vectors around zero, at a mean square of 1 over all components."""
    centred = vectors - vectors.mean(axis=0, dtype=np.float64)
    scale = np.sqrt(np.mean(centred**2))
    result: NDArray[np.float32] = (centred / (scale or 1.0)).astype(np.float32)
    return result


def _principal_axes(centred: NDArray[np.float32], dimension: int) -> NDArray[np.float32]:
    """Return the axes of most variance side by side, the largest component of each positive."""
    exact = centred.astype(np.float64)
    _, axes = np.linalg.eigh(exact.T @ exact)
    leading = axes[:, ::-1][:, :dimension]
    largest = np.abs(leading).argmax(axis=0)
    signs = np.sign(leading[largest, np.arange(leading.shape[1])])
    turned: NDArray[np.float32] = (leading * signs).astype(np.float32)
    return turned
