"""How each rival is built for a job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from protorynet_lab.bench.jobs import Job

if TYPE_CHECKING:
    from protorynet.encoders import Encoder
    from protorynet_lab.baselines import Rival

__all__ = ["build_rival", "count_prototypes"]


def build_rival(
    job: Job, *, encoder: Encoder | None, device: str, vectors: Path | None = None
) -> Rival:
    """Return the job's rival, untrained.

    Parameters
    ----------
    job
        The job; a ceiling is a rival too.
    encoder
        The encoder, for those that have one.
    device
        Where to train.
    vectors
        Word vectors, for those that read word by word.
    """
    from protorynet_lab import baselines

    seed: dict[str, Any] = {"random_state": job.seed}
    options = dict(job.options)
    made_with: Any = encoder  # loaded for every job of a model that uses one
    if job.kind.family == "ceiling":
        return baselines.BlackBoxClassifier(made_with, settings=job.settings, device=device, **seed)
    if job.model in ("bag-of-words", "bag-of-words-paper"):
        return baselines.BagOfWordsClassifier(**options, **seed)
    if job.model == "transformer":
        return baselines.TransformerClassifier(made_with, device=device, **options, **seed)
    if job.model == "protoattend":
        return baselines.ProtoAttendClassifier(made_with, device=device, **options, **seed)
    # The record names the file of the vectors; the rival needs its place.
    by_word = {**options, "vectors": vectors, "device": device, **seed}
    if job.model == "prosenet":
        return baselines.ProSeNetClassifier(**by_word)
    return baselines.VanillaLSTMClassifier(**by_word)


def count_prototypes(rival: Rival) -> int | None:
    """Return how many prototypes a trained rival has; None where it has no such thing."""
    prototypes = getattr(rival, "prototypes_", None)
    return None if prototypes is None else len(prototypes)
