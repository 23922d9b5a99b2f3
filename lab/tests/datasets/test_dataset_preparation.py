"""Every data set, tiny, in its published form, prepared as the paper says."""

from __future__ import annotations

import gzip
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dataset_scene import (
    csv_bytes,
    folder,
    hotel_csv,
    imdb_files,
    json_lines,
    numbered_csv,
    tar,
    zipped,
)
from hypothesis import HealthCheck, given, settings, strategies as st

from protorynet.data import read_table
from protorynet.errors import InputError, TableError
from protorynet_lab.datasets import DATASETS, KnownDataset, Prepared, known_dataset, prepare_dataset
from protorynet_lab.datasets.archive_members import Member
from protorynet_lab.datasets.dataset_rows import RECIPES, read_rows

KINDS = ("Person", "Animal", "Building", "NaturalPlace")
quick = settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])


def by_split(prepared: Prepared) -> dict[str, Counter[Any]]:
    return {
        split: Counter(row.label for row in prepared.rows if row.split == split)
        for split in ("train", "test")
    }


def write_parquet(path: Path, **columns: list[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def test_imdb_reviews_come_unchanged_in_their_own_halves(tmp_path: Path) -> None:
    files = imdb_files(1)
    prepared = prepare_dataset("imdb", tar(tmp_path / "aclImdb_v1.tar.gz", files))
    reviews = {name: content.decode() for name, content in files.items() if "_9" in name}
    found = {row.split: row.text for row in prepared.rows if row.label == 1}
    assert by_split(prepared) == {"train": {0: 1, 1: 1}, "test": {0: 1, 1: 1}}
    assert found["train"] == reviews["aclImdb/train/pos/0_9.txt"]
    assert found["test"] == reviews["aclImdb/test/pos/0_9.txt"]


def test_archive_folder_and_inner_folder_give_the_same(tmp_path: Path) -> None:
    files = imdb_files()
    unpacked = folder(tmp_path / "unpacked", files)
    sources = (
        tar(tmp_path / "aclImdb_v1.tar.gz", files),
        tar(tmp_path / "reversed.tar", dict(reversed(files.items()))),
        zipped(tmp_path / "imdb.zip", files),
        unpacked,
        unpacked / "aclImdb",
    )
    first, *others = (prepare_dataset("imdb", source).rows for source in sources)
    assert all(rows == first for rows in others)


def test_a_folder_as_on_the_hub_gives_the_same_documents(tmp_path: Path) -> None:
    reviews = prepare_dataset("imdb", folder(tmp_path / "unpacked", imdb_files())).rows
    hub = tmp_path / "hub" / "plain_text"
    for split in ("train", "test"):
        rows = [row for row in reviews if row.split == split]
        write_parquet(
            hub / f"{split}-00000-of-00001.parquet",
            text=[row.text for row in rows],
            label=[row.label for row in rows],
        )
    write_parquet(hub / "unsupervised-00000-of-00001.parquet", text=["Who knows."], label=[-1])
    assert prepare_dataset("imdb", tmp_path / "hub").rows == reviews


def test_parquet_files_in_several_parts_are_all_read(tmp_path: Path) -> None:
    for part in range(3):
        write_parquet(
            tmp_path / "data" / f"train-0000{part}-of-00003.parquet",
            text=[f"Good {part}.", f"Bad {part}."],
            label=[1, 0],
        )
    write_parquet(tmp_path / "test" / "0000.parquet", text=["Good.", "Bad."], label=[1, 0])
    assert by_split(prepare_dataset("yelp", tmp_path)) == {
        "train": {0: 3, 1: 3},
        "test": {0: 1, 1: 1},
    }


def test_yelp_keeps_the_split_of_its_archive(tmp_path: Path) -> None:
    files = {
        "yelp_review_polarity_csv/train.csv": numbered_csv(
            [("1", 'Slow.\\n\\nNever \\"again\\".'), ("2", 'A "fine" place, really.')]
        ),
        "yelp_review_polarity_csv/test.csv": numbered_csv([("2", "Lovely."), ("1", "Cold.")]),
        "yelp_review_polarity_csv/readme.txt": b"Yelp Review Polarity Dataset",
        "yelp_review_polarity_csv/._train.csv": b"\0\5\x16\7",
    }
    prepared = prepare_dataset("yelp", tar(tmp_path / "yelp_review_polarity_csv.tgz", files))
    assert {(row.text, row.label, row.split) for row in prepared.rows} == {
        ('Slow.\n\nNever "again".', 0, "train"),
        ('A "fine" place, really.', 1, "train"),
        ("Lovely.", 1, "test"),
        ("Cold.", 0, "test"),
    }


def test_yelps_own_json_is_balanced_and_split(tmp_path: Path) -> None:
    stars = [5.0, 4.0] * 200 + [1.0, 2.0] * 60 + [3.0] * 50
    reviews = [{"stars": n, "text": f"Review {i}: {n} stars."} for i, n in enumerate(stars)]
    files = {
        "yelp_academic_dataset_business.json": json_lines([{"name": "Cafe", "stars": 4.5}]),
        "yelp_academic_dataset_review.json": json_lines(reviews),
        "yelp_academic_dataset_tip.json": json_lines([{"text": "Try the tea."}]),
    }
    prepared = prepare_dataset("yelp", tar(tmp_path / "yelp_dataset.tar", files))
    assert by_split(prepared) == {"train": {0: 112, 1: 112}, "test": {0: 8, 1: 8}}


def test_amazon_is_drawn_from_both_of_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = RECIPES["amazon"]
    monkeypatch.setitem(RECIPES, "amazon", type(recipe)(**{**vars(recipe), "most": 10}))
    files = {
        f"amazon_review_polarity_csv/{split}.csv": numbered_csv(
            [(kind, "A title", f"{split} {kind} {n}") for n in range(30) for kind in "12"]
        )
        for split in ("train", "test")
    }
    prepared = prepare_dataset("amazon", tar(tmp_path / "amazon.tar.gz", files))
    assert by_split(prepared) == {"train": {0: 8, 1: 8}, "test": {0: 2, 1: 2}}
    assert {row.text.split()[0] for row in prepared.rows} == {"train", "test"}
    assert prepared.n_found == 120


def test_rotten_tomatoes_is_split_four_to_one(tmp_path: Path) -> None:
    rows = [(n % 2, f"Quote {n}.") for n in range(50)]
    source = tmp_path / "rotten_tomatoes_reviews.csv"
    source.write_bytes(csv_bytes([("Freshness", "Review"), *rows]))
    assert by_split(prepare_dataset("rotten_tomatoes", source)) == {
        "train": {0: 20, 1: 20},
        "test": {0: 5, 1: 5},
    }


def test_rotten_tomatoes_critics_are_read_beside_their_films(tmp_path: Path) -> None:
    files = {
        "rotten_tomatoes_movies.csv": csv_bytes([("movie_title", "rating"), ("Jaws", "PG")]),
        "rotten_tomatoes_critic_reviews.csv": csv_bytes(
            [
                ("review_type", "review_content"),
                ("Fresh", "A bite."),
                ("Rotten", "No."),
                ("Fresh", ""),
            ]
        ),
    }
    prepared = prepare_dataset("rotten_tomatoes", zipped(tmp_path / "archive.zip", files))
    assert {(row.text, row.label) for row in prepared.rows} == {("A bite.", 1), ("No.", 0)}


def test_hotel_leaves_out_three_stars_and_balances(tmp_path: Path) -> None:
    files = {
        "Datafiniti_Hotel_Reviews.csv": hotel_csv(positive=30, negative=6),
        "Datafiniti_Hotel_Reviews_Jun19.csv": hotel_csv(positive=20, negative=4, start=1_000),
        "7282_1.csv": hotel_csv(positive=5, negative=5, start=2_000),
    }
    prepared = prepare_dataset("hotel", zipped(tmp_path / "archive.zip", files))
    assert by_split(prepared) == {"train": {0: 8, 1: 8}, "test": {0: 2, 1: 2}}
    assert prepared.n_found == 60


def test_a_hotel_file_named_itself_is_read_whatever_its_name(tmp_path: Path) -> None:
    source = tmp_path / "7282_1.csv.gz"
    source.write_bytes(gzip.compress(hotel_csv(positive=7, negative=5)))
    assert len(prepare_dataset("hotel", source)) == 10


def test_steam_leaves_out_reviews_that_are_too_short(tmp_path: Path) -> None:
    rows = [
        ("Recommended", "Great game! Buy it."),
        ("Recommended", "Great game without an end"),
        ("Recommended", "Ok. Hm."),
        ("Not Recommended", "It crashed. Twice."),
        ("Not Recommended", ""),
    ]
    source = tmp_path / "steam_reviews.csv"
    source.write_bytes(csv_bytes([("recommendation", "review"), *rows]))
    prepared = prepare_dataset("steam", source)
    assert {row.text for row in prepared.rows} == {"Great game! Buy it.", "It crashed. Twice."}


def test_dbpedia_takes_four_kinds_and_its_own_split(tmp_path: Path) -> None:
    files = {
        f"DBPEDIA_{split}.csv": csv_bytes(
            [
                ("text", "l1", "l2", "l3"),
                *((f"{kind} in {split}.", "x", kind, "y") for kind in (*KINDS, "Company")),
            ]
        )
        for split in ("train", "val", "test")
    }
    files["DBP_wiki_data.csv"] = files["DBPEDIA_train.csv"]
    prepared = prepare_dataset("dbpedia", zipped(tmp_path / "dbpedia.zip", files))
    prepared.write(tmp_path / "dbpedia.parquet")
    assert set(read_table(tmp_path / "dbpedia.parquet").labels or ()) == set(KINDS)
    assert by_split(prepared) == {
        "train": dict.fromkeys(KINDS, 2),
        "test": dict.fromkeys(KINDS, 1),
    }


def test_dbpedia_of_fourteen_kinds_gives_the_same_four(tmp_path: Path) -> None:
    rows = [(str(kind), f"Title {kind}", f"About {kind}.") for kind in range(1, 15)]
    files = {f"dbpedia_csv/{split}.csv": numbered_csv(rows) for split in ("train", "test")}
    prepared = prepare_dataset("dbpedia", tar(tmp_path / "dbpedia_csv.tar.gz", files))
    assert {(row.text, row.label) for row in prepared.rows if row.split == "test"} == {
        ("About 3.", "Person"),
        ("About 4.", "Person"),
        ("About 5.", "Person"),
        ("About 7.", "Building"),
        ("About 8.", "NaturalPlace"),
        ("About 10.", "Animal"),
    }


def test_complaints_without_a_narrative_are_left_out(tmp_path: Path) -> None:
    products = (*RECIPES["complaints"].classes, "Student loan")
    rows = [
        (product, text) for product in products for text in (f"About {product}.", "Again!", " ")
    ]
    content = csv_bytes([("Product", "Consumer complaint narrative"), *rows])
    source = zipped(tmp_path / "complaints.csv.zip", {"complaints.csv": content})
    prepared = prepare_dataset("complaints", source)
    assert len(prepared) == 8
    assert {row.label for row in prepared.rows} == set(RECIPES["complaints"].classes)


def test_the_file_written_is_what_other_commands_read(tmp_path: Path) -> None:
    source = folder(tmp_path / "unpacked", imdb_files())
    output = tmp_path / "new" / "imdb.parquet"
    prepared = prepare_dataset("imdb", source)
    prepared.write(output)
    table = read_table(output, split="test")
    assert (len(table), set(table.labels or ())) == (6, {0, 1})
    assert pq.read_schema(output).names == ["text", "label", "split"]
    assert prepared.counts == {"train": {"0": 3, "1": 3}, "test": {"0": 3, "1": 3}}


@quick
@given(
    st.lists(st.tuples(st.booleans(), st.text(min_size=1)), min_size=4, max_size=40),
    st.integers(0, 9),
)
def test_what_is_drawn_is_balanced_split_and_from_the_file(
    tmp_path: Path, drawn: list[tuple[bool, str]], seed: int
) -> None:
    texts = [(good, f"{text.encode('utf-8', 'replace').decode()}.") for good, text in drawn]
    texts += [(True, "Good."), (False, "Bad.")]
    source = tmp_path / "hotel.csv"
    rows = [("5" if good else "1", text) for good, text in texts]
    source.write_bytes(csv_bytes([("reviews.rating", "reviews.text"), *rows]))
    prepared = prepare_dataset("hotel", source, seed=seed)
    counts = Counter(row.label for row in prepared.rows)
    fewest = min(Counter(good for good, _ in texts).values())
    assert counts == {0: fewest, 1: fewest}
    assert all(count == round(0.2 * fewest) for count in by_split(prepared)["test"].values())
    assert not Counter((bool(row.label), row.text) for row in prepared.rows) - Counter(texts)


@given(
    st.binary(max_size=200),
    st.sampled_from(["train.csv", "train.tsv", "train.json", "train/pos/a.txt"]),
)
def test_any_bytes_are_rows_or_refused(content: bytes, name: str) -> None:
    for recipe in RECIPES.values():
        member = Member(name, io.BytesIO(content), is_alone=True)
        try:
            rows = list(read_rows(member, recipe))
        except (TableError, UnicodeDecodeError):
            continue
        assert all(row.label in recipe.classes for row in rows)


@given(st.text(), st.sampled_from(["\\n", "\\ud800", "\\u0000"]))
def test_any_text_of_a_json_file_can_be_written(text: str, escape: str) -> None:
    line = json.dumps({"stars": 5, "text": text}).replace('"text": "', f'"text": "x{escape}')
    member = Member("review.json", io.BytesIO(line.encode()))
    rows = list(read_rows(member, RECIPES["yelp"]))
    assert rows[0].text.encode()


def test_a_file_of_another_data_set_is_refused_with_what_is_expected(tmp_path: Path) -> None:
    source = tmp_path / "steam_reviews.csv"
    source.write_bytes(csv_bytes([("recommendation", "review"), ("Recommended", "Fun. Buy it.")]))
    with pytest.raises(TableError, match=r"no documents of 'imdb'; expected aclImdb_v1\.tar\.gz"):
        prepare_dataset("imdb", source)


def test_a_class_without_documents_is_named(tmp_path: Path) -> None:
    source = tmp_path / "hotel.csv"
    source.write_bytes(hotel_csv(positive=3, negative=0))
    with pytest.raises(TableError, match="no documents of class '0'"):
        prepare_dataset("hotel", source)


@pytest.mark.parametrize("seed", [-1, 2**63, True, 0.5])
def test_a_seed_that_is_none_is_refused(tmp_path: Path, seed: Any) -> None:
    with pytest.raises(InputError, match="should be a whole number"):
        prepare_dataset("imdb", tmp_path, seed=seed)


@pytest.mark.parametrize("dataset", DATASETS, ids=lambda each: each.name)
def test_all_is_said_of_a_data_set_that_can_be_prepared(dataset: KnownDataset) -> None:
    facts = {name: value for name, value in vars(dataset).items() if name not in ("hub", "used")}
    assert all(facts.values())
    assert len(RECIPES[dataset.name].classes) == dataset.n_classes


def test_an_unknown_name_gets_a_guess_or_the_known_ones() -> None:
    assert [each.name for each in DATASETS] == list(RECIPES)
    with pytest.raises(InputError, match="no data set 'Rotten tomato'; did you mean 'rotten_tom"):
        known_dataset("Rotten tomato")
    with pytest.raises(InputError, match="no data set 'zzz'; known are imdb, amazon, yelp"):
        known_dataset("zzz")
