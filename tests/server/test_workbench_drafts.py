"""Drafts and marks: edited, retrained, compared, published, and there after a kill."""

import csv
import io
import sqlite3
import threading
import time
from contextlib import suppress
from typing import Any

import httpx
import pytest

from protorynet import ProtoryNetClassifier
from server_scene import SCRIPT, TEXTS, error_code, serving, spawned


def test_a_draft_does_not_touch_the_published_model(bench, own_hotel):
    before = {path.name: path.read_bytes() for path in own_hotel.iterdir()}
    answer = bench.predict(TEXTS).json()
    first, *_ = bench.ids()
    bench.edit(drop=[first])
    assert {path.name: path.read_bytes() for path in own_hotel.iterdir()} == before
    assert bench.predict(TEXTS).json() == answer
    assert first in bench.ids()


def test_the_prototypes_of_the_draft_are_listed_when_asked_for(bench):
    first, second, third, *_ = bench.ids()
    if more := bench.members(third)[1:]:  # only one that stands alone can be replaced
        bench.edit(drop_members=more)
        bench.post("/draft/publish")
    bench.edit(drop=[first], rename={str(second): "<b>room</b>"}, replace={str(third): "The bed."})
    answer = bench.get("/prototypes/page", draft=True, sort="id").json()
    items = {item["id"]: item for item in answer["items"]}
    assert first not in items
    assert (items[second]["name"], items[second]["changed"]) == ("<b>room</b>", "renamed")
    assert (items[third]["sentence"], items[third]["changed"]) == ("The bed.", "replaced")
    assert (answer["draft"], answer["stale_figures"]) == (True, True)


def test_members_are_moved_split_off_dropped_and_added(bench):
    items = bench.get("/prototypes/page").json()["items"]
    large, other, *_ = bench.ids()
    before = bench.members(large)
    typed = [f"The town has a {word}." for word in ("bed", "pool", "lobby")]
    bench.edit(add=[{"prototype": large, "sentence": sentence} for sentence in typed])
    first, second, third = sorted(set(bench.members(large, draft=True)) - set(before))
    assert set(bench.members(large, draft=True, search="town has")) == {first, second, third}
    bench.edit(move={str(first): other}, drop_members=[second])
    found = bench.edit(split=[[third]])
    n_members = sum(item["n_members"] for item in items) + 2
    assert (found["n_prototypes"], found["n_members"]) == (len(items) + 1, n_members)
    edited = bench.get("/prototypes/page", draft=True).json()["items"]
    changed = {item["id"]: item["changed"] for item in edited}
    new = max(changed)
    assert (changed[large], changed[other], changed[new]) == (None, "regrouped", "new")
    assert (bench.members(large, draft=True), bench.members(new, draft=True)) == (before, [third])
    assert first in bench.members(other, draft=True)
    near = bench.computed(f"/prototypes/{new}/nearest", member=third, draft=True).json()
    assert {item["member"] for item in near["items"]} <= {third}
    for _ in range(3):
        bench.post("/draft/undo")
    assert bench.get("/prototypes/page", draft=True).json()["items"] == items


def test_undo_brings_back_what_was_there(bench):
    before = bench.get("/prototypes/page").json()["items"]
    bench.edit(drop=[bench.ids()[0]])
    found = bench.post("/draft/undo").json()
    assert (found["revision"], found["can_undo"], found["edits"][0]["undone"]) == (2, False, True)
    assert bench.get("/prototypes/page", draft=True).json()["items"] == before
    assert error_code(bench.post("/draft/publish")) == "nothing_to_publish"


def test_only_the_drafts_own_edits_can_be_undone_or_published(bench):
    bench.edit(rename={str(bench.ids()[0]): "one"})
    bench.post("/draft/publish")
    for action in ("undo", "publish"):
        answer = bench.post(f"/draft/{action}")
        assert (answer.status_code, error_code(answer)) == (409, f"nothing_to_{action}")


def test_an_edit_that_cannot_be_made_is_refused(reading):
    known = str(reading.ids()[0])
    items = reading.get("/prototypes/page").json()["items"]
    large = max(items, key=lambda item: item["n_members"])
    bodies: list[Any] = [
        {},
        {"drop": [9999]},
        {"drop": [known]},
        {"drop": known},
        {"merge": [[int(known)]]},
        {"replace": {"x": "The bed."}},
        {"rename": {known: "a\u0000"}},
        {"remove": [int(known)]},
        {"replace": {str(large["id"]): "The bed."}},
        {"move": {"9999": int(known)}},
        {"split": [[]]},
        {"add": [[int(known), "The bed."]]},
        [],
    ]
    for body in bodies:
        answer = reading.post("/draft/edits", body)
        assert (answer.status_code, bool(error_code(answer))) == (422, True), body
    answer = reading.post("/draft/edits", {"rename": {known: "x"}, "revision": 7})
    assert (answer.status_code, error_code(answer)) == (409, "draft_changed")
    assert not reading.get("/draft").json()["exists"]


