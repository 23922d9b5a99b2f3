"""`protorynet edit` on a model directory, end to end."""

import json
from pathlib import Path
from typing import Any

import pytest
from cli_scene import snapshot

_NEW = "The costumes were splendid."


def prototypes(model: Path) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads((model / "prototypes.json").read_text())["prototypes"]
    return listed


def ids(model: Path) -> list[int]:
    return [item["id"] for item in prototypes(model)]


def large(model: Path, count: int) -> list[dict[str, Any]]:
    """Return prototypes of several members, the largest first."""
    found = sorted(prototypes(model), key=lambda item: -len(item["members"]))[:count]
    assert len(found[-1]["members"]) > 1
    return found


def members(model: Path, number: int) -> list[int]:
    (item,) = (item for item in prototypes(model) if item["id"] == number)
    return [member["id"] for member in item["members"]]


def test_every_edit_at_once_with_retraining(run, model, table):
    one, other = (item["id"] for item in large(model, 2))
    first, *_, last = members(model, one)
    assert run("edit", model, "--split-off", members(model, other)[0]).code == 0
    alone = ids(model)[-1]
    third, dropped, *_ = set(ids(model)) - {one, other, alone}
    ended = run(
        *("edit", model, "--drop", dropped, "--merge", f"{alone},{third}"),
        *("--replace", alone, _NEW, "--rename", alone, "costumes", "--move", last, alone),
        *("--drop-member", first, "--split-off", members(model, other)[-1]),
        *("--add", other, "The hats were a disgrace.", "--retrain", table),
    )
    assert ended.code == 0, ended.err
    assert ids(model)[-2:] == [alone, alone + 1]
    kept = prototypes(model)[-2]
    assert (kept["sentence"], kept["name"], kept["row"]) == (_NEW, "costumes", None)
    assert last in members(model, alone)
    for words in (
        f"prototype {third} “",
        f"merged into prototype {alone}",
        "replaced by",
        "named “costumes”",
        f"sentence {last} of prototype {one} “",
        f"moved to prototype {alone}",
        f"split off as prototype {alone + 1}",
        f"“The hats were a disgrace.” added to prototype {other}",
        f"What was matched to {dropped} is now at ",
    ):
        assert words in ended.out
    assert ended.out.count("dropped") == 2
    assert "with the reader retrained" in ended.out
    assert "held-out documents, which also decided which reader to keep." in ended.out
    assert "not the documents that the model was trained on" not in ended.out
    assert "has not been retrained" not in ended.out


def test_json_is_one_object_with_the_accuracies(run, model, table):
    number = ids(model)[0]
    ended = run("edit", model, "--drop", number, "--retrain", table, "--split", "train", "--json")
    given = json.loads(ended.out)
    assert set(given) == {"model", "edit", "n_prototypes", "reader_is_behind", "undoable"}
    assert (given["n_prototypes"], given["undoable"]) == (len(ids(model)), 1)
    assert given["reader_is_behind"] is False
    assert given["edit"]["changes"][0]["kind"] == "drop"
    for stage in ("before", "edited", "after"):
        assert 0 <= given["edit"]["retraining"][f"accuracy_{stage}"] <= 1
    ended = run("edit", model, "--retrain", table, "--split", "test")
    assert "not the documents that the model was trained on" in ended.out


def test_undo_restores_the_files(run, model, tmp_path):
    before = snapshot(model)
    first, second = (item["id"] for item in large(model, 2))
    one, two, *_ = members(model, first)
    words = ("--split-off", f"{one},{two}", "--add", first, _NEW, "--rename", second, "a name")
    assert run("edit", model, *words, "-o", tmp_path / "other").code == 0
    assert snapshot(model) == before
    assert run("edit", model, *words).code == 0
    assert snapshot(model)["prototypes.json"] != before["prototypes.json"]
    ended = run("edit", model, "--undo")
    assert (ended.code, "Edit 1 is undone" in ended.out) == (0, True)
    after = snapshot(model)
    assert all(after[name] == before[name] for name in ("prototypes.json", "model.safetensors"))


def test_without_an_edit_the_log_is_listed(run, model):
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
        (("--add", 1, "One. Two."), "should be one sentence, but 2 are read"),
        (("--move", 1), "should be the ids of a sentence and of a prototype, as in --move 41 3."),
        (("--move", 1, "x"), "--move 1 'x' should end with the id of a prototype."),
        (("--split-off", "1,x"), "--split-off '1,x' should be sentence ids"),
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
def test_bad_input_ends_with_one_line_and_code_2(fails, model, words, message):
    before = snapshot(model)
    assert message in fails("edit", model, *words)
    assert snapshot(model) == before


def test_too_few_prototypes_and_an_existing_directory_are_refused(fails, model, tmp_path):
    words = ",".join(map(str, ids(model)[1:]))
    assert "a model needs at least 2" in fails("edit", model, "--drop", words)
    assert "exists already" in fails("edit", model, "--drop", 1, "-o", tmp_path)
