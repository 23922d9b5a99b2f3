"""Whole documents as token ids, cut to what a transformer can read at once, and laid end to end."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from protorynet.training import Corpus, consecutive

__all__ = ["DocumentBatch", "DocumentTokens", "Long", "cut_document"]

Long = Literal["head+tail", "windows"]
_HEAD_SHARE = 0.25  # 128 of 512 tokens, as in Sun et al. (2019)


def cut_document(ids: list[int], most: int, long: Long, bare: list[int]) -> list[list[int]]:
    """Cut a document that is too long.

    Parameters
    ----------
    ids
        Its token ids, special tokens included.
    most
        Tokens that can be read at once, special tokens included.
    long
        ``"head+tail"`` keeps the beginning and the end; ``"windows"`` keeps all, in pieces with
        special tokens of their own.
    bare
        Token ids of an empty document: the special tokens alone.

    Examples
    --------
    >>> cut_document([1, 5, 6, 7, 8, 9, 2], 4, "head+tail", [1, 2])
    [[1, 8, 9, 2]]
    >>> cut_document([1, 5, 6, 7, 8, 9, 2], 4, "windows", [1, 2])
    [[1, 5, 6, 2], [1, 7, 8, 2], [1, 9, 2]]
    """
    if len(ids) <= most:
        return [ids]
    if long == "head+tail":
        head = round(_HEAD_SHARE * most)
        return [ids[:head] + ids[head - most :]]
    first = next((at for at, special in enumerate(bare) if special != ids[at]), len(bare))
    last, size = len(ids) - len(bare) + first, most - len(bare)
    return [
        ids[:first] + ids[start : min(start + size, last)] + ids[last:]
        for start in range(first, last, size)
    ]


@dataclass(frozen=True)
class DocumentBatch:
    """Some documents on the device.

    Parameters
    ----------
    tokens, lengths
        Token ids of all windows, one after the other, and the tokens of each window.
    document, n_documents
        Place of each window's document in the batch, and the number of documents.
    longest
        Tokens of the longest window.
    """

    tokens: Tensor
    lengths: Tensor
    document: Tensor
    n_documents: int
    longest: int


class DocumentTokens:
    """Documents, each of one or several windows of tokens.

    Parameters
    ----------
    documents
        The windows of each document; none of them empty.
    """

    def __init__(self, documents: Sequence[list[list[int]]]) -> None:
        windows = [window for document in documents for window in document]
        self._tokens = np.fromiter(itertools.chain.from_iterable(windows), dtype=np.int64)
        self._lengths = np.array([len(window) for window in windows], dtype=np.int64)
        self._starts = np.cumsum(self._lengths) - self._lengths
        self._counts = np.array([len(document) for document in documents], dtype=np.int64)
        self._first = np.cumsum(self._counts) - self._counts

    def __len__(self) -> int:
        return len(self._counts)

    def random_batches(
        self, size: int, random: np.random.Generator, most_tokens: int
    ) -> list[NDArray[np.int64]]:
        """Return all documents once, in random batches of like length.

        Parameters
        ----------
        size, most_tokens
            Most documents of a batch, and most tokens, padding included; a document with more is
            a batch of its own.
        random
            Decides which documents go together, and the order of the batches.
        """
        return self._corpus.batches(size, random, most_sentences=most_tokens)

    def batches_by_length(self, most_tokens: int) -> list[NDArray[np.int64]]:
        """Return all documents once, the longest first, in batches of so many tokens at most.

        A document with more is a batch of its own.
        """
        order = np.argsort(-self._totals, kind="stable")
        ends = np.cumsum(self._totals[order])
        batches, start, read = [], 0, 0
        while start < len(order):
            stop = max(start + 1, int(np.searchsorted(ends, read + most_tokens, side="right")))
            batches.append(order[start:stop])
            start, read = stop, int(ends[stop - 1])
        return batches

    def on(
        self, device: torch.device, batches: Sequence[NDArray[np.int64]]
    ) -> Iterator[DocumentBatch]:
        """Yield batches of documents, all moved to the device in one go, so that it never waits."""
        rows = np.concatenate([*batches, np.zeros(0, np.int64)])
        windows = consecutive(self._first[rows], self._counts[rows])
        tokens = self._tokens[consecutive(self._starts[windows], self._lengths[windows])]
        inside = np.concatenate([np.arange(len(batch)) for batch in batches])
        moved = [
            torch.from_numpy(array).to(device)
            for array in (tokens, self._lengths[windows], np.repeat(inside, self._counts[rows]))
        ]
        token = window = 0
        for batch in batches:
            n_tokens, n_windows = int(self._totals[batch].sum()), int(self._counts[batch].sum())
            part = windows[window : window + n_windows]
            yield DocumentBatch(
                tokens=moved[0][token : token + n_tokens],
                lengths=moved[1][window : window + n_windows],
                document=moved[2][window : window + n_windows],
                n_documents=len(batch),
                longest=int(self._lengths[part].max()),
            )
            token, window = token + n_tokens, window + n_windows

    @cached_property
    def _totals(self) -> NDArray[np.int64]:
        """Tokens of each document."""
        return np.add.reduceat(self._lengths, self._first)

    @cached_property
    def _corpus(self) -> Corpus:
        # Batches of like length are made of documents of tokens as of documents of sentences.
        nothing = torch.empty(0)
        return Corpus(nothing, torch.from_numpy(self._totals), nothing)
