"""`protorynet survey` from a model directory to the analysis."""

from __future__ import annotations

import csv
import json
import signal
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from survey_scene import Process, answer, begin, free_port

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
    with (made / "reviews.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["review", "label", "split"])
        for place, text in enumerate(unseen_reviews.texts):
            label = unseen_reviews.labels[place - place % 3 // 2]
            writer.writerow([text, label, "test" if place else "train"])
    commands(
        [
            *("create", str(made / "k6"), str(made / "other"), "--data", str(made / "reviews.csv")),
            *("-o", str(made / "survey.json"), "--questions", "4", "--trajectories", "2"),
        ],
        standalone_mode=False,
    )
    return made


@pytest.fixture
def file(folder: Path, tmp_path: Path) -> Path:
    """The survey's file, with no answers yet."""
    copied = tmp_path / "survey.json"
    copied.write_bytes((folder / "survey.json").read_bytes())
    return copied


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command, and return what it prints."""

    def run_command(*words: object) -> str:
        capsys.readouterr()
        commands([str(word) for word in words], standalone_mode=False)
        return capsys.readouterr().out

    return run_command


def test_a_survey_is_made_about_each_model(folder) -> None:
    made = read_survey(folder / "survey.json")
    assert [model.name for model in made.models] == ["k6", "other"]
    assert all(len(model.of("match")) == 4 for model in made.models)


def test_rows_of_the_test_split_are_asked_about(folder) -> None:
    assert all(question.row > 0 for question in read_survey(folder / "survey.json"))


def test_a_survey_can_go_straight_into_a_database(folder, tmp_path, run) -> None:
    url = f"sqlite:///{tmp_path / 'all.sqlite'}"
    table = folder / "reviews.csv"
    told = json.loads(run("create", folder / "k6", "--data", table, "--database", url, "--json"))
    assert run("invite", "--database", url).startswith("http://127.0.0.1:8000/survey/join/")
    assert run("invite", told["id"], "--database", url)


def test_serving_prints_the_link_and_keeps_what_is_answered(file, run) -> None:
    server = Process(str(file), "--port", "0")
    with httpx.Client(follow_redirects=True) as client:
        client.base_url = httpx.URL(server.link).copy_with(path="/")
        page = begin(client, server.link)
        while "<form" in page.text:
            page = answer(client, page)
    assert server.end(signal.SIGINT) == 0
    assert "Traceback" not in server.errors
    run("export", file, "-o", file.with_name("answers.csv"))
    rows = list(csv.DictReader(file.with_name("answers.csv").read_text().splitlines()))
    people = {row["participant"] for row in rows}
    assert (len(people), {row["finished"] for row in rows}) == (1, {"1"})


def test_serving_again_prints_the_same_link(file) -> None:
    links = []
    for _ in range(2):
        port = str(free_port())
        server = Process(str(file), "--port", port, "--address", "https://survey.example.org")
        links.append(server.link)
        server.end(signal.SIGINT)
    assert links[0] == links[1]
    assert links[0].startswith("https://survey.example.org/survey/join/")


def test_a_dry_run_is_marked_and_left_out_of_the_analysis(file, run, encoder) -> None:
    storage = Storage(file.with_suffix(".sqlite"))
    made = read_survey(file)
    storage.keep_survey(made)
    taken = take_automatically(storage, made, judge=encoder)
    assert [(each.kind, each.judge, each.model) for each in taken] == [
        ("automatic", "hashing", "k6"),
        ("automatic", "hashing", "other"),
    ]
    told = storage.responses(made.id)
    storage.close()
    assert len(told) == len(list(made))
    assert {each.judge for each in told} == {"hashing"}
    assert json.loads(run("analyse", file, "--json"))["means"] == []
    shown = json.loads(run("analyse", file, "--json", "--with-automatic"))["means"]
    assert {each["group"] for each in shown} == {"automatic"}


def test_the_models_own_encoder_is_no_judge(file, tiny_bert_folder) -> None:
    with pytest.raises(InputError, match="cannot judge it independently"):
        commands(["dry-run", str(file), "--judge", str(tiny_bert_folder)], standalone_mode=False)


def test_an_analysis_is_written_to_a_folder(file, run, encoder) -> None:
    storage = Storage(file.with_suffix(".sqlite"))
    made = read_survey(file)
    storage.keep_survey(made)
    take_automatically(storage, made, judge=encoder)
    storage.close()
    out = file.with_name("results")
    printed = run("analyse", file, "--with-automatic", "-o", out)
    assert "0 of 0 people analysed" in printed
    names = {path.name for path in out.iterdir()}
    assert {"index.html", "analysis.json", "agreement.svg", "trajectories.svg"} <= names


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["analyse"], "give the survey's file"),
        (["analyse", "missing.json"], "there is no survey missing.json"),
        (["export", "x", "--database", "mysql://x"], "should be an SQLite file"),
        (["export", "-o", "answers.xls"], "should end in .csv"),
        (["invite", "x", "--address", "ftp://x"], "give the survey's file"),
    ],
)
def test_wrong_usage_is_told_in_one_line(run, words, told) -> None:
    with pytest.raises(InputError, match=told) as refused:
        run(*words)
    assert "\n" not in str(refused.value)


def test_an_address_must_be_one(file, run) -> None:
    with pytest.raises(InputError, match="should begin with http"):
        run("invite", file, "--address", "survey.example.org")


def test_a_database_without_the_survey_says_what_it_holds(file, run) -> None:
    run("invite", file)
    with pytest.raises(InputError, match="it holds"):
        run("invite", "nothing", "--database", file.with_suffix(".sqlite"))


def test_a_port_in_use_is_told(file) -> None:
    server = Process(str(file), "--port", "0")
    port = httpx.URL(server.link).port
    with pytest.raises(InputError, match="cannot be listened on"):
        commands(["serve", str(file), "--port", str(port)], standalone_mode=False)
    server.end()


def test_a_label_must_be_called_something(folder) -> None:
    words = ["create", str(folder / "k6"), "--data", str(folder / "reviews.csv"), "--call", "0"]
    with pytest.raises(InputError, match="LABEL=WORDS"):
        commands(words, standalone_mode=False)
