"""Tables that are read a batch at a time: in bounded memory, and what is wrong told first."""

import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, strategies as st

from protorynet.data import TableStream, open_stream, open_table
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


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        ([1.5], [2**53 + 1], r"'n' of .*b\.parquet holds int64 .*one by one"),
        (pa.array([1], pa.timestamp("us")), pa.array([10**17], pa.timestamp("ms")), "'n' of"),
    ],
    ids=["numbers", "times"],
)
def test_values_that_do_not_fit_another_file_are_told_by_file_and_column(
    tmp_path, one, other, message
):
    files = parquet(tmp_path / "a.parquet", n=one), parquet(tmp_path / "b.parquet", n=other)
    with pytest.raises(TableError, match=message):
        stream(*files)


SCALARS = st.sampled_from([None, 1, -1, 1.5, "a", 2**53 + 1, 2**63, 10**30])
VALUES = SCALARS | st.lists(SCALARS, max_size=2) | st.fixed_dictionaries({"a": SCALARS})


@given(st.lists(SCALARS | VALUES, min_size=1, max_size=5), st.integers(1, 4))
@example([1.5, None, 2**53 + 1], 1)
@example([1, 1.5, 1, "a"], 2)
@example([[1.5], None, [2**53 + 1]], 1)
def test_the_values_of_json_lines_do_not_depend_on_batches(tmp_path_factory, values, lines):
    path = json_lines(tmp_path_factory.mktemp("any") / "n.jsonl", "n", values)
    together = read(path)
    assert together.num_rows == len(values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("protorynet.data.json_lines._LINES_PER_BATCH", lines)
        assert read(path).equals(together)


@pytest.mark.parametrize("is_category", [False, True])
def test_long_values_make_short_batches_and_all_rows_come_once_and_in_order(tmp_path, is_category):
    codes = pa.array(np.zeros(500, np.int32))
    pages = pa.DictionaryArray.from_arrays(codes, pa.array(["word " * 50_000]))
    path = tmp_path / "packed.parquet"
    table = pa.table({"text": ["Good."] * 500, "page": pages})
    pq.write_table(table, path, store_schema=is_category)
    lengths = [batch.num_rows for batch in open_table(path).batches(0)]
    assert sum(lengths) == 500
    assert max(lengths) * 250_000 <= 2 * BLOCK_BYTES
    table = pa.table({"text": ["Good."] * N_ROWS, "n": range(N_ROWS)})
    pq.write_table(table, path, row_group_size=300)
    batches = open_table(path).batches(17)
    assert [n for batch in batches for n in batch["n"].to_pylist()] == list(range(17, N_ROWS))


@pytest.mark.parametrize("column", ["text", "note"])
def test_text_that_is_not_utf_8_in_a_parquet_file_is_told_by_column(tmp_path, column):
    invalid = pa.Array.from_buffers(pa.string(), 3, pa.array([b"caf\xe9"] * 3).buffers())
    path = parquet(tmp_path / "bad.parquet", **{column: invalid})
    with pytest.raises(TableError, match=rf"column '{column}' of .*UTF8"):
        stream(path)
    named = tmp_path / "name.parquet"
    pq.write_table(pa.table({"text": ["Good."], "cafX": [1]}), named, store_schema=False)
    named.write_bytes(named.read_bytes().replace(b"cafX", b"caf\xe9"))
    with pytest.raises(TableError, match="cannot be read as Parquet"):
        stream(named)


def test_deep_values_are_left_out_and_ever_new_keys_and_pipes_are_refused(tmp_path):
    path = tmp_path / "keys.jsonl"
    path.write_text('{"text": "Good.", "deep": ' + "[" * 80 + "]" * 80 + "}\n")
    assert stream(path).schema.names == ["text"]
    path.write_text("".join(f'{{"text": "Good.", "k{n}": 1}}\n' for n in range(3_000)))
    with pytest.raises(TableError, match=r"line 2000 of .* brings column 2,001"):
        stream(path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.csv")
        with pytest.raises(TableError, match="pipe"):
            stream(tmp_path / "pipe.csv")


def test_standard_input_of_any_size_and_line_end_loses_no_row():
    rows = "".join(f"review number {number} of many,good\r" for number in range(60_000))
    content = io.BytesIO(("text,label\r" + rows).encode())
    chunks = open_stream(["-"], standard_input=content).chunks()
    assert sum(chunk.batch.num_rows for chunk in chunks) == 60_000
