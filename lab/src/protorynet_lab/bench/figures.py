"""Mean and spread over seeds, and how figures are printed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["MISSING", "Figure", "figure_of", "shown", "shown_measure", "shown_range"]

MISSING = "–"
_DECIMALS = {"n_prototypes": 1, "training_seconds": 0, "usage_perplexity": 1}


@dataclass(frozen=True)
class Figure:
    """A figure measured with several seeds.

    Parameters
    ----------
    mean
        Mean over the seeds.
    spread
        Standard deviation over the seeds; None with a single one.
    n
        Number of seeds.
    """

    mean: float
    spread: float | None
    n: int


def figure_of(values: Iterable[float | None]) -> Figure | None:
    """Return mean and spread of what was measured; None where nothing was.

    Examples
    --------
    >>> figure_of([0.5, None, 0.5])
    Figure(mean=0.5, spread=0.0, n=2)
    """
    known = [value for value in values if value is not None]
    if not known:
        return None
    mean = math.fsum(known) / len(known)
    if len(known) == 1:
        return Figure(mean, None, 1)
    variance = math.fsum((value - mean) ** 2 for value in known) / (len(known) - 1)
    return Figure(mean, math.sqrt(variance), len(known))


def shown(value: Figure | float | None, decimals: int = 3) -> str:
    """Return a figure as the tables print it.

    Examples
    --------
    >>> shown(0.934), shown(Figure(0.934, 0.0021, 3)), shown(-0.0021), shown(1.0)
    ('.934', '.934 ± .002', '−.002', '1.000')
    >>> shown(Figure(12.41, 0.3, 3), decimals=1), shown(None), shown(3e-8)
    ('12.4 ± .3', '–', '.000')
    """
    if value is None:
        return MISSING
    if isinstance(value, Figure):
        mean = shown(value.mean, decimals)
        return mean if value.spread is None else f"{mean} ± {shown(value.spread, decimals)}"
    digits = f"{abs(value):.{decimals}f}"
    sign = "−" if value < 0 and float(digits) else ""
    return sign + (digits[1:] if digits.startswith("0.") else digits)


def shown_measure(name: str, value: Figure | float | None) -> str:
    """Return a figure with the decimals that suit its measure.

    Examples
    --------
    >>> shown_measure("usage_perplexity", 12.41), shown_measure("prototype_error", 3e-8)
    ('12.4', '3e-8')
    """
    if name == "prototype_error" and value is not None:
        mean = value.mean if isinstance(value, Figure) else value
        return f"{mean:.0e}".replace("e-0", "e-") if mean else "0"
    return shown(value, _DECIMALS.get(name, 3))


def shown_range(values: Iterable[float | None]) -> str:
    """Return whole numbers as one, or as the lowest and the highest.

    Examples
    --------
    >>> shown_range([15, 15.0, None]), shown_range([15, 18, 16]), shown_range([])
    ('15', '15–18', '–')
    """
    known = [value for value in values if value is not None]
    if not known:
        return MISSING
    low, high = round(min(known)), round(max(known))
    return str(low) if low == high else f"{low}–{high}"
