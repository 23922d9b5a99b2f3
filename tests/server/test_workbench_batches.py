"""Tables sent for prediction: previewed, predicted, given back and summed up."""

import csv
import io
import json
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from protorynet.errors import TableError
from protorynet.server import Limits
from protorynet.server.api_shapes import safe_cell
from protorynet.server.workbench import batch_store
from protorynet.server.workbench.batch_routes import time_keys
from protorynet.server.workbench.batch_store import read_upload
from server_scene import FORMULA, SCRIPT, error_code, serving

ROWS = [
    {"complaint": SCRIPT, "city": "Rome", "date": "2026-01-05"},
    {"complaint": FORMULA, "city": "=cmd()", "date": "2026-01-06"},
    {"complaint": "The bed was broken. The pool was dirty.", "city": "Rome", "date": "2026-01-09"},
    {"complaint": "", "city": "Rome", "date": "2026-01-09"},
    {"complaint": "The bed was noisy. The bed was broken.", "city": "", "date": ""},
]

FILLED = [row["complaint"] for row in ROWS if row["complaint"]]


@pytest.fixture(scope="module")
def batch(reading):
    """The rows, predicted with all their columns named."""
    columns = {"text": "complaint", "group": "city", "time": "date"}
    return reading.send_table(_table("parquet"), "../../etc/t.parquet", **columns)


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "xlsx"])
def test_a_table_of_every_kind_is_previewed(reading, kind):
    found = reading.upload("/batches/preview", _table(kind), f"complaints.{kind}").json()
    assert (found["n_rows"], found["filename"]) == (5, f"complaints.{kind}")
    assert [column["name"] for column in found["columns"]] == ["complaint", "city", "date"]
    assert [column["kind"] for column in found["columns"]] == ["text", "text", "time"]
    assert found["guess"] == {"text": "complaint", "group": "city", "time": "date"}


@pytest.mark.parametrize(
    ("content", "filename"),
    [
        (b"a,b\n", "table.csv"),
        (b"\xff\xfe\x00", "table.csv"),
        (b"{", "table.jsonl"),
        (b"PAR1", "table.parquet"),
        (b"text\nGood.\n", "table.xlsx"),
        (b"\x1f\x8b", "table.csv.gz"),
    ],
)
def test_a_file_that_is_no_table_is_refused_without_showing_paths(reading, content, filename):
    answer = reading.upload("/batches/preview", content, filename)
    assert (answer.status_code, error_code(answer)) == (422, "bad_input"), answer.text
    assert "/" not in answer.json()["error"]["message"].replace(" / ", "")


def test_an_upload_is_predicted_once_even_if_two_ask_at_the_same_time(bench):
    upload = bench.upload("/batches/preview", _table("csv"), "complaints.csv").json()["upload"]
    columns = {"upload": upload, "text": "complaint", "group": "city", "time": "date"}
    with ThreadPoolExecutor(2) as threads:
        sent = [threads.submit(bench.post, "/batches", data=columns) for _ in range(2)]
    answers = sorted((each.result() for each in sent), key=lambda each: each.status_code)
    assert bench.wait(answers[0].json()["job"])["state"] == "done"
    assert error_code(answers[1]) in ("unknown_upload", "bad_input")


def test_the_result_holds_the_rows_and_what_the_model_says(reading, batch, classifier):
    assert (batch["state"], batch["progress"], batch["filename"]) == ("done", 1.0, "t.parquet")
    assert (batch["n_rows"], batch["n_documents"], batch["n_skipped"]) == (5, 4, 1)
    answer = reading.get(f"/batches/{batch['id']}/result.parquet")
    table = pq.read_table(io.BytesIO(answer.content))
    assert table.column("complaint").to_pylist() == FILLED
    assert table.column("prediction").to_pylist() == classifier.predict(FILLED).tolist()
    given = np.stack([table.column(f"p_{name}").to_numpy() for name in ("bad", "good")], axis=1)
    np.testing.assert_allclose(given, classifier.predict_proba(FILLED), atol=1e-5)
    paths = classifier.read(FILLED).paths(classifier.prototypes_.ids)
    expected = [" ".join(map(str, path)) for path in paths]
    assert table.column("trajectory").to_pylist() == expected


def test_the_result_as_csv_holds_no_formula(reading, batch):
    answer = reading.get(f"/batches/{batch['id']}/result.csv")
    lines = list(csv.DictReader(io.StringIO(answer.text)))
    assert "attachment" in answer.headers["content-disposition"]
    assert [line["complaint"] for line in lines][:2] == [SCRIPT, "'" + FORMULA]
    assert lines[1]["city"] == "'=cmd()"


@pytest.mark.parametrize("cell", ["\ufeff=1+1", "\u200b@a", "\0=1", "＝1+1", "\t=1", " =1"])
def test_what_a_spreadsheet_would_take_for_a_formula_is_quoted(cell):
    assert safe_cell(cell) == f"'{cell}"


