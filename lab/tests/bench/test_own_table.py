"""`protorynet bench TABLE`: models compared on a table of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from protorynet.cli import main
from protorynet_lab.bench import read_results
from protorynet_lab.bench.appending import append_record
from protorynet_lab.bench.documents import Source

MODELS = "none,bag-of-words,ceiling-none"


@pytest.fixture
def table(reviews: Any, tmp_path: Path) -> Path:
    path = tmp_path / "my reviews.csv"
    pd.DataFrame({"review": reviews.texts, "stars": reviews.labels}).to_csv(path, index=False)
    return path


def change(table: Path) -> None:
    """Write other documents under the same name."""
    rows = pd.read_csv(table)
    rows["review"] = rows["review"].str.upper()
    rows.to_csv(table, index=False)


def command(table: Path, encoder: Path, *more: str) -> list[str]:
    options = ["--encoders", str(encoder), "--models", MODELS, "--device", "cpu", "--quick"]
    return ["bench", str(table), "--label", "stars", *options, *more]


def test_models_are_compared_in_the_terminal_and_in_files(
    table: Path, tiny_bert_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out" / "results"
    assert main(command(table, tiny_bert_folder, "--out", str(out))) == 0
    shown = capsys.readouterr()
    for words in ("ours, frozen", "bag of words", "no prototypes", "black box", "sentences"):
        assert words in shown.out
    assert "12 of its 60 documents are held out" in shown.err
    assert {path.name for path in out.iterdir()} == {
        "my_reviews.md",
        "my_reviews.html",
        "records",
    }


@pytest.mark.parametrize(("asked_for", "is_shown"), [((), False), (("--sets", "my_reviews"), True)])
def test_a_table_of_ones_own_is_among_the_papers_only_where_it_is_asked_for(
    asked_for: tuple[str, ...],
    is_shown: bool,
    table: Path,
    tiny_bert_folder: Path,
    tmp_path: Path,
) -> None:
    out = tmp_path / "docs" / "results"
    assert main(command(table, tiny_bert_folder, "--out", str(out))) == 0
    assert main(["bench", "all", "--from-records", "--out", str(out), *asked_for]) == 0
    pages = [out / "table1.md", out.parent / "results.md", out.parent / "paper-tables.md"]
    assert ["my\\_reviews" in page.read_text("utf-8") for page in pages] == [is_shown] * 3


def test_the_pages_are_written_again_without_table_or_model(
    table: Path, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "results"
    assert main(command(table, tiny_bert_folder, "--out", str(out))) == 0
    page = (out / "my_reviews.md").read_bytes()
    (out / "my_reviews.md").unlink()
    table.unlink()
    assert main(["bench", str(table), "--from-records", "--out", str(out)]) == 0
    assert (out / "my_reviews.md").read_bytes() == page


def test_the_page_names_the_command_that_measures_the_same_again(
    table: Path, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "results"
    assert main(command(table, tiny_bert_folder, "--out", str(out))) == 0
    page = (out / "my_reviews.md").read_text(encoding="utf-8")
    assert "--label stars --text review --models none,ceiling-none,bag-of-words" in page


def test_a_model_measured_on_other_documents_is_left_out_and_named(
    table: Path, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "results"
    assert main(command(table, tiny_bert_folder, "--out", str(out))) == 0
    change(table)
    again = command(table, tiny_bert_folder, "--out", str(out), "--models", "bag-of-words")
    assert main(again) == 0
    page = (out / "my_reviews.md").read_text(encoding="utf-8")
    assert "| bag of words |" in page
    assert "ours, frozen" not in page
    assert "from other weights or in a quick run: none, ceiling-none." in page


def test_figures_of_a_quick_run_give_way_to_those_measured_in_earnest(
    table: Path, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "results"
    assert main(command(table, tiny_bert_folder, "--out", str(out))) == 0
    earnest = ["bench", str(table), "--label", "stars", "--models", "bag-of-words"]
    assert main([*earnest, "--out", str(out)]) == 0
    page = (out / "my_reviews.md").read_text(encoding="utf-8")
    assert "figures mean nothing" not in page
    assert "in a quick run: none, ceiling-none." in page


def test_quick_figures_of_a_small_table_are_kept_apart_from_those_in_earnest(
    tmp_path: Path,
) -> None:
    path = tmp_path / "small.csv"
    rows = [f"{word} indeed,{word}" for word in ("good", "bad") for _ in range(12)]
    path.write_text("text,label\n" + "\n".join(rows), encoding="utf-8")
    whole, quick = Source(path).read(), Source(path).read(quick=True)
    assert whole.train.texts == quick.train.texts
    assert whole.digest != quick.digest


def test_a_quick_run_leaves_the_stability_measured_in_earnest(
    table: Path, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "results"
    digest = Source(table, label="stars").read().digest
    names = {"set": "my_reviews", "encoder": tiny_bert_folder.name, "model": "none"}
    for seed in (0, 1):
        job = {"kind": "job", "seed": seed, "data": digest, "accuracy": 0.9}
        append_record(out / "records" / "my_reviews.jsonl", {**names, **job})
    stability = {"kind": "stability", "seeds": [0, 1], "value": 0.35, "data": digest}
    append_record(out / "records" / "my_reviews.jsonl", {**names, **stability})
    quick = command(table, tiny_bert_folder, "--seeds", "2,3", "--out", str(out))
    assert main([*quick, "--models", "none"]) == 0
    groups = read_results(out / "records").groups
    assert [group.stability for group in groups] == [0.35]


def test_a_model_that_failed_has_a_row_though_no_other_has_an_encoder(
    table: Path, tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from protorynet_lab.bench import measuring

    def refuse(*_: Any) -> Any:
        raise ValueError("no memory")

    monkeypatch.setattr(measuring, "_measure_protorynet", refuse)
    out = tmp_path / "results"
    given = command(table, tiny_bert_folder, "--out", str(out), "--models", "none,bag-of-words")
    assert main(given) == 1
    assert "| ours, frozen | failed |" in (out / "my_reviews.md").read_text(encoding="utf-8")


def test_figures_of_other_documents_do_not_stand_for_a_model_that_failed(
    table: Path, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "results"
    assert main(command(table, tiny_bert_folder, "--out", str(out))) == 0
    change(table)
    vectors = tmp_path / "glove.txt"
    vectors.write_text("zebra 0.1\n", encoding="utf-8")
    more = ["--models", "lstm", "--vectors", str(vectors), "--out", str(out)]
    assert main(command(table, tiny_bert_folder, *more)) == 1
    page = (out / "my_reviews.md").read_text(encoding="utf-8")
    assert "ours, frozen" not in page
    assert "lstm, seed 0: InputError" in page


def test_figures_come_back_with_the_documents_they_were_measured_on(
    table: Path, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    out, before = tmp_path / "results", table.read_bytes()
    first = command(table, tiny_bert_folder, "--out", str(out), "--models", "bag-of-words")
    assert main(first) == 0
    page = (out / "my_reviews.md").read_bytes()
    change(table)
    assert main(command(table, tiny_bert_folder, "--out", str(out), "--models", "none")) == 0
    table.write_bytes(before)
    assert main(first) == 0
    text = (out / "my_reviews.md").read_text(encoding="utf-8")
    assert "| bag of words |" in text
    assert page.decode().splitlines()[0] in text


def test_a_failure_in_earnest_does_not_hide_a_quick_run(
    table: Path, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    out, vectors = tmp_path / "results", tmp_path / "glove.txt"
    vectors.write_text("zebra 0.1\n", encoding="utf-8")
    earnest = ["bench", str(table), "--label", "stars", "--models", "lstm", "--out", str(out)]
    assert main([*earnest, "--vectors", str(vectors)]) == 1
    quick = command(table, tiny_bert_folder, "--out", str(out), "--models", "bag-of-words")
    assert main(quick) == 0
    assert "| bag of words |" in (out / "my_reviews.md").read_text(encoding="utf-8")


def test_an_encoder_that_cannot_be_had_has_a_row_beside_one_that_can(
    table: Path, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    broken, out = tmp_path / "broken", tmp_path / "results"
    broken.mkdir()
    both = f"{tiny_bert_folder},{broken}"
    more = ["--encoders", both, "--models", "none", "--out", str(out)]
    assert main(command(table, tiny_bert_folder, *more)) == 1
    page = (out / "my_reviews.md").read_text(encoding="utf-8")
    assert "| ours, frozen | failed |" in page


def test_labels_that_are_fractions_are_compared_like_any_other(
    reviews: Any, tmp_path: Path
) -> None:
    table, out = tmp_path / "half.csv", tmp_path / "results"
    stars = [4.5 if label == "good" else 1.5 for label in reviews.labels]
    pd.DataFrame({"review": reviews.texts, "stars": stars}).to_csv(table, index=False)
    more = ["--models", "bag-of-words", "--quick", "--out", str(out)]
    assert main(["bench", str(table), "--label", "stars", *more]) == 0


@pytest.mark.parametrize("name", ["imdb", "Table1", "all"])
def test_a_table_named_like_something_of_the_papers_keeps_apart_from_it(
    table: Path, tmp_path: Path, name: str
) -> None:
    own, out = table.rename(tmp_path / f"{name}.csv"), tmp_path / "results"
    more = ["--models", "bag-of-words", "--quick", "--out", str(out)]
    assert main(["bench", str(own), "--label", "stars", *more]) == 0
    assert (out / "records" / f"own_{name}.jsonl").is_file()


def test_a_table_given_as_the_folder_of_data_is_told_how_to_be_compared(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "table1", "--data", str(table)]) == 2
    assert "is a file; give the folder" in capsys.readouterr().err


def test_a_word_that_is_neither_experiment_nor_table_ends_in_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["bench", "tabel1"]) == 2
    assert "neither an experiment" in capsys.readouterr().err


def test_an_experiment_without_a_folder_of_data_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["bench", "table1"]) == 2
    assert "--data" in capsys.readouterr().err


def test_the_documents_held_out_are_of_every_class_and_always_the_same(table: Path) -> None:
    first, second = Source(table, label="stars").read(), Source(table, label="stars").read()
    assert first.digest == second.digest
    assert sorted(first.test.labels or ()) == ["bad"] * 6 + ["good"] * 6
    assert not set(first.train.rows) & set(first.test.rows)


@pytest.mark.parametrize("column", ["split", "Part"])
def test_a_split_column_decides_which_documents_are_for_testing(
    column: str, reviews: Any, tmp_path: Path
) -> None:
    path = tmp_path / "table.parquet"
    parts = np.where(np.arange(60) < 50, "train", "test")
    frame = pd.DataFrame({"text": reviews.texts, "label": reviews.labels, column: parts})
    frame.to_parquet(path)
    documents = Source(path, split=column).read()
    assert (len(documents.train), len(documents.test)) == (50, 10)


def test_the_split_column_that_is_named_counts_and_no_other(reviews: Any, tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    other = np.where(np.arange(60) < 20, "train", "test")
    named = np.where(np.arange(60) < 50, "train", "test")
    columns = {"Split": other, "split": other, "fold": named}
    pd.DataFrame({"text": reviews.texts, "label": reviews.labels, **columns}).to_parquet(path)
    documents = Source(path, split="fold").read()
    assert (len(documents.train), len(documents.test)) == (50, 10)


def test_rows_that_are_neither_for_training_nor_for_testing_are_told(
    reviews: Any, tmp_path: Path
) -> None:
    path = tmp_path / "table.parquet"
    parts = np.repeat(["train", "valid", "test"], [40, 8, 12])
    columns = {"text": reviews.texts, "label": reviews.labels, "split": parts}
    pd.DataFrame(columns).to_parquet(path)
    told = Source(path).read().notes[-1]
    assert told == "8 rows with split 'valid' are left out, not 'train' or 'test'"


@pytest.mark.parametrize("option", ["--data", "--sets"])
def test_options_of_the_papers_experiments_are_refused(
    table: Path, tmp_path: Path, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", str(table), option, "imdb", "--out", str(tmp_path / "out")]) == 2
    assert "is a table of your own" in capsys.readouterr().err


def test_test_documents_of_a_label_that_nobody_learns_are_left_out_and_told(
    reviews: Any, tmp_path: Path
) -> None:
    path = tmp_path / "table.parquet"
    labels = [*reviews.labels[:-2], "mixed", "mixed"]
    parts = np.where(np.arange(60) < 50, "train", "test")
    pd.DataFrame({"text": reviews.texts, "label": labels, "split": parts}).to_parquet(path)
    documents = Source(path).read()
    assert len(documents.test) == 8
    assert "2 test documents are left out" in documents.notes[-1]
    assert "'mixed'" in documents.notes[-1]


def test_a_split_column_that_is_not_there_is_told(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "results")
    assert main(["bench", str(table), "--split", "part", "--out", out]) == 2
    assert "has no column 'part'" in capsys.readouterr().err


def test_a_table_of_several_labels_per_document_ends_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "table.jsonl"
    rows = [{"text": f"Text {n}.", "label": ["a", "b"][: 1 + n % 2]} for n in range(20)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert main(["bench", str(path), "--out", str(tmp_path / "results")]) == 2
    assert "several labels" in capsys.readouterr().err


def test_a_quick_run_reads_the_beginnings_of_some_documents(table: Path) -> None:
    documents = Source(table, label="stars").read(quick=True)
    assert len(documents.train) == 40
    assert max(map(len, documents.train.texts)) <= 240
