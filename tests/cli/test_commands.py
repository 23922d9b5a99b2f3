"""Every command on the way a user goes: fit, evaluate, predict, explain, prototypes, cache."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
import typer
from cli_scene import reviews, write_csv

from protorynet import ProtoryNetClassifier, __version__
from protorynet.cli import app, commands

TEXT = "The story was boring. But the music was wonderful, and I loved it!"


def test_version_and_help_are_printed(run):
    assert run("--version").out == f"protorynet {__version__}\n"
    ended = run()
    assert (ended.code, "Usage: protorynet" in ended.out) == (0, True)


@pytest.mark.parametrize("command", [info.callback.__name__ for info in app.registered_commands])
def test_help_of_every_command_has_an_example(run, command):
    ended = run(command, "--help")
    assert ended.code == 0
    assert f"Example: protorynet {command}" in ended.out


@pytest.mark.parametrize("command", ["bench", "datasets", "survey"])
def test_a_command_of_the_laboratory_says_what_to_install(fails, monkeypatch, command):
    app = typer.Typer()
    monkeypatch.setattr(commands, "entry_points", lambda group: ())
    monkeypatch.setattr(commands, "app", app)
    commands._add_laboratory(app)
    line = fails(command, "create", "--seed", 3)
    assert f"`protorynet {command}` needs the package 'protorynet-lab'" in line
    assert line.endswith("pip install 'protorynet[lab]'")


def test_fit_prints_accuracy_guesses_and_what_to_type_next(run, table, quick, tmp_path):
    ended = run("fit", table, "-o", tmp_path / "m", *quick)
    assert ended.code == 0
    assert "held-out" in ended.out
    assert f"protorynet prototypes {tmp_path / 'm'}" in ended.out
    assert "text column: 'review'" in ended.err
    assert "using the 32 rows with split 'train'" in ended.err
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_fit_passes_its_options_on_and_prints_one_object(run, table, quick, tmp_path):
    options = ["--max-prototypes", 3, "--encoder-training", "none", "--splitter", "paper"]
    options += ["--language", "de"]
    ended = run("fit", table, "-o", tmp_path / "m", *quick, *options, "--seed", 5, "--json")
    given = json.loads(ended.out)
    assert set(given) == {
        *("model", "validation_accuracy", "bag_of_words_accuracy", "n_prototypes", "seconds"),
        "peak_memory_mb",
        "validation",
    }
    assert given["validation"]["accuracy"] == given["validation_accuracy"]
    assert 0 <= given["bag_of_words_accuracy"] <= 1
    assert given["model"] == str(tmp_path / "m")
    assert list(given["seconds"])[:2] == ["read", "split and encode"]
    assert {"evidence", "members", "families", "reader"} <= set(given["seconds"])
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    assert config["settings"]["encoder_training"] == "none"
    assert config["splitter"] == {"rule": "paper", "language": "de"}
    assert config["training"]["seed"] == 5
    assert given["n_prototypes"] <= 3


def test_a_split_is_known_in_capitals_and_a_missing_one_is_reported(run, quick, tmp_path):
    header = ("review", "sentiment", "split")
    rows = [(*row, "Train" if n % 5 else "Test") for n, row in enumerate(reviews())]
    table = write_csv(tmp_path / "capitals.csv", header, rows)
    ended = run("fit", table, "-o", tmp_path / "model", *quick)
    assert f"rows with split 'train' of {len(rows)}" in ended.err
    table = write_csv(tmp_path / "dev.csv", header, [(*row, "dev") for row in reviews()[:10]])
    ended = run("evaluate", tmp_path / "model", table)
    assert "has no 'test' but 'dev', so all 10 rows are used" in ended.err


def test_prototypes_name_their_rows_in_the_file(trained):
    listed = json.loads((trained / "prototypes.json").read_text())["prototypes"]
    texts = [text for text, _ in reviews()]
    assert all(item["sentence"] in texts[item["row"]] for item in listed)


def test_evaluate_prints_accuracy_and_measures(run, trained, table):
    ended = run("evaluate", trained, table)
    assert ended.code == 0
    assert ended.out.startswith("Accuracy ")
    assert "on 8 documents" in ended.out
    options = ("--split", "test", "--judge", "minilm", "--json")
    given = json.loads(run("evaluate", trained, table, *options).out)
    assert {"accuracy", "macro_f1", "n_documents", "n_prototypes", "faithfulness"} <= set(given)
    measures = {"ids_only_accuracy", "substitution_agreement", "top_usage"}
    assert measures <= set(given["faithfulness"])
    assert given["bag_of_words_accuracy"] is None
    given = json.loads(run("evaluate", trained, table, "--train", table, "--json").out)
    assert 0 <= given["bag_of_words_accuracy"] <= 1
    assert "Bag of words" in run("evaluate", trained, table, "--train", table).out
    assert "Top usage" in run("evaluate", trained, table, "--verbose").out


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])  # others: test_chunked_predictions
def test_predict_appends_what_the_classifier_says(run, trained, table, tmp_path, ending):
    output = tmp_path / f"out.{ending}"
    assert run("predict", trained, table, "-o", output).code == 0
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "xlsx": pd.read_excel}
    got = read[ending](output)
    assert list(got.columns) == [
        *("review", "sentiment", "split", "prediction", "probability"),
        *("p_negative", "p_positive", "trajectory", "unfamiliar"),
    ]
    texts = [text for text, _ in reviews()]
    assert got["review"].tolist() == texts
    classifier = ProtoryNetClassifier.load(trained)
    probabilities = classifier.predict_proba(texts)
    np.testing.assert_allclose(got[["p_negative", "p_positive"]], probabilities, atol=1e-6)
    assert got["prediction"].tolist() == classifier.predict(texts).tolist()
    steps = [step.prototype for step in classifier.explain(texts[3]).sentences]
    assert got["trajectory"][3] == " ".join(map(str, steps))


def test_predict_without_output_prints_csv_without_empty_rows(run, trained, table, tmp_path):
    ended = run("predict", trained, table, "--split", "test")
    rows = list(csv.DictReader(io.StringIO(ended.out)))
    assert [int(row["row"]) for row in rows] == list(range(0, 40, 5))
    assert {row["prediction"] for row in rows} <= {"negative", "positive"}
    source = write_csv(tmp_path / "in.csv", ["text"], [(TEXT,), ("",), ("<br />",), (TEXT,)])
    ended = run("predict", trained, source, "--skip-empty")
    assert [row["row"] for row in csv.DictReader(io.StringIO(ended.out))] == ["0", "3"]
    assert "left out 1 documents that hold no sentence" in ended.err


def test_explain_shows_every_sentence_and_the_verdict(run, trained, monkeypatch):
    shown = run("explain", trained, TEXT).out
    for words in ("The story was boring.", " (similarity ", "Verdict: "):
        assert words in shown
    assert "\x1b" not in shown
    assert "words: " not in shown
    assert "words: " in run("explain", trained, TEXT, "--words").out
    for arguments in ([], ["-"]):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
        assert run("explain", trained, *arguments).out == shown


def test_explain_takes_a_table(run, trained, table):
    ended = run("explain", trained, "--input", table)
    assert ended.out.count("Verdict: ") == 10
    assert "the first 10 of 40 texts" in ended.err
    out = run("explain", trained, "--input", table, "--words", "--json", "--limit", 3).out
    given = [json.loads(line) for line in out.splitlines()]
    assert [len(document["sentences"]) for document in given] == [2, 2, 2]
    for step in (step for document in given for step in document["sentences"]):
        for text, words in (("text", "words"), ("prototype_sentence", "prototype_words")):
            spans = [step[text][word["start"] : word["end"]] for word in step[words]]
            assert spans == [word["text"] for word in step[words]]


def test_explain_writes_a_page(run, trained, tmp_path):
    page = tmp_path / "page.html"
    ended = run("explain", trained, TEXT, "--words", "--html", page)
    assert (ended.code, ended.out) == (0, "")
    assert "The story was " in page.read_text()
    assert "<mark " in page.read_text()


def test_prototypes_are_listed_without_the_encoder(run, trained, tmp_path, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the encoder was loaded")

    monkeypatch.setattr("protorynet.encoders.registry._load_transformer", refuse)
    given = json.loads(run("prototypes", trained, "--json").out)["prototypes"]
    assert {"id", "sentence", "usage", "scores", "class_rate", "spread"} <= set(given[0])
    every = " ".join(run("prototypes", trained, "--members").out.split())
    members = [member["sentence"] for item in given for member in item["members"]]
    assert [sentence for sentence in members if sentence not in every] == []
    shown = run("prototypes", trained).out
    assert all(item["sentence"].split()[0] in shown for item in given)
    assert run("prototypes", trained, "--html", tmp_path / "page.html").code == 0
    assert (tmp_path / "page.html").read_text().startswith("<!")


def test_cache_tells_where_it_is_and_can_be_cleared(run, tmp_path, monkeypatch):
    from protorynet.encoders import EmbeddingCache, load_encoder

    monkeypatch.setenv("PROTORYNET_CACHE", str(tmp_path))
    sentences = [f"Room {number}." for number in range(64)]
    EmbeddingCache().put(load_encoder("minilm"), sentences, np.ones((64, 384), np.float32))
    shown = run("cache").out
    assert str(tmp_path) in shown
    assert "Limit   4.3 GB" in shown
    assert run("cache", "--clear").out.startswith("Removed 100")
    assert "Size    0 bytes" in run("cache").out


def test_labels_get_names_and_are_known_by_either(run, fails, table, quick, tmp_path):
    frame = pd.read_csv(table)
    frame["sentiment"] = (frame["sentiment"] == "positive").astype(int)
    numbered, model = tmp_path / "numbered.xlsx", tmp_path / "m"
    frame.to_excel(numbered, index=False)
    fit = ("fit", numbered, "-o", model, *quick, "--names")
    assert "no class '2'" in fails(*fit, "2=good")
    assert "should be LABEL=NAME" in fails(*fit, "0")
    assert run(*fit, "0=bad,1=good").code == 0
    assert set(json.loads(run("explain", model, TEXT, "--json").out)["probabilities"]) == {
        *("bad", "good")
    }
    header, first = run("predict", model, numbered).out.splitlines()[:2]
    assert '"p_bad","p_good"' in header
    assert first.split(",")[1] in ('"bad"', '"good"')
    frame["sentiment"] = frame["sentiment"].map({0: "bad", 1: "good"})
    frame.to_csv(named := tmp_path / "named.csv")
    ours, theirs = (run("evaluate", model, each, "--json").out for each in (numbered, named))
    assert ours == theirs
    classifier = ProtoryNetClassifier.load(model)
    assert classifier.classes_.tolist() == [0, 1]
    assert classifier.automaton(1).label == "good"
