"""Ray: one of our own on this machine or a cluster that is there, its workers, and encoding."""

import importlib.util
import logging
import os
import secrets
import socket
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from protorynet import errors
from protorynet.data import one_line
from protorynet.encoders import Encoder, load_encoder
from protorynet.errors import InputError, MissingExtraError, ProtoryNetError
from protorynet.progress import progress_bar

# What passes through it is work orders and blocks of vectors of a few megabytes.
_OBJECT_STORE_BYTES = 256 * 2**20
_CONNECT_SECONDS = 10.0
_WORKERS_LOST_WHILE_STARTING = 5
_ATTEMPTS_PER_PIECE = 5
# Lost with a worker and done again; large enough that sending it costs nothing beside encoding.
_SENTENCES_PER_BLOCK = 2_048


@contextmanager
def ray_session(address: str | None = None) -> Iterator[ModuleType]:
    """Give Ray, connected, while the block runs.

    A Ray that this process uses already is taken as it is and left running. The address is
    ``HOST:PORT`` or ``"auto"`` for a cluster that is there; without one, Ray starts on this machine
    and stops after the block.
    """
    if importlib.util.find_spec("ray") is None:
        raise MissingExtraError("Ray", "ray", extra="scale")
    _prepare_environment(own=address is None)
    import ray
    import ray.data

    if ray.is_initialized():
        yield ray
        return
    with _connected(ray, address):
        # Ray Data reports every run on standard error; what matters is raised as an error.
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        # By default a worker that is lost while it starts ends the run.
        context.max_consecutive_actor_init_deaths = _WORKERS_LOST_WHILE_STARTING
        if address is not None:
            _check_nodes(ray)
        yield ray


def _prepare_environment(*, own: bool) -> None:
    """Let Ray report nothing, and guard a Ray of our own by a token of its own."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Ray Data would call its own way of starting workers an error, on every run.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    if own and "RAY_AUTH_MODE" not in os.environ:
        # Ray listens on all interfaces, and would write a token into the home directory.
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        if "ray" not in sys.modules:  # otherwise it has read this already, and sets it itself
            os.environ["RAY_AUTH_MODE"] = "token"


@contextmanager
def _silence_stderr() -> Iterator[None]:
    """Keep from standard error what compiled code writes there, such as its log level."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@contextmanager
def _connected(ray: ModuleType, address: str | None) -> Iterator[None]:
    # The path of a Unix socket holds about a hundred characters, and Ray adds sixty.
    where = "/tmp" if Path("/tmp").is_dir() else None  # noqa: S108
    # The folder is removed last: while Ray runs, it writes there.
    with tempfile.TemporaryDirectory(prefix="ray-", dir=where, ignore_cleanup_errors=True) as own:
        try:
            if address is not None:
                _join(ray, address)
            else:
                with _silence_stderr():
                    ray.init(
                        address="local",
                        include_dashboard=False,
                        object_store_memory=_OBJECT_STORE_BYTES,
                        log_to_driver=False,
                        logging_level=logging.CRITICAL,
                        _temp_dir=own,
                    )
            yield
        finally:
            ray.shutdown()


def _join(ray: ModuleType, address: str) -> None:
    if address != "auto":
        host, _, port = address.rpartition(":")
        if not host or "/" in host or not port.isdecimal():
            raise InputError(
                f"{address!r} is no address of a Ray cluster; give 'auto' or HOST:PORT, as printed "
                "by ray start --head."
            )
        try:
            socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
        except (OSError, OverflowError) as error:
            raise InputError(
                f"nothing answers at {address} ({error}); start the cluster with: ray start --head"
            ) from None
    try:
        with _silence_stderr():
            ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL)
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise InputError(
            f"cannot join the Ray cluster at {address!r}: {one_line(error.__cause__ or error)}. "
            "Run this on a machine of the cluster, with its RAY_AUTH_MODE and RAY_AUTH_TOKEN."
        ) from None


