"""`protorynet audit` and `report` as a user types them."""

import hashlib
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


def test_evaluate_measures_noise_beside_a_bag_of_words(run, fails, trained, table):
    ended = run("evaluate", trained, table, "--perturb", "typos,case", "--json")
    rows = json.loads(ended.out)["robustness"]
    assert [row["perturbation"] for row in rows] == ["none", "typos", "case"]
    assert all(0 <= row["same_trajectory"] <= 1 for row in rows)
    shown = run("evaluate", trained, table, "--perturb", "punctuation,synonyms").out
    assert "How the model holds under noise" in shown
    assert "there is no perturbation 'dust'" in fails(
        "evaluate", trained, table, "--perturb", "dust"
    )


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


def test_audit_of_a_table_without_splits_or_labels_is_refused(fails, trained, table, tmp_path):
    plain = write_splits(table, tmp_path)["test"]
    line = " ".join(fails("audit", trained, plain).split())
    assert "no column 'split'" in line
    assert "--train FILE and --test FILE" in line
    rows = [*read_rows(table), ("Fine.", "so-so", "test")]
    strange = write_csv(tmp_path / "strange.csv", HEADER, rows)
    assert "'so-so' were not seen in training" in fails("audit", trained, strange)


def test_report_writes_one_small_page_that_names_all_it_is_made_of(run, trained, table, tmp_path):
    path = tmp_path / "report.html"
    ended = run("report", trained, table, "-o", path, "--title", "Films & <people>")
    assert (ended.code, ended.out) == (0, "")
    assert f"wrote {path}" in " ".join(ended.err.split())
    page = path.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert len(page.encode()) < 2_000_000
    for words in (
        "<title>Films &amp; &lt;people&gt;</title>",
        "8 rows; sha256",
        "on 32 training and 8 test documents",
        "--title &#39;Films &amp; &lt;people&gt;&#39;",
        hashlib.sha256(table.read_bytes()).hexdigest(),
        "protorynet 0.",
    ):
        assert words in page


def test_report_takes_the_training_table_and_the_format(run, trained, table, tmp_path):
    tables = write_splits(table, tmp_path)
    words = ("--train", tables["train"], "--format", "md", "-o", tmp_path / "report.txt")
    assert run("report", trained, tables["test"], *words).code == 0
    written = (tmp_path / "report.txt").read_text(encoding="utf-8")
    assert written.startswith(f"# Report on the model “{trained.name}”\n")
    assert "Not audited" not in written
    assert f"--train {tables['train']}".replace("_", r"\_") in written


def test_report_without_training_rows_is_not_audited(run, trained, table, tmp_path):
    test = write_splits(table, tmp_path)["test"]
    ended = run("report", trained, test, "-o", tmp_path / "a.md")
    assert ended.code == 0
    assert "no audit: give the table that the model was made from with --train" in ended.err
    assert run("report", trained, table, "--split", "train", "-o", tmp_path / "b.md").code == 0
    for name in ("a.md", "b.md"):
        assert "Not audited" in (tmp_path / name).read_text(encoding="utf-8")
