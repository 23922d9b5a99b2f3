"""Files and directories: old ones stay whole whatever happens, and strange ones are not read."""

import ctypes
import errno
import hashlib
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from protorynet.errors import InputError

_OF_DESKTOPS = {".DS_Store", "Thumbs.db"}


def read_limited(path: Path, largest: int) -> bytes:
    """Read a plain file of at most so many bytes; anything else is an OSError."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is no plain file")
    with path.open("rb") as file:
        content = file.read(min(status.st_size, largest) + 1)
    if len(content) > largest:
        raise OSError(errno.EFBIG, f"it is larger than {largest:,} bytes")
    return content


def write_atomically(path: Path, content: str | bytes, *, is_private: bool = False) -> None:
    """Write a file under a temporary name beside it, then move it into place.

    A link stays one: what it points to is written. A device or a pipe is written into. A private
    file is readable by its owner alone, at every moment.
    """
    path = path.resolve()
    data = content.encode() if isinstance(content, str) else content
    if path.exists() and not path.is_file() and not path.is_dir():
        path.write_bytes(data)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = _name_beside(path)
    try:
        fresh.touch(0o600 if is_private else 0o666, exist_ok=False)
        with fresh.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def check_replaceable(
    folder: Path, *, kind: str, marks: Collection[str], is_own: Callable[[str], bool]
) -> None:
    """Refuse to put a folder in the place of anything but an earlier one of its kind.

    Every folder of the kind holds the `marks`; what is not its `is_own` would be lost.
    """
    if not folder.exists():
        return
    names = {each.name for each in folder.iterdir()} - _OF_DESKTOPS if folder.is_dir() else set()
    if not folder.is_dir() or (names and not names.issuperset(marks)):
        raise InputError(f"{folder} exists and is not {kind}; choose another name.")
    others = sorted(name for name in names if not is_own(name))
    if others:
        raise InputError(
            f"{folder} holds {others[0]!r}, which is no part of {kind} and would be lost; move it "
            "elsewhere, or choose another name."
        )


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Wait for other processes that do this in the same folder; each gives way however it ends.

    Where the system or the file system knows no locks, nobody waits.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def replaced_directory(path: Path) -> Iterator[Path]:
    """Give an empty directory to fill; it takes the place of `path` only if the block succeeds.

    It is on disk before it takes the name, so that a power cut, too, leaves the old or the new.
    """
    path = path.resolve()  # a link stays a link; what it points to is replaced
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = _name_beside(path)
    fresh.mkdir()
    try:
        yield fresh
        for each in fresh.rglob("*"):
            if each.is_file():
                sync_file(each)
        move_directory(fresh, path)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def move_directory(fresh: Path, path: Path) -> None:
    """Give a complete directory the name of another, which is then removed.

    Where the system cannot exchange two names at once, the old one is moved aside before, and for
    that moment lies beside under a name that begins with a dot and ends in ``.old``.
    """
    if not path.exists():
        fresh.rename(path)
        return
    if _exchange(fresh, path):
        shutil.rmtree(fresh, ignore_errors=True)
        return
    old = fresh.with_name(fresh.name + ".old")
    path.rename(old)
    try:
        fresh.rename(path)
    except BaseException:
        old.rename(path)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _exchange(first: Path, second: Path) -> bool:
    """Let two directories change names at once; say whether the system could."""
    at_present, exchange = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):  # of another system
        return False
    names = os.fsencode(first), os.fsencode(second)
    return bool(rename(at_present, names[0], at_present, names[1], exchange) == 0)


def sync_file(file: Path) -> None:
    """Wait until a file's content is on disk, so that a power cut does not lose it."""
    handle = os.open(file, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def hash_file(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_folder(folder: Path) -> str:
    """Return a hash of all files below a folder, hidden ones, such as finished parts, left out."""
    digest = hashlib.sha256()
    for name in list_files(folder):
        if not any(part.startswith(".") for part in Path(name).parts):
            digest.update(os.fsencode(f"{name} {hash_file(folder / name)}\n"))
    return digest.hexdigest()


def list_files(folder: Path) -> list[str]:
    """Return the names of all files below a folder, relative to it and with "/" between."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return [path.relative_to(folder).as_posix() for path in paths]


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files below a folder by their names, as `list_files` gives them."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _name_beside(path: Path) -> Path:
    """Return a hidden name that nothing has."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}")