def _check_nodes(ray: ModuleType) -> None:
    """Refuse a cluster on whose machines this version of the package is not installed."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    import protorynet

    # Nested, so that it travels as code: the package may be missing over there.
    def installed_version() -> str | None:
        try:
            import protorynet
        except ImportError:
            return None
        return protorynet.__version__

    ask = ray.remote(num_cpus=0)(installed_version)
    nodes = [node for node in ray.nodes() if node["Alive"]]
    pinned = [NodeAffinitySchedulingStrategy(node["NodeID"], soft=False) for node in nodes]
    answers = [ask.options(scheduling_strategy=each).remote() for each in pinned]
    for node, answer in zip(nodes, answers, strict=True):
        try:
            found = ray.get(answer)
        except ray.exceptions.RayError as error:
            raise ProtoryNetError(
                f"the machine {node['NodeName']} of the cluster does not work: {one_line(error)}"
            ) from None
        if found != protorynet.__version__:
            what = "is not installed" if found is None else f"is {found}"
            wanted = protorynet.__version__
            raise InputError(
                f"protorynet {what} on the machine {node['NodeName']} of the cluster, but "
                f"{wanted} is here; install there: pip install 'protorynet[scale]=={wanted}'"
            )


def n_workers(ray: ModuleType, device: str = "auto") -> int:
    """Return the GPUs of a cluster or, if it has none or may use none, its CPUs."""
    resources = ray.cluster_resources()
    gpus = 0 if device == "cpu" else int(resources.get("GPU", 0))
    return max(1, gpus or int(resources.get("CPU", 1)))


class _Attempts:
    """Counts how often each piece of work was begun.

    Ray gives the work of a lost worker to another without end, so work that takes too much memory
    would kill one worker after another.
    """

    def __init__(self) -> None:
        self._begun: Counter[int] = Counter()

    def begin(self, piece: int) -> bool:
        """Count another attempt, and say whether it may be made."""
        self._begun[piece] += 1
        return self._begun[piece] <= _ATTEMPTS_PER_PIECE


class Worker:
    """A worker: it opens what its job needs once, and answers piece after piece of work.

    A job has `open()`, `answer(opened, piece)` and, for messages, `name(piece)`. What goes wrong is
    an answer too, because an exception would reach the user as pages of Ray's own.
    """

    def __init__(self, job: Any, attempts: Any) -> None:
        self._job, self._attempts = job, attempts
        self._opened: Any = None

    def __call__(self, piece: pa.Table) -> pa.Table:
        """Answer a piece, or say what went wrong."""
        import ray

        try:
            if not ray.get(self._attempts.begin.remote(piece.column(0)[0].as_py())):
                raise ProtoryNetError(
                    f"{self._job.name(piece)} ended every worker that took them, most likely for "
                    "want of memory; offer fewer CPUs per machine to Ray."
                )
            if self._opened is None:
                self._opened = self._job.open()
            answer: pa.Table = self._job.answer(self._opened, piece)
        except ProtoryNetError as error:
            message = f"{error} (on {socket.gethostname()})"
            answer = pa.table({"error": [type(error).__name__], "message": [message]})
        return answer


def work_off(
    ray: ModuleType, job: Any, pieces: Sequence[pa.Table], device: str = "auto"
) -> Iterator[pa.Table]:
    """Yield what workers answer to pieces of work, which their first numbers tell apart.

    Each worker opens the job once; there are never more of them than pieces. The device ``"cpu"``
    leaves GPUs alone.
    """
    size = min(n_workers(ray, device), len(pieces))
    stage = ray.data.from_arrow(list(pieces)).map_batches(
        Worker,
        fn_constructor_args=(job, start_here(ray, _Attempts)),
        # One piece is worked on and one waits, so that no worker is idle and none hoards.
        compute=ray.data.ActorPoolStrategy(size=size, max_tasks_in_flight_per_actor=2),
        num_cpus=1,
        num_gpus=int(device != "cpu" and bool(ray.cluster_resources().get("GPU"))),
        batch_format="pyarrow",
        batch_size=None,
    )
    try:
        for answer in stage.iter_batches(batch_size=None, batch_format="pyarrow"):
            if "error" in answer.column_names:
                raise error_of(*(answer.column(name)[0].as_py() for name in ("error", "message")))
            yield answer
    except ray.exceptions.RayError as error:
        raise ProtoryNetError(f"Ray gave up: {' '.join(str(error).split())[-300:]}") from None


def error_of(kind: str, message: str) -> errors.ProtoryNetError:
    """Return the error of a worker by its kind and message."""
    error: type[errors.ProtoryNetError] = getattr(errors, kind, errors.ProtoryNetError)
    # Those with arguments of their own cannot be made of a message.
    return errors.InputError(message) if "__init__" in vars(error) else error(message)


def load_same_encoder(spec: str, fingerprint: str | None, *, device: str = "auto") -> Encoder:
    """Load an encoder on a worker, and refuse one of another fingerprint than the command's."""
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


def encode_with_ray(
    encoder: str,
    texts: Sequence[str],
    *,
    fingerprint: str | None = None,
    device: str = "auto",
    address: str | None = None,
    progress: bool = False,
) -> NDArray[np.float32]:
    """Return the vectors of sentences, best each one once, in their order.

    The encoder is on every machine of the cluster; one of another fingerprint is refused. The
    device ``"cpu"`` leaves the GPUs alone; the address is as `ray_session` takes it.
    """
    if not texts:
        return np.empty((0, 0), dtype=np.float32)
    # Like lengths together need little padding; some workers wait for the last blocks.
    order = np.array(sorted(range(len(texts)), key=lambda at: -len(texts[at])), dtype=np.int64)
    result = np.empty((len(texts), 0), dtype=np.float32)
    tables = [
        pa.table({"row": some, "text": [texts[at] for at in some]})
        for some in np.split(order, range(_SENTENCES_PER_BLOCK, len(order), _SENTENCES_PER_BLOCK))
    ]
    with (
        ray_session(address) as ray,
        progress_bar(f"Encoding {len(texts):,} sentences", len(texts), enabled=progress) as advance,
    ):
        for block in work_off(ray, Encoding(encoder, fingerprint, device), tables, device):
            content = b"".join(block.column("vector").to_pylist())
            vectors = np.frombuffer(content, "<f4").reshape(len(block), -1)
            if not result.size:
                result = np.empty((len(texts), vectors.shape[1]), dtype=np.float32)
            result[block.column("row").to_numpy()] = vectors
            advance(len(block))
    return result


@dataclass(frozen=True)
class Encoding:
    """The job of encoding blocks of sentences, by an encoder of the fingerprint given, if any."""

    spec: str
    fingerprint: str | None
    device: str

    def open(self) -> Encoder:
        """Load the encoder."""
        return load_same_encoder(self.spec, self.fingerprint, device=self.device)

    def answer(self, encoder: Encoder, block: pa.Table) -> pa.Table:
        """Return the rows with their vectors."""
        encoded = encoder.encode(block.column("text").to_pylist())
        vectors = [vector.tobytes() for vector in np.ascontiguousarray(encoded, dtype="<f4")]
        return pa.table({"row": block.column("row"), "vector": pa.array(vectors, pa.binary())})

    def name(self, block: pa.Table) -> str:
        """Say which sentences a block holds."""
        return f"{len(block)} sentences, that of row {block.column('row')[0]} the first,"
