"""Each route of the workbench lets only those in whose key reaches far enough."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from server_scene import Running, error_code, running

from protorynet.server import KeyFile, ServerConfig
from protorynet.server.api_pages import route_scopes

READING = [
    ("GET", "/documents"),
    ("GET", "/documents/0"),
    ("GET", "/prototypes/page"),
    ("GET", "/prototypes/1/nearest"),
    ("GET", "/draft"),
    ("GET", "/draft/comparison"),
    ("GET", "/versions"),
    ("GET", "/mistakes"),
    ("GET", "/mistakes.csv"),
    ("GET", "/mistakes/0"),
    ("GET", "/trust"),
    ("POST", "/batches"),
    ("POST", "/batches/preview"),
    ("GET", "/batches/x"),
    ("GET", "/batches/x/result.csv"),
    ("GET", "/batches/x/result.parquet"),
    ("GET", "/batches/x/overview"),
    ("DELETE", "/batches/x"),
]
EDITING = [
    ("POST", "/draft/edits"),
    ("POST", "/draft/undo"),
    ("POST", "/draft/retrain"),
    ("POST", "/draft/publish"),
    ("DELETE", "/draft"),
    ("POST", "/versions/7/restore"),
    ("POST", "/mistakes/0/mark"),
]


@dataclass(frozen=True)
class Guarded:
    """A server with keys."""

    server: Running
    keys: dict[str, str]

    def status(self, method: str, path: str, scope: str | None) -> tuple[int, str]:
        headers = {"Authorization": f"Bearer {self.keys[scope]}"} if scope else {}
        answer = self.server.client.request(method, f"/v1/models/hotel{path}", headers=headers)
        is_error = answer.status_code >= 400
        return answer.status_code, error_code(answer) if is_error else ""


@pytest.fixture(scope="module")
def guarded(
    hotel: Path, table: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("guarded")
    model = Path(shutil.copytree(hotel, folder / "hotel"))
    file = folder / "keys.json"
    keys = {scope: KeyFile(file).create(scope)[0] for scope in ("predict", "edit")}
    config = ServerConfig(models={"hotel": model}, data=table, keys=file, device="cpu")
    with running(config) as server:
        yield Guarded(server, keys)


def test_every_route_is_in_the_list_of_its_scope(guarded: Guarded) -> None:
    listed = {_template(*each): "predict" for each in READING}
    listed |= {_template(*each): "edit" for each in EDITING}
    declared = route_scopes(guarded.server.app)
    assert {route: declared[route] for route in listed} == listed
    workbench = {
        route
        for route in declared
        if re.search(r"/(documents|prototypes/|draft|versions|mistakes|trust|batches)", route[1])
    }
    assert workbench == set(listed)


@pytest.mark.parametrize(("method", "path"), [*READING, *EDITING])
def test_without_a_key_nothing_is_answered(guarded: Guarded, method: str, path: str) -> None:
    assert guarded.status(method, path, None) == (401, "key_needed")


@pytest.mark.parametrize(("method", "path"), EDITING)
def test_a_key_to_predict_edits_nothing(guarded: Guarded, method: str, path: str) -> None:
    assert guarded.status(method, path, "predict") == (403, "scope_too_small")


@pytest.mark.parametrize(("method", "path"), EDITING)
def test_a_key_to_edit_may_edit(guarded: Guarded, method: str, path: str) -> None:
    assert guarded.status(method, path, "edit")[0] not in (401, 403)


@pytest.mark.parametrize(("method", "path"), READING)
def test_a_key_to_predict_may_read(guarded: Guarded, method: str, path: str) -> None:
    assert guarded.status(method, path, "predict")[0] not in (401, 403)


def test_a_key_to_predict_does_not_see_a_retraining(guarded: Guarded) -> None:
    headers = {"Authorization": f"Bearer {guarded.keys['edit']}"}
    client = guarded.server.client
    url = "/v1/models/hotel/draft/retrain"
    while (answer := client.post(url, headers=headers)).status_code == 409:
        assert error_code(answer) == "draft_busy"
    job = answer.json()["job"]["id"]
    other = {"Authorization": f"Bearer {guarded.keys['predict']}"}
    assert client.get(f"/v1/jobs/{job}", headers=other).status_code == 403


def _template(method: str, path: str) -> tuple[str, str]:
    for given, name in (("/0", "row"), ("/x", "batch"), ("/1", "prototype"), ("/7", "number")):
        path = re.sub(rf"{given}(?=/|$)", f"/{{{name}}}", path)
    return method, f"/v1/models/{{name}}{path}"
