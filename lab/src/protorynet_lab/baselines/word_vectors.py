"""Pre-trained word vectors: GloVe's text format, or a folder of words and a matrix."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from protorynet.errors import InputError

__all__ = ["WordVectors", "read_word_vectors"]

_LONGEST_LINE = 1 << 17  # bytes; a word and its vector
_MOST_WORDS = 20_000_000
_MOST_DIMENSIONS = 4_096


@dataclass(frozen=True)
class WordVectors:
    """Vectors of some words.

    Parameters
    ----------
    rows
        Row of each word.
    vectors
        The vectors, (words, dimensions).
    """

    rows: dict[str, int]
    vectors: NDArray[np.float32]


def read_word_vectors(path: str | os.PathLike[str], wanted: Collection[str]) -> WordVectors:
    r"""Read the vectors of some words; all others are passed over and never held in memory.

    Parameters
    ----------
    path
        A text file with a word and its numbers on each line, separated by spaces (GloVe's
        format, with or without word2vec's first line of two counts); or a folder that holds
        ``words.txt``, one word per line, and ``vectors.npy``, one row for each.
    wanted
        The words to look for.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "glove.txt"
    ...     _ = file.write_text("good 1 0.5\nbad -1 0.5\n")
    ...     read_word_vectors(file, {"bad", "ugly"}).vectors.tolist()
    [[-1.0, 0.5]]
    """
    place = Path(path)
    if not place.exists():
        raise InputError(f"there are no word vectors at {str(path)!r}: no such file or folder.")
    # Bytes are compared with bytes, so that a broken word nobody asks for does no harm.
    words = {word.encode("utf-8", "surrogatepass"): word for word in wanted}
    try:
        found = _from_folder(place, words) if place.is_dir() else _from_text(place, words)
    except OSError as error:
        reason, where = error.strerror or type(error).__name__, error.filename or place
        raise InputError(f"the word vectors {where} cannot be read: {reason}.") from None
    if not found.rows:
        raise InputError(
            f"{place} has a vector for none of the {len(words)} words of the documents; "
            "is it of another language, or in capitals?"
        )
    return found


def _from_text(path: Path, wanted: dict[bytes, str]) -> WordVectors:
    if not path.is_file():
        raise InputError(f"{path} is neither a file nor a folder of word vectors.")
    rows: dict[str, int] = {}
    vectors = []
    dimensions = None
    with path.open("rb") as file:
        for number, line in _lines(file, path):
            if dimensions is None:
                dimensions, is_header = _dimensions(line, path)
                if is_header:
                    continue
            if line.split(b" ", 1)[0] not in wanted:
                continue
            # From the right, since a few of GloVe's words hold spaces themselves.
            raw, *numbers = line.rstrip().rsplit(b" ", dimensions)
            word = wanted.get(raw)
            if word is not None and word not in rows:
                vectors.append(_vector(numbers, dimensions, path, number))
                rows[word] = len(rows)
    return WordVectors(rows, np.array(vectors, np.float32))


def _dimensions(line: bytes, path: Path) -> tuple[int, bool]:
    """Return the size of the vectors by the first line, and whether it is word2vec's header."""
    fields = line.rstrip().split(b" ")
    is_header = len(fields) == 2 and all(field.isdigit() and len(field) < 10 for field in fields)
    dimensions = int(fields[1]) if is_header else len(fields) - 1
    if not 1 <= dimensions <= _MOST_DIMENSIONS:
        raise InputError(
            f"{path}, line 1: expected a word and 1 to {_MOST_DIMENSIONS} numbers separated by "
            f"spaces, but found {max(dimensions, 0)}."
        )
    return dimensions, is_header


def _vector(numbers: list[bytes], dimensions: int, path: Path, line: int) -> NDArray[np.float32]:
    if len(numbers) != dimensions:
        raise InputError(
            f"{path}, line {line}: expected {dimensions} numbers, but found {len(numbers)}."
        )
    try:
        with np.errstate(over="ignore"):
            vector = np.array([float(number) for number in numbers]).astype(np.float32)
    except ValueError:
        raise InputError(f"{path}, line {line}: not all of its fields are numbers.") from None
    if not np.isfinite(vector).all():
        raise InputError(f"{path}, line {line}: its numbers are not all finite.")
    return vector


def _from_folder(folder: Path, wanted: dict[bytes, str]) -> WordVectors:
    matrix = _matrix(folder / "vectors.npy")
    rows: dict[str, int] = {}
    places = []
    count = 0
    with (folder / "words.txt").open("rb") as file:
        for count, line in _lines(file, folder / "words.txt"):
            word = wanted.get(line.strip())
            if word is not None and word not in rows:
                rows[word] = len(rows)
                places.append(count - 1)
    if count != len(matrix):
        raise InputError(f"{folder} has {count} words but {len(matrix)} vectors.")
    with np.errstate(over="ignore"):
        vectors = np.asarray(matrix[places], np.float32)
    if not np.isfinite(vectors).all():
        raise InputError(f"{folder / 'vectors.npy'} holds numbers that are not finite.")
    return WordVectors(rows, vectors)


def _matrix(path: Path) -> NDArray[np.floating]:
    try:
        # Mapped, not read: only the rows of the words wanted are ever needed.
        matrix: NDArray[np.floating] = np.lib.format.open_memmap(path, mode="r")
    except (ValueError, EOFError, SyntaxError, OverflowError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{path} is not a NumPy array: {reason[:120]}.") from None
    if matrix.ndim != 2 or matrix.dtype.kind != "f" or not 1 <= matrix.shape[1] <= _MOST_DIMENSIONS:
        raise InputError(
            f"{path} should hold a matrix of floats with one row per word and at most "
            f"{_MOST_DIMENSIONS} columns."
        )
    return matrix


def _lines(file: BinaryIO, path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield lines with their numbers, counted from 1; refuse endless ones and endless files."""
    number = 0
    while line := file.readline(_LONGEST_LINE + 1):
        number += 1
        if len(line) > _LONGEST_LINE:
            raise InputError(
                f"{path}, line {number} is longer than {_LONGEST_LINE} bytes; expected a word "
                "and its numbers on each line."
            )
        if number > _MOST_WORDS:
            raise InputError(f"{path} has more than {_MOST_WORDS} lines; keep the frequent words.")
        yield number, line
