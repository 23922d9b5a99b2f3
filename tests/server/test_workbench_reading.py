"""Documents, prototypes, mistakes and trust as the workbench shows them."""

import csv
import io
from collections import Counter

import pytest

from server_scene import FORMULA, SCRIPT, error_code


def test_documents_come_in_pages_by_split_and_by_words(reading):
    answer = reading.get("/documents", page=2, size=40).json()
    assert (answer["page"], answer["size"], answer["total"]) == (2, 40, 104)
    assert [item["row"] for item in answer["items"]] == list(range(40, 80))
    answer = reading.get("/documents", split="test").json()
    assert answer["splits"] == {"train": 60, "validation": 20, "test": 24}
    assert {item["split"] for item in answer["items"]} == {"test"}
    found = reading.get("/documents", search="ALERT script").json()["items"]
    assert [item["text"] for item in found] == [SCRIPT]


def test_a_document_is_shown_whole_with_its_reasons(reading):
    found = reading.get("/documents/100").json()
    assert (found["text"], found["label"], found["split"]) == (SCRIPT, "bad", "test")
    explained = reading.explain([SCRIPT]).json()["explanations"][0]
    assert found["explanation"]["sentences"] == explained["sentences"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/documents/104", "unknown_row"),
        ("/documents/-1", "invalid_request"),
        ("/documents/x", "invalid_request"),
        ("/documents?size=0", "invalid_request"),
        ("/prototypes/9999/nearest", "unknown_prototype"),
        ("/prototypes/9999/members", "unknown_prototype"),
        ("/prototypes/1/nearest?member=9999", "unknown_member"),
        ("/prototypes/page?sort=score:ugly", "bad_sort"),
        ("/prototypes/page?sort=price", "bad_sort"),
        ("/prototypes/page?sort=usage:good", "bad_sort"),
        ("/prototypes/page?sort=", "bad_sort"),
        ("/mistakes?min_confidence=2", "invalid_request"),
        ("/mistakes?min_confidence=nan", "invalid_request"),
        ("/mistakes?sort=x", "invalid_request"),
        ("/mistakes?page=0", "invalid_request"),
    ],
)
def test_what_is_not_there_or_makes_no_sense_is_refused(reading, path, code):
    answer = reading.get(path)
    assert error_code(answer) == code
    assert answer.status_code == (404 if code.startswith("unknown") else 422)


@pytest.mark.parametrize(
    "path",
    [
        *("/documents", "/documents/0", "/mistakes", "/mistakes.csv", "/mistakes/0", "/trust"),
        *("/prototypes/1/nearest", "/draft/comparison"),
    ],
)
def test_without_a_table_the_client_learns_what_to_start_the_server_with(without_data, path):
    answer = without_data.get(path)
    assert (answer.status_code, error_code(answer)) == (409, "no_data")
    assert "--data" in answer.json()["error"]["message"]
    assert error_code(without_data.post("/draft/retrain")) == "no_data"


def test_prototypes_are_listed_by_usage_and_found_by_their_words(reading, classifier):
    answer = reading.get("/prototypes/page").json()
    usages = [item["usage"] for item in answer["items"]]
    assert usages == sorted((item.usage for item in classifier.prototypes_), reverse=True)
    assert answer["classes"] == ["bad", "good"]
    first = answer["items"][0]
    found = reading.get("/prototypes/page", search=first["sentence"].upper()).json()
    assert first["id"] in [item["id"] for item in found["items"]]
    large = max(classifier.prototypes_, key=lambda item: len(item.members))
    rare = large.members[-1]
    items = reading.get("/prototypes/page", search=rare.sentence).json()["items"]
    (found,) = [item for item in items if item["id"] == large.id]
    assert [member["id"] for member in found["members"]] == [rare.id]
    assert (found["n_members"], found["spread"]) == (len(large.members), large.spread)


def test_all_members_of_a_prototype_come_in_pages_and_by_words(reading, classifier):
    large = max(classifier.prototypes_, key=lambda item: len(item.members))
    path = f"/prototypes/{large.id}/members"
    pages = [reading.get(path, page=page, size=2).json() for page in (1, 2)]
    assert {page["total"] for page in pages} == {len(large.members)}
    listed = [member["id"] for page in pages for member in page["items"]]
    assert listed == [member.id for member in large.members[:4]]
    found = reading.get(path, search=large.members[0].sentence.upper()).json()["items"]
    assert large.members[0].sentence in [member["sentence"] for member in found]


@pytest.mark.parametrize("sort", ["score:good", "rate:good", "-score:good", "-rate:good"])
def test_prototypes_are_ordered_by_a_class(reading, sort):
    items = reading.get("/prototypes/page", sort=sort).json()["items"]
    values = [item["scores" if "score" in sort else "class_rate"]["good"] for item in items]
    assert values == sorted(values, reverse=not sort.startswith("-"))


def test_the_nearest_sentences_are_matched_to_the_prototype(reading, classifier):
    number = reading.get("/prototypes/page").json()["items"][0]["id"]
    found = reading.computed(f"/prototypes/{number}/nearest", n=3).json()
    texts = [item["text"] for item in found["items"]]
    trajectory = classifier.read(texts)
    assert set(classifier.prototypes_.ids[trajectory.prototypes].tolist()) == {number}
    similarities = [item["similarity"] for item in found["items"]]
    assert similarities == sorted(similarities, reverse=True)
    for item in found["items"]:
        for shown in item["documents"]:
            document = reading.get(f"/documents/{shown['row']}").json()
            assert document["split"] == "train"
            assert item["text"] in document["text"]


