"""Parquet files found, inspected and cut into slices."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from protorynet.errors import InputError, TableError
from protorynet.inference.ray_prediction import (
    cut_slices,
    find_parquet,
    inspect_files,
    read_slice,
)


def _write(path: Path, numbers: range, *, row_group: int = 100) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"n": list(numbers)}), path, row_group_size=row_group)
    return path


@given(
    lengths=st.lists(st.integers(1, 50), min_size=1, max_size=4),
    row_group=st.integers(1, 20),
    rows=st.integers(1, 20),
)
def test_parts_in_order_are_the_files_in_order(tmp_path_factory, lengths, row_group, rows):
    folder, at, paths = tmp_path_factory.mktemp("cut"), 0, []
    for number, length in enumerate(lengths):
        path = _write(folder / f"{number}.parquet", range(at, at + length), row_group=row_group)
        paths.append(str(path))
        at += length
    parts = cut_slices(inspect_files(paths), rows)
    assert [part.first for part in parts] == [0, *np.cumsum([p.stop - p.start for p in parts])][:-1]
    assert [n for part in parts for n in read_slice(part)["n"].to_pylist()] == list(range(at))


def test_files_that_cannot_be_used_are_named(tmp_path):
    first = _write(tmp_path / "a.parquet", range(2))
    pq.write_table(pa.table({"m": ["x"]}), tmp_path / "b.parquet")
    (tmp_path / "c.parquet").write_text("n\n1\n")
    empty = _write(tmp_path / "d.parquet", range(0))
    for paths, message in (
        ([first, tmp_path / "b.parquet"], r"b\.parquet has other columns \(m: string\)"),
        ([tmp_path / "c.parquet"], r"c\.parquet cannot be read as Parquet"),
        ([empty], "holds no rows"),
    ):
        with pytest.raises(TableError, match=message):
            inspect_files(list(map(str, paths)))


@pytest.mark.parametrize("as_address", [False, True])
@pytest.mark.parametrize("ending", ["", "/*.parquet"])
def test_a_folder_and_a_pattern_stand_for_their_files_by_name(tmp_path, as_address, ending):
    names = ["b.parquet", "a b.parquet", "10%.parquet"]
    for name in names:
        _write(tmp_path / name, range(1))
    given = (tmp_path.as_uri() if as_address else str(tmp_path)) + ending
    found = find_parquet([given])
    assert [file.rows for file in inspect_files(found)] == [1, 1, 1]
    assert len(found) == 3
    assert "b.parquet" in found[-1]


def test_inputs_that_workers_do_not_read_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("n\n1\n")
    for path, message in (
        (tmp_path / "a.csv", r"a\.csv is not a Parquet file.*leave out --engine ray"),
        ("ftp://somewhere/*.parquet", "ftp://somewhere cannot be opened"),
        ("ftp://key:secret@somewhere/*.parquet", r"ftp://…@somewhere"),
    ):
        with pytest.raises(InputError, match=message) as caught:
            find_parquet([path])
        assert "secret" not in str(caught.value)
