"""`protorynet automaton`, as a user runs it."""

from __future__ import annotations

import json
from xml.etree import ElementTree

from cli_scene import reviews, write_csv


def test_the_json_has_the_promised_fields(run, trained, table) -> None:
    ended = run("automaton", trained, "--label", "positive", "--data", table, "--json")
    assert ended.code == 0, ended.err
    values = json.loads(ended.out)
    assert values["label"] == "positive"
    assert {"fidelity", "n_states", "n_transitions", "patterns"} <= set(values)
    assert 1 <= values["n_states"] <= 20


def test_train_rows_teach_and_test_rows_measure(run, trained, table) -> None:
    values = json.loads(
        run("automaton", trained, "--label", "positive", "--data", table, "--json").out
    )
    assert (values["n_train"], values["n_held_out"]) == (32, 8)


def test_of_a_split_that_is_all_there_is_to_learn_from_a_fifth_measures(
    run, trained, table
) -> None:
    options = ("--label", "positive", "--data", table, "--split", "train", "--json")
    values = json.loads(run("automaton", trained, *options).out)
    assert (values["n_train"], values["n_held_out"]) == (26, 6)


def test_a_table_without_splits_is_divided(run, trained, tmp_path) -> None:
    plain = write_csv(tmp_path / "plain.csv", ["review"], [(text,) for text, _ in reviews()])
    ended = run("automaton", trained, "--label", "negative", "--data", plain, "--json")
    values = json.loads(ended.out)
    assert (values["n_train"], values["n_held_out"]) == (32, 8)
    assert "every fifth of the 40 texts" in ended.err


def test_the_words_tell_fidelity(run, trained, table) -> None:
    ended = run("automaton", trained, "--label", "positive", "--data", table)
    assert ended.code == 0
    assert ended.out.startswith("Fidelity ")


def test_the_picture_is_written(run, trained, table, tmp_path) -> None:
    picture = tmp_path / "new" / "automaton.svg"
    ended = run("automaton", trained, "--label", "positive", "--data", table, "--svg", picture)
    assert (ended.code, ended.out) == (0, "")
    assert ElementTree.parse(picture).getroot().get("role") == "img"


def test_as_many_states_as_allowed(run, trained, table) -> None:
    options = ("--label", "positive", "--data", table, "--states", "1", "--json")
    assert json.loads(run("automaton", trained, *options).out)["n_states"] == 1


def test_an_unknown_class_is_refused(fails, trained, table) -> None:
    line = fails("automaton", trained, "--label", "maybe", "--data", table)
    assert "'maybe' is none of the model's classes" in line
    assert "'negative', 'positive'" in line


def test_json_and_svg_are_not_both_given(fails, trained, table, tmp_path) -> None:
    options = ("--label", "positive", "--data", table, "--json", "--svg", tmp_path / "a.svg")
    assert "either --json or --svg FILE" in fails("automaton", trained, *options)


def test_an_unknown_split_is_refused(fails, trained, table) -> None:
    options = ("--label", "positive", "--data", table, "--split", "dev")
    assert "'dev'" in fails("automaton", trained, *options)


def test_one_text_is_enough(run, trained, tmp_path) -> None:
    single = write_csv(tmp_path / "one.csv", ["review"], [("The acting was great.",)])
    ended = run("automaton", trained, "--label", "positive", "--data", single, "--json")
    values = json.loads(ended.out)
    assert (values["n_train"], values["fidelity_held_out"]) == (1, None)


def test_without_data_it_is_the_one_learnt_in_training(run, trained) -> None:
    ended = run("automaton", trained, "--label", "positive", "--json")
    assert ended.code == 0, ended.err
    stored = json.loads((trained / "automata.json").read_bytes())["automata"]
    values = json.loads(ended.out)
    values.pop("edges")
    assert values == stored[1]


def test_the_stored_one_is_told_in_words_and_drawn(run, trained, tmp_path) -> None:
    assert run("automaton", trained, "--label", "positive").out.startswith("Fidelity ")
    picture = tmp_path / "automaton.svg"
    assert run("automaton", trained, "--label", "positive", "--svg", picture).code == 0
    assert picture.exists()


def test_options_of_the_table_need_one(fails, trained) -> None:
    assert "need --data FILE" in fails("automaton", trained, "--label", "positive", "--states", 3)


def test_an_edited_model_names_the_remedy(run, fails, model) -> None:
    numbers = [
        item["id"] for item in json.loads((model / "prototypes.json").read_bytes())["prototypes"]
    ]
    assert run("edit", model, "--drop", numbers[0]).code == 0
    assert "--data FILE" in fails("automaton", model, "--label", "positive")
