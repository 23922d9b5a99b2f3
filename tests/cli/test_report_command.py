"""`protorynet report` as a user types it."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from cli_scene import write_csv


def parts(table: Path, folder: Path) -> dict[str, Path]:
    """Write the two splits of a table as two tables without a column 'split'."""
    with table.open(newline="", encoding="utf-8") as file:
        rows = [tuple(row) for row in csv.reader(file)][1:]
    return {
        name: write_csv(
            folder / f"{name}.csv",
            ["review", "sentiment"],
            [row[:2] for row in rows if row[2] == name],
        )
        for name in ("train", "test")
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("reports")


@pytest.fixture
def page(run, trained, table, folder) -> str:
    """The report of the test rows, written once."""
    path = folder / "report.html"
    if not path.exists():
        ended = run("report", trained, table, "-o", path, "--title", "Films & <people>")
        assert (ended.code, ended.out) == (0, "")
        assert f"wrote {path}" in " ".join(ended.err.split())
    return path.read_text(encoding="utf-8")


def test_report_writes_one_small_page(page) -> None:
    assert page.startswith("<!doctype html>")
    assert len(page.encode()) < 2_000_000


def test_report_reads_the_test_rows_and_audits_with_the_training_rows(page) -> None:
    assert "8 rows; sha256" in page
    assert "on 32 training and 8 test documents" in page


def test_report_takes_a_title(page) -> None:
    assert "<title>Films &amp; &lt;people&gt;</title>" in page


def test_report_names_command_data_and_versions(page, table) -> None:
    import hashlib

    assert "--title &#39;Films &amp; &lt;people&gt;&#39;" in page
    assert hashlib.sha256(table.read_bytes()).hexdigest() in page
    assert "protorynet 0." in page


def test_report_as_markdown_by_the_ending_of_the_file(run, trained, table, tmp_path) -> None:
    ended = run("report", trained, table, "-o", tmp_path / "report.md")
    assert ended.code == 0
    written = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert written.startswith(f"# Report on the model “{trained.name}”\n")


def test_report_takes_the_training_table_and_the_format(run, trained, table, tmp_path) -> None:
    tables = parts(table, tmp_path)
    words = ("--train", tables["train"], "--format", "md", "-o", tmp_path / "report.txt")
    assert run("report", trained, tables["test"], *words).code == 0
    written = (tmp_path / "report.txt").read_text(encoding="utf-8")
    assert "Not audited" not in written
    assert f"--train {tables['train']}".replace("_", r"\_") in written


def test_report_without_training_rows_says_what_is_missing(run, trained, table, tmp_path) -> None:
    ended = run("report", trained, parts(table, tmp_path)["test"], "-o", tmp_path / "a.md")
    assert ended.code == 0
    assert "no audit: give the table that the model was made from with --train" in ended.err
    assert "Not audited" in (tmp_path / "a.md").read_text(encoding="utf-8")


def test_report_of_the_training_rows_themselves_is_not_audited(
    run, trained, table, tmp_path
) -> None:
    assert run("report", trained, table, "--split", "train", "-o", tmp_path / "a.md").code == 0
    assert "Not audited" in (tmp_path / "a.md").read_text(encoding="utf-8")


def test_report_into_a_folder_is_refused(fails, trained, table, tmp_path) -> None:
    assert "is a folder" in fails("report", trained, table, "-o", tmp_path)


def test_report_of_another_format_is_refused(fails, trained, table) -> None:
    assert "--format" in fails("report", trained, table, "--format", "pdf")


def test_report_of_unknown_labels_names_them(fails, trained, tmp_path) -> None:
    strange = write_csv(tmp_path / "odd.csv", ["review", "sentiment"], [("A film.", "so-so")] * 2)
    assert "'so-so'" in fails("report", trained, strange, "-o", tmp_path / "a.html")
