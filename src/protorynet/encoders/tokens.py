"""From texts to batches of token ids, without torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

__all__ = ["SentenceTokenizer"]

_PADDING_SHARE = 0.05
_TOKENIZED_AT_ONCE = 10_000


@dataclass(frozen=True)
class SentenceTokenizer:
    """A tokenizer that knows how much of a text its encoder can read.

    Parameters
    ----------
    tokenizer
        Set neither to pad nor to cut.
    window
        Most tokens read of one text, special tokens included.
    pad_token_id
        The id that fills short rows.
    """

    tokenizer: Tokenizer
    window: int
    pad_token_id: int

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, special tokens included, cut at the window."""
        return [
            encoding.ids if len(encoding) <= self.window else self._cut(text)
            for text, encoding in self._encodings(texts)
        ]

    def count(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return the number of tokens of each text, special tokens included, nothing cut."""
        counts = (len(encoding) for _, encoding in self._encodings(texts))
        return np.fromiter(counts, dtype=np.int64, count=len(texts))

    def batches(
        self, tokens: list[list[int]], *, most: int, spare: int | None
    ) -> tuple[NDArray[np.int64], Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]]:
        """Return the order of falling length, and padded batches of ids and mask in that order.

        Parameters
        ----------
        tokens
            What `tokenize` gave.
        most
            Most tokens of one batch, padding included.
        spare
            The padding that is cheaper than another batch. None: a text is padded to a length that
            follows from its own alone, so that where every row is computed by itself, as on a CPU,
            its vector does not depend on its neighbours in a batch, not in the last bit.
        """
        lengths = np.array([len(row) for row in tokens], dtype=np.int64)
        order = np.argsort(-lengths, kind="stable")
        if spare is None:
            # Never beyond the window, where an encoder may have no positions.
            lengths = np.minimum(_own_widths(lengths), np.maximum(lengths, self.window))
            groups = _equal_groups(lengths[order], most)
        else:
            lengths = np.maximum(lengths, 1)
            groups = _groups(lengths[order], most, spare)
        return order, (
            self._padded([tokens[row] for row in order[start:stop]], int(lengths[order[start]]))
            for start, stop in groups
        )

    def _encodings(self, texts: Sequence[str]) -> Iterator[tuple[str, Encoding]]:
        for start in range(0, len(texts), _TOKENIZED_AT_ONCE):
            # Lone surrogates, which JSON may smuggle in, have no place in UTF-8.
            part = [
                text if text.isascii() else text.encode("utf-8", "replace").decode()
                for text in texts[start : start + _TOKENIZED_AT_ONCE]
            ]
            yield from zip(part, self.tokenizer.encode_batch_fast(part), strict=True)

    def _cut(self, text: str) -> list[int]:
        encoding = self.tokenizer.encode(text, add_special_tokens=False)
        encoding.truncate(self.window - self.tokenizer.num_special_tokens_to_add(False))
        ids: list[int] = self.tokenizer.post_process(encoding).ids
        return ids

    def _padded(
        self, rows: list[list[int]], width: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        # A text without a single token still needs a place to look at.
        filled = [row or [self.pad_token_id] for row in rows]
        lengths = np.array([len(row) for row in filled])
        mask = np.arange(width) < lengths[:, None]
        ids = np.full(mask.shape, self.pad_token_id, dtype=np.int64)
        ids[mask] = np.concatenate(filled)
        return ids, mask.astype(np.int64)


def _groups(lengths: NDArray[np.int64], most: int, spare: int) -> Iterator[tuple[int, int]]:
    """Cut falling lengths into runs of at most so many padded tokens, little of it padding."""
    start = 0
    while start < len(lengths):
        longest = max(int(lengths[start]), 1)
        run = lengths[start : start + max(1, most // longest)]
        padded = longest * np.arange(1, len(run) + 1)
        too_much = padded - np.cumsum(run) > np.maximum(spare, _PADDING_SHARE * padded)
        # The first row pads nothing, so no run is empty, unless it is a text without tokens.
        stop = start + (max(1, int(np.argmax(too_much))) if too_much.any() else len(run))
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
        rows = max(1, most // int(widths[start]))
        for first in range(start, stop, rows):
            yield first, min(first + rows, stop)
