"""Paths and addresses such as s3://bucket/folder, for every file system that Arrow knows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePath, PurePosixPath
from urllib.parse import quote, unquote

import pyarrow as pa
from pyarrow import fs

from protorynet.data import find_files
from protorynet.errors import InputError, TableError

__all__ = ["filesystem_of", "find_parquet", "is_address", "is_object_store", "located", "shown"]

_OBJECT_STORES = {"s3", "gcs", "abfs"}
_SECRETS = re.compile(r"(?<=://)[^/@\s]+@")


def is_address(place: str) -> bool:
    """Say whether a place is given as SCHEME://….

    Examples
    --------
    >>> is_address("s3://bucket/reviews"), is_address("/shared/reviews")
    (True, False)
    """
    return "://" in place


def shown(message: str) -> str:
    """Return a message without the keys that addresses in it may hold.

    Examples
    --------
    >>> shown("s3://key:secret@bucket/reviews cannot be read")
    's3://…@bucket/reviews cannot be read'
    """
    return _SECRETS.sub("…@", message)


def filesystem_of(place: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of a place and the path inside it.

    Examples
    --------
    >>> filesystem_of("/shared/reviews")[1]
    '/shared/reviews'
    """
    if not is_address(place):
        return fs.LocalFileSystem(), str(Path(place).absolute())
    try:
        system, path = fs.FileSystem.from_uri(place)
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        raise InputError(shown(f"{place} cannot be opened: {reason}")) from None
    return system, path


def located(place: str) -> PurePath:
    """Return a place so that two ways to write it are equal; nothing is asked over a network.

    Examples
    --------
    >>> located("file:///shared/reviews") == located("/shared/../shared/reviews")
    True
    >>> located("s3://me:secret@bucket/a.parquet?region=x").is_relative_to(located("s3://bucket/"))
    True
    """
    if not is_address(place) or place.startswith("file://"):
        return Path(filesystem_of(place)[1]).resolve()
    return PurePosixPath(unquote(_SECRETS.sub("", place.partition("?")[0])))


def is_object_store(system: fs.FileSystem) -> bool:
    """Say whether a file shows there only once it is complete, so that no renaming is needed."""
    return system.type_name in _OBJECT_STORES


def find_parquet(inputs: Sequence[str | Path]) -> list[str]:
    """Return the Parquet files that paths, folders and patterns stand for, in their order.

    They are those that one machine would read, sorted by name within a folder or a pattern.

    Raises
    ------
    TableError
        If there are none, or one is of another format.
    """
    found = []
    for given in map(str, inputs):
        if is_address(given):
            found += _files_at(given)
        else:
            found += [str(path.absolute()) for path in find_files([given])]
    for place in found:
        if not _is_parquet(place.partition("?")[0]):
            raise TableError(
                f"{shown(place)} is not a Parquet file, and Ray's workers read no other format; "
                "convert it first, or leave out --engine ray."
            )
    if repeated := [place for place, times in Counter(found).items() if times > 1]:
        raise TableError(f"{shown(repeated[0])} is given more than once.")
    return found


def _files_at(given: str) -> list[str]:
    # What follows a question mark says how to connect, so it cannot stand for a character.
    address, _, options = given.partition("?")
    options = options and f"?{options}"
    folder, _, pattern = address.rpartition("/") if "*" in address else (address, "", "*")
    system, path = filesystem_of(folder + options)
    try:
        if system.get_file_info(path).is_file:
            return [given]
        infos = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        raise TableError(shown(f"{given} cannot be reached: {reason}")) from None
    names = sorted(info.base_name for info in infos if info.is_file and _is_visible(info.base_name))
    matching = [name for name in names if fnmatchcase(name, pattern) and _is_parquet(name)]
    if not matching:
        raise TableError(f"there is no Parquet file at {shown(given)}; check the address.")
    return [f"{folder.rstrip('/')}/{quote(name)}{options}" for name in matching]


def _is_parquet(name: str) -> bool:
    return name.lower().endswith(".parquet")


def _is_visible(name: str) -> bool:
    return not name.startswith(("_", "."))
