"""`protorynet edit` on a model directory, end to end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_scene import SETTINGS, Fails, Run, snapshot

from protorynet.cli import main

_NEW = "The costumes were splendid."


@pytest.fixture(scope="session")
def trained(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with prototypes enough to edit."""
    folder = tmp_path_factory.mktemp("editable")
    settings = folder / "settings.toml"
    settings.write_text(SETTINGS.replace("min_prototypes = 2", "min_prototypes = 6"))
    arguments = ["fit", table, "-o", folder / "model", "--settings", settings]
    assert main([str(word) for word in arguments]) == 0
    assert len(ids(folder / "model")) >= 5
    return folder / "model"


def prototypes(model: Path) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads((model / "prototypes.json").read_text())["prototypes"]
    return listed


def ids(model: Path) -> list[int]:
    return [item["id"] for item in prototypes(model)]


def test_every_edit_at_once_with_retraining(run: Run, model: Path, table: Path) -> None:
    first, second, third, *others = ids(model)
    ended = run(
        *("edit", model, "--drop", first, "--merge", f"{second},{third}"),
        *("--replace", second, _NEW, "--rename", second, "costumes", "--retrain", table),
    )
    assert ended.code == 0, ended.err
    assert ids(model) == [second, *others]
    kept = prototypes(model)[0]
    assert (kept["sentence"], kept["name"], kept["row"]) == (_NEW, "costumes", None)
    for words in ("dropped", f"merged into {second}", "replaced by", "named “costumes”"):
        assert words in ended.out
    assert "with the reader retrained" in ended.out
    assert "held-out documents, which also decided when to stop" in ended.out
    assert "not the documents that the model was trained on" not in ended.out
    assert "has not been retrained" not in ended.out


def test_the_edited_model_explains_with_the_new_sentence(run: Run, model: Path) -> None:
    number = ids(model)[0]
    run("edit", model, "--replace", number, _NEW)
    (step,) = json.loads(run("explain", model, _NEW, "--json").out)["sentences"]
    assert (step["prototype"], step["prototype_sentence"]) == (number, _NEW)
    assert step["similarity"] == pytest.approx(1.0, abs=1e-4)


def test_without_retraining_it_says_so(run: Run, model: Path) -> None:
    ended = run("edit", model, "--drop", ids(model)[0])
    assert "The reader has not been retrained" in ended.out
    assert "--retrain DATA" in ended.out
    assert "usage and class rates are those from before" in ended.out


def test_json_is_one_object_with_the_accuracies(run: Run, model: Path, table: Path) -> None:
    number = ids(model)[0]
    ended = run("edit", model, "--drop", number, "--retrain", table, "--split", "train", "--json")
    told = json.loads(ended.out)
    assert set(told) == {"model", "edit", "n_prototypes", "reader_is_behind", "undoable"}
    assert (told["n_prototypes"], told["undoable"]) == (len(ids(model)), 1)
    assert told["reader_is_behind"] is False
    assert told["edit"]["changes"][0]["kind"] == "drop"
    for stage in ("before", "edited", "after"):
        assert 0 <= told["edit"]["retraining"][f"accuracy_{stage}"] <= 1


def test_other_documents_than_those_of_the_training_are_told(
    run: Run, model: Path, table: Path
) -> None:
    ended = run("edit", model, "--retrain", table, "--split", "test")
    assert "not the documents that the model was trained on" in ended.out


@pytest.mark.parametrize("kind", ["drop", "merge", "replace", "rename"])
def test_undo_restores_the_files(run: Run, model: Path, kind: str) -> None:
    before = snapshot(model)
    first, second, *_ = ids(model)
    words = {
        "drop": ("--drop", first),
        "merge": ("--merge", f"{first},{second}"),
        "replace": ("--replace", first, _NEW),
        "rename": ("--rename", first, "a name"),
    }
    assert run("edit", model, *words[kind]).code == 0
    assert snapshot(model)["prototypes.json"] != before["prototypes.json"]
    ended = run("edit", model, "--undo")
    assert (ended.code, "Edit 1 is undone" in ended.out) == (0, True)
    after = snapshot(model)
    assert all(after[name] == before[name] for name in ("prototypes.json", "model.safetensors"))


