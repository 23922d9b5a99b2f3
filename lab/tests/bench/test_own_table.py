"""`protorynet bench TABLE`: models compared on a table of one's own."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from protorynet.cli import main
from protorynet_lab.bench.bench_jobs import Source


@pytest.fixture
def table(reviews, tmp_path) -> Path:
    path = tmp_path / "my reviews.csv"
    pd.DataFrame({"review": reviews.texts, "stars": reviews.labels}).to_csv(path, index=False)
    return path


@pytest.fixture
def out(tmp_path) -> Path:
    return tmp_path / "docs" / "results"


def bench(table: Path, out: Path, models: str, *more: str, quick: bool = True) -> int:
    options = ["--models", models, "--device", "cpu", "--out", str(out), *["--quick"] * quick]
    return main(["bench", str(table), "--label", "stars", *options, *more])


def text(out: Path) -> str:
    return (out / "my_reviews.md").read_text(encoding="utf-8")


def change(table: Path) -> None:
    """Write other documents under the same name."""
    rows = pd.read_csv(table)
    rows["review"] = rows["review"].str.upper()
    rows.to_csv(table, index=False)


def test_models_are_compared_in_the_terminal_and_in_files(table, tiny_bert_folder, out, capsys):
    encoder = ("--encoders", str(tiny_bert_folder))
    assert bench(table, out, "none,bag-of-words,ceiling-none", *encoder) == 0
    shown = capsys.readouterr()
    for words in ("ours, frozen", "bag of words", "no prototypes", "black box", "sentences"):
        assert words in shown.out
    assert "12 of its 60 documents are held out" in shown.err
    assert {path.name for path in out.iterdir()} == {"my_reviews.md", "my_reviews.html", "records"}
    # The page names the command that measures the same again.
    page = text(out)
    assert "--label stars --text review --models none,ceiling-none,bag-of-words" in page
    assert "| Accuracy under noise | none | typos | case | punctuation | synonyms |" in page
    # It is written again without table or model.
    (out / "my_reviews.md").unlink()
    table.unlink()
    assert main(["bench", str(table), "--from-records", "--out", str(out)]) == 0
    assert text(out) == page
    # It is among the paper's only where it is asked for.
    pages = [out / "table1.md", out.parent / "results.md", out.parent / "paper-tables.md"]
    for asked_for in ((), ("--sets", "my_reviews")):
        assert main(["bench", "all", "--from-records", "--out", str(out), *asked_for]) == 0
        shown_in = ["my\\_reviews" in page.read_text("utf-8") for page in pages]
        assert shown_in == [bool(asked_for)] * 3


def test_figures_of_other_documents_are_left_out_and_come_back(
    table, tiny_bert_folder, tmp_path, out
):
    before = table.read_bytes()
    assert bench(table, out, "none,bag-of-words", "--encoders", str(tiny_bert_folder)) == 0
    change(table)
    assert bench(table, out, "bag-of-words-paper") == 0
    assert "| bag of words, the paper's |" in text(out)
    assert "ours, frozen" not in text(out)
    assert "from other weights or in a quick run: none, bag-of-words." in text(out)
    # Nor do they stand for a model that failed.
    vectors = tmp_path / "glove.txt"
    vectors.write_text("zebra 0.1\n", encoding="utf-8")
    assert bench(table, out, "lstm", "--vectors", str(vectors)) == 1
    assert "ours, frozen" not in text(out)
    assert "lstm, seed 0: InputError" in text(out)
    table.write_bytes(before)
    assert bench(table, out, "bag-of-words") == 0
    assert "ours, frozen" in text(out)


@pytest.mark.parametrize("name", ["imdb", "Table1"])
def test_a_table_named_like_something_of_the_papers_keeps_apart_from_it(
    reviews, tmp_path, out, name
):
    # Labels that are fractions are compared like any other.
    table = tmp_path / f"{name}.csv"
    stars = [4.5 if label == "good" else 1.5 for label in reviews.labels]
    pd.DataFrame({"review": reviews.texts, "stars": stars}).to_csv(table, index=False)
    assert bench(table, out, "bag-of-words") == 0
    assert (out / "records" / f"own_{name}.jsonl").is_file()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["table1", "--data", "TABLE"], "is a file; give the folder"),
        (["table1"], "--data"),
        (["TABLE", "--data", "imdb"], "is a table of your own"),
        (["TABLE", "--sets", "imdb"], "is a table of your own"),
        (["TABLE", "--split-column", "part"], "has no column 'part'"),
        (["SEVERAL"], "several labels"),
    ],
)
def test_a_wrong_command_ends_in_one_line(given, message, table, tmp_path, out, capsys):
    several = tmp_path / "several.jsonl"
    rows = [{"text": f"Text {n}.", "label": ["a", "b"][: 1 + n % 2]} for n in range(20)]
    several.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    paths = {"TABLE": str(table), "SEVERAL": str(several)}
    command = ["bench", *(paths.get(word, word) for word in given), "--out", str(out)]
    assert main(command) == 2
    assert message in capsys.readouterr().err


def test_the_documents_held_out_are_of_every_class_and_always_the_same(table):
    first, second = Source(table, label="stars").read(), Source(table, label="stars").read()
    assert first.digest == second.digest
    assert sorted(first.test.labels or ()) == ["bad"] * 6 + ["good"] * 6
    assert not set(first.train.rows) & set(first.test.rows)


@pytest.mark.parametrize("column", ["split", "Part", "fold"])
def test_the_split_column_that_is_named_counts_and_no_other(column, reviews, tmp_path):
    path = tmp_path / "table.parquet"
    other = np.where(np.arange(60) < 20, "train", "test")
    named = np.repeat(["train", "valid", "test"], [40, 8, 12])
    others = {} if column == "split" else {"Split": other, "split": other}
    columns = {**others, column: named}
    pd.DataFrame({"text": reviews.texts, "label": reviews.labels, **columns}).to_parquet(path)
    documents = Source(path, split=column).read()
    assert (len(documents.train), len(documents.test)) == (40, 12)
    assert documents.notes[-1].startswith("8 rows with split 'valid' are left out")
