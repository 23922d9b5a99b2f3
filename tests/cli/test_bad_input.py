"""Bad input: one clear line, the right exit code, and nothing that existed is lost."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from cli_scene import reviews, snapshot, write_csv

from protorynet.storage import load_model, save_model


@pytest.fixture
def fit_fails(fails, quick, tmp_path):
    """Fit on a table that cannot be used, and check that nothing is left behind."""

    def fit(source: Path, *options: str) -> str:
        before = sorted(tmp_path.iterdir())
        line = fails("fit", source, "-o", tmp_path / "m", *quick, *options)
        assert sorted(tmp_path.iterdir()) == before
        return line

    return fit


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "holds no rows"),
        ([(text, "only") for text, _ in reviews()], "only one class ('only')"),
        ([("Fine.", "a"), ("<br />", "a"), ("Bad.", "b")], "row 3 (the headings are row 1)"),
        ([("Fine.", "a"), ("", "a"), ("", "b")], "2 of 3 rows"),
    ],
    ids=["empty", "one class", "no sentence", "no text"],
)
def test_a_table_that_cannot_be_learnt_from_is_refused(fit_fails, tmp_path, rows, message):
    assert message in fit_fails(write_csv(tmp_path / "t.csv", ["text", "label"], rows))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--text", "body"), "has no column 'body'; it has '"),
        (("--split", "dev"), "it has 'test', 'train'"),
        (("--address", "auto"), "--address and --workers need --engine ray"),
        (("--workers", "2"), "--address and --workers need --engine ray"),
        (("--encoder", "word2vec"), "there is no encoder 'word2vec'"),
        (("--settings", "SETTINGS"), "there is no setting 'learning"),
    ],
)
def test_options_that_do_not_fit_are_refused(fit_fails, table, tmp_path, options, message):
    (tmp_path / "s.toml").write_text("learning = 1")
    known = {"SETTINGS": str(tmp_path / "s.toml")}
    assert message in fit_fails(table, *(known.get(word, word) for word in options))


@pytest.mark.parametrize("is_one", [True, False], ids=["one label", "several labels"])
def test_twenty_documents_of_four_classes_with_strange_names(run, quick, tmp_path, is_one):
    subjects = {"très bien ✓": "dog", "sehr schlecht": "planet", "3": "train", "d,e": "painter"}
    rows = [
        {"text": f"This is about a {name}. The {name} was number {number}.", "label": label}
        for number in range(5)
        for label, name in subjects.items()
    ]
    if not is_one:
        rows = [{**row, "label": [row["label"], "3"]} for row in rows]
    source, model = tmp_path / "t.jsonl", tmp_path / "m"
    source.write_text("\n".join(map(json.dumps, rows)))
    assert run("fit", source, "-o", model, *quick).code == 0
    assert run("evaluate", model, source, "--json").code == 0
    assert run("prototypes", model).code == 0
    given = json.loads(run("explain", model, "I loved it!", "--json").out)
    assert set(given["probabilities"]) == set(subjects)
    assert '"p_3","p_d,e","p_sehr schlecht","p_très' in run("predict", model, source).out


def test_only_an_existing_model_is_replaced_on_demand(run, fails, table, quick, model, tmp_path):
    before = snapshot(model)
    assert "--force" in fails("fit", table, "-o", model)
    assert snapshot(model) == before
    assert run("fit", table, "-o", model, "--force", "--seed", 9, *quick).code == 0
    assert snapshot(model)["model.safetensors"] != before["model.safetensors"]
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    assert "not a model directory" in fails("fit", table, "-o", tmp_path / "thesis", "--force")
    assert (tmp_path / "thesis" / "chapter.txt").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fit", "TABLE", "-o", "BELOW A FILE"), "cannot be written"),
        (("predict", "MODEL", "TABLE", "-o", "BELOW A FILE"), "cannot be written"),
        (("prototypes", "MODEL", "--html", "BELOW A FILE"), "cannot be written"),
        (("report", "MODEL", "TABLE", "-o", "FOLDER"), "is a folder"),
        (("report", "MODEL", "TABLE", "--format", "pdf"), "'--format': 'pdf' is not one of"),
        (("explain", "MODEL", "A text.", "--limit", "0"), "'0' should be greater"),
        (("fit", "TABLE", "-o", "m", "--prototypes", "x"), "'x' should be a valid integer."),
        (("report", "MODEL", "TABLE", "-o", "TABLE"), "is the input"),
        (("report", "MODEL", "TABLE", "-o", "new.pdf"), "should end in .html or .md"),
        (("predict", "MODEL", "TABLE", "-o", "TABLE"), "is the input"),
        (("predict", "MODEL", "TABLE", "-o", "out.ods"), ".parquet"),
        (("predict", "MODEL", "TAKEN", "-o", "out.csv"), "'p_positive' already"),
        (("explain", "MODEL", " \n "), "the text to explain"),
        (("explain", "MODEL", "<br />"), "the text to explain"),
        (("explain", "MODEL", "A text.", "--input", "TABLE"), "not both"),
        (("prototypes", "MODEL", "--json", "--html", "p.html"), "not both"),
    ],
)
def test_what_cannot_be_done_is_refused_before_work(
    fails, table, trained, tmp_path, words, message
):
    (tmp_path / "file").touch()
    taken = write_csv(tmp_path / "t.csv", ["text", "p_positive"], [("It was great.", "1")])
    known = {"TABLE": table, "MODEL": trained, "FOLDER": tmp_path, "TAKEN": taken}
    known["BELOW A FILE"] = tmp_path / "file" / "out.csv"
    before = table.read_bytes()
    line = fails(*(known.get(word, word) for word in words))
    assert message in line.replace("(s)", "")
    assert table.read_bytes() == before


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
def test_wrong_usage_points_to_the_help(fails, arguments, message):
    line = fails(*arguments)
    assert message in line
    assert line.endswith("--help")


@pytest.mark.parametrize("command", ["prototypes", "explain", "predict", "evaluate"])
def test_a_model_that_cannot_be_used_is_refused(fails, model, table, tmp_path, command):
    rest = {"prototypes": (), "explain": ("Fine.",)}.get(command, (table,))
    assert "there is no model directory" in fails(command, tmp_path / "none", *rest)
    if command == "predict":
        loaded, _ = load_model(model)
        record = replace(loaded.encoder, fingerprint="0" * 64)
        save_model(replace(loaded, encoder=record), model)
        assert "made with another encoder" in fails(command, model, *rest)
    file = model / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-9])
    before = snapshot(model)
    assert "model.safetensors was changed or cut off" in fails(command, model, *rest)
    assert snapshot(model) == before


def test_something_unexpected_is_one_line_that_names_it(fails, trained, monkeypatch):
    def explode(*_: object, **__: object) -> None:
        raise ZeroDivisionError("1 / 0\nsecond line")

    monkeypatch.setattr("protorynet.storage.load_model", explode)
    line = fails("prototypes", trained, code=1)
    assert "ZeroDivisionError: 1 / 0 second line" in line
    assert "PROTORYNET_DEBUG=1" in line


def test_debugging_shows_the_traceback(run, tmp_path, monkeypatch):
    monkeypatch.setenv("PROTORYNET_DEBUG", "1")
    assert "Traceback" in run("prototypes", tmp_path / "none").err


@pytest.mark.parametrize(
    ("sentence", "is_told"),
    [("Das Zimmer war hell und das Bett bequem. ", True), ("The room was light. ", False)],
)
def test_texts_that_do_not_look_like_their_language_are_told(run, tmp_path, sentence, is_told):
    source = write_csv(tmp_path / "t.csv", ["text", "label"], [(sentence * 30, "only")])
    told = "--language de" in run("fit", source, "-o", tmp_path / "m").err
    assert told == is_told
