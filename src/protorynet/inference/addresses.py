"""Files by path or by an address such as s3://bucket/folder, wherever Arrow can reach them."""

from __future__ import annotations

import contextlib
import re
import uuid
from pathlib import Path, PurePath, PurePosixPath
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import fs

from protorynet.data import one_line
from protorynet.errors import InputError
from protorynet.files import write_atomically

_OBJECT_STORES = {"s3", "gcs", "abfs"}  # a file shows there only once it is complete
_KEYS = re.compile(r"(?<=://)[^/@\s]+@")


def is_address(given: str) -> bool:
    """Say whether a file or folder is given as SCHEME://…."""
    return "://" in given


def hide_keys(message: str) -> str:
    """Return a message without the keys that addresses in it may hold."""
    return _KEYS.sub("…@", message)


def open_filesystem(address: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of an address and the path inside it."""
    if not is_address(address):
        return fs.LocalFileSystem(), str(Path(address).absolute())
    try:
        system, path = fs.FileSystem.from_uri(address)
    except (pa.ArrowException, OSError) as error:
        raise InputError(hide_keys(f"{address} cannot be opened: {one_line(error)}")) from None
    return system, path


def normalise_address(address: str) -> PurePath:
    """Return an address so that two ways to write it are equal; nothing is asked over a network."""
    if not is_address(address) or address.startswith("file://"):
        return Path(open_filesystem(address)[1]).resolve()
    return PurePosixPath(unquote(_KEYS.sub("", address.partition("?")[0])))


def open_files(address: str) -> Files:
    """Return the files of a folder by its path or address."""
    return _RemoteFiles(address) if is_address(address) else _LocalFiles(Path(address))


class _LocalFiles:
    """The files of a folder here; not by way of Arrow, which needs names in UTF-8."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self, *, all_kinds: bool = False) -> list[str]:
        return [path.name for path in self._folder.iterdir()] if self._folder.is_dir() else []

    def read(self, name: str) -> bytes:
        return (self._folder / name).read_bytes()

    def write(self, name: str, content: bytes) -> None:
        write_atomically(self._folder / name, content)

    def delete(self, name: str) -> None:
        (self._folder / name).unlink(missing_ok=True)


class _RemoteFiles:
    """The files of a folder at an address; a file is written whole or not at all."""

    def __init__(self, address: str) -> None:
        self._system, self._folder = open_filesystem(address)

    def names(self, *, all_kinds: bool = False) -> list[str]:
        selector = fs.FileSelector(self._folder, allow_not_found=True)
        infos = self._system.get_file_info(selector)
        return [info.base_name for info in infos if info.is_file or all_kinds]

    def read(self, name: str) -> bytes:
        with self._system.open_input_stream(f"{self._folder}/{name}") as stream:
            content: bytes = stream.read()
        return content

    def write(self, name: str, content: bytes) -> None:
        self._system.create_dir(self._folder, recursive=True)
        target = f"{self._folder}/{name}"
        is_whole_at_once = self._system.type_name in _OBJECT_STORES
        # A name of its own, because a worker thought dead may still write the same part.
        fresh = target if is_whole_at_once else f"{self._folder}/.{uuid.uuid4().hex}"
        with self._system.open_output_stream(fresh) as stream:
            stream.write(content)
        if fresh != target:
            self._system.move(fresh, target)

    def delete(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._system.delete_file(f"{self._folder}/{name}")


Files = _LocalFiles | _RemoteFiles
