"""From texts to batches of token ids, and the tokenizer of an encoder's folder; no torch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer, normalizers

from protorynet.encoders.encoder_folder import FolderLayout, first_line, read_json
from protorynet.errors import EncoderError

MOST_PADDING_SHARE = 0.05
TEXTS_TOKENIZED_AT_ONCE = 10_000
# Their position embeddings start after the padding token's, so two of them hold no token.
_OFFSET_POSITIONS = re.compile(
    r"camembert|data2vec-text|longformer|mpnet|roberta(-prelayernorm)?|xlm-roberta(-xl)?|xmod"
)
# Tokenizers without a limit say so with numbers such as 10**30.
LARGEST_WINDOW = 1_000_000
DEFAULT_WINDOW = 512


@dataclass(frozen=True)
class Tokens:
    """The token ids of texts, one text after the other."""

    ids: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Iterable[Sequence[int]]) -> Tokens:
        """Join the token ids of texts."""
        lists = list(texts)
        lengths = np.fromiter(map(len, lists), np.int64, count=len(lists))
        return cls(np.fromiter(chain.from_iterable(lists), np.int64, lengths.sum()), lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, number: int) -> NDArray[np.int64]:
        stop = self._ends[number]
        return self.ids[stop - self.lengths[number] : stop]

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        return iter(np.split(self.ids, self._ends[:-1]) if len(self) else [])

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        return np.cumsum(self.lengths)

    def take(self, numbers: NDArray[np.int64]) -> Tokens:
        """Return some of the texts, in this order."""
        lengths = self.lengths[numbers]
        moved = self._ends[numbers] - np.cumsum(lengths)
        return Tokens(self.ids[np.repeat(moved, lengths) + np.arange(lengths.sum())], lengths)

    def runs(self, most: int) -> Iterator[Tokens]:
        """Yield the texts in order, as many at once as have at most so many tokens together."""
        start, read = 0, 0
        while start < len(self):
            stop = max(start + 1, int(np.searchsorted(self._ends, read + most, side="right")))
            end = int(self._ends[stop - 1])
            yield Tokens(self.ids[read:end], self.lengths[start:stop])
            start, read = stop, end

    def filled(self, token: int) -> Tokens:
        """Give a text without a single token this one: there has to be a place to look at."""
        empty = np.flatnonzero(self.lengths == 0)
        if not len(empty):
            return self
        return Tokens(np.insert(self.ids, self._ends[empty], token), np.maximum(self.lengths, 1))


@dataclass(frozen=True)
class SentenceTokenizer:
    """A tokenizer, set neither to pad nor to cut, and the most tokens that its encoder reads."""

    tokenizer: Tokenizer
    window: int
    pad_token_id: int

    def tokenize(self, texts: Sequence[str]) -> Tokens:
        """Return the token ids of each text, special tokens included, cut at the window."""
        return Tokens.of(
            encoding.ids if len(encoding) <= self.window else self._cut(text)
            for text, encoding in self._encodings(texts)
        )

    def count_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return the number of tokens of each text, special tokens included, nothing cut."""
        counts = (len(encoding) for _, encoding in self._encodings(texts))
        return np.fromiter(counts, dtype=np.int64, count=len(texts))

    def batches(
        self, tokens: Tokens, *, most: int, spare: int | None
    ) -> tuple[NDArray[np.int64], Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]]:
        """Return the order of falling length, and padded batches of ids and mask in that order.

        A batch has at most `most` tokens, padding included; `spare` is the padding that is cheaper
        than another batch. None: a text is padded to a length that follows from its own alone, so
        that where every text is computed by itself, as on a CPU, its vector does not depend on its
        neighbours in a batch, not in the last bit.
        """
        lengths, tokens = tokens.lengths, tokens.filled(self.pad_token_id)
        order = np.argsort(-lengths, kind="stable")
        if spare is None:
            # Never beyond the window, where an encoder may have no positions.
            lengths = np.minimum(_own_widths(lengths), np.maximum(lengths, self.window))
            groups = _equal_groups(lengths[order], most)
        else:
            lengths = np.maximum(lengths, 1)
            groups = _like_groups(lengths[order], most, spare)
        return order, (
            self._pad(tokens.take(order[start:stop]), int(lengths[order[start]]))
            for start, stop in groups
        )

    def _encodings(self, texts: Sequence[str]) -> Iterator[tuple[str, Encoding]]:
        for start in range(0, len(texts), TEXTS_TOKENIZED_AT_ONCE):
            # Lone surrogates, which JSON may smuggle in, have no place in UTF-8.
            part = [
                text if text.isascii() else text.encode("utf-8", "replace").decode()
                for text in texts[start : start + TEXTS_TOKENIZED_AT_ONCE]
            ]
            yield from zip(part, self.tokenizer.encode_batch_fast(part), strict=True)

    def _cut(self, text: str) -> list[int]:
        encoding = self.tokenizer.encode(text, add_special_tokens=False)
        encoding.truncate(self.window - self.tokenizer.num_special_tokens_to_add(False))
        ids: list[int] = self.tokenizer.post_process(encoding).ids
        return ids

    def _pad(self, texts: Tokens, width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        mask = np.arange(width) < texts.lengths[:, None]
        ids = np.full(mask.shape, self.pad_token_id, dtype=np.int64)
        ids[mask] = texts.ids
        return ids, mask.astype(np.int64)


def read_tokenizer(layout: FolderLayout, config: Any) -> SentenceTokenizer:
    """Return the tokenizer of a folder, as tokenizer.json has it; `config` is the transformer's.

    transformers would build one from the vocabulary, which may lower-case where this does not.
    """
    path = layout.transformer / "tokenizer.json"
    read_json(path)
    try:
        tokenizer = parse_tokenizer(path.read_bytes())
    except (OSError, ValueError) as error:
        raise EncoderError(
            f"{path} is damaged ({first_line(error)}); copy or fetch it again."
        ) from None
    if (highest := highest_id(tokenizer)) >= config.vocab_size:
        raise EncoderError(
            f"{path} gives tokens ids up to {highest} but the model has {config.vocab_size} "
            "tokens; the files do not belong together."
        )
    if layout.lower_case:
        steps = [normalizers.Lowercase(), tokenizer.normalizer]
        tokenizer.normalizer = normalizers.Sequence([step for step in steps if step is not None])
    described = layout.transformer / "tokenizer_config.json"
    options = dict(read_json(described)) if described.exists() else {}
    window = _window(layout, config, options, tokenizer.num_special_tokens_to_add(False))
    return SentenceTokenizer(tokenizer, window, _padding_token(config, options, tokenizer))


def parse_tokenizer(content: bytes) -> Tokenizer:
    """Return a tokenizer that has read a sentence; ValueError where there is none that can."""
    try:
        tokenizer = Tokenizer.from_buffer(content)
        tokenizer.no_padding()
        tokenizer.no_truncation()
        tokenizer.encode("The room was clean.")
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        # tokenizers raises a bare Exception, or a panic, which is not even one: for a template
        # that names a token it does not define, for instance, and that only when it is used.
        raise ValueError(first_line(error)) from None
    return tokenizer


def highest_id(tokenizer: Tokenizer) -> int:
    """Return the highest id that a tokenizer gives to a token, -1 where it knows none."""
    # Special tokens are put around a text by ids of their own, which may differ from the others'.
    around = tokenizer.encode("").ids
    return max([*tokenizer.get_vocab().values(), *around], default=-1)


def _window(layout: FolderLayout, config: Any, options: dict[str, Any], special_tokens: int) -> int:
    given = layout.max_tokens
    limits = [given if given is not None else options.get("model_max_length")]
    positions = getattr(config, "max_position_embeddings", None)
    if type(positions) is int:
        unused = 2 if _OFFSET_POSITIONS.fullmatch(config.model_type) else 0
        limits.append(positions - unused)
    usable = [limit for limit in limits if type(limit) is int and 0 < limit <= LARGEST_WINDOW]
    window = min(usable, default=DEFAULT_WINDOW)
    if window <= special_tokens:
        raise EncoderError(
            f"the encoder in {layout.transformer} reads at most {window} token(s), of which "
            f"{special_tokens} are special: no room for text. Mend its max_seq_length."
        )
    return window


def _padding_token(config: Any, options: dict[str, Any], tokenizer: Tokenizer) -> int:
    if type(config.pad_token_id) is int and config.pad_token_id >= 0:
        return config.pad_token_id
    token = options.get("pad_token")
    text = token.get("content") if isinstance(token, dict) else token
    found = tokenizer.token_to_id(text) if isinstance(text, str) else None
    return found or 0


def _like_groups(lengths: NDArray[np.int64], most: int, spare: int) -> Iterator[tuple[int, int]]:
    """Cut falling lengths into runs of at most so many padded tokens, little of it padding."""
    start = 0
    while start < len(lengths):
        longest = int(lengths[start])
        run = lengths[start : start + max(1, most // longest)]
        padded = longest * np.arange(1, len(run) + 1)
        too_much = padded - np.cumsum(run) > np.maximum(spare, MOST_PADDING_SHARE * padded)
        # The first text pads nothing, so no run is empty.
        stop = start + (int(np.argmax(too_much)) if too_much.any() else len(run))
        yield start, stop
        start = stop


def _own_widths(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Round lengths up to multiples of four, long ones to coarser steps, at most an eighth more."""
    steps = np.maximum(4, 2 ** np.floor(np.log2(np.maximum(lengths, 1))).astype(np.int64) // 8)
    return np.maximum(-(-lengths // steps) * steps, 1)


def _equal_groups(widths: NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
    """Cut falling widths into runs of one width, of at most so many tokens."""
    cuts = np.flatnonzero(np.diff(widths)) + 1
    for start, stop in zip([0, *cuts], [*cuts, len(widths)], strict=True):
        size = max(1, most // int(widths[start]))
        for first in range(start, stop, size):
            yield first, min(first + size, stop)
