"""Krippendorff's alpha: how far people agree with each other beyond what chance would give.

K. Krippendorff (2011), *Computing Krippendorff's Alpha-Reliability*.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations
from typing import Literal

__all__ = ["krippendorff_alpha"]


def krippendorff_alpha(
    units: Iterable[Sequence[Hashable]], level: Literal["nominal", "interval"] = "nominal"
) -> float | None:
    """Return the agreement: 1 where all agree, 0 where it is as by chance, below 0 where worse.

    Parameters
    ----------
    units
        For each thing judged, the values that were given to it, by whomever and however many.
    level
        ``"nominal"``: values are the same or not; ``"interval"``: they are numbers, and the
        square of their difference counts.

    Returns
    -------
    The agreement; None where there is nothing to compare, or all values ever given are the same.

    Examples
    --------
    >>> krippendorff_alpha([["a", "a"], ["b", "b"]])
    1.0
    >>> round(krippendorff_alpha([[1, 2], [4, 5], [3, 3]], level="interval"), 3)
    0.833
    """
    compared = [Counter(values) for values in units if len(values) >= 2]
    totals: Counter[Hashable] = sum(compared, Counter())
    n = totals.total()
    observed = sum(_disagreement(counts, level) / (counts.total() - 1) for counts in compared)
    expected = _disagreement(totals, level)
    return None if expected == 0 else 1 - (n - 1) * observed / expected


def _disagreement(counts: Counter[Hashable], level: str) -> float:
    """Return the sum of the differences over all ordered pairs of values."""
    if level == "nominal":
        n = counts.total()
        return float(n * n - sum(count * count for count in counts.values()))
    numbers = [(float(value), count) for value, count in counts.items()]  # type: ignore[arg-type]
    return 2 * sum(n * m * (a - b) ** 2 for (a, n), (b, m) in combinations(numbers, 2))
