"""Tables that are read a batch at a time: in bounded memory, and what is wrong told first."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from protorynet.data import TableStream, open_stream, open_table
from protorynet.data.table_batches import row_bytes
from protorynet.data.table_files import BLOCK_BYTES
from protorynet.errors import TableError

N_ROWS = 5_000


def json_lines(path: Path, column: str, values: list[Any]) -> Path:
    rows = ({"text": "Good.", column: value} for value in values)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def parquet(path: Path, **columns: pa.Array | list[Any]) -> Path:
    n_rows = len(next(iter(columns.values())))
    pq.write_table(pa.table({"text": ["Good."] * n_rows, **columns}), path)
    return path


def stream(*paths: Path) -> TableStream:
    return open_stream([str(path) for path in paths], text="text")


def read(*paths: Path) -> pa.Table:
    return pa.Table.from_batches([chunk.batch for chunk in stream(*paths).chunks()])


def invalid_text(length: int) -> pa.Array:
    return pa.Array.from_buffers(pa.string(), length, pa.array([b"caf\xe9"] * length).buffers())


def test_another_encoding_in_the_last_row_of_any_column_is_told_before_any_work(
    tmp_path: Path,
) -> None:
    path = tmp_path / "late.csv"
    path.write_bytes(b"text,note\n" + b"Good.,ok\n" * 9_000 + b"Bad.,caf\xe9\n")
    with pytest.raises(TableError, match="not UTF-8"):
        stream(path)


def test_numbers_that_another_file_s_type_does_not_hold_are_told_with_file_and_column(
    tmp_path: Path,
) -> None:
    fractions = parquet(tmp_path / "a.parquet", id=[1.5])
    large = parquet(tmp_path / "b.parquet", id=[2**53 + 1])
    with pytest.raises(TableError, match=r"'id' of .*b\.parquet holds int64 .*one by one"):
        stream(fractions, large)


def test_times_that_another_file_s_unit_does_not_hold_are_told(tmp_path: Path) -> None:
    fine = parquet(tmp_path / "a.parquet", at=pa.array([1], pa.timestamp("us")))
    far = parquet(tmp_path / "b.parquet", at=pa.array([10**17], pa.timestamp("ms")))
    with pytest.raises(TableError, match="'at' of"):
        stream(fine, far)


@pytest.mark.parametrize("values", [[1.5, 2**53 + 1], [-1, 2**63 + 1], [[1.5], [2**53 + 1]]])
def test_the_type_of_numbers_does_not_depend_on_where_a_batch_ends(
    values: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = json_lines(tmp_path / "n.jsonl", "n", [values[0], None, values[1]])
    together = read(path)
    monkeypatch.setattr("protorynet.data.json_lines._LINES_PER_BATCH", 1)
    assert read(path).equals(together)


SCALARS = st.sampled_from([None, 1, -1, 1.5, True, "a", 2**53 + 1, 2**63, 10**30])
VALUES = SCALARS | st.lists(SCALARS, max_size=2) | st.fixed_dictionaries({"a": SCALARS})


@given(st.lists(VALUES, min_size=1, max_size=5), st.integers(1, 4))
def test_json_lines_of_any_values_are_read(
    tmp_path_factory: pytest.TempPathFactory, values: list[Any], lines: int
) -> None:
    path = json_lines(tmp_path_factory.mktemp("any") / "n.jsonl", "n", values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("protorynet.data.json_lines._LINES_PER_BATCH", lines)
        assert read(path).num_rows == len(values)


@pytest.mark.parametrize("is_category", [False, True])
def test_a_long_value_that_a_file_holds_once_makes_short_batches(
    tmp_path: Path, is_category: bool
) -> None:
    places = pa.array(np.zeros(500, np.int32))
    pages = pa.DictionaryArray.from_arrays(places, pa.array(["word " * 50_000]))
    path = tmp_path / "packed.parquet"
    table = pa.table({"text": ["Good."] * 500, "page": pages})
    pq.write_table(table, path, store_schema=is_category)
    lengths = [batch.num_rows for batch in open_table(path).batches(0)]
    assert sum(lengths) == 500
    assert max(lengths) * 250_000 <= 2 * BLOCK_BYTES


def test_batches_shrink_where_rows_become_long(tmp_path: Path) -> None:
    path = parquet(tmp_path / "skew.parquet", page=["a"] * N_ROWS + ["word " * 4_000] * 2_500)
    lengths = [batch.num_rows for batch in open_table(path).batches(1)]
    assert sum(lengths) == N_ROWS + 2_500 - 1
    assert lengths[-2] * 20_000 <= 2 * BLOCK_BYTES


def test_rows_of_every_batch_length_come_once_and_in_order(tmp_path: Path) -> None:
    path = tmp_path / "groups.parquet"
    table = pa.table({"text": ["Good."] * N_ROWS, "n": range(N_ROWS)})
    pq.write_table(table, path, row_group_size=300)
    batches = open_table(path).batches(17)
    assert [n for batch in batches for n in batch["n"].to_pylist()] == list(range(17, N_ROWS))


def test_lack_of_memory_is_not_told_as_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_: object, **__: object) -> None:
        raise pa.ArrowMemoryError("malloc of size 64 failed")

    table = open_table(parquet(tmp_path / "t.parquet", n=[1]))
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", no_room)
    with pytest.raises(TableError, match="not enough memory"):
        list(table.batches(0))


def test_categories_of_two_files_may_be_more_than_either_s_type_counts(tmp_path: Path) -> None:
    kind = pa.dictionary(pa.int8(), pa.string())
    cities = [[f"{letter}{number}" for number in range(100)] for letter in "ab"]
    paths = [
        parquet(tmp_path / f"{number}.parquet", city=pa.array(names).dictionary_encode().cast(kind))
        for number, names in enumerate(cities)
    ]
    assert read(*paths)["city"].to_pylist() == cities[0] + cities[1]


def test_categories_of_all_row_groups_may_be_more_than_their_type_counts(tmp_path: Path) -> None:
    kind = pa.dictionary(pa.int8(), pa.string())
    schema = pa.schema([("text", pa.string()), ("city", kind)])
    path = tmp_path / "groups.parquet"
    with pq.ParquetWriter(path, schema) as writer:
        for letter in "ab":
            names = pa.array([f"{letter}{number}" for number in range(100)])
            cities = names.dictionary_encode().cast(kind)
            writer.write_table(pa.table([["Good."] * 100, cities], schema=schema))
    assert len(set(read(path)["city"].to_pylist())) == 200


@pytest.mark.skipif(os.name != "posix", reason="names are bytes on POSIX alone")
def test_a_parquet_file_whose_name_is_not_utf_8_is_read(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.parquet"))
    try:
        parquet(tmp_path / "t.parquet", n=[1]).rename(path)
    except OSError:
        pytest.skip("the file system takes no such name")
    assert read(path)["n"].to_pylist() == [1]


@pytest.mark.parametrize("column", ["text", "note"])
def test_text_that_is_not_utf_8_in_a_parquet_file_is_told_by_column(
    tmp_path: Path, column: str
) -> None:
    path = parquet(tmp_path / "bad.parquet", **{column: invalid_text(3)})
    with pytest.raises(TableError, match=rf"column '{column}' of .*UTF8"):
        stream(path)


def test_a_column_whose_name_is_not_utf_8_is_told(tmp_path: Path) -> None:
    path = tmp_path / "name.parquet"
    pq.write_table(pa.table({"text": ["Good."], "cafX": [1]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"cafX", b"caf\xe9"))
    with pytest.raises(TableError, match="cannot be read as Parquet"):
        stream(path)


def test_values_nested_without_end_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "deep.jsonl"
    path.write_text('{"text": "Good.", "deep": ' + "[" * 80 + "]" * 80 + "}\n")
    assert stream(path).schema.names == ["text"]


def test_a_key_of_its_own_in_every_line_is_refused_by_line(tmp_path: Path) -> None:
    path = tmp_path / "keys.jsonl"
    path.write_text("".join(f'{{"text": "Good.", "k{n}": 1}}\n' for n in range(3_000)))
    with pytest.raises(TableError, match=r"line 2000 of .* brings column 2,001"):
        stream(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_with_the_name_of_a_table_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(TableError, match="pipe"):
        stream(tmp_path / "pipe.csv")


def test_standard_input_with_another_delimiter_is_told_as_a_file_is() -> None:
    with pytest.raises(TableError, match="single column 'text;label', which holds ';'"):
        open_stream(["-"], standard_input=io.BytesIO(b"text;label\nFine.;good\n"))


def test_standard_input_of_any_size_and_line_end_loses_no_row() -> None:
    rows = "".join(f"review number {number} of many,good\r" for number in range(60_000))
    content = io.BytesIO(("text,label\r" + rows).encode())
    chunks = open_stream(["-"], standard_input=content).chunks()
    assert sum(chunk.batch.num_rows for chunk in chunks) == 60_000


def test_many_json_lines_are_kept_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("protorynet.data.json_lines._BYTES_IN_MEMORY", 1_000)
    path = json_lines(tmp_path / "n.jsonl", "n", list(range(N_ROWS)))
    assert read(path)["n"].to_pylist() == list(range(N_ROWS))


# How large rows are, whatever kind of column they stand in

PAIRS = pa.map_(pa.string(), pa.string())


@pytest.mark.parametrize(
    ("column", "sizes"),
    [
        (pa.array([b"0" * 100, None], pa.binary(100)), [100, 100]),
        (pa.array([[1.0] * 50] * 2, pa.list_(pa.float64(), 50)), [400, 400]),
        (pa.array([[("a", "bcd")], None], PAIRS), [4, 0]),
        (pa.array([["abc", "d"], []], pa.list_view(pa.string())), [4, 0]),
        (pa.array(["abc", None], pa.string_view()), [3, 0]),
        (pa.array([1, None]), [8, 8]),
        (pa.array([None, None], pa.dictionary(pa.int8(), pa.string())), [0, 0]),
        (pa.array([b"0" * 16] * 2, pa.uuid()), [16, 16]),
        (pa.nulls(2), [0, 0]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_the_size_of_a_row_is_that_of_its_value(column: pa.Array, sizes: list[int]) -> None:
    assert row_bytes(column).tolist() == sizes


@given(st.lists(st.lists(st.binary(max_size=9)), min_size=1), st.data())
def test_the_size_of_a_row_does_not_depend_on_those_before_it(
    rows: list[list[bytes]], data: st.DataObject
) -> None:
    kinds = [pa.list_(pa.binary()), pa.large_list(pa.binary()), pa.list_view(pa.binary())]
    column = pa.array(rows, data.draw(st.sampled_from(kinds)))
    skip = data.draw(st.integers(0, len(rows)))
    assert row_bytes(column.slice(skip)).tolist() == row_bytes(column).tolist()[skip:]


def test_a_slice_of_lists_of_one_length_has_its_own_sizes() -> None:
    column = pa.array([["a", "b"], ["cc", "dd"], ["e", "fff"]], pa.list_(pa.string(), 2))
    assert row_bytes(column.slice(1)).tolist() == [4, 4]
