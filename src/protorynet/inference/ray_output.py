"""Where parts are written, so that a half-finished result is never taken for a finished one."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shutil
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from protorynet.errors import InputError, ProtoryNetError
from protorynet.files import check_replaceable
from protorynet.inference.ray_places import filesystem_of, is_address, is_object_store, shown

__all__ = ["PartFolder", "discard", "finish", "open_folder", "write_part"]

_PLAN = "_plan.json"
_FINISHED = "_SUCCESS"
_DIGITS = 16  # that tell the hidden folders of runs apart
# What we write and therefore may remove: parts, and parts that a worker had begun.
_PART = re.compile(r"part-[0-9]{6,}\.parquet")
_BEGUN = re.compile(r"\.[0-9a-f]{32}")


@dataclass(frozen=True)
class PartFolder:
    """A folder that is being filled with parts.

    Parameters
    ----------
    place
        Its path or address.
    rows
        How many rows make a part of it.
    """

    place: str
    rows: int

    def file_of(self, number: int) -> str:
        """Return the path of a part inside the folder's file system."""
        return f"{filesystem_of(self.place)[1]}/part-{number:06d}.parquet"

    def finished(self, count: int) -> dict[int, int]:
        """Return the rows of the parts, of so many, that are written already."""
        system, _ = filesystem_of(self.place)
        files = [self.file_of(number) for number in range(count)]
        infos = system.get_file_info(files)
        return {
            number: pq.read_metadata(info.path, filesystem=system).num_rows
            for number, info in enumerate(infos)
            if info.is_file
        }


def open_folder(output: str | Path, *, identity: str, rows: int) -> PartFolder:
    """Return the folder to fill: that of an earlier run broken off, or a fresh one.

    Parameters
    ----------
    output
        What is to be written: an address, or the path of a folder or of one Parquet file.
    identity
        Stands for all that decides what the parts hold; an earlier run is continued only if its
        own is the same.
    rows
        How many rows make a part of a fresh folder.

    Raises
    ------
    InputError
        If there is something already that is not a former result.
    """
    if is_address(str(output)):
        place = str(output)
    else:
        _check_replaceable(Path(output))
        place = str(_hidden(Path(output), identity))
    system, folder = filesystem_of(place)
    plan = _read_plan(system, folder)
    if plan is not None and plan["identity"] == identity:
        return PartFolder(place, int(plan["rows"]))
    if is_address(place):
        _check_empty(system, folder, place)
    else:
        _remove_unfinished(Path(folder))
    system.create_dir(folder, recursive=True)
    with system.open_output_stream(f"{folder}/{_PLAN}") as stream:
        stream.write(json.dumps({"rows": rows, "identity": identity}).encode())
    return PartFolder(place, rows)


def write_part(folder: PartFolder, number: int, batches: Iterable[pa.RecordBatch]) -> int:
    """Write a part, whole or not at all, and return its rows; writing it again changes nothing."""
    system, path = filesystem_of(folder.place)
    if not system.get_file_info(f"{path}/{_PLAN}").is_file:
        raise InputError(
            f"the folder {shown(folder.place)} is not seen here; write to a folder that all "
            "machines of the cluster share, or to an address such as s3://bucket/folder."
        )
    table = pa.Table.from_batches(list(batches))
    target = folder.file_of(number)
    # A name of its own, because a worker thought dead may still write the same part.
    fresh = target if is_object_store(system) else f"{path}/.{uuid.uuid4().hex}"
    try:
        pq.write_table(table, fresh, filesystem=system)
        if fresh != target:
            system.move(fresh, target)
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        raise ProtoryNetError(shown(f"{target} cannot be written: {reason}")) from None
    return len(table)


def finish(folder: PartFolder, output: str | Path, count: int) -> None:
    """Give the complete parts the name that was asked for."""
    system, path = filesystem_of(folder.place)
    if not is_address(folder.place):
        _check_replaceable(Path(output))
        if Path(output).suffix.lower() == ".parquet":
            _join(folder, Path(output), count)
            shutil.rmtree(path, ignore_errors=True)
            return
    _remove_begun(system, path)
    with system.open_output_stream(f"{path}/{_FINISHED}"):
        pass
    if not is_address(folder.place):
        _rename(Path(path), Path(output))
        path = str(Path(output).absolute())
    # Last, so that a command stopped in the middle of this can be started again.
    system.delete_file(f"{path}/{_PLAN}")


