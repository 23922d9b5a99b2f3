"""Training with Ray: a fine-tuned encoder by many workers at once, or a corpus encoded by many."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

from protorynet.classifier import ProtoryNetClassifier
from protorynet.data import document_list, split_documents
from protorynet.encoders import Encoder, WindowedEncoder, load_encoder
from protorynet.errors import InputError, ProtoryNetError
from protorynet.inference import error_of, ray_session, start_here
from protorynet.labels import check_labels, learn_labels
from protorynet.model import PRECOMPUTED
from protorynet.progress import Advance, progress_bar
from protorynet.ray_encoded import fit_on_encoded
from protorynet.ray_training_worker import Board, Job, Outcome, train_together
from protorynet.training import clear_checkpoint, tunable_encoder

__all__ = ["fit_with_ray"]

# A worker may be lost with its machine twice; training goes on from the last epoch.
_LOSSES = 2
_LOOK_SECONDS = 0.5


def fit_with_ray(
    classifier: ProtoryNetClassifier,
    texts: Any,
    labels: Any,
    *,
    address: str | None = None,
    workers: int | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
) -> ProtoryNetClassifier:
    """Train a classifier with Ray, and return it.

    With ``encoder_training="full"`` the workers train together: every batch's sentences are
    shared out, and the gradient is that of the whole batch. Otherwise the workers encode the
    corpus, and training, which then takes a minute, is done here.

    Parameters
    ----------
    classifier
        An untrained classifier; its encoder is a name or a folder that every machine has.
    texts, labels
        As for `ProtoryNetClassifier.fit`.
    address
        ``HOST:PORT`` or ``"auto"`` for a cluster that is there; None starts a Ray on this machine.
    workers
        Processes that train together; by default one per GPU or, without any, one per machine.
    checkpoint, resume
        As for `ProtoryNetClassifier.fit`. A run that loses a worker goes on from there, so with
        several machines the folder should be one that they share.
    """
    if workers is not None and workers < 1:
        raise InputError(f"workers={workers} should be at least 1.")
    if resume and checkpoint is None:
        raise InputError("resume=True needs checkpoint=…, the folder to resume from.")
    folder = None if checkpoint is None else Path(checkpoint).resolve()
    settings = classifier._settings()
    full = settings.encoder_training == "full"
    if workers is not None and not full:
        raise InputError(
            f"workers={workers} is for encoder_training='full', where workers train together; "
            "otherwise every CPU or GPU of the cluster encodes."
        )
    _check_travels(classifier.encoder)
    documents = document_list(texts, are_texts=True)
    check_labels(labels, len(documents))
    learn_labels(labels)  # told here, if they cannot be learnt, before anything is started
    encoder = load_encoder(classifier.encoder, device="cpu" if full else classifier.device)
    # Splitting is quick, and tells of empty documents.
    sentences = split_documents(
        documents,
        splitter=classifier.splitter,
        counter=encoder if isinstance(encoder, WindowedEncoder) else None,
        on_empty=classifier.on_empty,
    )
    if not full:
        return fit_on_encoded(
            classifier,
            documents,
            labels,
            sentences=sentences.texts,
            encoder=encoder,
            address=address,
            checkpoint=folder,
            resume=resume,
        )
    tunable_encoder(encoder)
    if folder is not None and not resume:
        clear_checkpoint(folder)
    # By its own name, which every machine understands alike.
    own = {"encoder": encoder.name, "settings": settings}
    said = dict.fromkeys(("n_prototypes", "max_prototypes", "encoder_training"))
    parameters = {**classifier.get_params(deep=False), **own, **said}
    with ray_session(address) as ray:
        scaling = _scaling(ray, workers, classifier.device)
        given = ray.put((documents, labels))
        board = start_here(ray, Board)
        job = Job(parameters, encoder.fingerprint, given, folder, board)
        outcome = _trained(ray, job, scaling, progress=classifier.verbose)
    return _installed(classifier, outcome)


def _check_travels(encoder: str | Path | Encoder) -> None:
    if not isinstance(encoder, str | Path) or encoder == PRECOMPUTED:
        raise InputError(
            "training with Ray needs texts and an encoder with a name or a folder that every "
            f"machine has; {encoder!r} was given."
        )


def _scaling(ray: ModuleType, workers: int | None, device: str) -> Any:
    """Decide how many workers there are, and what each of them takes."""
    from ray.train import ScalingConfig

    machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    gpus = sum(int(machine.get("GPU", 0)) for machine in machines)
    if device.startswith("cuda") and not gpus:
        raise InputError(f"device={device!r}, but Ray sees no GPU; use 'auto' or 'cpu'.")
    if gpus and device != "cpu":
        count = workers or gpus
        if count > gpus:
            raise InputError(f"workers={count}, but Ray has {gpus} GPUs; give fewer, or 'cpu'.")
        return ScalingConfig(num_workers=count, use_gpu=True)
    cpus = [int(machine.get("CPU", 0)) for machine in machines]
    count = workers or max(1, sum(cpu > 0 for cpu in cpus))
    fitting = [
        each for each in range(1, max(cpus) + 1) if sum(cpu // each for cpu in cpus) >= count
    ]
    if not fitting:
        raise InputError(f"workers={count}, but Ray has {sum(cpus)} CPUs; give fewer workers.")
    return ScalingConfig(num_workers=count, resources_per_worker={"CPU": fitting[-1]})


def _trained(ray: ModuleType, job: Job, scaling: Any, *, progress: bool) -> Outcome:
    """Let the workers train, and show how far they are."""
    # A busy machine needs more than Ray's minute to start a worker, also when it tries again.
    os.environ.setdefault("RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S", "600")
    from ray.train import FailureConfig, RunConfig
    from ray.train.torch import TorchTrainer

    results: list[Any] = []

    def fit() -> None:
        try:
            results.append(trainer.fit().return_value)
        except Exception as error:
            results.append(error)

    with tempfile.TemporaryDirectory(prefix="protorynet-", ignore_cleanup_errors=True) as place:
        worker: Any = train_together  # Ray's types know neither results nor Ray Train's second form
        trainer: Any = TorchTrainer(
            worker,
            train_loop_config={"job": job},
            scaling_config=scaling,
            run_config=RunConfig(
                storage_path=place, failure_config=FailureConfig(max_failures=_LOSSES)
            ),
        )
        # Not in the main thread, whose handler of Ctrl-C Ray would replace by one that exits.
        training = threading.Thread(target=fit, daemon=True)
        training.start()
        with _Bars(enabled=progress) as bars:
            while training.is_alive():
                training.join(_LOOK_SECONDS)
                bars.show(*ray.get(job.board.read.remote()))
    outcome = results[0]
    if isinstance(outcome, Outcome):
        return outcome
    reason = (str(outcome).strip().splitlines() or [type(outcome).__name__])[-1]
    raise ProtoryNetError(f"training with Ray failed: {reason}")


class _Bars:
    """One progress bar after the other, as the workers come from one task to the next."""

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled
        self._stack = contextlib.ExitStack()
        self._task, self._percent = "", 0
        self._advance: Advance = lambda steps: None

    def __enter__(self) -> _Bars:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def show(self, task: str, share: float) -> None:
        """Show that some share of a task is done."""
        if task != self._task:
            self._stack.close()
            bar = progress_bar(task, 100, enabled=self._enabled)
            self._advance = self._stack.enter_context(bar)
            self._task, self._percent = task, 0
        percent = int(100 * share)
        self._advance(percent - self._percent)
        self._percent = percent


def _installed(classifier: ProtoryNetClassifier, outcome: Outcome) -> ProtoryNetClassifier:
    """Give a classifier what the workers made."""
    if outcome.error is not None:
        raise error_of(*outcome.error)
    with tempfile.TemporaryDirectory(prefix="protorynet-") as place:
        for name, content in outcome.files.items():
            path = Path(place, "model", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        loaded = ProtoryNetClassifier.load(Path(place, "model"), device=classifier.device)
    classifier._install(loaded.model_, loaded.encoder_, tuned=loaded._tuned)
    classifier.n_skipped_ = outcome.n_skipped
    return classifier
