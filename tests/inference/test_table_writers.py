"""Tables of any columns, written as text."""

import csv
import io
import json

import openpyxl
import pyarrow as pa
import pytest

from protorynet.errors import InputError
from protorynet.inference import check_columns, writer_for

FAR = 10**8  # days after 1970, and no year of Python's
STRANGE = {
    "dates in lists": pa.array([[FAR]], pa.list_(pa.date32())),
    "times in records": pa.array([{"a": FAR * 10**10}], pa.struct([("a", pa.timestamp("us"))])),
    "times in maps": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.timestamp("ns"))),
    "an empty record": pa.array([{}], pa.struct([])),
    "a missing record": pa.array([None], pa.struct([("a", pa.timestamp("ns"))])),
}


def write(ending: str, **columns: object) -> str:
    file = io.BytesIO()
    with writer_for(file, ending) as writer:
        writer.write(pa.record_batch(columns))
    return file.getvalue().decode()


def test_json_lines_hold_only_what_json_knows():
    lines = write(
        ".jsonl",
        number=[float("nan"), 1.5],
        list=[[float("inf")], None],
        bytes=[b"text", b"\xff"],
        when=pa.array([1, 2], pa.timestamp("ns")),
    )
    first, second = (json.loads(line, parse_constant=pytest.fail) for line in lines.splitlines())
    assert (first["number"], first["list"], first["bytes"]) == (None, [None], "text")
    assert (second["number"], second["list"], second["bytes"]) == (1.5, None, "/w==")


def test_a_csv_file_takes_columns_of_every_kind():
    lines = write(
        ".csv",
        bytes=[b"\xff"],
        view=pa.array(["a"], pa.string_view()),
        record=[{"a": [1]}],
        id=pa.array([b"0" * 16], pa.uuid()),
    )
    [row] = csv.DictReader(io.StringIO(lines))
    assert (row["bytes"], row["view"], row["record"]) == ("/w==", "a", '{"a": [1]}')


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl"])
@pytest.mark.parametrize("column", STRANGE.values(), ids=STRANGE.keys())
def test_a_value_that_python_does_not_hold_is_written_all_the_same(column, ending):
    assert "7" in write(ending, x=column, n=[7]).splitlines()[-1]


def test_a_column_that_a_format_does_not_hold_is_refused_by_name():
    schema = pa.schema([("text", pa.string()), ("meta", pa.struct([]))])
    with pytest.raises(InputError, match=r"column 'meta' .*\.parquet .*another format"):
        check_columns(schema, ".parquet")


def test_an_excel_file_holds_text_as_text():
    texts = ["=1+1", "#N/A", "a\x00b", "x" * 40_000]
    with writer_for(file := io.BytesIO(), ".xlsx") as writer:
        writer.write(pa.record_batch({"text": texts, "n": [1.0, float("nan"), None, 2.0]}))
    header, *rows = openpyxl.load_workbook(file).active.iter_rows(values_only=True)
    assert header == ("text", "n")
    assert rows[:3] == [("=1+1", 1), ("#N/A", None), ("a\ufffdb", None)]
    assert rows[3][0] == "x" * 32_766 + "…"
