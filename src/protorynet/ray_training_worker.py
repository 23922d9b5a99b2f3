"""What a worker of Ray Train does: all train together, and the first returns the model."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from protorynet.errors import ProtoryNetError
from protorynet.inference import load_same_encoder

__all__ = ["Board", "Job", "Outcome", "train_together"]


@dataclass(frozen=True)
class Job:
    """What is to be trained.

    Parameters
    ----------
    parameters
        Those of the classifier; its encoder by name or folder.
    fingerprint
        That of the encoder, which every machine must have.
    documents
        Ray's reference to the texts and their labels.
    checkpoint
        Folder in which the epochs done are kept.
    board
        Ray's handle of the `Board` to write on.
    """

    parameters: dict[str, Any]
    fingerprint: str
    documents: Any
    checkpoint: Path | None
    board: Any


@dataclass(frozen=True)
class Outcome:
    """What came of it: the files of the model directory, or the kind of error and its message."""

    files: dict[str, bytes] = field(default_factory=dict)
    n_skipped: int = 0
    error: tuple[str, str] | None = None


class Board:
    """Where the first worker writes how far it is, for the process that waits to read.

    Before they begin, all workers may complain there: of errors by their kind and message.
    """

    def __init__(self) -> None:
        self._task, self._share = "Starting workers", 0.0
        self._complaint: tuple[str, str] | None = None

    def write(self, task: str, share: float) -> None:
        """Write what is being done, and the share of it that is done."""
        self._task, self._share = task, share

    def read(self) -> tuple[str, float]:
        """Return what was written last."""
        return self._task, self._share

    def complain(self, kind: str, message: str) -> None:
        """Write that a worker cannot begin."""
        self._complaint = (kind, message)

    def complaint(self) -> tuple[str, str] | None:
        """Return what a worker complained of, if any did."""
        return self._complaint


def train_together(config: dict[str, Any]) -> Outcome | None:
    """Train as one worker of several; the first returns the model."""
    import ray
    import torch.distributed as dist
    from ray.train.torch import get_device

    from protorynet.training import rank, tunable_encoder

    job: Job = config["job"]
    device = get_device()
    try:
        name = job.parameters["encoder"]
        encoder = tunable_encoder(load_same_encoder(name, job.fingerprint, device=str(device)))
    except ProtoryNetError as error:
        ray.get(job.board.complain.remote(type(error).__name__, str(error)))
    if dist.is_initialized():
        dist.barrier()  # whoever complains has done so
    if complaint := ray.get(job.board.complaint.remote()):
        return Outcome(error=complaint)
    outcome = _train(job, encoder, str(device))
    return outcome if rank() == 0 else None


def _train(job: Job, encoder: Any, device: str) -> Outcome:
    """Train, and return the model; what the user has to mend is an outcome too."""
    import ray

    from protorynet.classifier import ProtoryNetClassifier
    from protorynet.progress import progress_told
    from protorynet.training import rank

    texts, labels = ray.get(job.documents)
    own = {"encoder": encoder, "device": device}
    classifier = ProtoryNetClassifier(**{**job.parameters, **own})
    try:
        with progress_told(_Teller(job.board) if rank() == 0 else lambda task, share: None):
            # Whatever lies there is of this run: after a loss, or taken up at the user's wish.
            resume = job.checkpoint is not None
            classifier.fit(texts, labels, checkpoint=job.checkpoint, resume=resume)
    except ProtoryNetError as error:
        return Outcome(error=(type(error).__name__, str(error)))
    with tempfile.TemporaryDirectory(prefix="protorynet-") as place:
        folder = Path(place, "model")
        classifier.save(folder)
        files = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
    return Outcome(files, classifier.n_skipped_)


class _Teller:
    """Writes on the board whenever another hundredth is done."""

    def __init__(self, board: Any) -> None:
        self._board = board
        self._last = ("", 0)

    def __call__(self, task: str, share: float) -> None:
        told = (task, int(100 * share))
        if told != self._last:
            self._board.write.remote(task, share)
            self._last = told