def test_ids_stay_after_several_edits(run: Run, model: Path) -> None:
    first, second, third, *others = ids(model)
    run("edit", model, "--drop", second)
    run("edit", model, "--rename", third, "three")
    run("edit", model, "--merge", f"{third},{first}")
    assert ids(model) == [third, *others]
    assert prototypes(model)[0]["name"] == "three"


def test_another_model_is_made_and_this_one_left_alone(
    run: Run, model: Path, tmp_path: Path
) -> None:
    before = snapshot(model)
    other = tmp_path / "other"
    assert run("edit", model, "--drop", ids(model)[0], "-o", other).code == 0
    assert snapshot(model) == before
    assert len(ids(other)) == len(ids(model)) - 1


def test_options_may_be_repeated(run: Run, model: Path) -> None:
    first, second, third, *_ = ids(model)
    words = ("--rename", first, "one", "--drop", third, "--rename", second, "--drop")
    assert run("edit", model, *words).code == 0
    assert [item["name"] for item in prototypes(model)[:2]] == ["one", "--drop"]


def test_without_an_edit_the_log_is_listed(run: Run, model: Path) -> None:
    assert run("edit", model).out == "No edits so far.\n"
    number = ids(model)[0]
    run("edit", model, "--rename", number, "a \x1b[31mname")
    run("edit", model, "--undo")
    before = snapshot(model)
    ended = run("edit", model)
    assert ended.out.startswith("1. ")
    assert "undone" in ended.out
    assert "\x1b" not in ended.out
    (entry,) = json.loads(run("edit", model, "--json").out)["edits"]
    assert entry["changes"][0]["id"] == number
    assert snapshot(model) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--drop", 99), "there is no prototype 99; the ids are"),
        (("--drop", "x"), "--drop 'x' should be prototype ids"),
        (("--drop", "1,1"), "prototype 1 is to be removed twice"),
        (("--drop", 1, "--rename", 1, "x"), "prototype 1 is to be removed, but is named for"),
        (("--merge", "1"), "at least two"),
        (("--replace", 1, ""), "the sentence for prototype 1 is empty"),
        (("--replace", 1, "x" * 501), "give at most 500"),
        (("--replace", 1, "One. Two."), "should be one sentence, but 2 are read"),
        (("--replace", "one", "text"), "should be an id and a text"),
        (("--replace", 1), "should be an id and a text"),
        (("--replace=1 text",), "should be an id and a text"),
        (("--replace",), "requires an argument"),
        (("--undo",), "there is no edit to undo."),
        (("--undo", "--drop", 1), "--undo goes alone"),
        (("--drop", 1, "--split", "train"), "need --retrain DATA"),
        (("--drop", 1, "--retrain", "nothing.csv"), "nothing.csv"),
        (("-o", "other"), "there is no edit to save"),
    ],
)
def test_bad_input_ends_with_one_line_and_code_2(
    fails: Fails, model: Path, words: tuple[Any, ...], message: str
) -> None:
    before = snapshot(model)
    assert message in fails("edit", model, *words)
    assert snapshot(model) == before


def test_fewer_than_two_prototypes_are_refused(fails: Fails, model: Path) -> None:
    words = ",".join(map(str, ids(model)[1:]))
    assert "a model needs at least 2" in fails("edit", model, "--drop", words)


def test_an_existing_directory_is_not_replaced(fails: Fails, model: Path, tmp_path: Path) -> None:
    assert "exists already" in fails("edit", model, "--drop", 1, "-o", tmp_path)


def test_a_tampered_log_is_refused(run: Run, fails: Fails, model: Path) -> None:
    run("edit", model, "--rename", ids(model)[0], "a name")
    log = model / "edits.json"
    log.write_text(log.read_text().replace("a name", "b name"))
    assert "edits.json was changed or cut off" in fails("edit", model, "--undo")


def test_a_folder_that_cannot_be_replaced_is_told_before_retraining(
    run: Run, model: Path, table: Path
) -> None:
    (model / "report.html").write_text("mine", encoding="utf-8")
    ended = run("edit", model, "--rename", "1", "first", "--retrain", table)
    assert (ended.code, "report.html" in ended.err) == (2, True)
    assert "Retrain" not in ended.err
