"""`protorynet report` as a user types it."""

import hashlib

from cli_scene import write_splits


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
