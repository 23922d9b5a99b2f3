"""Every data set, tiny, in its published form, prepared as the paper says."""

import gzip
import io
import json
from collections import Counter
from dataclasses import replace
from typing import Any

import huggingface_hub
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dataset_scene import csv_bytes, hotel_csv, imdb_files, json_lines, numbered_csv, pack
from hypothesis import given, strategies as st

from protorynet.errors import InputError
from protorynet_lab.datasets import (
    DATASETS,
    Prepared,
    fetch_dataset,
    known_dataset,
    prepare_dataset,
)
from protorynet_lab.datasets.archive_members import Member
from protorynet_lab.datasets.dataset_rows import RECIPES, read_rows

KINDS = ("Person", "Animal", "Building", "NaturalPlace")


def by_split(prepared: Prepared) -> dict[str, Counter[Any]]:
    return {
        split: Counter(row.label for row in prepared.rows if row.split == split)
        for split in ("train", "test")
    }


def parquet_bytes(**columns: list[Any]) -> bytes:
    content = io.BytesIO()
    pq.write_table(pa.table(columns), content)
    return content.getvalue()


def test_imdb_keeps_its_own_halves_however_it_is_packed(tmp_path):
    files = imdb_files()
    unpacked = pack(tmp_path / "unpacked", files)
    sources = (
        pack(tmp_path / "aclImdb_v1.tar.gz", files),
        pack(tmp_path / "reversed.tar", dict(reversed(files.items()))),
        pack(tmp_path / "imdb.zip", files),
        unpacked,
        unpacked / "aclImdb",
    )
    first, *others = (prepare_dataset("imdb", source) for source in sources)
    assert by_split(first) == {"train": {0: 3, 1: 3}, "test": {0: 3, 1: 3}}
    texts = {content.decode() for name, content in files.items() if "/pos/" in name}
    assert {row.text for row in first.rows if row.label == 1} == texts
    assert all(other.rows == first.rows for other in others)


NUMBERS = {3: "Person", 4: "Person", 5: "Person", 7: "Building", 8: "NaturalPlace", 10: "Animal"}
PUBLISHED = {
    "yelp_review_polarity_csv.tgz": {
        "yelp/train.csv": numbered_csv(
            [("1", 'Slow.\\n\\nNever \\"again\\".'), ("2", 'A "fine" place, really.')]
        ),
        "yelp/test.csv": numbered_csv([("2", "Lovely."), ("1", "Cold.")]),
        "yelp/readme.txt": b"Yelp Review Polarity Dataset",
        "yelp/._train.csv": b"\0\5\x16\7",
    },
    "imdb in parts": {
        "plain/train-00000-of-00002.parquet": parquet_bytes(text=["Good."], label=[1]),
        "plain/train-00001-of-00002.parquet": parquet_bytes(text=["Bad."], label=[0]),
        "plain/unsupervised-00000-of-00001.parquet": parquet_bytes(text=["Hm."], label=[-1]),
        "test/0000.parquet": parquet_bytes(text=["Lovely.", "Cold."], label=[1, 0]),
    },
    "amazon on the hub": {
        "0.parquet": parquet_bytes(label=[0, 1], title=["", ""], content=["It broke.", "It works."])
    },
    "critics.zip": {
        "rotten_tomatoes_movies.csv": csv_bytes([("movie_title", "rating"), ("Jaws", "PG")]),
        "rotten_tomatoes_critic_reviews.csv": csv_bytes(
            [
                ("review_type", "review_content"),
                ("Fresh", "A bite."),
                ("Rotten", "No."),
                ("Fresh", ""),
            ]
        ),
    },
    "steam.zip": {
        "steam_reviews.csv": csv_bytes(
            [
                ("recommendation", "review"),
                *(("Recommended", text) for text in ("Great game! Buy it.", "No end", "Ok. Hm.")),
                *(("Not Recommended", text) for text in ("It crashed. Twice.", "")),
            ]
        )
    },
    "dbpedia_csv.tar.gz": {
        f"dbpedia_csv/{split}.csv": numbered_csv(
            [(str(kind), f"Title {kind}", f"{split} {kind}.") for kind in range(1, 15)]
        )
        for split in ("train", "test")
    },
}


@pytest.mark.parametrize(
    ("dataset", "source", "train", "test"),
    [
        (
            "yelp",
            "yelp_review_polarity_csv.tgz",
            {('Slow.\n\nNever "again".', 0), ('A "fine" place, really.', 1)},
            {("Lovely.", 1), ("Cold.", 0)},
        ),
        ("imdb", "imdb in parts", {("Good.", 1), ("Bad.", 0)}, {("Lovely.", 1), ("Cold.", 0)}),
        ("amazon", "amazon on the hub", {("It broke.", 0), ("It works.", 1)}, set()),
        ("rotten_tomatoes", "critics.zip", {("A bite.", 1), ("No.", 0)}, set()),
        ("steam", "steam.zip", {("Great game! Buy it.", 1), ("It crashed. Twice.", 0)}, set()),
        (
            "dbpedia",
            "dbpedia_csv.tar.gz",
            {(f"train {number}.", kind) for number, kind in NUMBERS.items()},
            {(f"test {number}.", kind) for number, kind in NUMBERS.items()},
        ),
    ],
)
def test_published_files_give_exactly_the_documents_wanted(tmp_path, dataset, source, train, test):
    prepared = prepare_dataset(dataset, pack(tmp_path / source, PUBLISHED[source]))
    found = {(row.text, row.label, row.split) for row in prepared.rows}
    assert found == {(*row, "train") for row in train} | {(*row, "test") for row in test}


