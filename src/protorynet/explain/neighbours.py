"""The real sentences nearest to each prototype, and the documents they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protorynet.reading import Reading

__all__ = ["Neighbour", "nearest_sentences"]


@dataclass(frozen=True)
class Neighbour:
    """A sentence that is matched to a prototype.

    Parameters
    ----------
    text
        The sentence.
    similarity
        How similar it is to the prototype.
    rows
        The documents that it stands in, as rows of their table, in ascending order.
    """

    text: str
    similarity: float
    rows: tuple[int, ...]


def nearest_sentences(
    trajectory: Reading,
    texts: Sequence[str],
    rows: NDArray[np.int64],
    k: int,
    *,
    most: int,
) -> tuple[tuple[Neighbour, ...], ...]:
    """Return, for each of `k` prototypes, the sentences matched to it that are most like it.

    Sentences of the same words are named once; of two equally similar ones, the first in the
    table comes first, so that the order is the same every time.

    Parameters
    ----------
    trajectory, texts
        The matches, and the sentences.
    rows
        Row of each document.
    k
        Number of prototypes.
    most
        Most sentences per prototype.
    """
    order = np.lexsort((np.arange(len(texts)), -trajectory.similarities, trajectory.columns))
    row_of = np.repeat(rows, trajectory.lengths)
    ends = np.cumsum(np.bincount(trajectory.columns, minlength=k))
    return tuple(
        _first_distinct(order[start:end], trajectory, texts, row_of, most)
        for start, end in zip([0, *ends[:-1]], ends, strict=True)
    )


def _first_distinct(
    places: NDArray[np.int64],
    trajectory: Reading,
    texts: Sequence[str],
    row_of: NDArray[np.int64],
    most: int,
) -> tuple[Neighbour, ...]:
    found: dict[str, tuple[float, set[int]]] = {}
    for place in places.tolist():
        text, similarity = texts[place], float(trajectory.similarities[place])
        if text not in found:
            if len(found) < most:
                found[text] = (similarity, set())
            elif all(similarity < other for other, _ in found.values()):
                break
            else:
                continue
        found[text][1].add(int(row_of[place]))
    return tuple(
        Neighbour(text, similarity, tuple(sorted(where)))
        for text, (similarity, where) in found.items()
    )
