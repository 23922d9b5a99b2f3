"""Documents as rows of words: a simple tokeniser and a vocabulary of bounded size."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
import torch
from numpy.typing import NDArray

from protorynet.errors import InputError
from protorynet.training import Corpus

__all__ = ["UNKNOWN", "Vocabulary", "learn_vocabulary", "split_words"]

UNKNOWN = 0
"""Row of every word that is not in the vocabulary."""

_TAG = re.compile(r"<[a-z/!][^<>]{0,200}>", re.IGNORECASE)
_WORD = re.compile(r"\w+(?:'\w+)*|[^\w\s]")
_HEAD = 0.25  # share of the words kept that are the first of a long document


def split_words(text: str, max_length: int) -> list[str]:
    """Return the words and punctuation marks of a text in lower case, without markup.

    Of a longer text the first quarter of `max_length` words and, from its end, the other three are
    kept: reviews say what they are about at first, and what they think of it at last.

    Examples
    --------
    >>> split_words("Don't go!<br />It’s BAD.", 400)
    ["don't", 'go', '!', "it's", 'bad', '.']
    >>> split_words("one two three four five", 4)
    ['one', 'three', 'four', 'five']
    """
    words = _WORD.findall(_TAG.sub(" ", text.lower().replace("’", "'")))
    if len(words) <= max_length:
        return words
    head = int(max_length * _HEAD)
    return words[:head] + words[head - max_length :]


@dataclass(frozen=True)
class Vocabulary:
    """The words that a model knows; every other is the one unknown word.

    Parameters
    ----------
    words
        The words, the most frequent first; the first has row 1.
    """

    words: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.words) + 1

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words, start=1)}

    def rows(self, documents: Sequence[Sequence[str]], targets: NDArray[np.float32]) -> Corpus:
        """Return documents, given as words, as one long run of rows.

        A document without words is one unknown word.

        Examples
        --------
        >>> corpus = Vocabulary(("good", "bad")).rows([["bad", "food"], []], np.eye(2, dtype="f"))
        >>> corpus.rows.tolist(), corpus.lengths.tolist()
        ([2, 0, 0], [2, 1])
        """
        row_of = self._rows
        words = chain.from_iterable(document or ("",) for document in documents)
        flat = np.fromiter((row_of.get(word, UNKNOWN) for word in words), np.int64)
        lengths = np.array([max(1, len(document)) for document in documents], np.int64)
        return Corpus(torch.from_numpy(flat), torch.from_numpy(lengths), torch.from_numpy(targets))


def learn_vocabulary(
    documents: Sequence[Sequence[str]], max_words: int, *, known: Container[str] = ()
) -> Vocabulary:
    """Choose the most frequent words.

    A word that occurs once teaches nothing about itself, so it is left out, and with the others
    left out teaches what an unknown word is like; unless something is known of it already.

    Parameters
    ----------
    documents
        The words of the training documents.
    max_words
        Most words to choose.
    known
        Words for which there is a pre-trained vector.

    Examples
    --------
    >>> learn_vocabulary([["a", "bed"], ["a", "desk"]], 10, known={"desk"}).words
    ('a', 'desk')
    """
    counts = Counter(chain.from_iterable(documents))
    if not counts:
        raise InputError("the documents hold no words to learn from.")
    kept = [word for word, count in counts.items() if count > 1 or word in known]
    # Equally frequent words in the order of the alphabet, however the documents are ordered.
    kept.sort(key=lambda word: (-counts[word], word))
    return Vocabulary(tuple(kept[:max_words]))
