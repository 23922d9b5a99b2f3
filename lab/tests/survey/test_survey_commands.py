"""`protorynet survey` from a model directory to the analysis."""

import csv
import json
import shutil
import signal
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import httpx
import pandas as pd
import pytest
from survey_scene import Process, take

from protorynet import ProtoryNetClassifier
from protorynet.errors import InputError
from protorynet_lab.cli.survey_command import survey as commands
from protorynet_lab.survey import Storage, read_survey, take_automatically

Run = Callable[..., str]


@pytest.fixture(scope="module")
def folder(reviews, unseen_reviews, quick, tiny_bert_folder, tmp_path_factory) -> Path:
    """A folder with two models, a table, and a survey made from them."""
    made: Path = tmp_path_factory.mktemp("survey")
    settings = quick.replace(min_prototypes=6)
    model = ProtoryNetClassifier(tiny_bert_folder, settings=settings, device="cpu", cache=False)
    model.fit(reviews.texts, reviews.labels).save(made / "k6")
    model.save(made / "other")
    labels = unseen_reviews.labels
    table = {
        "review": unseen_reviews.texts,
        "label": [labels[number - number % 3 // 2] for number in range(len(labels))],
        "split": ["train", *["test"] * (len(labels) - 1)],
    }
    pd.DataFrame(table).to_csv(made / "reviews.csv", index=False)
    commands(
        [
            *("create", str(made / "k6"), str(made / "other"), "--data", str(made / "reviews.csv")),
            *("-o", str(made / "survey.json"), "--questions", "4", "--trajectories", "2"),
        ],
        standalone_mode=False,
    )
    return made


@pytest.fixture
def file(folder, tmp_path) -> Path:
    """The survey's file, with no answers yet."""
    return Path(shutil.copy(folder / "survey.json", tmp_path))


@pytest.fixture
def run(capsys) -> Run:
    """Run a command, and return what it prints."""

    def run_command(*words: object) -> str:
        capsys.readouterr()
        commands([str(word) for word in words], standalone_mode=False)
        return capsys.readouterr().out

    return run_command


def test_a_survey_is_made_about_each_model_and_the_test_split(folder):
    made = read_survey(folder / "survey.json")
    assert [model.name for model in made.models] == ["k6", "other"]
    assert all(len(model.of("match")) == 4 for model in made.models)
    assert all(question.row > 0 for question in made)


def test_a_survey_can_go_straight_into_a_database(folder, tmp_path, run):
    url = f"sqlite:///{tmp_path / 'all.sqlite'}"
    table = folder / "reviews.csv"
    made = json.loads(run("create", folder / "k6", "--data", table, "--database", url, "--json"))
    assert run("invite", "--database", url).startswith("http://127.0.0.1:8000/survey/join/")
    assert run("invite", made["id"], "--database", url)
    with pytest.raises(InputError, match="it holds"):
        run("invite", "nothing", "--database", url)


def test_serving_prints_the_same_link_again_and_keeps_what_is_answered(file, run):
    links = []
    for _ in range(2):
        server = Process(str(file), "--address", "https://survey.example.org/")
        links.append(server.link)
        base = f"http://127.0.0.1:{server.port}"
        with httpx.Client(base_url=base, follow_redirects=True) as client:
            take(client, server.own_link)
        with pytest.raises(InputError, match="cannot be listened on"):
            commands(["serve", str(file), "--port", str(server.port)], standalone_mode=False)
        assert server.end(signal.SIGINT) == 0
        assert "Traceback" not in server.errors
    assert links[0] == links[1]
    assert links[0].startswith("https://survey.example.org/survey/join/")
    run("export", file, "-o", file.with_name("answers.csv"))
    rows = list(csv.DictReader(file.with_name("answers.csv").read_text().splitlines()))
    people = {row["participant"] for row in rows}
    assert (len(people), {row["finished"] for row in rows}) == (2, {"1"})


def test_a_dry_run_is_marked_and_left_out_of_the_analysis(file, run, encoder):
    made = read_survey(file)
    with closing(Storage(file.with_suffix(".sqlite"))) as storage:
        storage.keep_survey(made)
        taken = take_automatically(storage, made, judge=encoder)
        given = storage.responses(made.id)
    assert [(each.kind, each.judge, each.model) for each in taken] == [
        ("automatic", "hashing", "k6"),
        ("automatic", "hashing", "other"),
    ]
    assert len(given) == len(list(made))
    assert {each.judge for each in given} == {"hashing"}
    assert json.loads(run("analyse", file, "--json"))["means"] == []
    shown = json.loads(run("analyse", file, "--json", "--with-automatic"))["means"]
    assert {each["group"] for each in shown} == {"automatic"}
    out = file.with_name("results")
    assert "0 of 0 people analysed" in run("analyse", file, "--with-automatic", "-o", out)
    names = {path.name for path in out.iterdir()}
    assert {"index.html", "analysis.json", "agreement.svg", "trajectories.svg"} <= names


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["analyse"], "give the survey's file"),
        (["analyse", "missing.json"], "there is no survey missing.json"),
        (["export", "x", "--database", "mysql://x"], "should be an SQLite file"),
        (["export", "-o", "answers.xls"], "should end in .csv"),
        (["invite", "FILE", "--address", "survey.example.org"], "should begin with http"),
        (["dry-run", "FILE", "--judge", "ENCODER"], "cannot judge it independently"),
        (["create", "k6", "--data", "reviews.csv", "--call", "0"], "LABEL=NAME"),
        (["create", "k6", "--data", "reviews.csv", "-o", "FILE"], "exists already"),
    ],
)
def test_wrong_usage_is_told_in_one_line(run, words, message, file, tiny_bert_folder):
    with pytest.raises(InputError, match=message) as refused:
        run(*({"FILE": file, "ENCODER": tiny_bert_folder}.get(word, word) for word in words))
    assert "\n" not in str(refused.value)
