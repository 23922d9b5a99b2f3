"""`protorynet audit` as a user types it."""

import json

import pytest
from cli_scene import read_rows, reviews, write_csv, write_splits

HEADER = ["review", "sentiment", "split"]


@pytest.fixture
def odd(table, tmp_path):
    """The reviews with, as test rows, the first training text and one without a sentence."""
    text, label, _ = next(row for row in read_rows(table) if row[2] == "train")
    more = [(text, label, "test"), ("\u200b", "positive", "test")]
    return write_csv(tmp_path / "odd.csv", HEADER, [*read_rows(table), *more])


def test_audit_reads_both_splits_of_a_table_or_two_tables(run, trained, table, tmp_path):
    ended = run("audit", trained, table)
    assert ended.code == 0
    assert "on 32 training and 8 test documents" in ended.out
    assert ended.err.count("text column:") == 1
    parts = write_splits(table, tmp_path)
    ended = run("audit", trained, "--train", parts["train"], "--test", parts["test"])
    assert "on 32 training and 8 test documents" in ended.out


def test_audit_json_names_the_rows_of_the_file(run, trained, odd):
    findings = json.loads(run("audit", trained, odd, "--json").out)["findings"]
    assert all({"kind", "severity", "message", "evidence"} <= set(each) for each in findings)
    by_kind = {each["kind"]: each["evidence"] for each in findings}
    (example,) = by_kind["shared_texts"]["examples"]
    assert (example["train_rows"], example["test_rows"]) == ([1], [len(reviews())])
    assert "empty_documents" in by_kind


@pytest.mark.parametrize("given", [[], ["--train"], ["--test"], ["data", "--train"]])
def test_audit_without_both_splits_says_what_to_give(fails, trained, table, given):
    words = [word for each in given for word in ([table] if each == "data" else [each, table])]
    assert "--train FILE and --test FILE" in fails("audit", trained, *words)


def test_audit_of_a_table_without_splits_or_of_unknown_labels_is_refused(
    fails, trained, table, tmp_path
):
    plain = write_splits(table, tmp_path)["test"]
    line = " ".join(fails("audit", trained, plain).split())
    assert "no column 'split'" in line
    assert "--train FILE and --test FILE" in line
    rows = [*read_rows(table), ("Fine.", "so-so", "test")]
    strange = write_csv(tmp_path / "strange.csv", HEADER, rows)
    assert "'so-so' were not seen in training" in fails("audit", trained, strange)
