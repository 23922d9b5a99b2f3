"""The files of a folder or an archive, read one after another and never unpacked to disk.

What archives hold is not trusted: links and devices are passed over, names are only compared, and
no more is read than any of the published archives holds.
"""

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
from typing import IO, Any, BinaryIO, Self

from protorynet.data import one_line
from protorynet.errors import TableError

MOST_MEMBERS = 200_000  # aclImdb_v1.tar.gz has about 100,000
MOST_BYTES = 32 * 2**30
LONGEST_HEADER = 2**20
LONGEST_LINE = 2**22
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
    """One file of a folder or an archive."""

    name: str  # its path there, with "/" between
    stream: BinaryIO  # unpacked; of an archive, only to be read before the next member
    path: Path | None = None  # where it lies on disk; None within an archive
    is_alone: bool = False  # the user named this file itself

    @property
    def ending(self) -> str:
        """The ending of its name in lower case, without that of gzip."""
        return Path(self.name.lower().removesuffix(".gz")).suffix

    def lines(self) -> Iterator[str]:
        """Read its lines as text, each with its end."""
        text = io.TextIOWrapper(self.stream, encoding="utf-8-sig", newline="")
        while line := text.readline(LONGEST_LINE):
            # A line without end, such as a bomb's, must not fill the memory.
            if len(line) == LONGEST_LINE and not line.endswith("\n"):
                raise TableError(f"{self.name} has a line of more than {LONGEST_LINE:,} letters.")
            yield line

    def read_whole(self, most: int) -> str:
        """Read all of its text; more than `most` bytes are refused."""
        content = self.stream.read(most + 1)
        if len(content) > most:
            raise TableError(f"{self.name} holds more than {most:,} bytes; no document does.")
        return content.decode("utf-8-sig")


def list_members(path: Path) -> Iterator[Member]:
    """Go through the files of a folder, of a tar or zip archive, or the one file given."""
    if not path.exists():
        raise TableError(f"there is no file or folder {path}; check the path.")
    name, is_file = path.name.lower(), not path.is_dir()
    if is_file and name.endswith((".tar", ".tar.gz", ".tgz")):
        return _list_tar(path, _Budget(path))
    if is_file and name.endswith(".zip"):
        return _list_zip(path, _Budget(path))
    return _list_files(path, _Budget(path))


@contextmanager
def explain_unreadable(path: Path) -> Iterator[None]:
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
    """How much may still be read of one source, however it is packed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._left = MOST_BYTES

    def spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise TableError(
                f"{self._path} unpacks to more than {MOST_BYTES // 2**30} GiB, which none of the "
                "published archives does."
            )

    def check_count(self, count: int) -> None:
        if count > MOST_MEMBERS:
            raise TableError(
                f"{self._path} holds more than {MOST_MEMBERS:,} files, which none of the published "
                "archives does."
            )

    def unpack(self, name: str, stream: IO[bytes]) -> BinaryIO:
        """Return what a file holds, unpacked if its name says that gzip packed it."""
        is_packed = name.lower().endswith((".gz", ".tgz"))
        content = gzip.GzipFile(fileobj=stream) if is_packed else stream
        return io.BufferedReader(_Bounded(content, self), 2**16)


class _Bounded(io.RawIOBase):
    """A stream that counts what is read."""

    def __init__(self, inner: IO[bytes] | gzip.GzipFile, budget: _Budget) -> None:
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
    """A header of a tar archive that must be whole, and of limited size.

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
        if self.type in _EXTENDED and self.size > LONGEST_HEADER:
            raise tarfile.ReadError(f"a header of {self.size:,} bytes")
        processed: tarfile.TarInfo = super()._proc_member(archive)  # type: ignore[misc]
        return processed


def _list_files(source: Path, budget: _Budget) -> Iterator[Member]:
    """Go through the files of a folder, or the one file given whatever its name."""
    is_alone = not source.is_dir()
    found = [source] if is_alone else (path for path in source.rglob("*") if path.is_file())
    paths = sorted(islice(found, MOST_MEMBERS + 1))
    budget.check_count(len(paths))
    for path in paths:
        name = path.name if is_alone else path.relative_to(source).as_posix()
        if is_alone or not _is_hidden(name):
            with path.open("rb") as stream:
                yield Member(name, budget.unpack(name, stream), path, is_alone)


def _list_tar(path: Path, budget: _Budget) -> Iterator[Member]:
    with (
        path.open("rb") as packed,
        _Budget(path).unpack(path.name, packed) as stream,
        tarfile.open(fileobj=stream, mode="r|", tarinfo=_CautiousHeader) as archive,
    ):
        for count, info in enumerate(archive, start=1):
            budget.check_count(count)
            if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or _is_hidden(info.name):
                continue
            content = archive.extractfile(info)
            assert content is not None, "a regular member has content"
            yield Member(info.name, budget.unpack(info.name, content))
        # Only at its very end does gzip tell whether what it gave was right.
        while stream.read(2**20):
            pass


def _list_zip(path: Path, budget: _Budget) -> Iterator[Member]:
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
        budget.check_count(len(infos))
        for info in infos:
            if info.is_dir() or _is_hidden(info.filename):
                continue
            if info.flag_bits & 1:
                raise TableError(f"{path} is encrypted; unpack it with its password first.")
            with archive.open(info) as stream:
                yield Member(info.filename, budget.unpack(info.filename, stream))


def _is_hidden(name: str) -> bool:
    """Say whether a file is a leftover of the system that packed it, such as ``._train.csv``."""
    parts = name.split("/")
    return parts[-1].startswith(".") or "__MACOSX" in parts
