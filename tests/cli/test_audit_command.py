"""`protorynet audit` as a user types it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from cli_scene import reviews, write_csv


def rows(table: Path) -> list[tuple[str, ...]]:
    with table.open(newline="", encoding="utf-8") as file:
        return [tuple(row) for row in csv.reader(file)][1:]


@pytest.fixture
def leaking(table, tmp_path) -> Path:
    """The reviews with the first training text among the test rows as well."""
    text, label, _ = next(row for row in rows(table) if row[2] == "train")
    header = ["review", "sentiment", "split"]
    return write_csv(tmp_path / "leaking.csv", header, [*rows(table), (text, label, "test")])


def test_audit_reads_both_splits_of_a_table(run, trained, table) -> None:
    ended = run("audit", trained, table)
    assert ended.code == 0
    assert "on 32 training and 8 test documents" in ended.out


def test_audit_json_has_the_promised_shape(run, trained, leaking) -> None:
    told = json.loads(run("audit", trained, leaking, "--json").out)
    assert all(
        {"kind", "severity", "message", "evidence"} <= set(each) for each in told["findings"]
    )


def test_audit_names_the_rows_of_the_file(run, trained, leaking) -> None:
    told = json.loads(run("audit", trained, leaking, "--json").out)["findings"]
    (shared,) = [each for each in told if each["kind"] == "shared_texts"]
    (example,) = shared["evidence"]["examples"]
    assert (example["train_rows"], example["test_rows"]) == ([1], [len(reviews())])


def test_audit_takes_two_tables(run, trained, table, tmp_path) -> None:
    header = ["review", "sentiment"]
    parts = {
        name: write_csv(
            tmp_path / f"{name}.csv", header, [row[:2] for row in rows(table) if row[2] == name]
        )
        for name in ("train", "test")
    }
    ended = run("audit", trained, "--train", parts["train"], "--test", parts["test"])
    assert "on 32 training and 8 test documents" in ended.out


def test_audit_tells_its_guesses_once(run, trained, table) -> None:
    assert run("audit", trained, table).err.count("text column:") == 1


def test_audit_reports_empty_documents_instead_of_failing(run, trained, table, tmp_path) -> None:
    header = ["review", "sentiment", "split"]
    odd = write_csv(tmp_path / "odd.csv", header, [*rows(table), ("\u200b", "positive", "test")])
    told = json.loads(run("audit", trained, odd, "--json").out)["findings"]
    assert "empty_documents" in {each["kind"] for each in told}


@pytest.mark.parametrize("given", [[], ["--train"], ["--test"], ["data", "--train"]])
def test_audit_without_both_splits_says_what_to_give(fails, trained, table, given) -> None:
    words = [word for each in given for word in ([table] if each == "data" else [each, table])]
    assert "--train FILE and --test FILE" in fails("audit", trained, *words)


def test_audit_of_a_table_without_splits_is_refused(fails, trained, table, tmp_path) -> None:
    plain = write_csv(
        tmp_path / "plain.csv", ["review", "sentiment"], [row[:2] for row in rows(table)]
    )
    told = " ".join(fails("audit", trained, plain).split())
    assert "no column 'split'" in told
    assert "--train FILE and --test FILE" in told


def test_audit_of_unknown_labels_is_refused(fails, trained, table, tmp_path) -> None:
    header = ["review", "sentiment", "split"]
    odd = write_csv(tmp_path / "odd.csv", header, [*rows(table), ("Fine.", "so-so", "test")])
    assert "'so-so' were not seen in training" in fails("audit", trained, odd)
