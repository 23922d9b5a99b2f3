"""How many threads compute: one for small tensors; for many batches one each, side by side.

The threads of a single product wait for each other in a busy loop. Where others use the cores too,
they wait most of the time: two threads then take several times as long as one.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, Generic, TypeVar, cast

_MOST_WORKERS = 16
_CORES_KEPT = 2  # from other processes, for this one

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

# What the user allows, as the main thread last said, and how many blocks keep torch at less now.
_allowed = 0
_lowered = 0
_LOCK = threading.Lock()


def count_threads() -> int:
    """Return how many threads may compute.

    That is what torch was told by OMP_NUM_THREADS or `torch.set_num_threads`, else one for each
    core that this process may use. Joblib and Ray tell it to their workers.
    """
    global _allowed
    if torch := sys.modules.get("torch"):
        is_main = threading.current_thread() is threading.main_thread()
        if not _allowed or (is_main and not _lowered):
            _allowed = torch.get_num_threads()
        return _allowed
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    if wanted.isascii() and wanted.isdigit() and int(wanted):
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def threads_for_training(device: str, *, full: bool) -> Iterator[None]:
    """Let small models be trained with one thread, scikit-learn's loops included.

    A whole encoder, and whatever a GPU waits for, is worth all of them.
    """
    if full or device != "cpu" or count_threads() == 1:
        yield
        return
    from threadpoolctl import threadpool_limits

    with one_thread(), threadpool_limits(1, user_api="openmp"):
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch compute with one thread in this block."""
    with _torch_threads(1):
        yield


@contextmanager
def all_threads() -> Iterator[None]:
    """Let torch compute with all threads in this block, within one that allows less."""
    with _torch_threads(count_threads()):
        yield


@contextmanager
def _torch_threads(count: int) -> Iterator[None]:
    global _lowered
    torch = sys.modules.get("torch")
    if torch is None or (before := torch.get_num_threads()) == count:
        yield
        return
    with _LOCK:
        _lowered += 1
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
        with _LOCK:
            _lowered -= 1


def map_in_threads(
    work: Callable[[_Item], _Result], items: Iterable[_Item], *, device: str = "cpu"
) -> list[_Result]:
    """Return `work` of each item, in order; on a CPU several run at once, each with one thread.

    So no result depends on the number of threads, not in the last bit.
    """
    rest = iter(items)
    first = list(islice(rest, 2))
    workers = count_threads() if device == "cpu" else 1
    if workers == 1 or len(first) < 2:
        with one_thread():
            return [work(item) for item in chain(first, rest)]
    # Threads that start in here take over that torch computes with one.
    with one_thread(), ThreadPoolExecutor(workers, initializer=_take_one) as pool:
        return list(pool.map(work, chain(first, rest)))


def read_ahead(items: Iterator[_Item]) -> Iterator[_Item]:
    """Yield items while a thread makes the next one ready."""
    end: list[_Item] = []
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = reader.submit(next, items, end)
            yield cast(_Item, item)


def map_ahead(work: Callable[[_Item], _Result], items: Iterable[_Item]) -> Iterator[_Result]:
    """Yield `work` of each item, in order, while two threads work on those that come next."""
    with ThreadPoolExecutor(2) as pool:
        coming: deque[Future[_Result]] = deque()
        for item in items:
            coming.append(pool.submit(work, item))
            if len(coming) > 2:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()


def map_in_processes(work: Callable[[_Item], _Result], items: Sequence[_Item]) -> Iterator[_Result]:
    """Yield `work` of each item, in order; other processes do it for the items that come next.

    They are forked, by torch, so `work` may use nothing of a GPU. Where that cannot be, or there
    are not cores enough, an item is worked on when it is asked for.
    """
    can_fork = sys.platform == "linux" and "torch" in sys.modules
    can_fork = can_fork and not multiprocessing.current_process().daemon
    workers = min(_MOST_WORKERS, count_threads() - _CORES_KEPT, len(items)) if can_fork else 0
    if workers < 2:
        yield from map(work, items)
        return
    import torch
    from torch.utils.data import DataLoader

    loader: Any = DataLoader(
        _Lazy(work, items),  # type: ignore[arg-type]
        batch_size=None,
        num_workers=workers,
        multiprocessing_context="fork",
        collate_fn=_as_it_is,
        worker_init_fn=_use_one_core,
        generator=torch.Generator(),  # which leaves the caller's random numbers as they are
    )
    gc.freeze()  # a child that collected what the parent left of a GPU's things would abort
    try:
        with warnings.catch_warnings():
            # Python warns of a child without the parent's threads: these need none of them.
            warnings.simplefilter("ignore", DeprecationWarning)
            results = iter(loader)
    except OSError:  # no processes more, or none that could answer: small containers
        results = map(work, items)
    finally:
        gc.unfreeze()
    yield from results


class _Lazy(Generic[_Item, _Result]):
    """Items that are worked on when they are asked for."""

    def __init__(self, work: Callable[[_Item], _Result], items: Sequence[_Item]) -> None:
        self._work, self._items = work, items

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, number: int) -> _Result:
        return self._work(self._items[number])


def _as_it_is(item: _Item) -> _Item:
    return item


def _use_one_core(worker: int) -> None:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # its threads are not in a forked process


def _take_one() -> None:
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)
