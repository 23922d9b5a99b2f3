"""The figures of a model on labelled documents, each from plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protorynet.labels import Task
from protorynet.reading import Reading

__all__ = [
    "SHORT",
    "ClassFigures",
    "LengthFigures",
    "ReliabilityBin",
    "accuracy_by_length",
    "calibration_error",
    "class_figures",
    "confusion_counts",
    "reliability_bins",
    "said_and_true",
    "transition_counts",
]

SHORT = 25
"""Documents of fewer words than this are short, as in the paper's Table 2."""

_BINS = 10


@dataclass(frozen=True)
class ClassFigures:
    """How well one class is found.

    Parameters
    ----------
    name
        The class.
    n_true, n_predicted, n_both
        How many documents have it, how many are given it, and how many both.

    Examples
    --------
    >>> figures = ClassFigures("good", n_true=4, n_predicted=5, n_both=3)
    >>> figures.recall, figures.precision
    (0.75, 0.6)
    >>> ClassFigures("rare", n_true=2, n_predicted=0, n_both=0).precision is None
    True
    """

    name: str
    n_true: int
    n_predicted: int
    n_both: int

    @property
    def recall(self) -> float | None:
        """Share of the documents of the class that are given it; None where there are none."""
        return self.n_both / self.n_true if self.n_true else None

    @property
    def precision(self) -> float | None:
        """Share of the documents given the class that have it; None where there are none."""
        return self.n_both / self.n_predicted if self.n_predicted else None


@dataclass(frozen=True)
class LengthFigures:
    """How many documents of a length are labelled rightly.

    Parameters
    ----------
    is_short
        Whether these are the documents of fewer than `SHORT` words, or all others.
    n_documents, n_right
        How many there are, and how many are labelled rightly.
    """

    is_short: bool
    n_documents: int
    n_right: int

    @property
    def accuracy(self) -> float | None:
        """Share labelled rightly; None where there are none."""
        return self.n_right / self.n_documents if self.n_documents else None


@dataclass(frozen=True)
class ReliabilityBin:
    """Predictions of about the same probability.

    Parameters
    ----------
    low, high
        The bounds of the probabilities; the upper one belongs to the next bin.
    count
        How many predictions there are, never 0.
    said
        Their mean probability.
    n_true
        How many of them came true.
    """

    low: float
    high: float
    count: int
    said: float
    n_true: int

    @property
    def observed(self) -> float:
        """Share of the predictions that came true."""
        return self.n_true / self.count

    @property
    def interval(self) -> tuple[float, float]:
        """The observed share with its uncertainty: a 95% Wilson interval.

        Examples
        --------
        >>> [round(end, 3) for end in ReliabilityBin(0.9, 1.0, 10, 0.95, 9).interval]
        [0.596, 0.982]
        """
        z, n, share = 1.959964, self.count, self.observed
        middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * (share * (1 - share) / n + z**2 / (4 * n**2)) ** 0.5
        return max(middle - half, 0.0), min(middle + half, 1.0)


def class_figures(
    names: Sequence[str], truth: NDArray[np.bool_], predicted: NDArray[np.bool_]
) -> tuple[ClassFigures, ...]:
    """Count, for each class, the documents that have it, are given it, and both."""
    counts = zip(
        names,
        truth.sum(axis=0).tolist(),
        predicted.sum(axis=0).tolist(),
        (truth & predicted).sum(axis=0).tolist(),
        strict=True,
    )
    return tuple(ClassFigures(*each) for each in counts)


def confusion_counts(truth: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the confusion matrix: a row per true class, a column per predicted class.

    Examples
    --------
    >>> truth = np.array([[True, False], [True, False], [False, True]])
    >>> confusion_counts(truth, truth[::-1]).tolist()
    [[1, 1], [1, 0]]
    """
    return np.asarray(truth.T.astype(np.int64) @ predicted.astype(np.int64))


def said_and_true(
    task: Task, probabilities: NDArray[np.float32], truth: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the probabilities that calibration is about, and whether each came true.

    Of two classes that of the last one, of several that of the class predicted, and where a
    document may have any number of classes that of each.
    """
    said = probabilities.astype(np.float64)
    if task == "multilabel":
        return said.ravel(), truth.ravel()
    if said.shape[1] == 2:
        return said[:, 1], truth[:, 1]
    places = (np.arange(len(said)), said.argmax(axis=1))
    return said[places], truth[places]


def reliability_bins(
    said: NDArray[np.float64], came_true: NDArray[np.bool_], n_bins: int = _BINS
) -> tuple[ReliabilityBin, ...]:
    """Group predictions by their probability into bins of equal width; empty ones are left out.

    Examples
    --------
    >>> said, came_true = np.array([0.91, 0.99, 0.2]), np.array([True, False, False])
    >>> [(each.low, each.count, each.observed) for each in reliability_bins(said, came_true)]
    [(0.2, 1, 0.0), (0.9, 2, 0.5)]
    """
    edges = np.arange(n_bins + 1) / n_bins
    place = np.clip(np.searchsorted(edges, said, side="right") - 1, 0, n_bins - 1)
    counts = np.bincount(place, minlength=n_bins)
    sums = np.bincount(place, said, n_bins)
    true = np.bincount(place, came_true, n_bins)
    return tuple(
        ReliabilityBin(
            float(edges[i]),
            float(edges[i + 1]),
            int(counts[i]),
            float(sums[i] / counts[i]),
            int(true[i]),
        )
        for i in np.flatnonzero(counts)
    )


def calibration_error(bins: Sequence[ReliabilityBin]) -> float:
    """Return the expected calibration error: how far, on average, what is said is from the truth.

    Examples
    --------
    >>> sure = ReliabilityBin(0.9, 1.0, count=10, said=0.95, n_true=8)
    >>> round(calibration_error([sure]), 2)
    0.15
    """
    total = sum(each.count for each in bins)
    return sum(each.count * abs(each.said - each.observed) for each in bins) / total


def accuracy_by_length(
    words: NDArray[np.int64], right: NDArray[np.bool_]
) -> tuple[LengthFigures, LengthFigures]:
    """Return the figures of short documents and of long ones, by their number of words."""
    is_short = words < SHORT
    short, long = (
        LengthFigures(kind, int(part.sum()), int(right[part].sum()))
        for kind, part in ((True, is_short), (False, ~is_short))
    )
    return short, long


def transition_counts(trajectory: Reading, k: int) -> NDArray[np.int64]:
    """Count how often a sentence of one prototype (row) is followed by one of another (column)."""
    columns = trajectory.columns
    is_last = np.zeros(len(columns), np.bool_)
    is_last[trajectory.offsets[1:] - 1] = True
    before, after = columns[:-1][~is_last[:-1]], columns[1:][~is_last[:-1]]
    return np.bincount(before * k + after, minlength=k * k).reshape(k, k)
