"""Whether one model is better than another, judged on the documents that both were tested on."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.errors import InputError

__all__ = [
    "Comparison",
    "compare",
    "corrected",
    "holm",
    "mcnemar",
    "pack_flags",
    "unpack_flags",
]

_FEW = 25  # below so many documents that tell two models apart, the test is exact
_DRAWS = 10_000
_MOST_FLAGS = 100_000_000
_STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


@dataclass(frozen=True)
class Comparison:
    """How much more often one model is right than another.

    Parameters
    ----------
    difference
        Accuracy of the first minus accuracy of the second.
    low, high
        The 95% confidence interval of it, by bootstrap over documents.
    p_value
        McNemar's; by `corrected`, for how many comparisons were made.
    n
        Documents.
    """

    difference: float
    low: float
    high: float
    p_value: float
    n: int

    @property
    def cell(self) -> str:
        """The comparison for a table: points, half the interval's width, stars.

        One star stands for p < 0.05, two for p < 0.01, three for p < 0.001.

        Examples
        --------
        >>> Comparison(0.012, 0.007, 0.017, p_value=0.003, n=900).cell
        '+1.2 ±0.5 **'
        """
        points, spread = 100 * self.difference, 50 * (self.high - self.low)
        stars = next((mark for most, mark in _STARS if self.p_value < most), "")
        shown = "0.0" if abs(points) < 0.05 else f"{points:+.1f}".replace("-", "−")
        return f"{shown} ±{spread:.1f} {stars}".rstrip()

    @property
    def turned(self) -> Comparison:
        """The same comparison, seen from the other model.

        Examples
        --------
        >>> Comparison(0.012, 0.007, 0.017, p_value=0.003, n=900).turned.cell
        '−1.2 ±0.5 **'
        """
        return replace(self, difference=-self.difference, low=-self.high, high=-self.low)


def compare(ours: Any, theirs: Any, *, seed: int = 0) -> Comparison:
    """Compare two models by which test documents they label rightly.

    Where a model was trained with several seeds, its mean over them counts for each document. The
    interval and the p-value then speak of these models on other documents of the same kind, not
    of models trained with yet other seeds.

    Parameters
    ----------
    ours, theirs
        True where the document was labelled rightly: one value per document, (n,), or one row per
        seed, (seeds, n). The two may have different numbers of seeds.
    seed
        Seed of the bootstrap.

    Examples
    --------
    >>> ours = np.array([True] * 95 + [False] * 5)
    >>> theirs = np.array([True] * 80 + [False] * 20)
    >>> compare(ours, theirs).cell
    '+15.0 ±7.0 ***'
    """
    first, second = _paired(ours, theirs)
    differences = first.mean(axis=0) - second.mean(axis=0)
    low, high = _bootstrap(differences, seed)
    return Comparison(
        float(differences.mean()), low, high, mcnemar(first, second), len(differences)
    )


def mcnemar(ours: Any, theirs: Any) -> float:
    """Return the p-value of McNemar's test that two models are equally often right.

    Exact where fewer than 25 documents tell the two apart, by the chi-square distribution with
    continuity correction elsewhere. With several seeds, the test flips signs: under the
    hypothesis, every document's difference between the two means over seeds might as well have
    the other sign. With one seed each, that is McNemar's test itself.

    Parameters
    ----------
    ours, theirs
        As for `compare`.

    Examples
    --------
    >>> mcnemar([True] * 6 + [False], [False] * 6 + [True])
    0.125
    """
    first, second = _paired(ours, theirs)
    # Whole numbers: the differences of the means, times the seeds of both.
    gains = len(second) * first.sum(axis=0, dtype=np.int64)
    gains -= len(first) * second.sum(axis=0, dtype=np.int64)
    gains = gains[gains != 0]
    if not len(gains):
        return 1.0
    gains //= np.gcd.reduce(gains)
    return _exact(gains) if len(gains) < _FEW else _chi_square(gains)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected, after Holm, for how many of them there are.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    given = np.asarray(p_values, dtype=np.float64)
    if given.ndim != 1 or not ((given >= 0) & (given <= 1)).all():
        raise InputError(f"the p-values {list(p_values)!r} should be numbers from 0 to 1.")
    order = np.argsort(given, kind="stable")
    scaled = given[order] * np.arange(len(given), 0, -1)
    result = np.empty_like(given)
    result[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return [float(value) for value in result]


def corrected(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return comparisons of one model with many rivals, their p-values corrected after Holm.

    Examples
    --------
    >>> both = [Comparison(0.1, 0.0, 0.2, p, 50) for p in (0.03, 0.04)]
    >>> [each.p_value for each in corrected(both)]
    [0.06, 0.06]
    """
    p_values = holm([each.p_value for each in comparisons])
    return [replace(each, p_value=p) for each, p in zip(comparisons, p_values, strict=True)]


