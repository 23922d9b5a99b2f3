"""`protorynet automaton`, as a user runs it."""

import json
from xml.etree import ElementTree

import pytest
from cli_scene import reviews, write_csv

OF = ("--label", "positive")


def test_train_rows_teach_and_test_rows_measure(run, trained, table):
    ended = run("automaton", trained, *OF, "--data", table, "--json")
    assert ended.code == 0, ended.err
    values = json.loads(ended.out)
    assert {"fidelity", "n_states", "n_transitions", "patterns"} <= set(values)
    assert (values["label"], values["n_train"], values["n_held_out"]) == ("positive", 32, 8)
    assert 1 <= values["n_states"] <= 20


def test_of_documents_without_another_split_a_fifth_measures(run, trained, table, tmp_path):
    plain = write_csv(tmp_path / "plain.csv", ["review"], [(text,) for text, _ in reviews()])
    ended = run("automaton", trained, "--label", "negative", "--data", plain, "--json")
    values = json.loads(ended.out)
    assert (values["n_train"], values["n_held_out"]) == (32, 8)
    assert "every fifth of the 40 texts" in ended.err
    options = (*OF, "--data", table, "--split", "train", "--states", "1", "--json")
    values = json.loads(run("automaton", trained, *options).out)
    assert (values["n_train"], values["n_held_out"], values["n_states"]) == (26, 6, 1)
    single = write_csv(tmp_path / "one.csv", ["review"], [("The acting was great.",)])
    values = json.loads(run("automaton", trained, *OF, "--data", single, "--json").out)
    assert (values["n_train"], values["fidelity_held_out"]) == (1, None)


@pytest.mark.parametrize("is_stored", [False, True])
def test_it_is_told_in_words_and_drawn(run, trained, table, tmp_path, is_stored):
    words = OF if is_stored else (*OF, "--data", table)
    assert run("automaton", trained, *words).out.startswith("Fidelity ")
    picture = tmp_path / "new" / "automaton.svg"
    ended = run("automaton", trained, *words, "--svg", picture)
    assert (ended.code, ended.out) == (0, "")
    assert ElementTree.parse(picture).getroot().get("role") == "img"


def test_without_data_it_is_the_one_of_the_training(run, trained):
    values = json.loads(run("automaton", trained, *OF, "--json").out)
    values.pop("edges")
    assert values == json.loads((trained / "automata.json").read_bytes())["automata"][1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--label", "maybe"), "'maybe' is none of the model's classes"),
        ((*OF, "--json", "--svg", "a.svg"), "either --json or --svg FILE"),
        ((*OF, "--split", "dev"), "'dev'"),
    ],
)
def test_wrong_usage_is_refused(fails, trained, table, words, message):
    assert message in fails("automaton", trained, "--data", table, *words)


def test_what_needs_a_table_says_so(run, fails, model):
    assert "need --data FILE" in fails("automaton", model, *OF, "--states", 3)
    first = json.loads((model / "prototypes.json").read_bytes())["prototypes"][0]["id"]
    assert run("edit", model, "--drop", first).code == 0
    assert "--data FILE" in fails("automaton", model, *OF)
