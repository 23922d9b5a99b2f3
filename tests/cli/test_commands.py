"""Every command on the way a user goes: fit, evaluate, predict, explain, prototypes, cache."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from cli_scene import reviews, snapshot, write_csv

from protorynet import ProtoryNetClassifier, __version__
from protorynet.cli import app

TEXT = "The story was boring. But the music was wonderful, and I loved it!"


def test_version_is_printed(run) -> None:
    assert run("--version").out == f"protorynet {__version__}\n"


def test_no_command_shows_help(run) -> None:
    ended = run()
    assert (ended.code, "Usage: protorynet" in ended.out) == (0, True)


@pytest.mark.parametrize("command", [info.callback.__name__ for info in app.registered_commands])
def test_help_of_every_command_has_an_example(run, command) -> None:
    ended = run(command, "--help")
    assert ended.code == 0
    assert f"Example: protorynet {command}" in ended.out


def test_fit_prints_accuracy_and_what_to_type_next(run, table, quick, tmp_path) -> None:
    ended = run("fit", table, "-o", tmp_path / "m", *quick)
    assert ended.code == 0
    assert "held-out" in ended.out
    assert f"protorynet prototypes {tmp_path / 'm'}" in ended.out


def test_fit_tells_its_guesses_on_standard_error(run, table, quick, tmp_path) -> None:
    err = run("fit", table, "-o", tmp_path / "m", *quick).err
    assert "text column: 'review'" in err
    assert "using the 32 rows with split 'train'" in err


def test_fit_json_is_one_object_with_all_stages(run, table, quick, tmp_path) -> None:
    told = json.loads(run("fit", table, "-o", tmp_path / "m", "--json", *quick).out)
    assert set(told) == {"model", "validation_accuracy", "n_prototypes", "seconds"}
    assert told["model"] == str(tmp_path / "m")
    assert list(told["seconds"])[:2] == ["read", "split and encode"]
    assert {"train", "retrain"} <= set(told["seconds"])


def test_fit_leaves_only_the_model_behind(run, table, quick, tmp_path) -> None:
    run("fit", table, "-o", tmp_path / "m", *quick)
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_fit_passes_its_options_on(run, table, quick, tmp_path) -> None:
    options = ["--max-prototypes", 3, "--encoder-training", "none", "--splitter", "paper"]
    assert run("fit", table, "-o", tmp_path / "m", *quick, *options, "--seed", 5).code == 0
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    assert config["settings"]["encoder_training"] == "none"
    assert config["splitter"] == "paper"
    assert config["training"]["seed"] == 5
    assert len(json.loads((tmp_path / "m" / "prototypes.json").read_text())["prototypes"]) <= 3


def test_prototypes_name_their_rows_in_the_file(trained) -> None:
    listed = json.loads((trained / "prototypes.json").read_text())["prototypes"]
    texts = [text for text, _ in reviews()]
    assert all(item["sentence"] in texts[item["row"]] for item in listed)


def test_fit_with_force_replaces_a_model(run, table, quick, model) -> None:
    before = snapshot(model)
    assert run("fit", table, "-o", model, "--force", "--seed", 9, *quick).code == 0
    assert snapshot(model)["model.safetensors"] != before["model.safetensors"]


def test_evaluate_prints_accuracy_and_measures(run, trained, table) -> None:
    ended = run("evaluate", trained, table)
    assert ended.code == 0
    assert ended.out.startswith("Accuracy ")
    assert "on 8 documents" in ended.out


def test_evaluate_json_has_the_promised_shape(run, trained, table) -> None:
    told = json.loads(run("evaluate", trained, table, "--split", "test", "--json").out)
    assert {"accuracy", "macro_f1", "n_documents", "n_prototypes", "faithfulness"} <= set(told)
    assert {"ids_only_accuracy", "substitution_agreement", "top_usage"} <= set(told["faithfulness"])


def test_evaluate_takes_another_judge(run, trained, table) -> None:
    assert run("evaluate", trained, table, "--judge", "minilm", "--json").code == 0


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_predict_appends_columns_to_the_rows(run, trained, table, tmp_path, ending) -> None:
    output = tmp_path / f"out.{ending}"
    assert run("predict", trained, table, "-o", output).code == 0
    read = {
        "csv": pd.read_csv,
        "tsv": lambda path: pd.read_csv(path, sep="\t"),
        "jsonl": lambda path: pd.read_json(path, lines=True),
        "parquet": pd.read_parquet,
    }
    got = read[ending](output)
    assert list(got.columns) == [
        *("review", "sentiment", "split", "prediction", "probability"),
        *("p_negative", "p_positive", "trajectory"),
    ]
    assert got["review"].tolist() == [text for text, _ in reviews()]


def test_predict_agrees_with_the_classifier(run, trained, table, tmp_path) -> None:
    run("predict", trained, table, "-o", tmp_path / "out.parquet")
    got = pd.read_parquet(tmp_path / "out.parquet")
    texts = [text for text, _ in reviews()]
    classifier = ProtoryNetClassifier.load(trained)
    probabilities = classifier.predict_proba(texts)
    np.testing.assert_allclose(got[["p_negative", "p_positive"]], probabilities, atol=1e-6)
    assert got["prediction"].tolist() == classifier.predict(texts).tolist()
    steps = [step.prototype for step in classifier.explain(texts[3]).sentences]
    assert got["trajectory"][3] == " ".join(map(str, steps))


def test_predict_without_output_prints_csv(run, trained, table) -> None:
    ended = run("predict", trained, table, "--split", "test")
    rows = list(csv.DictReader(io.StringIO(ended.out)))
    assert [int(row["row"]) for row in rows] == list(range(0, 40, 5))
    assert {row["prediction"] for row in rows} <= {"negative", "positive"}


def test_predict_leaves_out_empty_rows_when_told(run, trained, tmp_path) -> None:
    source = write_csv(tmp_path / "in.csv", ["text"], [(TEXT,), ("",), ("<br />",), (TEXT,)])
    ended = run("predict", trained, source, "--skip-empty")
    assert [row["row"] for row in csv.DictReader(io.StringIO(ended.out))] == ["0", "3"]
    assert "left out 1 documents that hold no sentence" in ended.err


def test_predict_keeps_nested_columns(run, trained, tmp_path) -> None:
    record = {"text": TEXT, "tags": ["a", "b"], "n": None}
    (tmp_path / "in.jsonl").write_text(json.dumps(record) + "\n")
    assert run("predict", trained, tmp_path / "in.jsonl", "-o", tmp_path / "out.csv").code == 0
    assert json.loads(pd.read_csv(tmp_path / "out.csv")["tags"][0]) == ["a", "b"]


def test_explain_shows_every_sentence_and_the_verdict(run, trained) -> None:
    out = run("explain", trained, TEXT).out
    assert "The story was boring." in out
    assert "like prototype" in out
    assert "Verdict: " in out
    assert "\x1b" not in out


def test_explain_json_has_the_promised_shape(run, trained) -> None:
    told = json.loads(run("explain", trained, TEXT, "--json").out)
    assert set(told["probabilities"]) == {"negative", "positive"}
    first = told["sentences"][0]
    promised = {"text", "start", "end", "prototype", "prototype_sentence", "similarity"}
    assert promised | {"scores", "running", "effect"} <= set(first)
    assert TEXT[first["start"] : first["end"]] == first["text"]


@pytest.mark.parametrize("arguments", [[], ["-"]])
def test_explain_reads_standard_input(run, trained, monkeypatch, arguments) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    assert "Verdict: " in run("explain", trained, *arguments).out


def test_explain_prints_one_object_per_line_for_a_table(run, trained, table) -> None:
    lines = run("explain", trained, "--input", table, "--json", "--limit", 3).out.splitlines()
    assert [len(json.loads(line)["sentences"]) for line in lines] == [2, 2, 2]


def test_explain_shows_the_first_ten_of_a_table(run, trained, table) -> None:
    ended = run("explain", trained, "--input", table)
    assert ended.out.count("Verdict: ") == 10
    assert "the first 10 of 40 texts" in ended.err


def test_explain_writes_a_page(run, trained, tmp_path) -> None:
    ended = run("explain", trained, TEXT, "--html", tmp_path / "page.html")
    assert (ended.code, ended.out) == (0, "")
    assert "The story was boring." in (tmp_path / "page.html").read_text()


def test_explain_names_words_where_asked(run, trained) -> None:
    assert "words: " in run("explain", trained, TEXT, "--words").out
    assert "words: " not in run("explain", trained, TEXT).out


def test_explain_json_with_words_has_them_for_both_sentences(run, trained, table) -> None:
    out = run("explain", trained, "--input", table, "--words", "--json", "--limit", 2).out
    told = [json.loads(line) for line in out.splitlines()]
    assert len(told) == 2
    for step in (step for document in told for step in document["sentences"]):
        for text, words in (("text", "words"), ("prototype_sentence", "prototype_words")):
            spans = [step[text][word["start"] : word["end"]] for word in step[words]]
            assert spans == [word["text"] for word in step[words]]


def test_explain_marks_words_on_a_page(run, trained, tmp_path) -> None:
    run("explain", trained, TEXT, "--words", "--html", tmp_path / "page.html")
    assert "<mark " in (tmp_path / "page.html").read_text()


def test_prototypes_are_listed(run, trained) -> None:
    listed = json.loads((trained / "prototypes.json").read_text())["prototypes"]
    out = run("prototypes", trained).out
    assert all(item["sentence"].split()[0] in out for item in listed)


def test_prototypes_json_has_the_promised_shape(run, trained) -> None:
    told = json.loads(run("prototypes", trained, "--json").out)
    assert {"id", "sentence", "usage", "scores", "class_rate"} <= set(told["prototypes"][0])


def test_prototypes_need_no_encoder(run, trained, monkeypatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the encoder was loaded")

    monkeypatch.setattr("protorynet.encoders.registry._transformer", refuse)
    assert run("prototypes", trained).code == 0


def test_prototypes_writes_a_page(run, trained, tmp_path) -> None:
    assert run("prototypes", trained, "--html", tmp_path / "page.html").code == 0
    assert (tmp_path / "page.html").read_text().startswith("<!")


def test_cache_tells_where_it_is_and_can_be_cleared(run, tmp_path, monkeypatch) -> None:
    from protorynet.encoders import EmbeddingCache, load_encoder

    monkeypatch.setenv("PROTORYNET_CACHE", str(tmp_path))
    sentences = [f"Room {number}." for number in range(64)]
    EmbeddingCache().put(load_encoder("minilm"), sentences, np.ones((64, 384), np.float32))
    shown = run("cache").out
    assert str(tmp_path) in shown
    assert "Limit   4.3 GB" in shown
    assert run("cache", "--clear").out.startswith("Removed 99")
    assert "Size    0 bytes" in run("cache").out


def test_documents_may_have_several_labels(run, quick, tmp_path) -> None:
    lines = [
        json.dumps({"text": text, "labels": [label, *(["music"] if "music" in text else [])]})
        for text, label in reviews()
    ]
    source = tmp_path / "t.jsonl"
    source.write_text("\n".join(lines))
    assert run("fit", source, "-o", tmp_path / "m", *quick).code == 0
    assert run("evaluate", tmp_path / "m", source, "--json").code == 0
    assert run("explain", tmp_path / "m", TEXT).code == 0
    header = run("predict", tmp_path / "m", source).out.splitlines()[0]
    assert (
        header
        == '"row","prediction","probability","p_music","p_negative","p_positive","trajectory"'
    )


def test_a_split_is_known_in_capitals_too(run, tmp_path, quick) -> None:
    rows = [
        (text, label, "Train" if n % 5 else "Test") for n, (text, label) in enumerate(reviews())
    ]
    table = write_csv(tmp_path / "capitals.csv", ("review", "sentiment", "split"), rows)
    ended = run("fit", table, "-o", tmp_path / "model", *quick)
    assert f"rows with split 'train' of {len(rows)}" in ended.err


def test_a_split_column_without_the_usual_name_is_told(run, trained, tmp_path) -> None:
    rows = [(text, label, "dev") for text, label in reviews()[:10]]
    table = write_csv(tmp_path / "dev.csv", ("review", "sentiment", "split"), rows)
    ended = run("evaluate", trained, table)
    assert "has no 'test' but 'dev', so all 10 rows are used" in ended.err


def test_a_page_never_takes_the_place_of_its_table(run, trained, table, tmp_path) -> None:
    own = tmp_path / "reviews.csv"
    own.write_bytes(table.read_bytes())
    for ended in (
        run("report", trained, own, "-o", own),
        run("explain", trained, "--input", own, "--html", own),
    ):
        assert (ended.code, "is the input" in ended.err) == (2, True)
    assert own.read_bytes() == table.read_bytes()


def test_a_fitted_model_splits_as_it_learnt_to_whatever_is_set_for_the_next_fit(trained) -> None:
    classifier = ProtoryNetClassifier.load(trained)
    before = classifier.predict_proba([TEXT])
    assert (classifier.set_params(splitter="paper").predict_proba([TEXT]) == before).all()
