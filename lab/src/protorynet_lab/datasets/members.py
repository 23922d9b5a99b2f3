"""The files of a folder or an archive, read one after another and never unpacked to disk.

What archives hold is not trusted: links and devices are passed over, names are only compared, and
no more is read than any of the published archives holds.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Self, cast

from protorynet.data import one_line
from protorynet.errors import TableError

__all__ = ["Member", "members", "reading"]

_MOST_MEMBERS = 200_000  # aclImdb_v1.tar.gz has about 100,000
_MOST_BYTES = 32 * 2**30
_LONGEST_HEADER = 2**20
_LONGEST_LINE = 2**22
_TAR = (".tar", ".tar.gz", ".tgz")
_EXTENDED = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
_UNREADABLE = (
    OSError,
    EOFError,
    NotImplementedError,
    zlib.error,
    tarfile.TarError,
    zipfile.BadZipFile,
)


@dataclass(frozen=True)
class Member:
    """One file.

    Parameters
    ----------
    name
        Its path within the folder or the archive, with ``/`` between.
    stream
        Its content, unpacked; of an archive, only to be read before the next member.
    path
        Where it lies on disk; None within an archive.
    is_alone
        Whether the user named this file itself.
    """

    name: str
    stream: BinaryIO
    path: Path | None = None
    is_alone: bool = False

    @property
    def ending(self) -> str:
        """The ending of its name in lower case, without that of gzip."""
        return Path(self.name.lower().removesuffix(".gz")).suffix

    def lines(self) -> Iterator[str]:
        """Read its lines as text, each with its end."""
        text = io.TextIOWrapper(self.stream, encoding="utf-8-sig", newline="")
        while line := text.readline(_LONGEST_LINE):
            # A line without end, such as a bomb's, must not fill the memory.
            if len(line) == _LONGEST_LINE and not line.endswith("\n"):
                raise TableError(f"{self.name} has a line of more than {_LONGEST_LINE:,} letters.")
            yield line

    def whole(self, most: int) -> str:
        """Read all of its text; more than `most` bytes are refused."""
        content = self.stream.read(most + 1)
        if len(content) > most:
            raise TableError(f"{self.name} holds more than {most:,} bytes; no document does.")
        return content.decode("utf-8-sig")


def members(path: Path) -> Iterator[Member]:
    """Go through the files of a folder, of a tar or zip archive, or the one file given."""
    if path.is_dir():
        return _of_folder(path)
    if not path.exists():
        raise TableError(f"there is no file or folder {path}; check the path.")
    name = path.name.lower()
    if name.endswith(_TAR):
        return _of_tar(path)
    if name.endswith(".zip"):
        return _of_zip(path)
    return _alone(path)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Tell in one line what is wrong with what cannot be read."""
    try:
        yield
    except UnicodeDecodeError:
        raise TableError(
            f"{path} is not UTF-8 text, as the published file is; fetch it again, or convert it "
            "with iconv."
        ) from None
    except _UNREADABLE as error:
        raise TableError(
            f"{path} cannot be read ({one_line(error) or type(error).__name__}); it may be cut "
            "short or of another kind than its ending says. Fetch it again."
        ) from None


class _Budget:
    """How many bytes may still be read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._left = _MOST_BYTES

    def spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise TableError(
                f"{self._path} unpacks to more than {_MOST_BYTES // 2**30} GiB, which none of the "
                "published archives does."
            )


class _Bounded(io.RawIOBase):
    """A stream that counts what is read."""

    def __init__(self, inner: BinaryIO, budget: _Budget) -> None:
        self._inner = inner
        self._budget = budget

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._inner.read(len(buffer))
        self._budget.spend(len(content))
        buffer[: len(content)] = content
        return len(content)


class _CautiousHeader(tarfile.TarInfo):
    """A header of a tar archive that must be whole, and of bearable size.

    By itself `tarfile` takes a damaged header for the end of the archive, and a download that was
    cut short would become a data set with documents missing.
    """

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if buf == bytes(tarfile.BLOCKSIZE):
                raise  # the true end of an archive
            raise tarfile.ReadError(f"a damaged or missing header: {error}") from None

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _EXTENDED and self.size > _LONGEST_HEADER:
            raise tarfile.ReadError(f"a header of {self.size:,} bytes")
        processed: tarfile.TarInfo = super()._proc_member(archive)  # type: ignore[misc]
        return processed


def _of_folder(folder: Path) -> Iterator[Member]:
    budget = _Budget(folder)
    found = (path for path in folder.rglob("*") if path.is_file())
    paths = sorted(islice(found, _MOST_MEMBERS + 1))
    _check_count(len(paths) - 1, folder)
    for path in paths:
        name = path.relative_to(folder).as_posix()
        if not _is_hidden(name):
            with path.open("rb") as stream:
                yield _member(name, stream, budget, path=path)


def _of_tar(path: Path) -> Iterator[Member]:
    budget = _Budget(path)
    with (
        path.open("rb") as packed,
        _unpacked(path.name, packed, _Budget(path)) as stream,
        tarfile.open(fileobj=stream, mode="r|", tarinfo=_CautiousHeader) as archive,
    ):
        for count, info in enumerate(archive):
            _check_count(count, path)
            if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or _is_hidden(info.name):
                continue
            content = archive.extractfile(info)
            assert content is not None, "a regular member has content"
            yield _member(info.name, cast(BinaryIO, content), budget)
        # Only at its very end does gzip tell whether what it gave was right.
        while stream.read(2**20):
            pass


def _of_zip(path: Path) -> Iterator[Member]:
    budget = _Budget(path)
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
        _check_count(len(infos) - 1, path)
        for info in infos:
            if info.is_dir() or _is_hidden(info.filename):
                continue
            if info.flag_bits & 1:
                raise TableError(f"{path} is encrypted; unpack it with its password first.")
            with archive.open(info) as stream:
                yield _member(info.filename, cast(BinaryIO, stream), budget)


def _alone(path: Path) -> Iterator[Member]:
    with path.open("rb") as stream:
        yield _member(path.name, stream, _Budget(path), path=path, is_alone=True)


def _member(
    name: str,
    stream: BinaryIO,
    budget: _Budget,
    *,
    path: Path | None = None,
    is_alone: bool = False,
) -> Member:
    return Member(name, _unpacked(name, stream, budget), path=path, is_alone=is_alone)


def _unpacked(name: str, stream: BinaryIO, budget: _Budget) -> BinaryIO:
    """Return what a file holds, unpacked if its name says that gzip packed it."""
    is_packed = name.lower().endswith((".gz", ".tgz"))
    unpacked = cast(BinaryIO, gzip.GzipFile(fileobj=stream)) if is_packed else stream
    return io.BufferedReader(_Bounded(unpacked, budget), 2**16)


def _is_hidden(name: str) -> bool:
    """Say whether a file is a leftover of the system that packed it, such as ``._train.csv``."""
    parts = name.split("/")
    return parts[-1].startswith(".") or "__MACOSX" in parts


def _check_count(count: int, path: Path) -> None:
    if count >= _MOST_MEMBERS:
        raise TableError(
            f"{path} holds more than {_MOST_MEMBERS:,} files, which none of the published "
            "archives does."
        )
