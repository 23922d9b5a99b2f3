"""Drafts: edited, undone, retrained, compared and published."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from protorynet import ProtoryNetClassifier
from protorynet.server import ServerConfig
from server_scene import TEXTS, Bench, error_code, running


def test_an_edit_begins_a_draft_and_is_told_in_words(bench: Bench) -> None:
    first, second, *_ = bench.ids()
    found = bench.edit(drop=[first], rename={str(second): "the room"})
    assert (found["exists"], found["revision"], found["can_undo"]) == (True, 1, True)
    texts = [change["text"] for change in found["edits"][0]["changes"]]
    assert any("dropped" in text for text in texts)
    assert f"{second} named “the room”" in texts


def test_a_draft_does_not_touch_the_published_model(bench: Bench, own_hotel: Path) -> None:
    before = {path.name: path.read_bytes() for path in own_hotel.iterdir()}
    answer = bench.server.predict(TEXTS).json()
    first, *_ = bench.ids()
    bench.edit(drop=[first])
    assert {path.name: path.read_bytes() for path in own_hotel.iterdir()} == before
    assert bench.server.predict(TEXTS).json() == answer
    assert first in bench.ids()


def test_the_prototypes_of_the_draft_are_listed_when_asked_for(bench: Bench) -> None:
    first, second, third, *_ = bench.ids()
    bench.edit(drop=[first], rename={str(second): "<b>room</b>"}, replace={str(third): "The bed."})
    answer = bench.get("/prototypes/page", draft=True, sort="id").json()
    items = {item["id"]: item for item in answer["items"]}
    assert first not in items
    assert (items[second]["name"], items[second]["changed"]) == ("<b>room</b>", "renamed")
    assert (items[third]["sentence"], items[third]["changed"]) == ("The bed.", "replaced")
    assert (answer["draft"], answer["stale_figures"]) == (True, True)


def test_a_merge_keeps_the_first_id_given_as_on_the_command_line(
    bench: Bench, classifier: ProtoryNetClassifier
) -> None:
    first, second, third, *others = bench.ids()
    bench.edit(merge=[[third, first], [third, second]])
    assert bench.ids(draft=True) == [third, *others]
    items = bench.get("/prototypes/page", draft=True).json()["items"]
    assert next(item for item in items if item["id"] == third)["changed"] == "merged into"
    own = copy.copy(classifier)
    own.edit(merge=[[third, first, second]])
    assert sorted(own.prototypes_.ids.tolist()) == [third, *others]


def test_undo_brings_back_what_was_there(bench: Bench) -> None:
    before = bench.get("/prototypes/page").json()["items"]
    bench.edit(drop=[bench.ids()[0]])
    found = bench.post("/draft/undo").json()
    assert (found["revision"], found["can_undo"], found["edits"][0]["undone"]) == (2, False, True)
    assert bench.get("/prototypes/page", draft=True).json()["items"] == before


def test_only_the_drafts_own_edits_can_be_undone(bench: Bench) -> None:
    bench.edit(rename={str(bench.ids()[0]): "one"})
    bench.post("/draft/publish")
    answer = bench.post("/draft/undo")
    assert (answer.status_code, error_code(answer)) == (409, "nothing_to_undo")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"drop": [9999]}, 422),
        ({"drop": ["1"]}, 422),
        ({"drop": "1"}, 422),
        ({"merge": [[1]]}, 422),
        ({"replace": {"x": "The bed."}}, 422),
        ({"replace": {"1": ""}}, 422),
        ({"rename": {"1": "a" * 81}}, 422),
        ({"rename": {"1": "a\u0000"}}, 422),
        ({"remove": [1]}, 422),
        ({"rename": {"1": "x"}, "revision": 7}, 409),
        ([], 422),
    ],
)
def test_an_edit_that_cannot_be_made_is_refused(bench: Bench, body: Any, status: int) -> None:
    body = _with_known_ids(body, bench.ids()[0])
    answer = bench.post("/draft/edits", body)
    assert answer.status_code == status, answer.text
    assert error_code(answer)
    assert not bench.get("/draft").json()["exists"]


def test_a_discarded_draft_is_gone(bench: Bench) -> None:
    bench.edit(drop=[bench.ids()[0]])
    assert bench.delete("/draft").status_code == 204
    assert not bench.get("/draft").json()["exists"]


def test_retraining_is_a_job_whose_result_is_the_draft(bench: Bench) -> None:
    bench.edit(drop=[bench.ids()[0]])
    assert bench.get("/draft").json()["reader_is_behind"]
    answer = bench.post("/draft/retrain")
    job = bench.wait(answer.json()["job"])
    assert (answer.status_code, job["state"], job["kind"]) == (202, "done", "retrain")
    found = bench.get("/draft").json()
    assert job["result"] == found
    assert not found["reader_is_behind"]
    assert found["edits"][-1]["retraining"]["n_documents"] > 0


def test_the_draft_cannot_be_edited_while_it_is_retrained(bench: Bench) -> None:
    number = bench.ids()[0]
    bench.edit(rename={str(number): "one"})
    job = bench.post("/draft/retrain").json()["job"]
    answers = [
        bench.post("/draft/edits", {"drop": [number]}),
        bench.post("/draft/undo"),
        bench.post("/draft/publish"),
        bench.delete("/draft"),
    ]
    still = bench.client.get(f"/v1/jobs/{job['id']}").json()["state"]
    if still in ("queued", "running"):
        assert {error_code(answer) for answer in answers} == {"draft_busy"}
    bench.wait(job)


def test_retraining_without_a_table_is_refused(without_data: Bench) -> None:
    assert error_code(without_data.post("/draft/retrain")) == "no_data"


def test_the_comparison_tells_before_and_after_on_validation_data(bench: Bench) -> None:
    keep = bench.ids()[-2:]
    bench.edit(drop=[number for number in bench.ids() if number not in keep])
    found = bench.computed("/draft/comparison").json()
    assert (found["split"], found["n_documents"]) == ("validation", 20)
    assert found["after"]["n_prototypes"] == 2
    difference = found["n_fixed"] - found["n_broken"]
    gained = found["after"]["accuracy"] - found["before"]["accuracy"]
    assert gained * 20 == pytest.approx(difference)
    assert len(found["changed"]) == found["n_changed"]


def test_without_a_draft_there_is_nothing_to_compare(reading: Bench) -> None:
    answer = reading.get("/draft/comparison")
    assert (answer.status_code, error_code(answer)) == (404, "no_draft")


def test_publishing_serves_the_draft_as_a_new_version(bench: Bench, own_hotel: Path) -> None:
    old = bench.server.predict(TEXTS).json()["version"]
    number = bench.ids()[0]
    bench.edit(drop=[number])
    found = bench.post("/draft/publish", {"note": "One less."}).json()
    assert (found["number"], found["draft"]["exists"]) == (2, False)
    assert bench.server.predict(TEXTS).json()["version"] == found["version"] != old
    assert number not in bench.ids()
    published = ProtoryNetClassifier.load(own_hotel.parent / found["folder"], device="cpu")
    assert number not in published.prototypes_.ids


def test_nothing_is_published_without_an_edit(bench: Bench) -> None:
    assert error_code(bench.post("/draft/publish")) == "nothing_to_publish"
    bench.edit(drop=[bench.ids()[0]])
    bench.post("/draft/undo")
    assert error_code(bench.post("/draft/publish")) == "nothing_to_publish"


def test_a_published_version_is_served_after_a_restart(
    bench: Bench, own_hotel: Path, table: Path
) -> None:
    bench.edit(rename={str(bench.ids()[0]): "one"})
    version = bench.post("/draft/publish").json()["version"]
    with running(ServerConfig(models={"hotel": own_hotel}, device="cpu")) as server:
        assert Bench(server).get("/versions").json()["current"] == 2
        assert server.predict(TEXTS).json()["version"] == version


def test_an_older_version_can_be_restored(bench: Bench) -> None:
    ids, old = bench.ids(), bench.server.predict(TEXTS).json()
    bench.edit(drop=[ids[0]])
    bench.post("/draft/publish")
    assert error_code(bench.post("/versions/7/restore")) == "unknown_version"
    found = bench.post("/versions/1/restore").json()
    assert [item["current"] for item in found["items"]] == [True, False]
    assert bench.ids() == ids
    assert bench.server.predict(TEXTS).json() == old


def test_a_draft_of_another_version_can_only_be_discarded(bench: Bench) -> None:
    number = str(bench.ids()[0])
    bench.edit(rename={number: "one"})
    bench.post("/draft/publish")
    bench.edit(rename={number: "two"})
    bench.post("/versions/1/restore")
    assert bench.get("/draft").json()["stale"]
    assert error_code(bench.post("/draft/edits", {"rename": {number: "x"}})) == "draft_stale"
    assert bench.delete("/draft").status_code == 204


def test_a_model_trained_again_is_served_in_place_of_old_versions(
    bench: Bench, own_hotel: Path
) -> None:
    bench.edit(rename={str(bench.ids()[0]): "one"})
    bench.post("/draft/publish")
    again = ProtoryNetClassifier.load(own_hotel, device="cpu")
    again.edit(drop=[int(again.prototypes_.ids[0])])
    again.save(own_hotel)
    with running(ServerConfig(models={"hotel": own_hotel}, device="cpu")) as server:
        assert Bench(server).get("/versions").json()["current"] == 1
        assert Bench(server).ids() == sorted(again.prototypes_.ids.tolist())


def test_a_damaged_draft_is_told_and_can_be_discarded(
    bench: Bench, own_hotel: Path, table: Path
) -> None:
    bench.edit(rename={str(bench.ids()[0]): "one"})
    (state,) = own_hotel.with_name("hotel.workbench").glob("draft/*/config.json")
    state.write_text("{}")
    with running(ServerConfig(models={"hotel": own_hotel}, device="cpu")) as server:
        assert error_code(Bench(server).get("/draft")) == "draft_damaged"
        assert Bench(server).delete("/draft").status_code == 204
        assert not Bench(server).get("/draft").json()["exists"]


def test_mistakes_are_those_of_the_version_that_is_served(bench: Bench) -> None:
    before = bench.computed("/mistakes").json()["version"]
    keep = bench.ids()[-2:]
    bench.edit(drop=[number for number in bench.ids() if number not in keep])
    bench.post("/draft/publish")
    found = bench.computed("/mistakes").json()
    assert found["version"] != before
    assert {item["blamed"]["prototype"] for item in found["items"]} <= set(keep)


def _with_known_ids(body: Any, number: int) -> Any:
    """Put an id that there is in place of 1, so that only what is wrong is wrong."""
    if not isinstance(body, dict):
        return body
    return {
        name: {str(number) if key == "1" else key: text for key, text in value.items()}
        if isinstance(value, dict)
        else value
        for name, value in body.items()
    }
