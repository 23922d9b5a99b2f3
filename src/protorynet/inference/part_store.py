"""Finished parts of an output that is not whole yet, so that a stopped run can resume.

One store serves predictions on this machine, with Ray, and at addresses such as s3://…: a file
for each part, which appears whole or not at all, and ``_run.json``, which says what the parts are
made of and with. Beside a file or a folder on this machine it is a hidden folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, BinaryIO
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from protorynet.data import one_line
from protorynet.errors import CheckpointError, InputError, ProtoryNetError
from protorynet.files import check_replaceable, move_directory, write_atomically
from protorynet.inference.table_writers import writer_for

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


_RUN, _LOCK, _FINISHED = "_run.json", "_lock", "_SUCCESS"
_PART = re.compile(r"part-(\d{12,})-(\d{12,})-(\d+)-(\d+)-(\d+)\.(?:arrow|parquet)")
_UNFINISHED = re.compile(r"\..+|whole\..+")
_OPTION_NAMES = {
    "protorynet": "the version of protorynet",
    "model": "the model",
    "encoder": "--encoder",
    "runtime": "--runtime",
    "text": "the column of texts",
    "split": "--split",
    "skip_empty": "--skip-empty",
    "inputs": "the input",
}


@dataclass(frozen=True)
class Part:
    """The predictions of the rows from `first` to `stop`: how many, left out, and unfamiliar."""

    first: int
    stop: int
    n_rows: int
    n_left_out: int
    n_unfamiliar: int = 0

    def name(self, ending: str) -> str:
        """Return the name of its file, which says all this."""
        rows = f"{self.first:012d}-{self.stop:012d}"
        return f"part-{rows}-{self.n_rows}-{self.n_left_out}-{self.n_unfamiliar}{ending}"


@dataclass(frozen=True)
class PartFolder:
    """A folder of parts, by its path or address, as every worker can use it.

    They end in ``".arrow"`` if they are joined later, in ``".parquet"`` if they are delivered.
    """

    address: str
    ending: str

    def finished(self) -> list[Part]:
        """Return the parts that are there, by their first row."""
        matches = (_PART.fullmatch(name) for name in open_files(self.address).names())
        found = (Part(*map(int, match.groups())) for match in matches if match)
        return sorted(found, key=lambda part: part.first)

    def write(self, part: Part, batches: Iterable[pa.RecordBatch]) -> None:
        """Write a part, whole or not at all; writing it again changes nothing."""
        files = open_files(self.address)
        if _RUN not in files.names():
            raise InputError(
                f"the folder {hide_keys(self.address)} is not seen here; write to a folder that "
                "all machines of the cluster share, or to an address such as s3://bucket/folder."
            )
        table = pa.Table.from_batches(list(batches))
        sink = pa.BufferOutputStream()
        try:
            if self.ending == ".parquet":
                pq.write_table(table, sink)
            else:
                options = pa.ipc.IpcWriteOptions(compression="zstd")
                with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
                    writer.write_table(table)
            files.write(part.name(self.ending), sink.getvalue().to_pybytes())
        except pa.ArrowException as error:
            where = hide_keys(f"{self.address}/{part.name(self.ending)}")
            raise ProtoryNetError(f"{where} cannot be written: {one_line(error)}") from None

    def read(self, part: Part) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a part, and refuse one that is damaged."""
        name = part.name(self.ending)
        try:
            content = open_files(self.address).read(name)
            if self.ending == ".parquet":
                table = pq.ParquetFile(pa.BufferReader(content)).read()
            else:
                table = pa.ipc.open_stream(content).read_all()
            if table.num_rows != part.n_rows:
                raise pa.ArrowInvalid(f"it holds {table.num_rows} rows")
        except (pa.ArrowException, OSError) as error:
            raise CheckpointError(
                f"{hide_keys(self.address)}/{name} is damaged ({one_line(error)}); remove it and "
                "run the command again with --resume."
            ) from None
        yield from table.to_batches()


