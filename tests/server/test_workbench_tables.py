"""Tables and models of other kinds: no splits, other classes, several labels, fine-tuned."""

import csv
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from protorynet import ProtoryNetClassifier
from protorynet.training import validation_documents
from server_scene import TEXTS, error_code, serving


def test_without_splits_held_out_documents_are_held_out_again(
    own_hotel, reviews, classifier, tmp_path
):
    table = _written(tmp_path / "t.csv", zip(reviews.texts, reviews.labels, strict=True))
    model = classifier.model_
    targets, fraction = model.labels.encode(reviews.labels), model.settings.validation_fraction
    chosen = validation_documents(targets, model.labels, fraction, model.training.seed)
    with serving(own_hotel, data=table) as bench:
        found = bench.computed("/mistakes").json()
        assert found["n_documents"] == len(chosen)
        assert {item["row"] for item in found["items"]} <= set(chosen.tolist())
        trust = bench.computed("/trust").json()
        assert (trust["n_documents"], trust["audit"]["n_test"]) == (len(chosen), len(chosen))
        assert trust["audit"]["n_train"] == len(reviews.texts) - len(chosen)
        bench.edit(rename={str(bench.ids()[0]): "one"})
        assert bench.computed("/draft/comparison").json()["split"] == "held out"
        assert bench.wait(bench.post("/draft/retrain").json()["job"])["state"] == "done"


def test_labels_of_a_table_have_the_names_that_the_model_gives_them(
    tiny_bert_folder, reviews, single, tmp_path
):
    """Read begins with texts of the model's own classes, so it would find none of 0 and 1."""
    numbers = [int(label == "good") for label in reviews.labels]
    names = {0: "bad", 1: "good"}
    how = {"settings": single, "device": "cpu", "cache": False, "class_names": names}
    clf = ProtoryNetClassifier(str(tiny_bert_folder), **how).fit(reviews.texts, numbers)
    clf.save(tmp_path / "hotel")
    table = _written(tmp_path / "t.csv", zip(reviews.texts, numbers, strict=True))
    with serving(tmp_path / "hotel", data=table) as bench:
        listed = bench.get("/documents", size=9).json()["items"]
        assert [each["label"] for each in listed] == list(reviews.labels[:9])
        assert bench.get("/documents/0").json()["label"] == reviews.labels[0]


def test_every_row_of_an_unseen_table_is_measured(own_hotel, unseen_reviews, classifier, tmp_path):
    rows = zip(unseen_reviews.texts, unseen_reviews.labels, strict=True)
    with serving(own_hotel, data=_written(tmp_path / "t.csv", rows)) as bench:
        found = bench.computed("/trust").json()
        assert (found["split"], found["n_documents"]) == ("all rows", len(unseen_reviews.texts))
        right = classifier.score(unseen_reviews.texts, unseen_reviews.labels)
        assert found["accuracy"] == pytest.approx(right)
        assert "all rows are measured" in found["note"]
        floor = classifier.model_.training.bag_of_words_accuracy
        assert (found["bag_of_words_accuracy"], found["bag_of_words_in_training"]) == (None, floor)
        assert "flatter" not in found["note"]
        assert "split" in found["audit_missing"]
        assert bench.computed("/mistakes").json()["n_documents"] == len(unseen_reviews.texts)
        bench.edit(drop=[bench.ids()[0]])
        # A draft is trained on this table, so it is compared on rows that this leaves out.
        assert bench.computed("/draft/comparison").json()["split"] == "held out"
        assert bench.wait(bench.post("/draft/retrain").json()["job"])["state"] == "done"
        assert bench.post("/draft/publish").json()["number"] == 2
        assert bench.computed("/trust").json()["split"] == "held out"


def test_training_texts_in_another_order_are_said_to_flatter(
    tiny_bert_folder, reviews, quick, tmp_path
):
    texts = [
        text.replace(".", f" on the day of our visit number {number}.")
        for number, text in enumerate(reviews.texts)
    ]
    clf = ProtoryNetClassifier(str(tiny_bert_folder), settings=quick, device="cpu")
    clf.fit(texts, reviews.labels).save(tmp_path / "hotel")
    rows = list(zip(texts, reviews.labels, strict=True))[::-1]
    with serving(tmp_path / "hotel", data=_written(tmp_path / "t.csv", rows)) as bench:
        for path in ("/trust", "/mistakes"):
            found = bench.computed(path).json()
            assert found["n_documents"] == len(texts)
            assert "the figures flatter it" in found["note"]


def test_a_table_of_other_classes_is_refused(own_hotel, tmp_path):
    table = _written(tmp_path / "t.csv", [("The bed was noisy.", "red"), ("No.", "green")])
    with serving(own_hotel, data=table) as server:
        for path in ("/mistakes", "/trust"):
            answer = server.get(path)
            assert (answer.status_code, error_code(answer)) == (409, "data_unusable")
            assert "'green'" in answer.json()["error"]["message"]