def pack_flags(flags: Any) -> str:
    """Return flags as a short text: eight to a byte, and the bytes in base64.

    Examples
    --------
    >>> pack_flags([True, False, True])
    'oA=='
    """
    return base64.b64encode(np.packbits(_flags(flags, 1)).tobytes()).decode("ascii")


def unpack_flags(text: str, n: int) -> NDArray[np.bool_]:
    """Return the `n` flags that `pack_flags` made a text of; any other text is refused.

    Examples
    --------
    >>> unpack_flags("oA==", 3).tolist()
    [True, False, True]
    """
    if isinstance(n, bool) or not isinstance(n, int) or not 0 <= n <= _MOST_FLAGS:
        raise InputError(f"n={n!r} should be a whole number from 0 to {_MOST_FLAGS:,}.")
    length = 4 * -(-n // 24)
    if not isinstance(text, str) or len(text) != length:
        given = f"{len(text)} characters" if isinstance(text, str) else type(text).__name__
        raise InputError(f"{n} packed flags should be a text of {length} characters, not {given}.")
    try:
        packed = np.frombuffer(base64.b64decode(text, validate=True), np.uint8)
    except (binascii.Error, ValueError):
        raise InputError("the packed flags are not base64; pack them again.") from None
    flags = np.unpackbits(packed)[:n].astype(np.bool_)
    # The same flags have one text only, so that records can be compared as texts.
    if len(flags) != n or pack_flags(flags) != text:
        raise InputError(f"the packed flags do not hold exactly {n} flags; pack them again.")
    return flags


def _paired(ours: Any, theirs: Any) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return both as (seeds, n)."""
    first, second = (np.atleast_2d(_flags(each, 2)) for each in (ours, theirs))
    if first.shape[1] != second.shape[1]:
        raise InputError(
            f"the models were tested on {first.shape[1]} and {second.shape[1]} documents; "
            "give both for the same documents, in the same order."
        )
    if not first.size or not second.size:
        raise InputError("there are no documents to compare two models on.")
    return first, second


def _flags(values: Any, dimensions: int) -> NDArray[np.bool_]:
    flags = np.asarray(values)
    if flags.ndim == 0 or flags.ndim > dimensions:
        raise InputError(f"flags of shape {flags.shape} should have one value per document.")
    if flags.size and flags.dtype != np.bool_:
        raise InputError(f"flags of type {flags.dtype} should be true or false.")
    return flags.astype(np.bool_)


def _bootstrap(differences: NDArray[np.float64], seed: int) -> tuple[float, float]:
    """Return the 95% interval of the mean, drawing documents with replacement.

    Documents with the same difference are alike, so counting how often each value is drawn is
    the same as drawing documents, and much quicker.
    """
    values, counts = np.unique(differences, return_counts=True)
    n = len(differences)
    drawn = np.random.default_rng(seed).multinomial(n, counts / n, size=_DRAWS)
    low, high = np.quantile(drawn @ values / n, [0.025, 0.975])
    return float(low), float(high)


def _exact(gains: NDArray[np.int64]) -> float:
    """Return how often sums with random signs are as far from 0 as the sum itself."""
    chances = np.ones(1)
    for size in np.abs(gains).tolist():
        either = np.zeros(2 * size + 1)
        either[[0, -1]] = 0.5
        chances = np.convolve(chances, either)
    sums = np.arange(len(chances)) - len(chances) // 2
    return min(1.0, float(chances[np.abs(sums) >= abs(gains.sum())].sum()))


def _chi_square(gains: NDArray[np.int64]) -> float:
    from scipy.stats import chi2

    distance = max(abs(int(gains.sum())) - 1, 0)
    return float(chi2.sf(distance**2 / float((gains**2).sum()), df=1))
