"""Training with Ray: a fine-tuned encoder by many workers at once, or a corpus encoded by many."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.classifier import ProtoryNetClassifier
from protorynet.data import Splitter, document_list, split_documents
from protorynet.encoders import EmbeddingCache, Encoder, WindowedEncoder, load_encoder
from protorynet.errors import InputError, ProtoryNetError
from protorynet.files import list_files, write_files
from protorynet.inference import (
    encode_with_ray,
    error_of,
    load_same_encoder,
    ray_session,
    start_here,
)
from protorynet.labels import check_labels, learn_labels
from protorynet.model import PRECOMPUTED
from protorynet.progress import progress_bar, progress_told
from protorynet.training import clear_checkpoint, rank, tunable_encoder

_MOST_LOSSES = 2  # of workers with their machine; training resumes from the last epoch
_SECONDS_BETWEEN_LOOKS = 0.5


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

    With ``encoder_training="full"`` the workers train together, by default one per GPU or, without
    any, one per machine: every batch's sentences are shared out, and the gradient is that of the
    whole batch. Otherwise the workers encode the corpus, and training, which then takes a minute,
    is done here. The encoder is a name or a folder that every machine has.

    The address is ``HOST:PORT`` or ``"auto"`` for a cluster that is there; None starts a Ray here.
    A run that loses a worker resumes from the checkpoint, so with several machines its folder
    should be one that they share.
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
    if not isinstance(classifier.encoder, str | Path) or classifier.encoder == PRECOMPUTED:
        raise InputError(
            "training with Ray needs texts and an encoder with a name or a folder that every "
            f"machine has; {classifier.encoder!r} was given."
        )
    documents = document_list(texts, are_texts=True)
    check_labels(labels, len(documents))
    # Refused here, if they cannot be learned, before anything is started.
    learn_labels(labels).with_names(classifier.class_names)
    encoder = load_encoder(classifier.encoder, device="cpu" if full else classifier.device)
    # Splitting is quick, and finds empty documents.
    sentences = split_documents(
        documents,
        splitter=Splitter(classifier.splitter, classifier.language),
        counter=encoder if isinstance(encoder, WindowedEncoder) else None,
        on_empty=classifier.on_empty,
    )
    if not full:
        known = _encode_sentences(classifier, encoder, sentences.texts, address)
        given = classifier.encoder
        try:
            classifier.set_params(encoder=known)
            classifier.fit(documents, labels, checkpoint=folder, resume=resume)
        finally:
            classifier.set_params(encoder=given)
        classifier._install(classifier.model_, encoder, tuned=None)
        return classifier
    tunable_encoder(encoder)
    if folder is not None and not resume:
        clear_checkpoint(folder)
    # By its own name, which every machine understands alike; the settings hold the others.
    parameters = {**classifier.get_params(deep=False), "encoder": encoder.name}
    parameters |= {"settings": settings, "encoder_training": None}
    parameters |= {"n_prototypes": None, "max_prototypes": None}
    with ray_session(address) as ray:
        scaling = _choose_scaling(ray, workers, classifier.device)
        job = {
            "parameters": parameters,
            "fingerprint": encoder.fingerprint,
            "documents": ray.put((documents, labels)),
            "checkpoint": folder,
            "board": start_here(ray, _Board),
        }
        outcome = _run_workers(ray, job, scaling, progress=classifier.verbose)
    if outcome.error is not None:
        raise error_of(*outcome.error)
    with tempfile.TemporaryDirectory(prefix="protorynet-") as storage:
        write_files(Path(storage, "model"), outcome.files)
        loaded = ProtoryNetClassifier.load(Path(storage, "model"), device=classifier.device)
    classifier._install(loaded.model_, loaded.encoder_, tuned=loaded._tuned)
    classifier.n_skipped_ = outcome.n_skipped
    return classifier


def _encode_sentences(
    classifier: ProtoryNetClassifier, encoder: Encoder, texts: Iterable[str], address: str | None
) -> KnownEncoder:
    """Encode with Ray what no cache knows."""
    sentences = list(dict.fromkeys(texts))
    if getattr(encoder, "is_quick", False):
        sentences = []  # sending them would take longer than encoding them here
    elif classifier.cache:
        found, _ = EmbeddingCache().get(encoder, sentences)
        sentences = [text for text, known in zip(sentences, found, strict=True) if not known]
    vectors = encode_with_ray(
        encoder.name,
        sentences,
        fingerprint=encoder.fingerprint,
        device=classifier.device,
        address=address,
        progress=classifier.verbose,
    )
    return KnownEncoder(encoder, sentences, vectors)


class KnownEncoder:
    """An encoder that has the vectors of some sentences at hand."""

    def __init__(self, encoder: Encoder, texts: list[str], vectors: NDArray[np.float32]) -> None:
        self.name, self.fingerprint = encoder.name, encoder.fingerprint
        self.is_quick = getattr(encoder, "is_quick", False)
        if isinstance(encoder, WindowedEncoder):
            self.window, self.count_tokens = encoder.window, encoder.count_tokens
        self._encoder = encoder
        self._numbers = {text: number for number, text in enumerate(texts)}
        self._vectors = vectors

    def encode(self, sentences: list[str]) -> NDArray[np.float32]:
        """Look the sentences up; where one is not known, encode them all."""
        numbers = [self._numbers.get(sentence, -1) for sentence in sentences]
        return self._encoder.encode(sentences) if -1 in numbers else self._vectors[numbers]


@dataclass(frozen=True)
class _Outcome:
    """What came of it: the files of the model directory, or the kind of error and its message."""

    files: dict[str, bytes] = field(default_factory=dict)
    n_skipped: int = 0
    error: tuple[str, str] | None = None


class _Board:
    """Where the first worker writes its task and the share done, and any of them an error."""

    def __init__(self) -> None:
        self._notes: dict[str, Any] = {"progress": ("Starting workers", 0.0), "error": None}

    def write(self, topic: str, note: Any) -> None:
        self._notes[topic] = note

    def read(self, topic: str) -> Any:
        return self._notes[topic]


def _choose_scaling(ray: ModuleType, workers: int | None, device: str) -> Any:
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
    # The most CPUs each at which so many workers fit.
    for each in range(max(cpus), 0, -1):
        if sum(cpu // each for cpu in cpus) >= count:
            return ScalingConfig(num_workers=count, resources_per_worker={"CPU": each})
    raise InputError(f"workers={count}, but Ray has {sum(cpus)} CPUs; give fewer workers.")


def _run_workers(ray: ModuleType, job: dict[str, Any], scaling: Any, *, progress: bool) -> _Outcome:
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

    with tempfile.TemporaryDirectory(prefix="protorynet-", ignore_cleanup_errors=True) as storage:
        worker: Any = _train_together  # Ray's types know neither results nor its second form
        failures = FailureConfig(max_failures=_MOST_LOSSES)
        config = RunConfig(storage_path=storage, failure_config=failures)
        trainer: Any = TorchTrainer(
            worker, train_loop_config=job, scaling_config=scaling, run_config=config
        )
        # Not in the main thread, whose handler of Ctrl-C Ray would replace by one that exits.
        training = threading.Thread(target=fit, daemon=True)
        training.start()
        with contextlib.ExitStack() as bar:
            shown, done = "", 0
            while training.is_alive():
                training.join(_SECONDS_BETWEEN_LOOKS)
                task, share = ray.get(job["board"].read.remote("progress"))
                if task != shown:
                    bar.close()
                    advance = bar.enter_context(progress_bar(task, 100, enabled=progress))
                    shown, done = task, 0
                advance(int(100 * share) - done)
                done = int(100 * share)
    outcome = results[0]
    if isinstance(outcome, _Outcome):
        return outcome
    reason = (str(outcome).strip().splitlines() or [type(outcome).__name__])[-1]
    raise ProtoryNetError(f"training with Ray failed: {reason}")


def _train_together(job: dict[str, Any]) -> _Outcome | None:
    """Train as one worker of several; the first returns the model."""
    import ray
    import torch.distributed as dist
    from ray.train.torch import get_device

    board, device = job["board"], str(get_device())
    try:
        name, fingerprint = job["parameters"]["encoder"], job["fingerprint"]
        encoder = tunable_encoder(load_same_encoder(name, fingerprint, device=device))
    except ProtoryNetError as error:
        ray.get(board.write.remote("error", (type(error).__name__, str(error))))
    if dist.is_initialized():
        dist.barrier()  # every error is on the board
    if error_there := ray.get(board.read.remote("error")):
        return _Outcome(error=error_there)
    outcome = _train(job, encoder, device)
    return outcome if rank() == 0 else None


def _train(job: dict[str, Any], encoder: Encoder, device: str) -> _Outcome:
    """Train, and return the model; what the user has to mend is an outcome too."""
    import ray

    last = ("", 0)

    def report(task: str, share: float) -> None:
        nonlocal last
        now = (task, int(100 * share))
        if rank() == 0 and now != last:
            job["board"].write.remote("progress", (task, share))
            last = now

    texts, labels = ray.get(job["documents"])
    parameters = {**job["parameters"], "encoder": encoder, "device": device}
    classifier = ProtoryNetClassifier(**parameters)
    # Whatever lies in the folder is of this run: after a loss, or resumed at the user's wish.
    folder = job["checkpoint"]
    try:
        with progress_told(report):
            classifier.fit(texts, labels, checkpoint=folder, resume=folder is not None)
    except ProtoryNetError as error:
        return _Outcome(error=(type(error).__name__, str(error)))
    with tempfile.TemporaryDirectory(prefix="protorynet-") as storage:
        folder = Path(storage, "model")
        classifier.save(folder)
        content = {name: (folder / name).read_bytes() for name in list_files(folder)}
    return _Outcome(content, classifier.n_skipped_)