def test_columns_of_any_kind_come_through(reading):
    columns = {
        "text": pa.array(["The bed was broken.", "The pool was clean."]),
        "far": pa.array([2**60, None], pa.timestamp("ms")),
        "day": pa.array([10**9, 1], pa.date32()),
        "list": pa.array([[1], None]),
        "struct": pa.array([{"a": 1}, None]),
        "map": pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64())),
        "bytes": pa.array([b"\xff", b""]),
        "kind": pa.array(["x", "y"]).dictionary_encode(),
        "nothing": pa.nulls(2),
        "span": pa.array([1, 2], pa.duration("ns")),
        "<script>": pa.array([1.5, float("nan")]),
    }
    content = io.BytesIO()
    pq.write_table(pa.table(columns), content)
    preview = reading.upload("/batches/preview", content.getvalue(), "odd.parquet").json()
    assert [column["name"] for column in preview["columns"]] == list(columns)
    for group in ("far", "struct", "<script>"):
        batch = reading.send_table(content.getvalue(), "odd.parquet", text="text", group=group)
        answer = reading.get(f"/batches/{batch['id']}/result.csv")
        assert len(list(csv.DictReader(io.StringIO(answer.text)))) == 2


def test_the_overview_counts_the_documents_of_each_prototype(reading, batch, classifier):
    found = reading.get(f"/batches/{batch['id']}/overview").json()
    matched = [set(classifier.read([text]).prototypes.tolist()) for text in FILLED]
    expected = Counter(int(classifier.prototypes_.ids[n]) for each in matched for n in each)
    counted = {item["id"]: item["n_documents"] for item in found["prototypes"]}
    assert {number: n for number, n in counted.items() if n} == expected
    assert (found["n_documents"], found["keys"]) == (4, ["all"])
    assert list(counted.values()) == sorted(counted.values(), reverse=True)
    shown = [top for item in found["prototypes"] for top in item["top"]]
    assert shown
    assert all(top["sentence"] in ROWS[top["row"]]["complaint"] for top in shown)
    like = classifier.read([top["sentence"] for top in shown]).members
    members = [classifier.prototypes_.members[position].sentence for position in like]
    assert [top["member_sentence"] for top in shown] == members
    unfamiliar = classifier.read(FILLED).unfamiliar
    strange = int(unfamiliar.sum())
    assert (found["n_unfamiliar"], found["sentences"]) == (strange, [len(unfamiliar)])
    assert found["unfamiliar"] == [strange]


@pytest.mark.parametrize(
    ("by", "bucket", "keys"),
    [
        ("group", None, {"Rome": 2, "=cmd()": 1, "(none)": 1}),
        ("time", "day", {"2026-01-05": 1, "2026-01-06": 1, "2026-01-09": 1, "(none)": 1}),
    ],
)
def test_the_overview_by_group_and_over_time_adds_up(reading, batch, by, bucket, keys):
    found = reading.get(f"/batches/{batch['id']}/overview", by=by).json()
    documents = dict(zip(found["keys"], found["documents"], strict=True))
    assert {key: n for key, n in documents.items() if n} == keys
    assert (found["bucket"], found["keys"][-1]) == (bucket, "(none)")
    assert all(sum(item["counts"]) == item["n_documents"] for item in found["prototypes"])
    assert sum(label["n"] for label in found["labels"]) == 4


def test_an_overview_by_a_column_that_was_not_named_is_refused(reading):
    batch = reading.send_table(_table("csv"), "complaints.csv", text="complaint")
    for by in ("group", "time"):
        answer = reading.get(f"/batches/{batch['id']}/overview", by=by)
        assert (answer.status_code, error_code(answer)) == (409, f"no_{by}")
    assert reading.get(f"/batches/{batch['id']}/overview", by="x").status_code == 422


def test_a_column_without_dates_fails_the_batch_with_a_reason(reading):
    columns = {"text": "complaint", "time": "city"}
    sent = reading.upload("/batches", _table("csv"), "t.csv", **columns).json()
    job = reading.wait(sent["job"])
    found = reading.get(f"/batches/{sent['batch']}").json()
    assert (job["state"], found["state"]) == ("failed", "failed")
    assert "'city' holds no dates" in found["message"]
    answer = reading.get(f"/batches/{sent['batch']}/result.csv")
    assert (answer.status_code, error_code(answer)) == (409, "batch_not_done")


def test_a_text_or_a_file_that_is_too_long_is_refused(own_hotel):
    limits = Limits(max_characters=50, max_upload_bytes=1_000, max_body_bytes=500)
    with serving(own_hotel, limits=limits) as server:
        content = b"text\nGood.\n" + b"Long. " * 20
        sent = server.upload("/batches", content, "t.csv", text="text").json()
        assert "row 3 " in server.wait(sent["job"])["message"]
        for path in ("/batches", "/batches/preview"):
            answer = server.upload(path, b"x" * 2_000, "t.csv")
            assert (answer.status_code, error_code(answer)) == (413, "body_too_large")


