"""Finished parts of an output: kept, told apart, delivered, and written by one run at a time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from protorynet.errors import CheckpointError, InputError, ProtoryNetError
from protorynet.inference import Part, PartStore, part_store


def part(first: int, rows: int = 1) -> Part:
    return Part(first, first + rows, rows, 0)


def batch(*numbers: int) -> pa.RecordBatch:
    return pa.record_batch({"n": list(numbers)})


def started(output: str | Path, *numbers: int, as_folder: bool = False, **identity: Any):
    """A store with a part of one row for each number."""
    store = PartStore(output, {"model": "a", **identity}, as_folder=as_folder)
    store.begin()
    for number in numbers:
        store.folder.write(part(number), [batch(number)])
    return store


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def firsts(store: PartStore) -> list[int]:
    return [each.first for each in store.folder.finished()]


def test_what_a_killed_run_left_half_written_is_no_part_and_goes_when_resuming(tmp_path) -> None:
    store = started(tmp_path / "out.csv", 0, 1)
    for name in ("whole.abc", f".{part(2).name('.arrow')}.abc"):
        (Path(store.folder.place) / name).touch()
    assert firsts(store) == [0, 1]
    again = PartStore(tmp_path / "out.csv", {"model": "a"})
    assert again.begin(resume=True) == [part(0), part(1)]
    assert names(Path(store.folder.place)) == [
        "_run.json",
        *(part(n).name(".arrow") for n in (0, 1)),
    ]


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(path.read_bytes()[:-40]),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(stream(batch(1, 2))),
    ],
    ids=["missing", "cut", "empty", "other rows"],
)
def test_a_damaged_part_is_named_and_no_output_made(tmp_path, damage) -> None:
    store = started(tmp_path / "out.csv", 0, 1)
    name = part(1).name(".arrow")
    damage(Path(store.folder.place) / name)
    with pytest.raises(CheckpointError, match=rf"{name} is damaged .*--resume"):
        store.deliver([part(0), part(1)])
    assert not (tmp_path / "out.csv").exists()
    assert not list(Path(store.folder.place).glob("whole*"))


def stream(rows: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)
    return bytes(sink.getvalue())


def test_only_one_run_at_a_time_holds_the_parts(tmp_path) -> None:
    pytest.importorskip("fcntl")
    store = PartStore(tmp_path / "out.csv", {})
    with store.locked():
        store.begin()
        with pytest.raises(CheckpointError, match="another run is writing"):
            PartStore(tmp_path / "out.csv", {}).locked().__enter__()
    with PartStore(tmp_path / "out.csv", {}).locked():
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_ends_keeps_its_lock_until_it_has_left(tmp_path) -> None:
    pytest.importorskip("fcntl")
    ending, beginning = (PartStore(tmp_path / "out.csv", {}) for _ in range(2))
    with ending.locked():
        ending.begin()
        ending.folder.write(part(0), [batch(1)])
        ending.deliver(ending.folder.finished())
        with pytest.raises(CheckpointError, match="another run"), beginning.locked():
            pass
    assert names(tmp_path) == ["out.csv"]


def test_parts_are_kept_when_a_run_fails(tmp_path) -> None:
    store = PartStore(tmp_path / "out.csv", {})

    def fail_after_one() -> None:
        with store.locked():
            store.begin()
            store.folder.write(part(0), [batch(1)])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_after_one()
    assert firsts(store) == [0]


@pytest.mark.parametrize("as_folder", [False, True])
def test_one_rule_for_resuming_files_and_folders(tmp_path, as_folder) -> None:
    output = tmp_path / ("out" if as_folder else "out.csv")
    started(output, 0, 1, as_folder=as_folder, inputs=[["x", 1]])
    same = PartStore(output, {"model": "a", "inputs": [("x", 1)]}, as_folder=as_folder)
    with pytest.raises(CheckpointError, match=r"2 rows of .* are done already. Resume with"):
        same.begin()
    told: list[str] = []
    assert same.begin(resume=True, tell=told.append) == [part(0), part(1)]
    assert told == ["resuming after 2 rows that are done"]
    other = PartStore(output, {"model": "b", "inputs": [("x", 1)]}, as_folder=as_folder)
    with pytest.raises(CheckpointError, match="the model changed since it was begun"):
        other.begin(resume=True)
    assert other.begin(tell=told.append) == []
    assert "is of another run" in told[-1]
    assert firsts(other) == []


def test_nothing_to_resume_is_told(tmp_path) -> None:
    told: list[str] = []
    PartStore(tmp_path / "out.csv", {}).begin(resume=True, tell=told.append)
    assert told == [f"there is nothing to resume beside {tmp_path}/out.csv; starting over"]


def test_a_run_resumes_with_the_size_of_its_parts(tmp_path) -> None:
    store = PartStore(tmp_path / "out", {}, as_folder=True)
    store.begin(rows_per_part=2)
    store.folder.write(part(0, 2), [batch(1, 2)])
    again = PartStore(tmp_path / "out", {}, as_folder=True)
    again.begin(resume=True, rows_per_part=5)
    assert again.rows_per_part == 2


def test_what_still_fails_before_the_start_costs_no_part(tmp_path) -> None:
    started(tmp_path / "out.csv", 0)

    def check() -> None:
        raise InputError("no such model")

    with pytest.raises(InputError, match="no such model"):
        PartStore(tmp_path / "out.csv", {"model": "b"}).begin(check=check)
    assert firsts(PartStore(tmp_path / "out.csv", {})) == [0]


def test_rows_that_the_format_does_not_hold_are_told_and_kept(tmp_path) -> None:
    store = PartStore(tmp_path / "out.parquet", {})
    store.begin()
    store.folder.write(part(0), [pa.record_batch({"meta": pa.array([{}], pa.struct([]))})])
    with pytest.raises(CheckpointError, match="another format"):
        store.deliver([part(0)])
    assert firsts(store) == [0]


@pytest.mark.skipif(os.name != "posix", reason="names are bytes on POSIX alone")
def test_an_output_whose_name_is_not_utf_8_is_made(tmp_path) -> None:
    output = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.csv"))
    try:
        output.touch()
    except OSError:
        pytest.skip("the file system takes no such name")
    store = PartStore(output, {})
    store.begin()
    store.folder.write(part(0), [batch(1)])
    store.deliver(store.folder.finished())
    assert output.read_bytes() == b'"n"\n1\n'


def test_nothing_bears_the_name_of_a_folder_before_it_is_whole(tmp_path) -> None:
    store = started(tmp_path / "out", 1, 0, as_folder=True)
    assert not (tmp_path / "out").exists()
    store.deliver(store.folder.finished())
    assert names(tmp_path / "out") == ["_SUCCESS", *(part(n).name(".parquet") for n in (0, 1))]
    assert pq.read_table(tmp_path / "out")["n"].to_pylist() == [0, 1]


def test_a_part_written_twice_is_there_once(tmp_path) -> None:
    output = tmp_path / "year=2026" / "out.parquet"
    store = started(output, 1, 1)
    store.deliver(store.folder.finished())
    with pq.ParquetFile(output) as file:
        assert file.read().to_pylist() == [{"n": 1}]


@pytest.mark.parametrize("step", ["move_directory", "check_output_folder"])
def test_a_command_stopped_while_it_delivers_resumes_from_there(
    tmp_path, monkeypatch, step
) -> None:
    def stop(*given: object) -> None:
        raise KeyboardInterrupt

    store = started(tmp_path / "out", 0, as_folder=True)
    with monkeypatch.context() as patched:
        patched.setattr(part_store, step, stop)
        with pytest.raises(KeyboardInterrupt):
            store.deliver([part(0)])
    again = PartStore(tmp_path / "out", {"model": "a"}, as_folder=True)
    again.deliver(again.begin(resume=True))
    assert names(tmp_path / "out") == ["_SUCCESS", part(0).name(".parquet")]


def test_files_put_in_the_place_of_the_folder_meanwhile_are_kept(tmp_path) -> None:
    store = started(tmp_path / "out", 0, as_folder=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="exists and is not a folder of predictions"):
        store.deliver([part(0)])
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


def test_a_former_folder_is_replaced_and_one_of_another_program_never(tmp_path) -> None:
    for number in (1, 2):
        store = started(tmp_path / "out", number, as_folder=True)
        store.deliver(store.folder.finished())
    assert pq.read_table(tmp_path / "out")["n"].to_pylist() == [2]
    assert names(tmp_path) == ["out"]
    (tmp_path / "out" / "part-00000-8f3a.snappy.parquet").touch()
    with pytest.raises(InputError, match=r"holds 'part-00000-8f3a\.snappy\.parquet'"):
        part_store.check_output_folder(tmp_path / "out")


@pytest.mark.parametrize("name", ["notes.txt", "reviews/a.parquet"])
def test_an_address_with_files_or_folders_is_refused(tmp_path, name) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match="holds files or folders already"):
        started(tmp_path.as_uri(), as_folder=True)


def test_nothing_but_our_own_is_removed_from_an_address(tmp_path) -> None:
    store = started((tmp_path / "out").as_uri(), 0, as_folder=True)
    (tmp_path / "out" / "2026").mkdir()
    (tmp_path / "out" / "2026" / "notes.txt").write_text("mine")
    (tmp_path / "out" / f".{32 * 'a'}").write_text("a part that a worker had begun")
    store.remove()
    assert [path.name for path in (tmp_path / "out").rglob("*") if path.is_file()] == ["notes.txt"]


def test_an_address_is_delivered_in_its_place(tmp_path) -> None:
    store = started((tmp_path / "out").as_uri(), 0, 1, as_folder=True)
    store.deliver(store.folder.finished())
    assert names(tmp_path / "out") == ["_SUCCESS", *(part(n).name(".parquet") for n in (0, 1))]


def test_a_worker_that_does_not_see_the_folder_says_so(tmp_path) -> None:
    store = started(tmp_path / "out", as_folder=True)
    store.remove()
    with pytest.raises(InputError, match="not seen here; write to a folder that all machines"):
        store.folder.write(part(0), [batch(1)])


def test_rows_that_no_part_holds_are_told_by_the_worker(tmp_path) -> None:
    store = started(tmp_path / "out", as_folder=True)
    with pytest.raises(ProtoryNetError, match=r"part-.*\.parquet cannot be written"):
        store.folder.write(part(0), [pa.record_batch({"meta": pa.array([{}], pa.struct([]))})])
