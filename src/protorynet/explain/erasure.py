"""What becomes of a prediction without its most important sentences, or with these alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from protorynet.explain.evaluation import Measure
from protorynet.explain.leaving_out import leave_one_out_effects
from protorynet.model import Model
from protorynet.reading import Reading

__all__ = ["erasure_measures", "most_important"]

# Each sentence is left out in turn, so the work grows with the square of a document's length.
_MOST_DOCUMENTS = 500
_MOST_SENTENCES = 60
_ONE_IN = 5


def erasure_measures(model: Model, trajectory: Reading, seed: int) -> list[Measure]:
    """Measure comprehensiveness and sufficiency, as in the ERASER benchmark, on whole sentences.

    A sentence is as important as the probability that its document's leading class loses when
    that sentence alone is left out. Nothing is encoded again, since the matches of the other
    sentences stay as they are.
    """
    comprehensiveness = (
        "Mean probability that the predicted class loses when the most important fifth of the "
        "sentences, at least one, is left out. Near 0: the sentences named as important do not "
        "decide."
    )
    sufficiency = (
        "Mean probability that the predicted class loses when only this fifth is read. High: the "
        "sentences named as important are not enough to decide."
    )
    part = _sampled(trajectory, seed)
    if not len(part.lengths):
        needs = f" Needs documents of 2 to {_MOST_SENTENCES} sentences."
        return [
            Measure("comprehensiveness", None, comprehensiveness + needs),
            Measure("sufficiency", None, sufficiency + needs),
        ]
    whole = model.read(part)
    important = most_important(leave_one_out_effects(model, whole), part.lengths)
    leading = whole.probabilities.argmax(axis=1)[:, None]

    def lost(kept: NDArray[np.bool_]) -> float:
        lengths = np.add.reduceat(kept, part.offsets[:-1], dtype=np.int64)
        rest = model.read(part.take(np.flatnonzero(kept), lengths))
        fall = whole.probabilities - rest.probabilities
        return float(np.take_along_axis(fall, leading, axis=1).mean(dtype=np.float64))

    return [
        Measure("comprehensiveness", lost(~important), comprehensiveness),
        Measure("sufficiency", lost(important), sufficiency),
    ]


def most_important(effects: NDArray[np.float32], lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark in each document the fifth of the sentences with the largest effects, at least one.

    Of equal ones the earlier counts as more important.

    Examples
    --------
    >>> most_important(np.array([0.1, 0.3, 0.2, 0.2]), np.array([2, 2])).tolist()
    [False, True, True, False]
    """
    document = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((-effects, document))
    rank = np.arange(len(order)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    important = np.zeros(len(order), dtype=np.bool_)
    important[order] = rank < np.repeat(np.maximum(1, lengths // _ONE_IN), lengths)
    return important


def _sampled(trajectory: Reading, seed: int) -> Reading:
    """Choose some of the documents of which a part can be left out."""
    lengths = trajectory.lengths
    documents = np.flatnonzero((lengths >= 2) & (lengths <= _MOST_SENTENCES))
    if len(documents) > _MOST_DOCUMENTS:
        random = np.random.default_rng(seed)
        documents = np.sort(random.choice(documents, _MOST_DOCUMENTS, replace=False))
    chosen = np.zeros(len(lengths), dtype=np.bool_)
    chosen[documents] = True
    return trajectory.take(np.flatnonzero(np.repeat(chosen, lengths)), lengths[documents])
