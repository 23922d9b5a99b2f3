"""How many workers a cluster can feed, and what each of them takes."""

from __future__ import annotations

import socket
from collections import Counter
from types import ModuleType
from typing import Any

from protorynet import errors
from protorynet.encoders import Encoder, load_encoder

__all__ = [
    "Attempts",
    "error_of",
    "load_same_encoder",
    "n_workers",
    "start_here",
    "worker_pool",
]

_MOST_ATTEMPTS = 5


def n_workers(ray: ModuleType, device: str = "auto") -> int:
    """Return the GPUs of a cluster or, if it has none or may use none, its CPUs."""
    resources = ray.cluster_resources()
    gpus = 0 if device == "cpu" else int(resources.get("GPU", 0))
    return max(1, gpus or int(resources.get("CPU", 1)))


def worker_pool(ray: ModuleType, pieces: int, device: str = "auto") -> dict[str, Any]:
    """Return the options of a stage of Ray Data whose workers each load a model once.

    Parameters
    ----------
    ray
        Ray, connected.
    pieces
        The pieces of work; more workers than that are never needed.
    device
        Where the workers compute; ``"cpu"`` leaves GPUs alone.
    """
    on_gpu = device != "cpu" and bool(ray.cluster_resources().get("GPU"))
    size = min(n_workers(ray, device), pieces)
    return {
        # One piece is worked on and one waits, so that no worker is idle and none hoards.
        "compute": ray.data.ActorPoolStrategy(size=size, max_tasks_in_flight_per_actor=2),
        "num_cpus": 1,
        "num_gpus": int(on_gpu),
        "batch_format": "pyarrow",
        "batch_size": None,
    }


class Attempts:
    """Counts how often each piece of work was begun.

    Ray gives the work of a lost worker to another without end, so work that takes too much memory
    would kill one worker after another.
    """

    def __init__(self) -> None:
        self._begun: Counter[int] = Counter()

    def begin(self, piece: int) -> bool:
        """Count another attempt, and say whether it may be made."""
        self._begun[piece] += 1
        return self._begun[piece] <= _MOST_ATTEMPTS


def error_of(kind: str, message: str) -> errors.ProtoryNetError:
    """Return the error that a worker told of by its kind and message."""
    error: type[errors.ProtoryNetError] = getattr(errors, kind, errors.ProtoryNetError)
    # Those with arguments of their own cannot be made of a message.
    own = [base for base in error.__mro__ if issubclass(base, errors.ProtoryNetError)]
    is_plain = not any("__init__" in vars(base) for base in own)
    return error(message) if is_plain else errors.InputError(message)


def load_same_encoder(spec: str, fingerprint: str | None, *, device: str = "auto") -> Encoder:
    """Load an encoder on a worker, and refuse one that differs from that of the command.

    Parameters
    ----------
    spec
        Its name or folder.
    fingerprint
        The fingerprint that it must have, if any.
    device
        Where it is to compute.
    """
    encoder = load_encoder(spec, device=device)
    if fingerprint not in (None, encoder.fingerprint):
        raise errors.EncoderError(
            f"the encoder {spec!r} on {socket.gethostname()} is another one than on the machine of "
            "the command; put the same files there."
        )
    return encoder


def start_here(ray: ModuleType, kind: type) -> Any:
    """Return an object that all workers share, kept on the machine of the command."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    # Elsewhere it could be lost, and every worker with it that asks.
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    shared = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(kind)
    return shared.options(scheduling_strategy=here).remote()