def test_mistakes_are_what_the_model_gets_wrong(reading):
    found = reading.computed("/mistakes", size=200).json()
    rows = {item["row"] for item in found["items"]}
    held_out = [reading.get(f"/documents/{row}").json() for row in range(60, 104)]
    wrong = {d["row"] for d in held_out if d["explanation"]["label"] != d["label"]}
    assert rows == wrong
    right = next(row for row in range(60, 104) if row not in wrong)
    assert error_code(reading.get(f"/mistakes/{right}")) == "no_mistake"
    assert found["n_documents"] == 44
    assert found["n_mistakes"] == found["total"] == len(wrong)
    choices = [choice["id"] for choice in found["filters"]["prototypes"]]
    assert len(set(choices)) == len(choices)
    sure = [item["confidence"] for item in found["items"]]
    assert sure == sorted(sure, reverse=True)
    for item in found["items"]:
        whole = reading.get(f"/mistakes/{item['row']}").json()["explanation"]
        assert [each["prototype"] for each in whole["sentences"]] == item["trajectory"]


def test_only_a_sentence_that_costs_something_is_blamed(reading, bench, monkeypatch):
    worst: dict[int, float] = {}
    for item in reading.computed("/mistakes", size=200).json()["items"]:
        told = reading.get(f"/mistakes/{item['row']}").json()["explanation"]["sentences"]
        worst[item["row"]] = max(each["effect"] for each in told)
    least = (min(worst.values()) + max(worst.values())) / 2  # what a model as timid as this tells
    monkeypatch.setattr("protorynet.explain.overview._MISLEADS", least)
    found = bench.computed("/mistakes", size=200).json()
    for item in found["items"]:
        blamed = item["blamed"]
        assert (blamed is not None) == (worst[item["row"]] >= least)
        if blamed:
            assert blamed["effect"] == pytest.approx(worst[item["row"]])
            assert item["text"][blamed["start"] : blamed["end"]] == blamed["text"]
            assert item["trajectory"][blamed["position"]] == blamed["prototype"]
    counts = Counter(item["blamed"]["prototype"] for item in found["items"] if item["blamed"])
    assert {each["id"]: each["n"] for each in found["filters"]["prototypes"]} == counts
    assert 0 < counts.total() < len(found["items"])
    one = next(iter(counts))
    assert bench.get("/mistakes", blamed=one).json()["total"] == counts[one]


def test_every_filter_keeps_what_it_names(reading):
    everything = reading.computed("/mistakes", size=200).json()
    one = everything["items"][0]
    key, certainty = (one["pattern"] or {}).get("key", "none"), one["confidence"]
    first = one["trajectory"][0]
    filters = {
        "prototype": (first, lambda i: first in i["trajectory"]),
        "truth": (one["truth"], lambda i: i["truth"] == one["truth"]),
        "predicted": (one["predicted"], lambda i: i["predicted"] == one["predicted"]),
        "split": ("test", lambda i: i["split"] == "test"),
        "min_sentences": (3, lambda i: i["n_sentences"] >= 3),
        "max_sentences": (3, lambda i: i["n_sentences"] <= 3),
        "min_confidence": (certainty, lambda i: i["confidence"] >= certainty),
        "max_confidence": (0.6, lambda i: i["confidence"] <= 0.6),
        "pattern": (key, lambda i: (i["pattern"] or {}).get("key", "none") == key),
    }
    for name, (value, holds) in filters.items():
        kept = reading.get("/mistakes", size=200, **{name: value}).json()["items"]
        wanted = [item["row"] for item in everything["items"] if holds(item)]
        assert [item["row"] for item in kept] == wanted, name


def test_the_mistakes_are_exported_with_the_same_filters_and_the_rows_of_a_spreadsheet(reading):
    rows = [item["row"] for item in reading.computed("/mistakes", split="test").json()["items"]]
    answer = reading.get("/mistakes.csv", split="test")
    assert answer.headers["content-type"].startswith("text/csv")
    assert "attachment" in answer.headers["content-disposition"]
    lines = list(csv.DictReader(io.StringIO(answer.text)))
    assert [int(line["row"]) for line in lines] == [row + 2 for row in rows]
    assert f"'{FORMULA}" in [line["text"] for line in lines]


def test_trust_gives_measures_with_their_meanings_and_what_the_audit_found(reading):
    found = reading.computed("/trust").json()
    assert found["split"] == "test"
    assert found["n_documents"] == 24
    assert all(measure["meaning"] for measure in found["measures"])
    assert "ids_only_accuracy" in [measure["name"] for measure in found["measures"]]
    assert {"accuracy_interval", "majority_baseline", "classes", "confusion"} <= set(found)
    assert 0 <= found["bag_of_words_accuracy"] <= 1
    assert (found["audit"]["n_train"], found["audit"]["n_test"]) == (60, 24)
    assert all(finding["message"] for finding in found["audit"]["findings"])
