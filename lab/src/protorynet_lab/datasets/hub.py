"""Fetching a data set from the Hugging Face hub, only ever by name and when asked to."""

from __future__ import annotations

from pathlib import Path

from protorynet.errors import InputError
from protorynet_lab.datasets.catalogue import known_dataset

__all__ = ["fetch_dataset"]

_PATTERNS = ["*.parquet", "*.csv"]


def fetch_dataset(name: str) -> Path:
    """Fetch a data set from the hub, or find the copy fetched before, and return its folder.

    Parameters
    ----------
    name
        The data set; see `DATASETS`.

    Raises
    ------
    InputError
        If the hub has no faithful copy of it, or cannot be reached.
    """
    dataset = known_dataset(name)
    if dataset.hub is None:
        raise InputError(
            f"the hub has no faithful copy of {name!r}; fetch it from {dataset.home} and give it "
            "with --from PATH."
        )
    from huggingface_hub import snapshot_download

    try:
        # Tables only: a data set's own code is never fetched, let alone run.
        return Path(snapshot_download(dataset.hub, repo_type="dataset", allow_patterns=_PATTERNS))
    except Exception as error:
        # The hub's client raises its own, its transport's and the system's errors.
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(
            f"{dataset.hub!r} cannot be fetched from the hub ({reason}); fetch {name!r} from "
            f"{dataset.home} and give it with --from PATH."
        ) from None