@pytest.mark.parametrize("content", [None, b"", b"text\nonly texts\n", b"\xff\xfe"])
def test_a_table_that_cannot_be_read_is_named_without_its_folder(own_hotel, tmp_path, content):
    table = tmp_path / "table.csv"
    if content is not None:
        table.write_bytes(content)
    with serving(own_hotel, data=table) as server:
        answer = server.get("/documents")
        assert (answer.status_code, error_code(answer)) == (409, "data_unusable")
        assert str(tmp_path) not in answer.text


def test_without_training_rows_the_reader_cannot_be_retrained(own_hotel, tmp_path):
    rows = [("The bed was noisy.", "bad", "dev"), ("The bed was clean.", "good", "Test")]
    table = _written(tmp_path / "t.csv", rows, "text", "label", "Split")
    with serving(own_hotel, data=table) as bench:
        assert error_code(bench.post("/draft/retrain")) == "no_training_rows"
        assert bench.computed("/mistakes").json()["n_documents"] == 2


def test_a_model_of_several_labels_is_edited_and_published(
    tiny_bert_folder, reviews, quick, tmp_path
):
    pairs = zip(reviews.texts, reviews.labels, strict=True)
    labels = [(label, "long") if len(text) > 90 else (label,) for text, label in pairs]
    clf = ProtoryNetClassifier(str(tiny_bert_folder), settings=quick, device="cpu")
    clf.fit(reviews.texts, labels).save(tmp_path / "hotel")
    table = tmp_path / "t.jsonl"
    lines = zip(reviews.texts, labels, strict=True)
    table.write_text("".join(json.dumps({"text": t, "label": each}) + "\n" for t, each in lines))
    with serving(tmp_path / "hotel", data=table) as bench:
        assert bench.computed("/mistakes").json()["n_documents"] > 0
        bench.edit(add=[{"prototype": bench.ids()[0], "sentence": "The shower ran cold."}])
        assert bench.computed("/draft/comparison").json()["n_documents"] > 0
        assert bench.wait(bench.post("/draft/retrain").json()["job"])["state"] == "done"
        assert bench.post("/draft/publish").json()["number"] == 2


def test_versions_of_a_tuned_model_carry_its_encoder(tuned, tmp_path):
    tuned.save(tmp_path / "hotel")
    with serving(tmp_path / "hotel") as bench:
        before = bench.predict(TEXTS).json()["predictions"]
        bench.edit(rename={str(bench.ids()[0]): "one"})
        folder = bench.post("/draft/publish").json()["folder"]
        bench.edit(rename={str(bench.ids()[0]): "two"})
        bench.post("/draft/publish")
        assert bench.predict(TEXTS).json()["predictions"] == before
    published = ProtoryNetClassifier.load(tmp_path / folder, device="cpu", cache=False)
    given = [list(each["probabilities"].values()) for each in before]
    np.testing.assert_allclose(published.predict_proba(TEXTS), given, atol=1e-6)


def test_edits_at_the_same_time_are_all_kept(bench):
    ids = bench.ids()[:3]

    def name(number: int) -> None:
        for turn in range(3):
            bench.edit(rename={str(number): f"{number} {turn}"})

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(name, ids))
    items = bench.get("/prototypes/page", draft=True, sort="id").json()["items"]
    assert [item["name"] for item in items][:3] == [f"{number} 2" for number in ids]
    assert bench.get("/draft").json()["revision"] == 9


def test_where_nothing_can_be_written_the_client_learns_it(own_hotel, bench):
    own_hotel.with_name("hotel.workbench").write_text("a file where the folder should be")
    answer = bench.post("/draft/edits", {"rename": {str(bench.ids()[0]): "one"}})
    assert (answer.status_code, error_code(answer)) == (507, "not_written")
    assert str(own_hotel.parent) not in answer.text


def test_a_model_that_changed_on_disk_is_not_published_over(bench, own_hotel):
    bench.edit(rename={str(bench.ids()[0]): "one"})
    again = ProtoryNetClassifier.load(own_hotel, device="cpu")
    again.edit(drop=[int(again.prototypes_.ids[0])])
    again.save(own_hotel)
    assert error_code(bench.post("/draft/publish")) == "model_changed"


def test_a_model_directory_that_is_gone_is_named_without_its_folder(bench, own_hotel):
    (own_hotel / "config.json").unlink()
    for answer in (bench.get("/versions"), bench.post("/versions/1/restore")):
        assert (answer.status_code, error_code(answer)) == (409, "model_gone")
        assert str(own_hotel.parent) not in answer.text


def _written(path: Path, rows: Any, *header: str) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header or ("text", "label"), *rows])
    return path