STARS = [5.0, 4.0] * 200 + [1.0, 2.0] * 60 + [3.0] * 50
YELP_JSON = {
    "yelp_academic_dataset_business.json": json_lines([{"name": "Cafe", "stars": 4.5}]),
    "yelp_academic_dataset_review.json": json_lines(
        {"stars": stars, "text": f"Review {number}: {stars} stars."}
        for number, stars in enumerate(STARS)
    ),
    "yelp_academic_dataset_tip.json": json_lines([{"text": "Try the tea."}]),
}
HOTEL = {
    "Datafiniti_Hotel_Reviews.csv": hotel_csv(positive=30, negative=6),
    "Datafiniti_Hotel_Reviews_Jun19.csv": hotel_csv(positive=20, negative=4, start=1_000),
    "7282_1.csv": hotel_csv(positive=5, negative=5, start=2_000),
}
DBPEDIA_CLASSES = {
    name: csv_bytes(
        [
            ("text", "l1", "l2", "l3"),
            *((f"{kind} in {name}.", "x", kind, "y") for kind in (*KINDS, "Company")),
        ]
    )
    for name in ("DBPEDIA_train.csv", "DBPEDIA_val.csv", "DBPEDIA_test.csv", "DBP_wiki_data.csv")
}
AMAZON = {
    f"{split}.csv": numbered_csv([(k, "A title", f"{split} {n}") for n in range(30) for k in "12"])
    for split in ("train", "test")
}
PRODUCTS = RECIPES["complaints"].classes
COMPLAINTS = {
    "complaints.csv": csv_bytes(
        [
            ("Product", "Consumer complaint narrative"),
            *((name, text) for name in (*PRODUCTS, "Loan") for text in ("One.", "Two.", " ")),
        ]
    )
}


@pytest.mark.parametrize(
    ("dataset", "source", "files", "train", "test", "n_found"),
    [
        ("yelp", "yelp_dataset.tar", YELP_JSON, {0: 112, 1: 112}, {0: 8, 1: 8}, 520),
        ("hotel", "archive.zip", HOTEL, {0: 8, 1: 8}, {0: 2, 1: 2}, 60),
        (
            "dbpedia",
            "dbpedia.zip",
            DBPEDIA_CLASSES,
            dict.fromkeys(KINDS, 2),
            dict.fromkeys(KINDS, 1),
            12,
        ),
        ("amazon", "amazon.tar.gz", AMAZON, {0: 8, 1: 8}, {0: 2, 1: 2}, 120),  # at most 10
        ("complaints", "complaints.csv.zip", COMPLAINTS, dict.fromkeys(PRODUCTS, 2), {}, 8),
    ],
)
def test_documents_are_balanced_and_split_as_the_paper_says(
    tmp_path, monkeypatch, dataset, source, files, train, test, n_found
):
    monkeypatch.setitem(RECIPES, "amazon", replace(RECIPES["amazon"], most=10))
    prepared = prepare_dataset(dataset, pack(tmp_path / source, files))
    assert by_split(prepared) == {"train": train, "test": test}
    assert prepared.n_found == n_found


def test_a_file_named_itself_is_read_whatever_its_name(tmp_path):
    files = {"7282_1.csv.gz": gzip.compress(hotel_csv(positive=7, negative=5))}
    assert len(prepare_dataset("hotel", pack(tmp_path, files) / "7282_1.csv.gz")) == 10


@given(st.text(), st.sampled_from(["\\n", "\\ud800", "\\u0000"]))
def test_any_text_of_a_json_file_can_be_written(text, escape):
    line = json.dumps({"stars": 5, "text": text}).replace('"text": "', f'"text": "x{escape}')
    rows = list(read_rows(Member("review.json", io.BytesIO(line.encode())), RECIPES["yelp"]))
    assert rows[0].text.encode()


def test_an_unknown_name_gets_a_guess_or_the_known_ones():
    assert [each.name for each in DATASETS] == list(RECIPES)
    with pytest.raises(InputError, match="no data set 'Rotten tomato'; did you mean 'rotten_tom"):
        known_dataset("Rotten tomato")
    with pytest.raises(InputError, match="no data set 'zzz'; known are imdb, amazon, yelp"):
        known_dataset("zzz")


def test_the_hub_is_asked_for_tables_only_and_a_failure_says_what_to_do(monkeypatch):
    def fail(name: str, **options: Any) -> str:
        assert (name, options["repo_type"]) == ("stanfordnlp/imdb", "dataset")
        assert options["allow_patterns"] == ["*.parquet", "*.csv"]  # no code, which might be run
        raise ConnectionError("no network.\nTraceback…")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    with pytest.raises(InputError, match=r"from the hub \(no network\); fetch 'imdb' from http"):
        fetch_dataset("imdb")
