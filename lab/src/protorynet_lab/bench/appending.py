"""Adding a line to a file of records, so that neither a kill nor another run can spoil it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from protorynet.records import finite

__all__ = ["append_record"]


def append_record(path: Path, values: Mapping[str, Any]) -> None:
    """Add one line to a file of records, complete and on disk before this returns.

    The torn line that a kill may have left at the end is cut off first. Of two runs that write to
    the same file, one waits for the other. A figure that is no number, which JSON does not know, is
    written as not measured.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    line = json.dumps(finite(values), ensure_ascii=False, allow_nan=False, sort_keys=True) + "\n"
    with path.open("a+b") as file:
        _lock(file)
        _cut_torn_line(file)
        file.write(line.encode("utf-8", "backslashreplace"))
        file.flush()
        os.fsync(file.fileno())


def _lock(file: IO[bytes]) -> None:
    """Keep others from writing until the file is closed, where the system can."""
    with suppress(ImportError, OSError):
        import fcntl  # not on Windows

        fcntl.flock(file, fcntl.LOCK_EX)


def _cut_torn_line(file: IO[bytes]) -> None:
    end = file.seek(0, os.SEEK_END)
    if not end:
        return
    file.seek(end - 1)
    if file.read(1) == b"\n":
        return
    file.seek(0)
    content = file.read()
    begin = content.rfind(b"\n") + 1
    try:
        json.loads(content[begin:])
    except ValueError:
        file.truncate(begin)
        file.seek(0, os.SEEK_END)
    else:
        file.write(b"\n")  # whole but for its end
