"""How far one class is above the others, for models that add up what they see."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["class_margin"]


def class_margin(values: NDArray[np.float64], place: int) -> NDArray[np.float64]:
    """Return the row of one class less the mean of the others'.

    A regression on two classes has one row only, the difference of the second and the first.

    Examples
    --------
    >>> class_margin(np.array([[1.0, 2.0], [0.0, 4.0], [2.0, 0.0]]), 0).tolist()
    [0.0, 0.0]
    >>> class_margin(np.array([[3.0]]), 0).tolist()
    [-3.0]
    """
    if len(values) == 1:
        values = np.concatenate([-values / 2, values / 2])
    margin: NDArray[np.float64] = values[place] - np.delete(values, place, axis=0).mean(axis=0)
    return margin