def discard(folder: PartFolder, *, parts: int) -> None:
    """Remove a folder in which no part was finished; others are kept, to go on from."""
    system, path = filesystem_of(folder.place)
    # Another command may have removed it, and why this one stopped matters more.
    with contextlib.suppress(OSError):
        if folder.finished(parts):
            return
        if is_address(folder.place):
            # Only our own files: somebody may have put theirs there meanwhile.
            _remove_begun(system, path)
            system.delete_file(f"{path}/{_PLAN}")
        else:
            system.delete_dir(path)


def _remove_begun(system: fs.FileSystem, path: str) -> None:
    """Remove what workers that died while writing have left."""
    for info in system.get_file_info(fs.FileSelector(path)):
        if info.is_file and _BEGUN.fullmatch(info.base_name):
            system.delete_file(info.path)


def _hidden(output: Path, identity: str) -> Path:
    """Return the folder of a run, so named that no other run ever writes into it."""
    output = output.absolute()
    return output.with_name(
        f".{output.name}.ray-{hashlib.sha256(identity.encode()).hexdigest()[:_DIGITS]}"
    )


def _remove_unfinished(folder: Path) -> None:
    """Remove what runs with other models, inputs or options left of the same output."""
    of_any_run = re.escape(folder.name[:-_DIGITS]) + f"[0-9a-f]{{{_DIGITS}}}"
    for other in folder.parent.iterdir() if folder.parent.is_dir() else ():
        if re.fullmatch(of_any_run, other.name):
            shutil.rmtree(other, ignore_errors=True)


def _read_plan(system: fs.FileSystem, folder: str) -> dict[str, Any] | None:
    try:
        with system.open_input_stream(f"{folder}/{_PLAN}") as stream:
            plan = json.loads(stream.read())
    except (OSError, ValueError):
        return None
    return plan if isinstance(plan, dict) and {"identity", "rows"} <= set(plan) else None


def _check_empty(system: fs.FileSystem, folder: str, place: str) -> None:
    selector = fs.FileSelector(folder, allow_not_found=True)
    if system.get_file_info(selector):
        raise InputError(
            f"{shown(place)} holds files or folders already; choose another place, or remove them."
        )


def _check_replaceable(output: Path) -> None:
    """Refuse to put a result in the place of anything but an earlier one."""
    is_file_wanted = output.suffix.lower() == ".parquet"
    if output.is_file() and not is_file_wanted:
        raise InputError(
            f"{output} is a file; give the name of a folder for the parts, or of one .parquet file."
        )
    if output.is_dir() and is_file_wanted:
        raise InputError(f"{output} is a folder; give the name of a file, or of another folder.")
    if not is_file_wanted:
        check_replaceable(
            output,
            kind="a folder of predictions",
            marks=[_FINISHED],
            is_own=lambda name: name in (_FINISHED, _PLAN) or _PART.fullmatch(name) is not None,
        )


def _join(folder: PartFolder, output: Path, count: int) -> None:
    files = [folder.file_of(number) for number in range(count)]
    fresh = output.with_name(f".{output.name}.{uuid.uuid4().hex}")
    try:
        with pq.ParquetWriter(fresh, pq.read_schema(files[0])) as writer:
            for name in files:
                writer.write_table(_content(name))
        fresh.replace(output)
    finally:
        fresh.unlink(missing_ok=True)


def _content(name: str) -> pa.Table:
    # Not read_table: it makes columns of folders named like year=2026.
    with pq.ParquetFile(name) as file:
        return file.read()


def _rename(fresh: Path, output: Path) -> None:
    old = fresh.with_name(f"{fresh.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if output.exists():
        output.rename(old)
    fresh.rename(output)
    if old.is_dir():
        shutil.rmtree(old, ignore_errors=True)
    else:
        old.unlink(missing_ok=True)
