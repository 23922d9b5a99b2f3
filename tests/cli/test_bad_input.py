"""Bad input: one clear line, the right exit code, and nothing that existed is lost."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cli_scene import Fails, reviews, snapshot, write_csv

from protorynet.storage import load_model, save_model

LONG = 200_000


@pytest.fixture
def fit_fails(fails, quick, tmp_path) -> Fails:
    """Fit on a table that cannot be used, and check that nothing is left behind."""

    def fit(source: Path, *options: str) -> str:
        before = sorted(tmp_path.iterdir())
        line = fails("fit", source, "-o", tmp_path / "m", *quick, *options)
        assert sorted(tmp_path.iterdir()) == before
        return line

    return fit


def test_empty_table(fit_fails, tmp_path) -> None:
    assert "holds no rows" in fit_fails(write_csv(tmp_path / "t.csv", ["text", "label"], []))


def test_empty_file(fit_fails, tmp_path) -> None:
    (tmp_path / "t.csv").touch()
    assert "is empty" in fit_fails(tmp_path / "t.csv")


def test_missing_file(fit_fails, tmp_path) -> None:
    assert "there is no file" in fit_fails(tmp_path / "t.csv")


def test_missing_column_names_the_columns_there_are(fit_fails, table) -> None:
    line = fit_fails(table, "--text", "body")
    assert "has no column 'body'; it has 'review', 'sentiment', 'split'" in line


def test_missing_split_names_those_there_are(fit_fails, table) -> None:
    assert "it has 'test', 'train'" in fit_fails(table, "--split", "dev")


def test_texts_that_are_missing(fit_fails, tmp_path) -> None:
    import pandas as pd

    frame = pd.DataFrame(reviews(), columns=["text", "label"])
    frame.loc[[3, 7], "text"] = np.nan
    frame.to_parquet(tmp_path / "t.parquet")
    line = fit_fails(tmp_path / "t.parquet")
    assert "2 of 40 rows" in line
    assert "rows 3, 7" in line


def test_texts_without_a_sentence_are_named_by_their_row_in_the_file(fit_fails, tmp_path) -> None:
    rows = [(text, label, "train") for text, label in reviews()]
    rows[:0] = [("Not read.", "positive", "other"), ("<br />", "positive", "train")]
    line = fit_fails(write_csv(tmp_path / "t.csv", ["text", "label", "split"], rows))
    assert "row 1 (counted from 0)" in line


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_binary_garbage(fit_fails, tmp_path, ending) -> None:
    garbage = np.random.default_rng(0).bytes(5_000)
    (tmp_path / f"t.{ending}").write_bytes(garbage)
    fit_fails(tmp_path / f"t.{ending}")


def test_one_class(fit_fails, tmp_path) -> None:
    rows = [(text, "only") for text, _ in reviews()]
    line = fit_fails(write_csv(tmp_path / "t.csv", ["text", "label"], rows))
    assert "only one class ('only')" in line


@pytest.mark.parametrize("option", [("--address", "auto"), ("--workers", "2")])
def test_options_of_ray_without_ray(fit_fails, table, option) -> None:
    assert "--address and --workers need --engine ray" in fit_fails(table, *option)


def test_unknown_encoder(fit_fails, table) -> None:
    assert "there is no encoder 'word2vec'" in fit_fails(table, "--encoder", "word2vec")


def test_unknown_setting(fit_fails, table, tmp_path) -> None:
    (tmp_path / "s.toml").write_text("learning = 1")
    assert "unknown setting(s) learning" in fit_fails(table, "--settings", str(tmp_path / "s.toml"))


def test_label_unseen_in_training(fails, trained, tmp_path) -> None:
    rows = [*reviews(), ("It was so-so. Neither good nor bad.", "mixed")]
    source = write_csv(tmp_path / "t.csv", ["text", "label"], rows)
    line = fails("evaluate", trained, source)
    assert "'mixed'" in line
    assert "the classes are 'negative', 'positive'" in line


def test_a_very_long_document_is_predicted(run, trained, tmp_path) -> None:
    sentences = " ".join(text for text, _ in reviews())
    document = (sentences * (LONG // len(sentences) + 1))[:LONG]
    source = write_csv(tmp_path / "t.csv", ["text"], [(document,)])
    assert run("predict", trained, source, "-o", tmp_path / "out.csv").code == 0


def test_a_very_long_document_is_learnt_from(run, quick, tmp_path) -> None:
    rows = [*reviews(), (" ".join(["A word"] * (LONG // 7)), "positive")]
    source = write_csv(tmp_path / "t.csv", ["text", "label"], rows)
    ended = run("fit", source, "-o", tmp_path / "m", *quick, "--encoder-training", "none")
    assert ended.code == 0


def test_labels_with_spaces_and_unicode(run, quick, tmp_path) -> None:
    names = {"positive": "très bien ✓", "negative": "sehr schlecht"}
    rows = [(text, names[label]) for text, label in reviews()]
    source = write_csv(tmp_path / "t.csv", ["text", "label"], rows)
    assert run("fit", source, "-o", tmp_path / "m", *quick).code == 0
    told = json.loads(run("explain", tmp_path / "m", "I loved it!", "--json").out)
    assert set(told["probabilities"]) == {"sehr schlecht", "très bien ✓"}


def test_a_table_of_twenty_documents(run, tmp_path) -> None:
    source = write_csv(tmp_path / "t.csv", ["text", "label"], reviews()[:20])
    assert run("fit", source, "-o", tmp_path / "m").code == 0
    assert run("evaluate", tmp_path / "m", source, "--json").code == 0


def test_a_table_of_four_classes(run, quick, tmp_path) -> None:
    subjects = {0: "dog", 1: "planet", 2: "train", 3: "painter"}
    rows = [
        (f"This is about a {name}. The {name} was number {number}.", str(label))
        for number in range(8)
        for label, name in subjects.items()
    ]
    source = write_csv(tmp_path / "t.csv", ["text", "label"], rows)
    assert run("fit", source, "-o", tmp_path / "m", *quick).code == 0
    out = run("predict", tmp_path / "m", source).out
    assert out.startswith('"row","prediction","probability","p_0","p_1","p_2","p_3","trajectory"')
    assert run("prototypes", tmp_path / "m").code == 0


def test_an_existing_model_is_not_replaced(fails, table, model) -> None:
    before = snapshot(model)
    assert "--force" in fails("fit", table, "-o", model)
    assert snapshot(model) == before


def test_force_replaces_nothing_but_models(fails, table, tmp_path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    assert "not a model directory" in fails("fit", table, "-o", tmp_path / "thesis", "--force")
    assert (tmp_path / "thesis" / "chapter.txt").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("fit", "TABLE", "-o"),
        ("predict", "MODEL", "TABLE", "-o"),
        ("prototypes", "MODEL", "--html"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_any_work(
    fails, table, trained, tmp_path, arguments
) -> None:
    (tmp_path / "file").touch()
    known = {"TABLE": table, "MODEL": trained}
    line = fails(*(known.get(word, word) for word in arguments), tmp_path / "file" / "out.csv")
    assert "cannot be written" in line


def test_output_of_an_unknown_kind(fails, trained, table) -> None:
    assert ".parquet" in fails("predict", trained, table, "-o", "out.xlsx")


def test_output_over_the_input(fails, trained, tmp_path) -> None:
    source = write_csv(tmp_path / "t.csv", ["text"], [("It was great.",)])
    before = source.read_bytes()
    assert "is the input" in fails("predict", trained, source, "-o", source)
    assert source.read_bytes() == before


def test_columns_that_exist_already(fails, trained, tmp_path) -> None:
    source = write_csv(tmp_path / "t.csv", ["text", "p_positive"], [("It was great.", "1")])
    line = fails("predict", trained, source, "-o", tmp_path / "out.csv")
    assert "'p_positive' already" in line.replace("(s)", "")


@pytest.mark.parametrize("text", ["", " \n ", "<br />"])
def test_nothing_to_explain(fails, trained, text) -> None:
    assert "the text to explain" in fails("explain", trained, text)


def test_two_things_to_explain(fails, trained, table) -> None:
    assert "not both" in fails("explain", trained, "A text.", "--input", table)


def test_two_kinds_of_output(fails, trained) -> None:
    assert "not both" in fails("prototypes", trained, "--json", "--html", "p.html")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit"], "Missing"),
        (["fit", "t.csv"], "Missing option"),
        (["fit", "t.csv", "-o", "m", "--seed", "x"], "--seed"),
        (["fit", "t.csv", "-o", "m", "--splitter", "x"], "--splitter"),
        (["fit", "t.csv", "-o", "m", "--nonsense"], "--nonsense"),
        (["train"], "train"),
    ],
)
def test_wrong_usage_points_to_the_help(fails, arguments, message) -> None:
    line = fails(*arguments)
    assert message in line
    assert line.endswith("--help")


MODEL_COMMANDS = {
    "prototypes": lambda model, table: ("prototypes", model),
    "explain": lambda model, table: ("explain", model, "It was great."),
    "predict": lambda model, table: ("predict", model, table),
    "evaluate": lambda model, table: ("evaluate", model, table),
}


@pytest.mark.parametrize("command", MODEL_COMMANDS)
def test_no_model(fails, table, tmp_path, command) -> None:
    line = fails(*MODEL_COMMANDS[command](tmp_path / "none", table))
    assert "there is no model directory" in line


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "prototypes.json"])
@pytest.mark.parametrize("damage", ["cut", "emptied", "removed", "garbled"])
def test_a_damaged_model_is_refused(fails, model, name, damage) -> None:
    file = model / name
    content = file.read_bytes()
    if damage == "removed":
        file.unlink()
    else:
        middle = len(content) // 2
        left = {
            "cut": content[:middle],
            "emptied": b"",
            "garbled": content[:middle] + b"\xff" + content[middle + 1 :],
        }
        file.write_bytes(left[damage])
    before = snapshot(model)
    fails("prototypes", model)
    assert snapshot(model) == before


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("format_version", 99),
        ("classes", ["good", "bad"]),
        ("classes", ["negative", "positive", "mixed"]),
        ("encoder", None),
        ("sha256", {}),
        ("settings", {"epochs": -1}),
    ],
)
def test_a_model_edited_by_hand_is_refused(fails, model, key, value) -> None:
    file = model / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), key: value}))
    fails("prototypes", model)


@pytest.mark.parametrize("command", ["explain", "predict", "evaluate"])
def test_a_model_made_with_another_encoder(fails, model, table, command) -> None:
    loaded, _ = load_model(model)
    record = replace(loaded.encoder, fingerprint="0" * 64)
    save_model(replace(loaded, encoder=record), model)
    assert "made with another encoder" in fails(*MODEL_COMMANDS[command](model, table))


def test_something_unexpected_is_one_line_that_names_it(fails, trained, monkeypatch) -> None:
    def explode(*_: object, **__: object) -> None:
        raise ZeroDivisionError("1 / 0\nsecond line")

    monkeypatch.setattr("protorynet.storage.load_model", explode)
    line = fails("prototypes", trained, code=1)
    assert "ZeroDivisionError: 1 / 0 second line" in line
    assert "PROTORYNET_DEBUG=1" in line


def test_debugging_shows_the_traceback(run, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PROTORYNET_DEBUG", "1")
    assert "Traceback" in run("prototypes", tmp_path / "none").err
