"""A fault at every file operation in turn, as SQLite tests itself.

An audit hook sees whatever Python is about to do to a file below one folder, and SQLite lets its
system calls be replaced: every opening, write of SQLite's, move, removal and flush is counted, and
one of them is struck. Then the folder must hold the old state or the new one, whatever else lies
there must be as it was, and the same action must succeed.
"""

import _sqlite3
import ctypes
import errno
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protorynet.errors import ProtoryNetError
from protorynet.server import ApiError

KINDS = ("failure", "full disk", "interrupt", "kill", "power cut")
OF_SQLITE = ("failure", "full disk", "kill", "power cut")  # its C code is not interrupted
_PATH_OF = {
    "open": 0,
    "os.chmod": 0,
    "os.link": 1,
    "os.mkdir": 0,
    "os.remove": 0,
    "os.rename": 0,
    "os.rmdir": 0,
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_active: list["Striker"] = []


class Killed(BaseException):
    """The process is gone: nothing that it does from here on reaches the disk."""


class Striker:
    """Counts the file operations below a folder, and strikes at one of them."""

    def __init__(self, folder: Path, kind: str = "", at: int = -1, *, really: bool = False) -> None:
        self.folder, self.kind, self.at, self.really = str(folder), kind, at, really
        self.seen: list[str] = []
        self.unsynced: set[str] = set()
        self._is_full = self._is_dead = False

    def operation(self, what: str, path: str, *, writes: bool) -> None:
        if not path.startswith(self.folder + os.sep):
            return
        if self._is_dead:
            raise Killed
        self.seen.append(f"{what} {path.removeprefix(self.folder)}")
        if len(self.seen) - 1 == self.at:
            self._strike()
        if self._is_full and writes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if what == "open" and writes:
            self.unsynced.add(path)

    def moved(self, source: str, target: str) -> None:
        for path in [path for path in self.unsynced if (path + os.sep).startswith(source + os.sep)]:
            self.unsynced.remove(path)
            self.unsynced.add(target + path.removeprefix(source))

    def _strike(self) -> None:
        if self.kind == "failure":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if self.kind == "interrupt":
            raise KeyboardInterrupt
        if self.kind == "full disk":
            self._is_full = True
            return
        if self.really:
            os.kill(os.getpid(), signal.SIGKILL)
        self._is_dead = True
        raise Killed

    def lose_what_was_not_flushed(self) -> None:
        for path in filter(os.path.isfile, self.unsynced):
            os.truncate(path, Path(path).stat().st_size // 2)


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if not _active or event not in _PATH_OF:
        return
    given = arguments[_PATH_OF[event]]
    if isinstance(given, int) or given is None:
        return
    striker, path = _active[0], str(Path(os.fsdecode(given)).absolute())
    mode, flags = (arguments[1] or "", arguments[2]) if event == "open" else ("", 0)
    opens = bool(flags & _WRITING) or bool(set(mode) & set("wax+"))
    striker.operation(event, path, writes=opens or event in ("os.mkdir", "os.link"))
    if event == "os.rename":
        striker.moved(path, str(Path(os.fsdecode(arguments[1])).absolute()))


sys.addaudithook(_watch)  # for good: one cannot be taken away
_fsync = os.fsync


def _watched_fsync(handle: Any) -> None:
    number = handle if isinstance(handle, int) else handle.fileno()
    if _active:
        path = _path_of(number)
        _active[0].operation("fsync", path, writes=True)
        _active[0].unsynced.discard(path)
    _fsync(number)


class _FileSystem(ctypes.Structure):
    """As SQLite declares `sqlite3_vfs`."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("version", "size", "longest")),
        *((f"other{number}", ctypes.c_void_p) for number in range(16)),
        ("set", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)),
        ("get", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)),
    )


_WRITE = ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t
_CALLS = {
    "open": (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_int),
    "write": _WRITE,
    "pwrite": (*_WRITE, ctypes.c_int64),
    "pwrite64": (*_WRITE, ctypes.c_int64),
    "ftruncate": (ctypes.c_int, ctypes.c_int, ctypes.c_int64),
    "unlink": (ctypes.c_int, ctypes.c_char_p),
}
"""SQLite's system calls that change a file: what each returns and takes."""


def _watched_call(name: str, real: Callable[..., int]) -> Callable[..., int]:
    def call(where: int | bytes, *others: int) -> int:
        path = os.fsdecode(where) if isinstance(where, bytes) else _path_of(where)
        if not _active or (name == "open" and not others[0] & _WRITING):
            return real(where, *others)
        striker, is_write = _active[0], "write" in name
        try:
            striker.operation(f"sqlite {name}", path, writes=name != "unlink")
        except OSError as error:
            ctypes.set_errno(error.errno)
            return -1
        except Killed:
            if is_write and striker.kind == "power cut" and len(striker.seen) - 1 == striker.at:
                real(where, others[0], others[1] // 2, *others[2:])
            ctypes.set_errno(errno.EIO)
            return -1
        return real(where, *others)

    return call


def _watch_sqlite() -> list[Any]:
    find = ctypes.CDLL(_sqlite3.__file__).sqlite3_vfs_find
    find.restype = ctypes.POINTER(_FileSystem)
    system, kept = find(None), []
    for name, kinds in _CALLS.items():
        if address := system.contents.get(system, name.encode()):
            prototype = ctypes.CFUNCTYPE(*kinds, use_errno=True)
            kept.append(prototype(_watched_call(name, prototype(address))))
            system.contents.set(system, name.encode(), kept[-1])
    return kept


def _path_of(handle: int) -> str:
    return str(Path(f"/proc/self/fd/{handle}").readlink())


_replaced = _watch_sqlite()  # for good, too


@contextmanager
def striking(striker: Striker) -> Iterator[Striker]:
    """Strike while the block runs."""
    os.fsync = _watched_fsync
    _active.append(striker)
    try:
        yield striker
    finally:
        _active.clear()
        os.fsync = _fsync
        if striker.kind == "power cut":  # at the end, too, if not before
            striker.lose_what_was_not_flushed()


@dataclass(frozen=True)
class Scenario:
    """What is there before, what is done, and how to tell the state; each of a folder."""

    prepare: Callable[[Path], Any]
    act: Callable[[Path], Any]
    state: Callable[[Path], Any]


def strike_everywhere(
    scenario: Scenario,
    tmp_path: Path,
    *,
    kinds: tuple[str, ...] = KINDS,
    every: int = 1,
    really: bool = False,
) -> int:
    """Strike at each operation, or every so many; return how many faults were survived."""
    template, folder = tmp_path / "template", tmp_path / "folder"
    template.mkdir()
    scenario.prepare(template)
    (template / "thesis.txt").write_text("mine")
    (template / ".hidden").mkdir()
    _copy(template, folder)
    old = scenario.state(folder)
    with striking(Striker(folder)) as counted:
        scenario.act(folder)
    new = scenario.state(folder)
    assert old != new
    tried = 0
    for kind in kinds:
        operations = [*counted.seen, *(["the end"] if kind == "power cut" else [])]
        for at in {*range(tried % every, len(operations), every), len(operations) - 1}:
            _copy(template, folder)
            _strike(scenario, Striker(folder, kind, at, really=really))
            where = f"{kind} at operation {at}: {operations[at]}"
            assert scenario.state(folder) in (old, new), where
            assert (folder / "thesis.txt").read_text() == "mine", where
            assert (folder / ".hidden").is_dir(), where
            scenario.act(folder)
            assert scenario.state(folder) == new, f"{where}, then again"
            tried += 1
    return tried


def _strike(scenario: Scenario, striker: Striker) -> None:
    if striker.really:
        if (child := os.fork()) == 0:
            try:
                with striking(striker):
                    scenario.act(Path(striker.folder))
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        return
    known = (OSError, ProtoryNetError, ApiError, KeyboardInterrupt, Killed)
    with suppress(*known), striking(striker):  # any other kind would be a traceback
        scenario.act(Path(striker.folder))


def _copy(template: Path, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(template, folder)
