"""Tables of any columns, written as text."""

from __future__ import annotations

import csv
import io
import json

import pyarrow as pa
import pytest

from protorynet.scoring.writing import writer_for


def test_json_lines_hold_only_what_json_knows() -> None:
    batch = pa.record_batch(
        {
            "number": [float("nan"), 1.5],
            "list": [[float("inf")], None],
            "bytes": [b"text", b"\xff"],
            "when": pa.array([1, 2], pa.timestamp("ns")),
        }
    )
    file = io.BytesIO()
    with writer_for(file, ".jsonl") as writer:
        writer.write(batch)
    rows = [json.loads(line, parse_constant=pytest.fail) for line in file.getvalue().splitlines()]
    assert [row["number"] for row in rows] == [None, 1.5]
    assert [row["list"] for row in rows] == [[None], None]
    assert [row["bytes"] for row in rows] == ["text", "/w=="]


def test_a_csv_file_takes_columns_of_every_kind() -> None:
    batch = pa.record_batch(
        {
            "bytes": [b"\xff"],
            "view": pa.array(["a"], pa.string_view()),
            "record": [{"a": [1]}],
            "id": pa.array([b"0" * 16], pa.uuid()),
        }
    )
    file = io.BytesIO()
    with writer_for(file, ".csv") as writer:
        writer.write(batch)
    [row] = csv.DictReader(io.StringIO(file.getvalue().decode()))
    assert (row["bytes"], row["view"], row["record"]) == ("/w==", "a", '{"a": [1]}')
