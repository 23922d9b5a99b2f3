"""What each document counts in training: weights of classes, and weights that users give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.errors import InputError
from protorynet.labels import LabelCode
from protorynet.settings import ClassWeight

_RARE = 0.2  # of an even share: a class of fewer documents counts by "auto" as if it had so many


def check_weights(
    labels: LabelCode,
    targets: NDArray[np.float32],
    sample_weight: Any = None,
    class_weight: ClassWeight | Mapping[Any, float] | None = None,
) -> NDArray[np.float64] | None:
    """Return the weights that a user gives documents or classes; None where there are none."""
    if sample_weight is None and not isinstance(class_weight, Mapping):
        return None
    weights = np.ones(len(targets)) if sample_weight is None else np.asarray(sample_weight, float)
    if weights.shape != (len(targets),):
        raise InputError(f"sample_weight has shape {weights.shape}, not ({len(targets)},).")
    if isinstance(class_weight, Mapping):
        named = {str(label): float(weight) for label, weight in class_weight.items()}
        if unknown := sorted(set(named) - set(labels.names)):
            raise InputError(f"class_weight names {unknown[0]!r}, which is none of the classes.")
        of_class = np.array([named.get(name, 1.0) for name in labels.names])
        weights = weights * _by_class(targets, of_class)
    if not np.isfinite(weights).all() or weights.min() < 0 or not weights.any():
        raise InputError("weights should be finite, at least 0, and not all of them 0.")
    return weights


def weigh_documents(
    targets: NDArray[np.float32], weights: NDArray[np.float64] | None, kind: ClassWeight
) -> NDArray[np.float32] | None:
    """Return what each document counts in the loss, 1 on average; None where all count alike."""
    weights = np.ones(len(targets)) if weights is None else weights
    if kind != "none":
        share = np.maximum(targets.mean(axis=0), 1 / len(targets)) / max(targets.mean(), 1e-9)
        weights = weights * _by_class(
            targets, 1 / share if kind == "balanced" else np.maximum(1, _RARE / share)
        )
    return None if np.ptp(weights) == 0 else (weights / weights.mean()).astype(np.float32)


def _by_class(targets: NDArray[np.float32], of_class: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weight of each document's class: of several the largest, of none 1."""
    largest = np.where(targets > 0, of_class, -1.0).max(axis=1)
    return np.where(largest < 0, 1.0, largest)
