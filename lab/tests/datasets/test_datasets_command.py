"""`protorynet datasets` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_scene import Fails, Run, write_csv

from protorynet.data import read_table
from protorynet_lab.datasets import DATASETS


@pytest.fixture
def hotel(tmp_path: Path) -> Path:
    """Sixty hotel reviews, ten of them negative."""
    rows = [("5" if place % 6 else "1", f"Stay {place}. Fine.") for place in range(60)]
    return write_csv(tmp_path / "7282_1.csv", ["reviews.rating", "reviews.text"], rows)


def test_all_data_sets_are_listed(run: Run) -> None:
    ended = run("datasets")
    assert ended.code == 0
    assert all(each.name in ended.out and each.title in ended.out for each in DATASETS)


def test_the_list_as_json_is_one_object(run: Run) -> None:
    told = json.loads(run("datasets", "--json").out)["datasets"]
    assert [each["name"] for each in told] == [each.name for each in DATASETS]
    assert {"title", "document", "label", "size", "licence", "home", "files", "hub"} <= set(told[0])


@pytest.mark.parametrize("words", [("imdb",), ("about", "imdb")])
def test_a_name_tells_all_about_one(run: Run, words: tuple[str, ...]) -> None:
    ended = run("datasets", *words)
    assert ended.code == 0
    assert "aclImdb_v1.tar.gz" in ended.out
    assert "datasets prepare imdb --hub" in " ".join(ended.out.split())


def test_one_as_json_is_one_object(run: Run) -> None:
    assert json.loads(run("datasets", "steam", "--json").out)["hub"] is None


def test_an_unknown_name_is_told_with_a_guess(fails: Fails) -> None:
    assert "did you mean 'hotel'?" in fails("datasets", "hotels")


def test_help_tells_both_ways_to_use_it(run: Run) -> None:
    ended = run("datasets", "--help")
    assert ended.code == 0
    assert "NAME" in ended.out
    assert "prepare" in ended.out


def test_prepare_writes_what_fit_reads(run: Run, hotel: Path, tmp_path: Path) -> None:
    output = tmp_path / "hotel.parquet"
    ended = run("datasets", "prepare", "hotel", "--from", hotel, "-o", output)
    assert ended.code == 0
    assert "Wrote 20 of 60 documents" in ended.out
    assert len(read_table(output, split="train")) == 16


def test_prepare_as_json_tells_the_counts(run: Run, hotel: Path, tmp_path: Path) -> None:
    output = tmp_path / "hotel.parquet"
    ended = run("datasets", "prepare", "hotel", "--from", hotel, "-o", output, "--json")
    assert json.loads(ended.out)["counts"] == {
        "train": {"0": 8, "1": 8},
        "test": {"0": 2, "1": 2},
    }


def test_the_same_seed_writes_the_same_file(run: Run, hotel: Path, tmp_path: Path) -> None:
    files = [tmp_path / f"{place}.parquet" for place in range(3)]
    for file, seed in zip(files, (5, 5, 6), strict=True):
        run("datasets", "prepare", "hotel", "--from", hotel, "-o", file, "--seed", seed)
    first, again, other = (file.read_bytes() for file in files)
    assert first == again != other


@pytest.mark.parametrize("given", [[], ["--hub", "--from"]])
def test_prepare_wants_exactly_one_origin(
    fails: Fails, hotel: Path, tmp_path: Path, given: list[str]
) -> None:
    words = [*given, hotel] if given else []
    line = fails("datasets", "prepare", "hotel", *words, "-o", tmp_path / "a.parquet")
    assert "either --from PATH" in line


@pytest.mark.parametrize("name", ["hotel.csv", "hotel", "."])
def test_prepare_refuses_an_output_that_is_no_parquet_file(
    fails: Fails, hotel: Path, tmp_path: Path, name: str
) -> None:
    assert "parquet" in fails(
        "datasets", "prepare", "hotel", "--from", hotel, "-o", tmp_path / name
    )


def test_prepare_of_a_wrong_file_leaves_the_old_output(
    fails: Fails, hotel: Path, tmp_path: Path
) -> None:
    output = tmp_path / "steam.parquet"
    output.write_bytes(b"old")
    line = fails("datasets", "prepare", "steam", "--from", hotel, "-o", output)
    assert "holds no documents of 'steam'" in line
    assert output.read_bytes() == b"old"


def test_what_the_hub_lacks_is_refused(fails: Fails, tmp_path: Path) -> None:
    line = fails("datasets", "prepare", "hotel", "--hub", "-o", tmp_path / "hotel.parquet")
    assert "no faithful copy" in line
