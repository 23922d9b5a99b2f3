"""Finished parts of an output that is not whole yet, so that a run that is stopped can go on."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from protorynet.data import one_line
from protorynet.errors import CheckpointError
from protorynet.files import write_atomically
from protorynet.inference.locking import only_one
from protorynet.inference.writing import writer_for

__all__ = ["Part", "PartsFolder"]

_MANIFEST = "run.json"
_LOCK = "lock"
_WHOLE = "whole."
_PART = re.compile(r"(\d{12,})-(\d{12,})-(\d+)-(\d+)\.arrow")


@dataclass(frozen=True)
class Part:
    """The predictions of one chunk.

    Parameters
    ----------
    first, stop
        The rows of the input that it stands for.
    n_rows
        How many of them have a prediction.
    n_left_out
        How many of them have a text without a sentence.
    """

    first: int
    stop: int
    n_rows: int
    n_left_out: int

    @property
    def name(self) -> str:
        """The name of its file, which tells all this."""
        return f"{self.first:012d}-{self.stop:012d}-{self.n_rows}-{self.n_left_out}.arrow"


class PartsFolder:
    """A hidden folder beside an output, with a file for each chunk that is done.

    Every file appears whole or not at all, so whenever a run is killed, those there can be trusted.

    Parameters
    ----------
    output
        The file to be made.
    identity
        All that decides what the parts hold, as plain values: model, options, inputs.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     parts = PartsFolder(Path(folder) / "out.jsonl", {"model": "a"})
    ...     with parts.locked():
    ...         parts.start()
    ...         parts.add(Part(0, 2, 2, 0), pa.record_batch({"n": [1, 2]}))
    ...         parts.join(parts.finished())
    ...     [path.name for path in Path(folder).iterdir()]
    ['out.jsonl']
    """

    def __init__(self, output: Path, identity: Mapping[str, Any]) -> None:
        self.output = output
        # A link stays a link; what it points to is made.
        self._place = output.resolve()
        self.folder = self._place.with_name(f".{self._place.name}.parts")
        self._identity = json.loads(json.dumps(identity))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs out while the block runs; a folder without a part is removed after it."""
        lock = self.folder / _LOCK
        with only_one(lock, self.output):
            try:
                yield
            finally:
                if not self.finished():
                    self._clear()
                    # Here and nowhere else, and last: where it is gone, another run may begin.
                    lock.unlink(missing_ok=True)
                    self._remove_folder()

    def finished(self) -> list[Part]:
        """Return the parts from the first row on, up to the first that is missing."""
        matches = (_PART.fullmatch(path.name) for path in self._files())
        found = sorted((Part(*map(int, match.groups())) for match in matches if match), key=_first)
        parts: list[Part] = []
        for part in found:
            if part.first == (parts[-1].stop if parts else 0):
                parts.append(part)
        return parts

    def differences(self) -> list[str] | None:
        """Return in what the run that left the folder was another; None where none left any."""
        try:
            known = json.loads((self.folder / _MANIFEST).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(known, dict):
            return None
        names = dict.fromkeys([*self._identity, *known])
        return [name for name in names if known.get(name) != self._identity.get(name)]

    def start(self) -> None:
        """Begin without parts, whatever was there."""
        self._clear()
        self.go_on()

    def go_on(self) -> None:
        """Keep the parts there, as those of this run."""
        for path in self._files():
            # What a run that was killed has left half-written.
            if path.name.startswith((".", _WHOLE)):
                path.unlink(missing_ok=True)
        write_atomically(self.folder / _MANIFEST, json.dumps(self._identity, indent=1))

    def add(self, part: Part, batch: pa.RecordBatch) -> None:
        """Keep the predictions of a chunk."""
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
            writer.write_batch(batch)
        write_atomically(self.folder / part.name, sink.getvalue().to_pybytes())

    def join(self, parts: Sequence[Part]) -> None:
        """Make the output of parts, whole or not at all, and remove them."""
        handle, name = tempfile.mkstemp(dir=self.folder, prefix=_WHOLE)
        whole = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                with writer_for(file, self.output.suffix.lower()) as writer:
                    for part in parts:
                        for batch in self._read(part):
                            writer.write(batch)
                file.flush()
                os.fsync(file.fileno())
            whole.chmod((self.folder / _MANIFEST).stat().st_mode)
            whole.replace(self._place)
        except BaseException as error:
            whole.unlink(missing_ok=True)
            if isinstance(error, pa.ArrowException):
                raise CheckpointError(
                    f"the rows that are done cannot be written to {self.output} "
                    f"({one_line(error)}). Predict into another format, or leave out the column "
                    "that this one does not hold."
                ) from None
            raise
        self.remove()

    def remove(self) -> None:
        """Remove all parts; the folder, too, where no run holds its lock."""
        self._clear()
        self._remove_folder()

    def _remove_folder(self) -> None:
        with suppress(OSError):  # it is gone already, or holds what is not ours
            self.folder.rmdir()

    def _clear(self) -> None:
        # First what says that there is something to go on from, which soon will not be true.
        (self.folder / _MANIFEST).unlink(missing_ok=True)
        for path in self._files():
            if _PART.fullmatch(path.name) or path.name.startswith((".", _WHOLE)):
                path.unlink(missing_ok=True)

    def _read(self, part: Part) -> Iterator[pa.RecordBatch]:
        path = self.folder / part.name
        n_rows = 0
        try:
            # Arrow opens no file whose name is not UTF-8; Python does.
            with path.open("rb") as file, pa.ipc.open_stream(file) as reader:
                for batch in reader:
                    n_rows += batch.num_rows
                    yield batch
            if n_rows != part.n_rows:
                raise pa.ArrowInvalid(f"it holds {n_rows} rows")
        except (pa.ArrowException, OSError) as error:
            raise CheckpointError(
                f"{path} is damaged ({one_line(error)}); remove it and go on with --resume."
            ) from None

    def _files(self) -> list[Path]:
        return list(self.folder.iterdir()) if self.folder.is_dir() else []


def _first(part: Part) -> int:
    return part.first
