"""Cutting tables into parts, and making one result of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from protorynet.errors import InputError, ProtoryNetError, TableError
from protorynet.inference import output
from protorynet.inference.ray_output import discard, finish, open_folder, write_part
from protorynet.inference.ray_parts import (
    TableFile,
    cut_parts,
    inspect_files,
    read_part,
    rows_per_part,
)
from protorynet.inference.ray_places import find_parquet


def _write(path: Path, numbers: range, *, row_group: int = 100) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"n": list(numbers)}), path, row_group_size=row_group)
    return path


@given(
    lengths=st.lists(st.integers(1, 50), min_size=1, max_size=4),
    row_group=st.integers(1, 20),
    rows=st.integers(1, 20),
)
def test_parts_one_after_another_are_the_files_one_after_another(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], row_group: int, rows: int
) -> None:
    folder, at, places = tmp_path_factory.mktemp("cut"), 0, []
    for number, length in enumerate(lengths):
        path = _write(folder / f"{number}.parquet", range(at, at + length), row_group=row_group)
        places.append(str(path))
        at += length
    parts = cut_parts(inspect_files(places), rows)
    assert [part.number for part in parts] == list(range(len(parts)))
    assert [n for part in parts for n in read_part(part)["n"].to_pylist()] == list(range(at))


@given(
    rows=st.integers(1, 10**9), bytes_per_row=st.integers(0, 10**8), workers=st.integers(1, 10**4)
)
def test_a_part_is_neither_empty_nor_larger_than_memory_allows(
    rows: int, bytes_per_row: int, workers: int
) -> None:
    size = rows_per_part([TableFile("a", rows, rows * bytes_per_row, 0, None)], workers)
    assert 1 <= size <= 8_192
    assert size == 1 or size * bytes_per_row <= 64 * 2**20


def test_every_worker_has_several_parts_of_a_table_that_is_not_tiny() -> None:
    files = [TableFile("a", 20_000, 20_000_000, 0, None)]
    assert len(cut_parts(files, rows_per_part(files, 4))) >= 16


def test_files_with_other_columns_are_named(tmp_path: Path) -> None:
    first = _write(tmp_path / "a.parquet", range(2))
    pq.write_table(pa.table({"m": ["x"]}), tmp_path / "b.parquet")
    with pytest.raises(TableError, match=r"b\.parquet has other columns \(m: string\)"):
        inspect_files([str(first), str(tmp_path / "b.parquet")])


def test_a_file_that_is_no_parquet_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("n\n1\n")
    with pytest.raises(TableError, match=r"a\.parquet cannot be read as Parquet"):
        inspect_files([str(tmp_path / "a.parquet")])


def test_a_table_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="holds no rows"):
        inspect_files([str(_write(tmp_path / "a.parquet", range(0)))])


@pytest.mark.parametrize("as_address", [False, True])
@pytest.mark.parametrize("ending", ["", "/*.parquet"])
def test_a_folder_and_a_pattern_stand_for_their_files_by_name(
    tmp_path: Path, as_address: bool, ending: str
) -> None:
    names = ["b.parquet", "a b.parquet", "10%.parquet"]
    for name in names:
        _write(tmp_path / name, range(1))
    given = (tmp_path.as_uri() if as_address else str(tmp_path)) + ending
    found = find_parquet([given])
    assert [file.rows for file in inspect_files(found)] == [1, 1, 1]
    assert len(found) == 3
    assert "b.parquet" in found[-1]


def test_files_of_other_formats_are_refused_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("n\n1\n")
    with pytest.raises(TableError, match=r"a\.csv is not a Parquet file.*leave out --engine ray"):
        find_parquet([tmp_path / "a.csv"])


def test_an_address_that_arrow_does_not_know_is_refused() -> None:
    with pytest.raises(InputError, match="ftp://somewhere cannot be opened"):
        find_parquet(["ftp://somewhere/*.parquet"])


def test_the_keys_in_an_address_are_not_shown() -> None:
    with pytest.raises(InputError, match=r"ftp://…@somewhere") as caught:
        find_parquet(["ftp://key:secret@somewhere/*.parquet"])
    assert "secret" not in str(caught.value)


def _batch(*numbers: int) -> pa.RecordBatch:
    return pa.record_batch({"n": list(numbers)})


def test_nothing_bears_the_name_of_the_result_before_it_is_whole(tmp_path: Path) -> None:
    folder = open_folder(tmp_path / "out", identity="a", rows=2)
    write_part(folder, 1, [_batch(3)])
    assert not (tmp_path / "out").exists()
    write_part(folder, 0, [_batch(1), _batch(2)])
    finish(folder, tmp_path / "out", 2)
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["_SUCCESS", "part-000000.parquet", "part-000001.parquet"]


def test_a_part_written_twice_is_there_once(tmp_path: Path) -> None:
    folder = open_folder(tmp_path / "year=2026" / "out.parquet", identity="a", rows=2)
    for _ in range(2):
        write_part(folder, 0, [_batch(1)])
    finish(folder, tmp_path / "year=2026" / "out.parquet", 1)
    with pq.ParquetFile(tmp_path / "year=2026" / "out.parquet") as file:
        assert file.read().to_pylist() == [{"n": 1}]


def test_the_same_run_goes_on_with_the_parts_and_their_size(tmp_path: Path) -> None:
    write_part(open_folder(tmp_path / "out", identity="a", rows=2), 1, [_batch(3)])
    again = open_folder(tmp_path / "out", identity="a", rows=5)
    assert (again.rows, again.finished(3)) == (2, {1: 1})


def test_another_run_begins_anew(tmp_path: Path) -> None:
    write_part(open_folder(tmp_path / "out", identity="a", rows=2), 1, [_batch(3)])
    assert open_folder(tmp_path / "out", identity="b", rows=5).finished(3) == {}


def test_a_run_that_another_one_displaced_cannot_write_into_its_folder(tmp_path: Path) -> None:
    first = open_folder(tmp_path / "out", identity="a", rows=2)
    second = open_folder(tmp_path / "out", identity="b", rows=2)
    with pytest.raises(InputError, match="is not seen here"):
        write_part(first, 0, [_batch(1)])
    assert second.finished(1) == {}


def test_a_run_displaced_while_it_scores_a_part_says_that_it_cannot_write(tmp_path: Path) -> None:
    def scored() -> Iterator[pa.RecordBatch]:
        open_folder(tmp_path / "out", identity="b", rows=2)
        yield _batch(1)

    folder = open_folder(tmp_path / "out", identity="a", rows=2)
    with pytest.raises(ProtoryNetError, match=r"part-000000\.parquet cannot be written"):
        write_part(folder, 0, scored())
    discard(folder, parts=1)


@pytest.mark.parametrize("step", ["_rename", "_check_replaceable"])
def test_a_command_stopped_while_it_finishes_goes_on_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def stop(*given: object) -> None:
        raise KeyboardInterrupt

    folder = open_folder(tmp_path / "out", identity="a", rows=1)
    write_part(folder, 0, [_batch(1)])
    with monkeypatch.context() as patched:
        patched.setattr(output, step, stop)
        with pytest.raises(KeyboardInterrupt):
            finish(folder, tmp_path / "out", 1)
    again = open_folder(tmp_path / "out", identity="a", rows=1)
    assert again.finished(1) == {0: 1}
    finish(again, tmp_path / "out", 1)
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["_SUCCESS", "part-000000.parquet"]


def test_files_put_in_the_place_of_the_result_meanwhile_are_kept(tmp_path: Path) -> None:
    folder = open_folder(tmp_path / "out", identity="a", rows=1)
    write_part(folder, 0, [_batch(1)])
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="exists and is not a folder of predictions"):
        finish(folder, tmp_path / "out", 1)
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


def test_a_folder_with_finished_parts_is_kept_and_one_without_is_not(tmp_path: Path) -> None:
    folder = open_folder(tmp_path / "out", identity="a", rows=2)
    discard(folder, parts=1)
    assert not list(tmp_path.iterdir())
    folder = open_folder(tmp_path / "out", identity="a", rows=2)
    write_part(folder, 0, [_batch(1)])
    discard(folder, parts=1)
    assert folder.finished(1) == {0: 1}


def test_a_former_result_is_replaced(tmp_path: Path) -> None:
    for number in (1, 2):
        folder = open_folder(tmp_path / "out", identity=str(number), rows=1)
        write_part(folder, 0, [_batch(number)])
        finish(folder, tmp_path / "out", 1)
    assert pq.read_table(tmp_path / "out")["n"].to_pylist() == [2]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_with_other_files_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="exists and is not a folder of predictions"):
        open_folder(tmp_path, identity="a", rows=1)


def test_a_result_of_another_program_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "part-00000-8f3a.snappy.parquet").touch()
    with pytest.raises(InputError, match=r"holds 'part-00000-8f3a\.snappy\.parquet'"):
        open_folder(tmp_path, identity="a", rows=1)


@pytest.mark.parametrize("name", ["notes.txt", "reviews/a.parquet"])
def test_an_address_with_files_or_folders_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match="holds files or folders already"):
        open_folder(tmp_path.as_uri(), identity="a", rows=1)


def test_nothing_but_our_own_is_removed_from_an_address(tmp_path: Path) -> None:
    folder = open_folder((tmp_path / "out").as_uri(), identity="a", rows=1)
    (tmp_path / "out" / "2026").mkdir()
    (tmp_path / "out" / "2026" / "notes.txt").write_text("mine")
    (tmp_path / "out" / ".hidden").write_text("mine")
    (tmp_path / "out" / f".{32 * 'a'}").write_text("a part that a worker had begun")
    discard(folder, parts=1)
    left = {path.name for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert left == {"notes.txt", ".hidden"}


def test_a_worker_that_does_not_see_the_folder_says_so(tmp_path: Path) -> None:
    folder = open_folder(tmp_path / "out", identity="a", rows=1)
    discard(folder, parts=1)
    with pytest.raises(InputError, match="not seen here; write to a folder that all machines"):
        write_part(folder, 0, [_batch(1)])
