"""Finished parts of an output: kept, told apart, joined, and written by one run at a time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from protorynet.errors import CheckpointError
from protorynet.inference import PartsFolder
from protorynet.inference.parts import Part


def test_what_a_killed_run_left_half_written_is_no_part(tmp_path: Path) -> None:
    parts = PartsFolder(tmp_path / "out.csv", {"model": "a"})
    parts.start()
    batch = pa.record_batch({"n": [1]})
    for first in (0, 1, 3):
        parts.add(Part(first, first + 1, 1, 0), batch)
    (parts.folder / ".000000000002-000000000003-1-0.arrow.abc").touch()
    assert [part.first for part in parts.finished()] == [0, 1]


def test_what_is_half_written_is_removed_when_going_on(tmp_path: Path) -> None:
    parts = PartsFolder(tmp_path / "out.csv", {})
    parts.start()
    for name in ("whole.abc", ".000000000002-000000000003-1-0.arrow.abc"):
        (parts.folder / name).touch()
    parts.go_on()
    assert [path.name for path in parts.folder.iterdir()] == ["run.json"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(path.read_bytes()[:-40]),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(_stream(pa.record_batch({"n": [1, 2]}))),
    ],
    ids=["missing", "cut", "empty", "other rows"],
)
def test_a_damaged_part_is_named_and_no_output_made(tmp_path: Path, damage: Any) -> None:
    parts = PartsFolder(tmp_path / "out.csv", {})
    parts.start()
    done = [Part(first, first + 1, 1, 0) for first in (0, 1)]
    for part in done:
        parts.add(part, pa.record_batch({"n": [1]}))
    damage(parts.folder / done[1].name)
    with pytest.raises(CheckpointError, match=rf"{done[1].name} is damaged .*--resume"):
        parts.join(done)
    assert not (tmp_path / "out.csv").exists()
    assert not list(parts.folder.glob("whole*"))


def test_only_one_run_at_a_time_holds_the_parts(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    parts = PartsFolder(tmp_path / "out.csv", {})
    with parts.locked():
        parts.start()
        with pytest.raises(CheckpointError, match="another run is writing"):
            PartsFolder(tmp_path / "out.csv", {}).locked().__enter__()
    with PartsFolder(tmp_path / "out.csv", {}).locked():
        pass
    assert list(tmp_path.iterdir()) == []


def test_parts_are_kept_when_a_run_fails(tmp_path: Path) -> None:
    parts = PartsFolder(tmp_path / "out.csv", {})

    def fail_after_one() -> None:
        with parts.locked():
            parts.start()
            parts.add(Part(0, 1, 1, 0), pa.record_batch({"n": [1]}))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_after_one()
    assert [part.first for part in parts.finished()] == [0]


def _stream(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def test_a_run_of_another_identity_is_told_apart(tmp_path: Path) -> None:
    PartsFolder(tmp_path / "out.csv", {"model": "a", "inputs": [["x", 1]]}).start()
    other = PartsFolder(tmp_path / "out.csv", {"model": "b", "inputs": [("x", 1)]})
    assert other.differences() == ["model"]
    assert PartsFolder(tmp_path / "other.csv", {}).differences() is None


def test_a_run_that_ends_keeps_its_lock_until_it_has_left(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    ending, beginning = (PartsFolder(tmp_path / "out.csv", {}) for _ in range(2))
    with ending.locked():
        ending.start()
        ending.add(Part(0, 1, 1, 0), pa.record_batch({"n": [1]}))
        ending.join(ending.finished())
        with pytest.raises(CheckpointError, match="another run"), beginning.locked():
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_rows_that_the_format_does_not_hold_are_told_and_kept(tmp_path: Path) -> None:
    parts = PartsFolder(tmp_path / "out.parquet", {})
    parts.start()
    part = Part(0, 1, 1, 0)
    parts.add(part, pa.record_batch({"meta": pa.array([{}], pa.struct([]))}))
    with pytest.raises(CheckpointError, match="another format"):
        parts.join([part])
    assert parts.finished() == [part]


@pytest.mark.skipif(os.name != "posix", reason="names are bytes on POSIX alone")
def test_an_output_whose_name_is_not_utf_8_is_made(tmp_path: Path) -> None:
    output = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.csv"))
    try:
        output.touch()
    except OSError:
        pytest.skip("the file system takes no such name")
    parts = PartsFolder(output, {})
    parts.start()
    parts.add(Part(0, 1, 1, 0), pa.record_batch({"n": [1]}))
    parts.join(parts.finished())
    assert output.read_bytes() == b'"n"\n1\n'
