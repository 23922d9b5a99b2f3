"""The data sets of the paper: what is known of them, and how each is prepared as the paper says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protorynet.lazy import lazy_names

if TYPE_CHECKING:
    from protorynet.datasets.catalogue import DATASETS, KnownDataset, known_dataset
    from protorynet.datasets.hub import fetch_dataset
    from protorynet.datasets.preparing import Prepared, prepare_dataset

__all__ = [
    "DATASETS",
    "KnownDataset",
    "Prepared",
    "fetch_dataset",
    "known_dataset",
    "prepare_dataset",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "catalogue": "DATASETS KnownDataset known_dataset",
        "hub": "fetch_dataset",
        "preparing": "Prepared prepare_dataset",
    },
)
