"""Whether one model is better than another, judged on the documents that both were tested on."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.errors import InputError

Flags = NDArray[np.bool_]

_EXACT_BELOW = 25  # with fewer documents on which two models differ, the test is exact
_DRAWS = 10_000
_STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


@dataclass(frozen=True)
class Comparison:
    """How much more accurate one model is than another, with the 95% interval and McNemar's p."""

    difference: float
    low: float
    high: float
    p_value: float

    @property
    def cell(self) -> str:
        """The comparison for a table: points, half the interval's width, stars."""
        points, spread = 100 * self.difference, 50 * (self.high - self.low)
        stars = next((mark for most, mark in _STARS if self.p_value < most), "")
        words = "0.0" if abs(points) < 0.05 else f"{points:+.1f}".replace("-", "−")
        return f"{words} ±{spread:.1f} {stars}".rstrip()

    @property
    def reverse(self) -> Comparison:
        """The same comparison, seen from the other model."""
        return replace(self, difference=-self.difference, low=-self.high, high=-self.low)


def pack_numbers(numbers: NDArray[np.int64]) -> str:
    """Return small numbers as text for a record."""
    return base64.b64encode(numbers.astype("<u2").tobytes()).decode()


def compare_assignments(packed: Sequence[str]) -> list[float]:
    """Return the adjusted Rand index of every two assignments that `pack_numbers` wrote.

    1 where two models divide the same sentences alike, 0 where they agree by chance only.
    """
    from sklearn.metrics import adjusted_rand_score

    found = [np.frombuffer(base64.b64decode(text), "<u2") for text in packed]
    pairs = [(a, b) for a, b in combinations(found, 2) if len(a) == len(b) > 0]
    return [float(adjusted_rand_score(a, b)) for a, b in pairs]


def compare(ours: Flags, theirs: Flags) -> Comparison:
    """Compare two models by which test documents they label correctly, by seed and document.

    The mean over seeds counts for each document. So interval and p-value are about these models on
    other documents of the same kind, not about models trained with yet other seeds.
    """
    differences = ours.mean(axis=0) - theirs.mean(axis=0)
    # Documents with the same difference are alike, so counting how often each value is drawn is
    # the same as drawing documents, and much quicker than `scipy.stats.bootstrap`.
    values, counts = np.unique(differences, return_counts=True)
    n = len(differences)
    drawn = np.random.default_rng(0).multinomial(n, counts / n, size=_DRAWS)
    low, high = np.quantile(drawn @ values / n, [0.025, 0.975])
    return Comparison(float(differences.mean()), float(low), float(high), mcnemar(ours, theirs))


def mcnemar(ours: Flags, theirs: Flags) -> float:
    """Return the p-value of McNemar's test that two models are equally often right.

    With several seeds, the test flips signs: under the hypothesis, every document's difference
    between the means might as well have the other sign. With one seed, that is McNemar's test.
    """
    # Whole numbers: the differences of the means, times the seeds of both.
    gains = len(theirs) * ours.sum(axis=0, dtype=np.int64)
    gains -= len(ours) * theirs.sum(axis=0, dtype=np.int64)
    gains = gains[gains != 0]
    if not len(gains):
        return 1.0
    gains //= np.gcd.reduce(gains)
    if len(gains) < _EXACT_BELOW:
        return _sign_flip_p_value(gains)
    from scipy.stats import chi2

    # With the continuity correction.
    distance = max(abs(int(gains.sum())) - 1, 0)
    return float(chi2.sf(distance**2 / float((gains**2).sum()), df=1))


def _sign_flip_p_value(gains: NDArray[np.int64]) -> float:
    """Return how often sums with random signs are as far from 0 as the sum itself."""
    # `scipy.stats.permutation_test` would go through all 2^24 changes of signs one by one.
    chances = np.ones(1)
    for size in np.abs(gains).tolist():
        either = np.zeros(2 * size + 1)
        either[[0, -1]] = 0.5
        chances = np.convolve(chances, either)
    sums = np.arange(len(chances)) - len(chances) // 2
    return min(1.0, float(chances[np.abs(sums) >= abs(gains.sum())].sum()))


def correct_p_values(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return comparisons of one model with many rivals, their p-values corrected after Holm."""
    given = np.array([each.p_value for each in comparisons])
    order = np.argsort(given, kind="stable")
    scaled = np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1))
    p_values = np.empty_like(given)
    p_values[order] = np.minimum(scaled, 1.0)
    return [replace(each, p_value=float(p)) for each, p in zip(comparisons, p_values, strict=True)]


def pack_flags(flags: Any) -> str:
    """Return flags as a short text: eight to a byte, and the bytes in base64."""
    packed = np.packbits(np.asarray(flags, dtype=np.bool_))
    return base64.b64encode(packed.tobytes()).decode("ascii")


def unpack_flags(text: str, n: int) -> Flags:
    """Return the `n` flags that `pack_flags` made a text of; one of fewer is refused."""
    packed = np.frombuffer(base64.b64decode(text), np.uint8)
    flags = np.unpackbits(packed)[:n].astype(np.bool_)
    if len(flags) != n:
        raise InputError(f"the packed flags are {len(flags)}, not {n}; pack them again.")
    return flags
