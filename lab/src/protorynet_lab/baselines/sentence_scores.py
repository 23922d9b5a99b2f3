"""What simple readers see of a document: the scores of its sentences, averaged or side by side."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["PANEL_SIZE", "best_threshold", "mean_scores", "score_panel"]

PANEL_SIZE = 10
"""Sentences that the paper's panel holds."""


def mean_scores(scores: NDArray[np.float64], lengths: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean of each document's rows.

    Examples
    --------
    >>> mean_scores(np.array([[0.0], [1.0], [0.25]]), np.array([2, 1])).tolist()
    [[0.5], [0.25]]
    """
    starts = np.cumsum(lengths) - lengths
    sums: NDArray[np.float64] = np.add.reduceat(scores, starts, axis=0)
    return sums / lengths[:, None]


def score_panel(
    scores: NDArray[np.float64], lengths: NDArray[np.int64], size: int = PANEL_SIZE
) -> NDArray[np.float64]:
    """Return one row per document: the scores of its first sentences.

    Parameters
    ----------
    scores
        Scores of the sentences, (sentences, classes).
    lengths
        Sentences of each document, at least one.
    size
        Sentences of a row; the places a shorter document leaves hold the mean of its scores.

    Examples
    --------
    >>> score_panel(np.array([[0.0], [1.0], [0.25]]), np.array([2, 1]), size=3).tolist()
    [[0.0, 1.0, 0.5], [0.25, 0.25, 0.25]]
    """
    starts = np.cumsum(lengths) - lengths
    documents = np.repeat(np.arange(len(lengths)), lengths)
    steps = np.arange(len(scores)) - starts[documents]
    panel = np.repeat(mean_scores(scores, lengths)[:, None, :], size, axis=1)
    kept = steps < size
    panel[documents[kept], steps[kept]] = scores[kept]
    return panel.reshape(len(lengths), -1)


def best_threshold(values: NDArray[np.float64], is_positive: NDArray[np.bool_]) -> float:
    """Return the threshold above which "positive" is right most often; of equals, the most central.

    Examples
    --------
    >>> best_threshold(np.array([0.2, 0.4, 0.8]), np.array([False, False, True])).__round__(3)
    0.6
    """
    distinct, places = np.unique(values, return_inverse=True)
    positives = np.bincount(places, weights=is_positive, minlength=len(distinct))
    negatives = np.bincount(places, weights=~is_positive, minlength=len(distinct))
    # Right below the first value, then between neighbours, then above the last.
    right = positives.sum() + np.concatenate([[0], np.cumsum(negatives - positives)])
    candidates = np.concatenate([[-np.inf], (distinct[:-1] + distinct[1:]) / 2, [np.inf]])
    best = candidates[right == right.max()]
    return float(best[np.abs(best - 0.5).argmin()])