class PartStore:
    """The finished parts of one output, and the rule by which a run resumes from them.

    The output is a file; or, `as_folder`, a folder or an address with a file for each part. The
    `identity` is all that decides what the parts hold: model, options, inputs.
    """

    def __init__(
        self, output: str | Path, identity: Mapping[str, Any], *, as_folder: bool = False
    ) -> None:
        self.output, self._name = output, hide_keys(str(output))
        self.rows_per_part: int | None = None
        self._as_folder = as_folder
        self._identity: dict[str, Any] = json.loads(json.dumps(identity))
        self._target: Path | None = None
        if is_address(str(output)):
            address = str(output)
        else:
            # A link stays a link; what it points to is made.
            self._target = Path(output).resolve()
            address = str(self._target.with_name(f".{self._target.name}.parts"))
        self.folder = PartFolder(address, ".parquet" if as_folder else ".arrow")
        self._files = open_files(address)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs out while the block runs; a folder without a part is removed after it.

        At an address no lock is held.
        """
        lock = None if self._target is None else Path(self.folder.address) / _LOCK
        with contextlib.nullcontext() if lock is None else _hold_lock(lock, self.output):
            try:
                yield
            finally:
                if not self.folder.finished():
                    self.remove()
                    if lock is not None:
                        # Here and nowhere else, and last: then another run may begin.
                        lock.unlink(missing_ok=True)
                        self._remove_folder()

    def begin(
        self,
        *,
        resume: bool = False,
        can_resume: bool = True,
        rows_per_part: int | None = None,
        tell: Callable[[str], None] = lambda message: None,
    ) -> list[Part]:
        """Start a run, and return the parts that are done already.

        Parts of the same identity are kept with `resume` and are never lost without a word; those
        of another run are removed, and with `resume` refused. A resumed run keeps its
        `rows_per_part`; an input that cannot be read again cannot be resumed. `tell` takes what
        users should know. So what may still fail, such as opening the model, is best done before.
        """
        done, known = self.folder.finished(), None
        with contextlib.suppress(OSError, ValueError):
            run = json.loads(self._files.read(_RUN))
            is_run = isinstance(run, dict) and isinstance(run.get("identity"), dict)
            known = run if is_run else None
        resumes = self._may_resume(done, known, resume=resume, can_resume=can_resume, tell=tell)
        if resumes:
            self.rows_per_part = (known or {}).get("rows_per_part")
            for name in self._files.names():
                # What a run that was killed has left half-written.
                if _UNFINISHED.fullmatch(name):
                    self._files.delete(name)
        else:
            # An address that holds what no run of ours left.
            if self._target is None and known is None and self._files.names(all_kinds=True):
                raise InputError(
                    f"{self._name} holds files or folders already; choose another "
                    "place, or remove them."
                )
            self._clear()
            done, self.rows_per_part = [], rows_per_part
        run = {"identity": self._identity, "rows_per_part": self.rows_per_part}
        self._files.write(_RUN, json.dumps(run, indent=1).encode())
        return done

    @contextmanager
    def reporting_how_to_resume(
        self, tell: Callable[[str], None], *, can_resume: bool = True
    ) -> Iterator[None]:
        """Say, when the block is stopped or fails, what is done and how to resume."""
        try:
            yield
        except BaseException as error:
            if not can_resume:
                self.remove()
            n_done = sum(part.n_rows for part in self.folder.finished())
            is_stopped = isinstance(error, KeyboardInterrupt)
            if n_done:
                word = "stopped" if is_stopped else "not finished"
                tell(
                    f"{word}; {n_done:,} rows are done. Resume with the same command and --resume."
                )
            elif is_stopped:
                tell("stopped; nothing was written.")
            raise

    def deliver(self, parts: Sequence[Part]) -> None:
        """Make the output of parts, whole or not at all, and remove what is no longer needed."""
        if not self._as_folder:
            self._join(parts)
            self.remove()
            return
        if self._target is not None:
            check_output_folder(self._target)
        self._files.write(_FINISHED, b"")
        if self._target is not None:
            move_directory(Path(self.folder.address), self._target)
        # Last, so that a command stopped in the middle of this can be started again.
        files = self._files if self._target is None else open_files(str(self._target))
        for name in files.names():
            if name in (_RUN, _LOCK) or _UNFINISHED.fullmatch(name):
                files.delete(name)

    def remove(self) -> None:
        """Remove all parts; the folder, too, where no run holds its lock."""
        self._clear()
        self._remove_folder()

    def _may_resume(
        self,
        done: list[Part],
        known: dict[str, Any] | None,
        *,
        resume: bool,
        can_resume: bool,
        tell: Callable[[str], None],
    ) -> bool:
        n_done = sum(part.n_rows for part in done)
        if known is None or not n_done:
            if resume:
                tell(f"there is nothing to resume beside {self._name}; starting over")
            return False
        before = known["identity"]
        names = dict.fromkeys([*self._identity, *before])
        changed = [name for name in names if before.get(name) != self._identity.get(name)]
        # Parts made without --skip-empty hold no document that it would have left out.
        if changed == ["skip_empty"] and self._identity["skip_empty"]:
            changed = []
        if resume and changed:
            what = " and ".join(_OPTION_NAMES.get(name, name) for name in changed)
            raise CheckpointError(
                f"cannot resume {self._name}: {what} changed since it was begun. Run the command "
                "as it was then; or start over, without --resume."
            )
        if changed or not can_resume:
            tell(f"starting over: {hide_keys(self.folder.address)} is of another run")
            return False
        if not resume:
            raise CheckpointError(
                f"{n_done:,} rows of {self._name} are done already. Resume with --resume; or "
                f"remove the folder {hide_keys(self.folder.address)} to start over."
            )
        tell(f"resuming after {n_done:,} rows that are done")
        return True

    def _join(self, parts: Sequence[Part]) -> None:
        assert self._target is not None  # only a file on this machine is joined
        whole = Path(self.folder.address) / f"whole.{uuid.uuid4().hex}"
        try:
            with whole.open("xb") as file:
                with writer_for(file, self._target.suffix.lower()) as writer:
                    for part in parts:
                        for batch in self.folder.read(part):
                            writer.write(batch)
                file.flush()
                os.fsync(file.fileno())
            whole.replace(self._target)
        except BaseException as error:
            whole.unlink(missing_ok=True)
            if isinstance(error, pa.ArrowException):
                raise CheckpointError(
                    f"the rows that are done cannot be written to {self.output} "
                    f"({one_line(error)}). Predict into another format, or leave out the column "
                    "that this one does not hold."
                ) from None
            raise

    def _clear(self) -> None:
        # First what says that there is something to resume from, which soon will not be true.
        names = self._files.names()
        for name in sorted(names, key=lambda name: name != _RUN):
            if name in (_RUN, _FINISHED) or _PART.fullmatch(name) or _UNFINISHED.fullmatch(name):
                self._files.delete(name)

    def _remove_folder(self) -> None:
        if self._target is not None:
            with contextlib.suppress(OSError):  # it is gone already, or holds what is not ours
                Path(self.folder.address).rmdir()


def check_output_folder(output: Path) -> None:
    """Refuse to put a folder of parts in the place of anything but an earlier one."""
    if output.is_file():
        raise InputError(
            f"{output} is a file; give the name of a folder for the parts, or of one .parquet file."
        )
    check_replaceable(
        output,
        kind="a folder of predictions",
        marks=[_FINISHED],
        is_own=lambda name: name in (_RUN, _LOCK, _FINISHED) or _PART.fullmatch(name) is not None,
    )


@contextmanager
def _hold_lock(path: Path, output: str | Path) -> Iterator[None]:
    """Hold a lock file while the block runs, which may remove it.

    A process gives its locks back however it ends, `kill -9` included. Where the system or the
    file system knows no locks, none is held.
    """
    if sys.platform == "win32":
        yield
        return
    while (file := _take_lock(path, output)) is None:
        pass  # another run, which ended just now, has removed it
    with file:
        yield


def _take_lock(path: Path, output: str | Path) -> BinaryIO | None:
    """Return the file, locked; None where a run that ended just now has removed it."""
    import fcntl

    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError), contextlib.ExitStack() as stack:
        file = stack.enter_context(path.open("ab"))
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if isinstance(error, BlockingIOError):
                raise CheckpointError(
                    f"another run is writing {output} at this moment; wait for its end, or choose "
                    "another name for the output."
                ) from None
        if os.path.samestat(path.stat(), os.fstat(file.fileno())):
            stack.pop_all()
            return file
    return None
