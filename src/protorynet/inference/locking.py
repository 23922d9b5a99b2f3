"""Keeping two runs from making the same output at once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from protorynet.errors import CheckpointError

__all__ = ["only_one"]

_ATTEMPTS = 100


@contextmanager
def only_one(path: Path, what: Path) -> Iterator[None]:
    """Hold a lock file while the block runs, which may remove it.

    A process gives its locks back however it ends, `kill -9` included. Where the system or the
    file system knows no locks, none is held.

    Parameters
    ----------
    path
        The lock file; its folder is made.
    what
        What is being made, for the message.

    Raises
    ------
    CheckpointError
        If another run holds it.
    """
    try:
        import fcntl  # noqa: F401  (not on Windows)
    except ImportError:
        yield
        return
    file = _held(path, what)
    try:
        yield
    finally:
        file.close()


def _held(path: Path, what: Path) -> BinaryIO:
    for _ in range(_ATTEMPTS):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            file = path.open("ab")
        except FileNotFoundError:
            continue  # a run that ended just now has removed the folder
        if _is_taken(file):
            file.close()
            break
        if _is_there(path, file):
            return file
        file.close()
    raise CheckpointError(
        f"another run is writing {what} at this moment; wait for its end, or choose another name "
        "for the output."
    )


def _is_taken(file: BinaryIO) -> bool:
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _is_there(path: Path, file: BinaryIO) -> bool:
    """Say whether a file that was opened still has its name."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