def test_retraining_is_a_job_whose_result_is_the_draft(bench):
    bench.edit(drop=[bench.ids()[0]])
    assert bench.get("/draft").json()["reader_is_behind"]
    answer = bench.post("/draft/retrain")
    job = bench.wait(answer.json()["job"])
    assert (answer.status_code, job["state"], job["kind"]) == (202, "done", "retrain")
    assert set(job) == {"id", "kind", "state", "progress", "message", "result"}
    assert job["progress"] == 1
    found = bench.get("/draft").json()
    assert job["result"] == found
    assert not found["reader_is_behind"]
    assert found["edits"][-1]["retraining"]["n_documents"] > 0


def test_the_draft_cannot_be_edited_while_it_is_retrained(bench):
    number, go_on = bench.ids()[0], threading.Event()
    found = bench.edit(drop=[number], rename={str(bench.ids()[1]): "the room"})
    assert "named “the room”" in found["edits"][0]["changes"][-1]["text"]
    bench.app.state.jobs.start("other", lambda progress: go_on.wait(60))  # jobs wait in a row
    job = bench.post("/draft/retrain").json()["job"]
    answers = [bench.post(f"/draft/{action}") for action in ("undo", "publish")]
    answers += [bench.post("/draft/edits", {"drop": [bench.ids()[2]]}), bench.delete("/draft")]
    go_on.set()
    assert {error_code(answer) for answer in answers} == {"draft_busy"}
    assert bench.wait(job)["state"] == "done"


def test_the_comparison_shows_before_and_after_on_validation_data(bench):
    answer = bench.get("/draft/comparison")
    assert (answer.status_code, error_code(answer)) == (404, "no_draft")
    bench.edit(drop=bench.ids()[:-2])
    found = bench.computed("/draft/comparison").json()
    assert (found["split"], found["n_documents"]) == ("validation", 20)
    assert found["after"]["n_prototypes"] == 2
    difference = found["n_fixed"] - found["n_broken"]
    gained = found["after"]["accuracy"] - found["before"]["accuracy"]
    assert gained * 20 == pytest.approx(difference)
    assert len(found["changed"]) == found["n_changed"]


def test_publishing_serves_the_draft_as_a_new_version(bench, own_hotel):
    old = bench.predict(TEXTS).json()["version"]
    number = bench.ids()[0]
    bench.edit(drop=[number])
    found = bench.post("/draft/publish", {"note": "One less."}).json()
    assert (found["number"], found["draft"]["exists"]) == (2, False)
    assert bench.predict(TEXTS).json()["version"] == found["version"] != old
    assert number not in bench.ids()
    published = ProtoryNetClassifier.load(own_hotel.parent / found["folder"], device="cpu")
    assert number not in published.prototypes_.ids


def test_an_older_version_can_be_restored(bench):
    ids, old = bench.ids(), bench.predict(TEXTS).json()
    bench.edit(drop=[ids[0]])
    bench.post("/draft/publish")
    assert error_code(bench.post("/versions/7/restore")) == "unknown_version"
    found = bench.post("/versions/1/restore").json()
    assert [item["current"] for item in found["items"]] == [True, False]
    assert bench.ids() == ids
    assert bench.predict(TEXTS).json() == old


def test_a_draft_of_another_version_can_only_be_discarded(bench):
    number = str(bench.ids()[0])
    bench.edit(rename={number: "one"})
    bench.post("/draft/publish")
    bench.edit(rename={number: "two"})
    bench.post("/versions/1/restore")
    assert bench.get("/draft").json()["stale"]
    assert error_code(bench.post("/draft/edits", {"rename": {number: "x"}})) == "draft_stale"
    assert bench.delete("/draft").status_code == 204


def test_a_model_trained_again_is_served_in_place_of_old_versions(bench, own_hotel):
    bench.edit(rename={str(bench.ids()[0]): "one"})
    bench.post("/draft/publish")
    again = ProtoryNetClassifier.load(own_hotel, device="cpu")
    again.edit(drop=[int(again.prototypes_.ids[0])])
    again.save(own_hotel)
    with serving(own_hotel) as server:
        assert server.get("/versions").json()["current"] == 1
        assert server.ids() == sorted(again.prototypes_.ids.tolist())


def test_a_reload_serves_what_was_published_until_the_model_is_trained_again(bench, own_hotel):
    bench.edit(rename={str(bench.ids()[0]): "one"})
    published = bench.post("/draft/publish").json()["version"]
    assert bench.post("/reload").json()["version"] == published
    again = ProtoryNetClassifier.load(own_hotel, device="cpu")
    again.edit(drop=[int(again.prototypes_.ids[0])])
    again.save(own_hotel)
    reloaded = bench.post("/reload").json()["version"]
    versions = bench.get("/versions").json()
    assert versions["current"] == 1
    assert versions["items"][0]["version"] == reloaded == bench.predict(TEXTS).json()["version"]
    assert bench.ids() == sorted(again.prototypes_.ids.tolist())