@pytest.mark.parametrize("batch", ["x", "%2e%2e%2fdraft", "a" * 22, "a" * 65])
def test_tricks_in_the_id_of_a_batch_fail(reading, batch):
    for path in ("", "/result.csv", "/result.parquet", "/overview"):
        assert reading.get(f"/batches/{batch}{path}").status_code in (404, 422)


@pytest.mark.parametrize("upload", ["../batches", "..", "", "x" * 22, "/etc"])
def test_tricks_in_the_id_of_an_upload_fail(reading, upload):
    answer = reading.post("/batches", data={"upload": upload, "text": "text"})
    assert error_code(answer) in ("unknown_upload", "one_table")


def test_nothing_that_is_sent_stays_in_the_cache_of_embeddings(bench, cache_folder):
    def content() -> dict[str, int]:
        found = cache_folder.rglob("*")
        return {str(path): path.stat().st_size for path in found if path.is_file()}

    before = content()
    bench.send_table(b"text\nThis stands nowhere else. Nor does this.\n", "t.csv", text="text")
    assert content() == before


@given(st.lists(st.dates(), min_size=1, max_size=20))
def test_every_document_lies_in_the_bucket_of_its_day(days):
    days = [
        day.replace(year=1000 + day.year % 2000) for day in days if (day.month, day.day) != (2, 29)
    ]
    if not days:
        return
    keys = time_keys([day.isoformat() for day in days], "date")
    for day, key in zip(days, keys.of.tolist(), strict=True):
        assert keys.names[key] <= day.isoformat()
        assert key + 1 == len(keys.names) or day.isoformat() < keys.names[key + 1]


def test_a_small_file_that_unfolds_to_a_large_table_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(batch_store, "_MOST_BYTES", 2**20)
    monkeypatch.setattr(batch_store, "_MOST_ROWS", 1_000)
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(200, np.int32)), ["long " * 2_000])
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"text": column.cast(pa.string())}), path)
    assert path.stat().st_size < 2**20
    with pytest.raises(TableError, match="unfolds"):
        read_upload(path)
    (tmp_path / "t.jsonl").write_text('{"a": 1}\n' * 1_001)
    with pytest.raises(TableError, match="unfolds"):
        read_upload(tmp_path / "t.jsonl")


def test_missing_columns_are_refused_and_the_table_is_not_kept(bench, own_hotel):
    for data, code in (
        ({"text": "nothing"}, "bad_input"),
        ({"text": "complaint", "group": "nothing"}, "bad_input"),
        ({"text": ""}, "invalid_request"),
        ({}, "invalid_request"),
        ({"text": "complaint", "upload": "x"}, "one_table"),
    ):
        answer = bench.upload("/batches", _table("csv"), "t.csv", **data)
        assert (answer.status_code, error_code(answer)) == (422, code)
    assert not list((own_hotel.with_name("hotel.workbench")).glob("uploads/*"))


def test_results_outlive_a_restart_until_they_are_removed(bench, own_hotel):
    batch = bench.send_table(_table("csv"), "complaints.csv", text="complaint")
    with serving(own_hotel) as server:
        assert server.get(f"/batches/{batch['id']}").json() == batch
    assert bench.delete(f"/batches/{batch['id']}").status_code == 204
    assert error_code(bench.get(f"/batches/{batch['id']}")) == "unknown_batch"


def test_what_is_too_old_is_removed_and_not_given(bench, own_hotel):
    home = own_hotel.with_name("hotel.workbench")
    batch = bench.send_table(_table("csv"), "complaints.csv", text="complaint")["id"]
    upload = bench.upload("/batches/preview", _table("csv"), "complaints.csv").json()["upload"]
    folders = (home / "batches" / batch, home / "uploads" / upload)
    for folder in folders:
        os.utime(folder, (0, 0))
    assert bench.get(f"/batches/{batch}/result.csv").status_code == 404
    assert not any(folder.exists() for folder in folders)


def _table(kind: str) -> bytes:
    if kind == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in ROWS).encode()
    if kind == "parquet":
        out = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(ROWS), out)
        return out.getvalue()
    if kind == "xlsx":
        book = pytest.importorskip("openpyxl", reason="needs protorynet[excel]").Workbook()
        for row in (ROWS[0], *(list(each.values()) for each in ROWS)):
            book.active.append(list(row))
        # A cell that begins so would be a formula.
        book.active["A3"].data_type = book.active["B3"].data_type = "s"
        book.save(out := io.BytesIO())
        return out.getvalue()
    text = io.StringIO()
    writer = csv.DictWriter(text, list(ROWS[0]), delimiter="," if kind == "csv" else "\t")
    writer.writeheader()
    writer.writerows(ROWS)
    return text.getvalue().encode()
