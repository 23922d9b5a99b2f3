"""How many prototypes to keep: the fewest that keep the accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["PruningPoint", "choose_size", "sizes_to_try"]


@dataclass(frozen=True)
class PruningPoint:
    """One point of the pruning curve.

    Parameters
    ----------
    n_prototypes
        How many prototypes stay.
    threshold
        θ: the least share of the validation sentences that any of them is active for.
    accuracy
        Validation accuracy with a reader retrained on them.
    """

    n_prototypes: int
    threshold: float
    accuracy: float


def sizes_to_try(live: int, most: int, least: int = 2) -> list[int]:
    """Return numbers of prototypes to try, from the most allowed down to two.

    Numbers below `least` are tried too, for the curve, unless it leaves no choice at all.

    Parameters
    ----------
    live
        How many prototypes are used at all.
    most
        The most a delivered model may have.
    least
        The fewest it may have.

    Examples
    --------
    >>> sizes_to_try(live=87, most=20)
    [20, 15, 12, 9, 7, 5, 3, 2]
    >>> sizes_to_try(live=87, most=20, least=20)
    [20]
    """
    size = max(1, min(live, most))
    sizes = [size]
    if least >= size:
        return sizes
    while size > 2:
        size = max(2, size - max(2, size // 4))
        sizes.append(size)
    return sizes


def choose_size(points: Sequence[PruningPoint], *, least: int, tolerance: float) -> int:
    """Return the fewest prototypes whose accuracy is within `tolerance` of the best.

    Fewer than `least` are chosen only where there are no more.

    Examples
    --------
    >>> curve = [PruningPoint(20, 0.01, 0.95), PruningPoint(15, 0.02, 0.948)]
    >>> choose_size(curve, least=15, tolerance=0.005)
    15
    >>> choose_size(curve, least=15, tolerance=0.0)
    20
    """
    allowed = [point for point in points if point.n_prototypes >= least] or list(points[:1])
    best = max(point.accuracy for point in allowed)
    return min(p.n_prototypes for p in allowed if p.accuracy >= best - tolerance)