def test_a_reload_that_fails_after_publishing_does_not_name_the_folder(bench, own_hotel):
    bench.edit(rename={str(bench.ids()[0]): "one"})
    bench.post("/draft/publish")
    (own_hotel / "config.json").write_text("{}")
    answer = bench.post("/reload")
    assert error_code(answer) == "not_reloaded"
    assert str(own_hotel.parent) not in answer.text


def test_a_damaged_draft_is_named_and_can_be_discarded(bench, own_hotel):
    bench.edit(rename={str(bench.ids()[0]): "one"})
    (state,) = own_hotel.with_name("hotel.workbench").glob("draft/*/config.json")
    state.write_text("{}")
    with serving(own_hotel) as server:
        assert error_code(server.get("/draft")) == "draft_damaged"
        assert server.delete("/draft").status_code == 204
        assert not server.get("/draft").json()["exists"]


def test_mistakes_are_those_of_the_version_that_is_served(bench):
    before = bench.computed("/mistakes").json()["version"]
    keep = bench.ids()[-2:]
    bench.edit(drop=bench.ids()[:-2])
    bench.post("/draft/publish")
    found = bench.computed("/mistakes").json()
    assert found["version"] != before
    assert {item["blamed"]["prototype"] for item in found["items"] if item["blamed"]} <= set(keep)


def test_a_mark_is_shown_exported_and_taken_away(bench):
    row = bench.computed("/mistakes").json()["items"][0]["row"]
    answer = bench.post(f"/mistakes/{row}/mark", {"wrong_label": True, "note": SCRIPT})
    assert answer.json()["mark"]["note"] == SCRIPT
    marked = bench.get("/mistakes", marked=True).json()["items"]
    assert [(item["row"], item["mark"]["note"]) for item in marked] == [(row, SCRIPT)]
    bench.post(f"/mistakes/{row}/mark", {"wrong_label": True, "note": "=danger"})
    lines = csv.DictReader(io.StringIO(bench.get("/mistakes.csv", marked=True).text))
    assert [(line["wrong_label"], line["note"]) for line in lines] == [("True", "'=danger")]
    answer = bench.post(f"/mistakes/{row}/mark", {"wrong_label": False, "note": " "})
    assert answer.json() == {"row": row, "mark": None}
    assert bench.get("/mistakes", marked=True).json()["total"] == 0


@pytest.mark.parametrize(
    "body", [{}, {"wrong_label": "yes"}, {"wrong_label": True, "note": "a" * 2001}, []]
)
def test_a_mark_that_makes_no_sense_is_refused(reading, body):
    assert reading.post("/mistakes/100/mark", body).status_code == 422
    assert error_code(reading.post("/mistakes/9999/mark", {"wrong_label": True})) == "unknown_row"


def test_a_damaged_file_of_marks_is_named(bench, own_hotel):
    home = own_hotel.with_name("hotel.workbench")
    home.mkdir()
    (home / "marks.db").write_bytes(b"this is no database" * 100)
    answer = bench.post("/mistakes/100/mark", {"wrong_label": True})
    assert (answer.status_code, error_code(answer)) == (507, "marks_unusable")


def test_confirmed_edits_and_marks_outlive_a_kill(own_hotel, table):
    confirmed = 0
    with spawned(own_hotel, "--data", str(table)) as (_, bench):
        number = str(bench.ids()[0])
        bench.post("/mistakes/100/mark", {"wrong_label": True, "note": "sure"})
        begin = time.monotonic()
        while time.monotonic() - begin < 0.5 or confirmed < 3:
            bench.edit(rename={number: f"name {confirmed + 1}"})
            confirmed += 1
            bench.post("/mistakes/101/mark", {"wrong_label": True, "note": str(confirmed)})
        # One more that nobody waits for, so that the kill falls into its midst.
        bench.client.timeout = httpx.Timeout(0.01)
        with suppress(httpx.TimeoutException):
            bench.edit(rename={number: f"name {confirmed + 1}"})
    with serving(own_hotel) as after:
        draft = after.get("/draft").json()
        assert draft["revision"] in (confirmed, confirmed + 1)
        items = after.get("/prototypes/page", draft=True).json()["items"]
        named = next(item for item in items if item["id"] == int(number))
        assert named["name"] == f"name {draft['revision']}"
        with sqlite3.connect(own_hotel.with_name("hotel.workbench") / "marks.db") as marks:
            notes = {note for (note,) in marks.execute("SELECT note FROM marks")}
        marks.close()
        assert notes >= {"sure", str(confirmed)}
