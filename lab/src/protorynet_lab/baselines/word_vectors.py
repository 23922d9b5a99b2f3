"""Documents as words: a simple tokeniser, a vocabulary of bounded size, pre-trained vectors."""

import os
import re
from collections import Counter
from collections.abc import Collection, Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from protorynet.errors import InputError
from protorynet.training import Corpus

Vectors = dict[str, NDArray[np.float32]]
"""The vectors of words, all of one size."""

UNKNOWN = 0
"""Number of every word that is not in the vocabulary."""

MOST_DIMENSIONS = 4_096
_TAG = re.compile(r"<[a-z/!][^<>]{0,200}>", re.IGNORECASE)
_WORD = re.compile(r"\w+(?:'\w+)*|[^\w\s]")
_HEAD_SHARE = 0.25  # of the words kept of a long document, those from its beginning


def split_words(text: str, max_length: int) -> list[str]:
    """Return the words and punctuation marks of a text in lower case, without markup.

    A longer text is cut in its middle: reviews say what they are about at first, and what they
    think of it at last.
    """
    words = _WORD.findall(_TAG.sub(" ", text.lower().replace("’", "'")))
    if len(words) <= max_length:
        return words
    head = int(max_length * _HEAD_SHARE)
    return words[:head] + words[head - max_length :]


@dataclass(frozen=True)
class Vocabulary:
    """The words that a model knows, the most frequent first; all others are one unknown word."""

    words: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.words) + 1

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words, start=UNKNOWN + 1)}

    def encode(self, documents: Sequence[Sequence[str]], targets: NDArray[np.float32]) -> Corpus:
        """Return documents, given as words, as numbers; one without words is one unknown word."""
        number_of = self._numbers
        words = chain.from_iterable(document or ("",) for document in documents)
        flat = np.fromiter((number_of.get(word, UNKNOWN) for word in words), np.int64)
        lengths = np.array([max(1, len(document)) for document in documents], np.int64)
        return Corpus(torch.from_numpy(flat), torch.from_numpy(lengths), torch.from_numpy(targets))


def learn_vocabulary(
    documents: Sequence[Sequence[str]], max_words: int, *, known: Container[str]
) -> Vocabulary:
    """Choose the most frequent words of documents.

    A word that occurs once, and has no vector yet (`known`), is left out: it teaches nothing about
    itself, but with the others left out what an unknown word is like.
    """
    counts = Counter(chain.from_iterable(documents))
    if not counts:
        raise InputError("the documents hold no words to learn from.")
    kept = [word for word, count in counts.items() if count > 1 or word in known]
    # Equally frequent words in the order of the alphabet, however the documents are ordered.
    kept.sort(key=lambda word: (-counts[word], word))
    return Vocabulary(tuple(kept[:max_words]))


def read_word_vectors(path: str | os.PathLike[str], wanted: Collection[str]) -> Vectors:
    """Read the vectors of some words; all others are never held in memory.

    They are in a text file in GloVe's format, with or without word2vec's first line of two counts,
    or in a folder that holds ``words.txt`` and ``vectors.npy``.
    """
    source = Path(path)
    if not source.exists():
        raise InputError(f"there are no word vectors at {str(path)!r}: no such file or folder.")
    # Bytes are compared with bytes, so that a broken word nobody asks for does no harm.
    words = {word.encode("utf-8", "surrogatepass"): word for word in wanted}
    try:
        found = _read_folder(source, words) if source.is_dir() else _read_text(source, words)
    except OSError as error:
        reason, where = error.strerror or type(error).__name__, error.filename or source
        raise InputError(f"the word vectors {where} cannot be read: {reason}.") from None
    if not found:
        raise InputError(
            f"{source} has a vector for none of the {len(words)} words of the documents; "
            "is it of another language, or in capitals?"
        )
    return found


def _read_text(path: Path, wanted: dict[bytes, str]) -> Vectors:
    if not path.is_file():
        raise InputError(f"{path} is neither a file nor a folder of word vectors.")
    found: Vectors = {}
    dimensions = None
    for number, line in _lines(path):
        if dimensions is None:
            fields = line.rstrip().split(b" ")
            is_header = len(fields) == 2 and all(
                field.isdigit() and len(field) < 10 for field in fields
            )
            dimensions = int(fields[1]) if is_header else len(fields) - 1
            if not 1 <= dimensions <= MOST_DIMENSIONS:
                raise InputError(
                    f"{path}, line 1: expected a word and 1 to {MOST_DIMENSIONS} numbers separated "
                    f"by spaces, but found {max(dimensions, 0)}."
                )
            if is_header:
                continue
        if line.split(b" ", 1)[0] not in wanted:
            continue
        # From the right, since a few of GloVe's words hold spaces themselves.
        raw, *numbers = line.rstrip().rsplit(b" ", dimensions)
        word = wanted.get(raw)
        if word is not None and word not in found:
            found[word] = _parse_vector(numbers, dimensions, f"{path}, line {number}")
    return found


def _parse_vector(numbers: list[bytes], dimensions: int, where: str) -> NDArray[np.float32]:
    if len(numbers) != dimensions:
        raise InputError(f"{where}: expected {dimensions} numbers, but found {len(numbers)}.")
    try:
        with np.errstate(over="ignore"):
            vector = np.array([float(number) for number in numbers]).astype(np.float32)
    except ValueError:
        raise InputError(f"{where}: not all of its fields are numbers.") from None
    if not np.isfinite(vector).all():
        raise InputError(f"{where}: its numbers are not all finite.")
    return vector


def _read_folder(folder: Path, wanted: dict[bytes, str]) -> Vectors:
    matrix = _open_matrix(folder / "vectors.npy")
    numbers: dict[str, int] = {}
    count = 0
    for count, line in _lines(folder / "words.txt"):
        word = wanted.get(line.strip())
        if word is not None:
            numbers.setdefault(word, count - 1)
    if count != len(matrix):
        raise InputError(f"{folder} has {count} words but {len(matrix)} vectors.")
    with np.errstate(over="ignore"):
        vectors = np.asarray(matrix[list(numbers.values())], np.float32)
    if not np.isfinite(vectors).all():
        raise InputError(f"{folder / 'vectors.npy'} holds numbers that are not finite.")
    return dict(zip(numbers, vectors, strict=True))


def _open_matrix(path: Path) -> NDArray[np.floating]:
    try:
        # Mapped, not read: only the vectors of the words wanted are ever needed.
        matrix: NDArray[np.floating] = np.lib.format.open_memmap(path, mode="r")
    except (ValueError, EOFError, SyntaxError, OverflowError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{path} is not a NumPy array: {reason[:120]}.") from None
    if matrix.ndim != 2 or matrix.dtype.kind != "f" or not 1 <= matrix.shape[1] <= MOST_DIMENSIONS:
        raise InputError(
            f"{path} should hold a matrix of floats with one row per word and at most "
            f"{MOST_DIMENSIONS} columns."
        )
    return matrix


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield lines with their numbers, counted from 1."""
    with path.open("rb") as file:
        yield from enumerate(file, start=1)
