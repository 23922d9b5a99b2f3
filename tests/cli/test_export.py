from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def exported(trained, tmp_path_factory) -> Path:
    from protorynet.cli import main

    folder = tmp_path_factory.mktemp("cli") / "exported"
    assert main(["export", str(trained), "-o", str(folder), "--format", "onnx"]) == 0
    return folder


def test_predictions_of_the_export_are_those_of_the_model(
    run, trained, exported, table, tmp_path
) -> None:
    for place, folder in enumerate((trained, exported)):
        run("predict", folder, table, "-o", tmp_path / f"{place}.jsonl")
    rows = [
        [json.loads(line) for line in (tmp_path / name).read_text().splitlines()]
        for name in ("0.jsonl", "1.jsonl")
    ]
    for ours, theirs in zip(*rows, strict=True):
        assert ours["prediction"] == theirs["prediction"]
        assert ours["trajectory"] == theirs["trajectory"]
        assert ours["probability"] == pytest.approx(theirs["probability"], abs=1e-5)


def test_the_export_tells_how_both_do_on_a_table(run, trained, table, tmp_path) -> None:
    ended = run("export", trained, "-o", tmp_path / "m", "--check", table, "--json")
    said = json.loads(ended.out)
    assert said["check"]["same_labels"] == 1
    assert said["check"]["accuracy"] == said["check"]["exported_accuracy"]
    assert said["trial"]["largest_difference"] < 1e-4


def test_a_folder_that_is_no_export_is_not_replaced(fails, trained, tmp_path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    assert "is not an exported model" in fails("export", trained, "-o", tmp_path)


def test_another_format_is_refused(fails, trained, tmp_path) -> None:
    assert "onnx" in fails("export", trained, "-o", tmp_path / "m", "--format", "tflite")


def test_explaining_with_the_export_says_what_the_model_says(run, trained, exported) -> None:
    text = "The room was clean. But the staff was rude."
    ours, theirs = (
        json.loads(run("explain", folder, text, "--json").out) for folder in (trained, exported)
    )
    assert ours["label"] == theirs["label"]
    shown = [[step["prototype"] for step in each["sentences"]] for each in (ours, theirs)]
    assert shown[0] == shown[1]


def test_word_effects_of_an_export_are_refused_with_the_remedy(fails, exported) -> None:
    assert "ask the model that it was made of" in fails("explain", exported, "Fine.", "--words")


def test_columns_are_not_named_without_a_table(fails, trained, tmp_path) -> None:
    assert "need --check TABLE" in fails(
        "export", trained, "-o", tmp_path / "m", "--text", "review"
    )


def test_a_command_that_needs_the_model_itself_says_that_this_is_its_export(
    fails, exported
) -> None:
    assert "is an exported model" in fails("prototypes", exported)


def test_a_model_that_is_not_exported_is_refused_for_onnx(fails, tmp_path) -> None:
    (tmp_path / "new.csv").write_text("text\nA lovely room.\n")
    line = fails("predict", tmp_path, tmp_path / "new.csv", "--runtime", "onnx")
    assert "protorynet export" in line
