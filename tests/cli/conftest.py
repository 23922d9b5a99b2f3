"""A quick model made by the command itself, and how to run commands."""

import os
import shutil
from pathlib import Path

import pytest
from cli_scene import SETTINGS, Ended, reviews, the_error, write_csv

from protorynet.cli import main


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROTORYNET_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("PROTORYNET_DEBUG", raising=False)
        patch.setenv("COLUMNS", "80")
        yield


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """A folder with reviews.csv (columns review, sentiment, split) and quick.toml."""
    folder = tmp_path_factory.mktemp("data")
    rows = [
        (text, label, "test" if number % 5 == 0 else "train")
        for number, (text, label) in enumerate(reviews())
    ]
    write_csv(folder / "reviews.csv", ["review", "sentiment", "split"], rows)
    (folder / "quick.toml").write_text(SETTINGS)
    return folder


@pytest.fixture(scope="session")
def table(data):
    return data / "reviews.csv"


@pytest.fixture(scope="session")
def quick(data):
    """Options that make training quick."""
    return ("--settings", str(data / "quick.toml"))


@pytest.fixture(scope="session")
def trained(table, quick, tmp_path_factory):
    """A model directory that tests only read."""
    folder = tmp_path_factory.mktemp("trained") / "model"
    assert main(["fit", str(table), "-o", str(folder), *quick]) == 0
    return folder


@pytest.fixture
def model(trained, tmp_path):
    """A model directory of the test's own, to damage or replace."""
    return Path(shutil.copytree(trained, tmp_path / "own model"))


@pytest.fixture
def run(capsys):
    """Run a command in this process."""

    def run_command(*arguments: object) -> Ended:
        capsys.readouterr()
        code = main([os.fspath(a) if isinstance(a, Path) else str(a) for a in arguments])
        return Ended(code, *capsys.readouterr())

    return run_command


@pytest.fixture
def fails(run):
    """Run a command that must fail with one line, print nothing else, and return that line."""

    def run_failing(*arguments: object, code: int = 2) -> str:
        ended = run(*arguments)
        return the_error(ended, code)

    return run_failing
