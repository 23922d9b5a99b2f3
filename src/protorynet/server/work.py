"""Threads that do what takes long, so that the event loop stays free to answer others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from fastapi import FastAPI

from protorynet.server.failures import ApiError

__all__ = ["WorkPool", "run_in_pool"]

P = ParamSpec("P")
T = TypeVar("T")

_THREADS = 4


class WorkPool:
    """A few threads, and a bounded number of calls that wait for them.

    Parameters
    ----------
    max_waiting
        Calls that may wait or run; further ones are refused with 429.
    seconds
        How long a caller waits for its result before it is told 503.
    """

    def __init__(self, *, max_waiting: int, seconds: float) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="protorynet")
        self._max_waiting = max_waiting
        self._seconds = seconds
        self._waiting = 0

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function on a thread, and return what it returns."""
        if self._waiting >= self._max_waiting:
            raise too_busy(self._waiting)
        self._waiting += 1
        future = self._threads.submit(function, *args, **kwargs)
        loop = asyncio.get_running_loop()
        future.add_done_callback(lambda _: _from_thread(loop, self._count_down))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._seconds)
        except TimeoutError:
            raise too_slow(self._seconds) from None

    def close(self) -> None:
        """Let what runs come to its end, and drop what has not begun."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _count_down(self) -> None:
        self._waiting -= 1


async def run_in_pool(
    app: FastAPI, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Call a function on a thread of the app's pool, and return what it returns."""
    pool: WorkPool = app.state.pool
    return await pool.run(function, *args, **kwargs)


def too_busy(waiting: int) -> ApiError:
    """Return the error for one request more than may wait."""
    return ApiError(
        429,
        "too_busy",
        f"{waiting} requests are waiting already, and no more may. Try again in a second.",
        headers={"Retry-After": "1"},
    )


def too_slow(seconds: float) -> ApiError:
    """Return the error for a request whose time is over."""
    return ApiError(
        503,
        "timeout",
        f"the work was not done within {seconds:g} seconds. Send less at a time, or try again "
        "when the server is less busy.",
        headers={"Retry-After": "5"},
    )


def _from_thread(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(call)
