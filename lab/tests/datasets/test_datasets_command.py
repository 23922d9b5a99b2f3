"""`protorynet datasets` as a user types it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from dataset_scene import hotel_csv

from protorynet.cli import main
from protorynet.data import read_table
from protorynet_lab.datasets import DATASETS

Run = Callable[..., str]


@pytest.fixture
def hotel(tmp_path) -> Path:
    """Sixty hotel reviews, ten of them negative."""
    path = tmp_path / "7282_1.csv"
    path.write_bytes(hotel_csv(positive=50, negative=10, middling=0))
    return path


@pytest.fixture
def run(capsys) -> Run:
    """Run a command, and return what it prints, or its one line of error where it must fail."""

    def run_command(*words: object, code: int = 0) -> str:
        assert main(["datasets", *map(str, words)]) == code
        printed, said = capsys.readouterr()
        if code:
            assert printed == ""
            said = said.splitlines()[-1]
            assert said.startswith("error: ")
        return said if code else printed

    return run_command


def test_all_data_sets_are_listed(run):
    listed = run()
    assert all(each.name in listed and each.title in listed for each in DATASETS)


def test_the_list_and_one_of_it_are_json_objects(run):
    listed = json.loads(run("--json"))["datasets"]
    assert [each["name"] for each in listed] == [each.name for each in DATASETS]
    keys = {"title", "document", "label", "size", "licence", "home", "files", "hub"}
    assert keys <= set(listed[0])
    assert json.loads(run("steam", "--json")) in listed


@pytest.mark.parametrize("words", [("imdb",), ("about", "imdb")])
def test_a_name_tells_all_about_one(run, words):
    told = run(*words)
    assert "aclImdb_v1.tar.gz" in told
    assert "datasets prepare imdb --hub" in " ".join(told.split())


def test_prepare_writes_what_fit_reads(run, hotel, tmp_path):
    command = ("prepare", "hotel", "--from", hotel, "-o", tmp_path / "hotel.parquet")
    assert "Wrote 20 of 60 documents" in run(*command)
    assert len(read_table(tmp_path / "hotel.parquet", split="train")) == 16
    counts = json.loads(run(*command, "--json"))["counts"]
    assert counts == {"train": {"0": 8, "1": 8}, "test": {"0": 2, "1": 2}}


def test_the_same_seed_writes_the_same_file(run, hotel, tmp_path):
    files = [tmp_path / f"{number}.parquet" for number in range(3)]
    for file, seed in zip(files, (5, 5, 6), strict=True):
        run("prepare", "hotel", "--from", hotel, "-o", file, "--seed", seed)
    first, again, other = (file.read_bytes() for file in files)
    assert first == again != other


@pytest.mark.parametrize(
    ("name", "options", "output", "complaint"),
    [
        ("hotel", (), "a.parquet", "either --from PATH"),
        ("hotel", ("--hub", "--from", "7282_1.csv"), "a.parquet", "either --from PATH"),
        ("hotel", ("--hub",), "a.parquet", "no faithful copy of 'hotel'"),
        ("hotel", ("--from", "7282_1.csv"), "hotel.csv", "should end in .parquet"),
        ("hotel", ("--from", "7282_1.csv"), "folder.parquet", "is a directory"),
        ("steam", ("--from", "7282_1.csv"), "old.parquet", "holds no documents of 'steam'"),
    ],
)
def test_prepare_refuses_what_cannot_be_read_or_written(
    run, hotel, monkeypatch, name, options, output, complaint
):
    monkeypatch.chdir(hotel.parent)
    Path("folder.parquet").mkdir()
    Path("old.parquet").write_bytes(b"old")
    assert complaint in run("prepare", name, *options, "-o", output, code=2)
    assert Path("old.parquet").read_bytes() == b"old"
