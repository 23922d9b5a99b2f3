"""Finished parts of an output: kept, told apart, delivered, and written by one run at a time."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from protorynet.errors import CheckpointError, InputError
from protorynet.inference import Part, PartStore


def part(first: int, rows: int = 1) -> Part:
    return Part(first, first + rows, rows, 0)


def batch(*numbers: int) -> pa.RecordBatch:
    return pa.record_batch({"n": list(numbers)})


def start_store(output: str | Path, *numbers: int, as_folder: bool = False, **identity: Any):
    """A store with a part of one row for each number."""
    store = PartStore(output, {"model": "a", **identity}, as_folder=as_folder)
    store.begin()
    for number in numbers:
        store.folder.write(part(number), [batch(number)])
    return store


def names(folder: str | Path) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


def part_names(ending: str, *numbers: int) -> list[str]:
    return [part(number).name(ending) for number in numbers]


def firsts(store: PartStore) -> list[int]:
    return [each.first for each in store.folder.finished()]


def stream(rows: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)
    return bytes(sink.getvalue())


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
def test_a_damaged_part_is_named_and_no_output_made(tmp_path, damage):
    store = start_store(tmp_path / "out.csv", 0, 1)
    name = part(1).name(".arrow")
    damage(Path(store.folder.address) / name)
    with pytest.raises(CheckpointError, match=rf"{name} is damaged .*--resume"):
        store.deliver([part(0), part(1)])
    assert not (tmp_path / "out.csv").exists()
    assert not list(Path(store.folder.address).glob("whole*"))


@pytest.mark.parametrize("as_folder", [False, True])
def test_one_rule_for_resuming_files_and_folders(tmp_path, as_folder):
    output = tmp_path / ("out" if as_folder else "out.csv")
    told: list[str] = []

    def store(model: str) -> PartStore:
        return PartStore(output, {"model": model, "inputs": [("x", 1)]}, as_folder=as_folder)

    assert store("a").begin(resume=True, rows_per_part=2, tell=told.append) == []
    assert told == [f"there is nothing to resume beside {output}; starting over"]
    store("a").folder.write(part(0, 2), [batch(0, 1)])
    with pytest.raises(CheckpointError, match=r"2 rows of .* are done already. Resume with"):
        store("a").begin()
    same = store("a")
    assert same.begin(resume=True, rows_per_part=5, tell=told.append) == [part(0, 2)]
    assert (same.rows_per_part, told[1:]) == (2, ["resuming after 2 rows that are done"])
    other = store("b")
    with pytest.raises(CheckpointError, match="the model changed since it was begun"):
        other.begin(resume=True)
    assert other.begin(tell=told.append) == []
    assert "is of another run" in told[-1]
    assert firsts(other) == []


def test_a_former_folder_is_replaced_and_one_of_another_program_never(tmp_path):
    for number in (1, 2):
        store = start_store(tmp_path / "out", number, as_folder=True)
        store.deliver(store.folder.finished())
    assert pq.read_table(tmp_path / "out")["n"].to_pylist() == [2]
    assert names(tmp_path) == ["out"]
    (tmp_path / "out" / "part-00000-8f3a.snappy.parquet").touch()
    with pytest.raises(InputError, match=r"holds 'part-00000-8f3a\.snappy\.parquet'"):
        start_store(tmp_path / "out", 0, as_folder=True).deliver([part(0)])


@pytest.mark.parametrize("name", ["notes.txt", "reviews/a.parquet"])
def test_an_address_with_files_or_folders_is_refused(tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match="holds files or folders already"):
        start_store(tmp_path.as_uri(), as_folder=True)


def test_an_address_is_delivered_in_its_place(tmp_path):
    store = start_store((tmp_path / "out").as_uri(), 0, 1, as_folder=True)
    store.deliver(store.folder.finished())
    assert names(tmp_path / "out") == ["_SUCCESS", *part_names(".parquet", 0, 1)]


def test_nothing_but_our_own_is_removed_from_an_address(tmp_path):
    store = start_store((tmp_path / "out").as_uri(), 0, as_folder=True)
    (tmp_path / "out" / "2026").mkdir()
    (tmp_path / "out" / "2026" / "notes.txt").write_text("mine")
    (tmp_path / "out" / f".{32 * 'a'}").write_text("a part that a worker had begun")
    store.remove()
    assert [path.name for path in (tmp_path / "out").rglob("*") if path.is_file()] == ["notes.txt"]
