"""A new version takes a model's place without a dropped request."""

from __future__ import annotations

import threading
import time
from collections import Counter
from pathlib import Path

import httpx
import pytest

from protorynet import ProtoryNetClassifier
from protorynet.server import ServerConfig
from server_scene import TEXTS, Running, error_code, running

RELOAD = "/v1/models/hotel/reload"


@pytest.fixture
def config(own_hotel: Path) -> ServerConfig:
    return ServerConfig(models={"hotel": own_hotel}, device="cpu")


def test_a_reload_serves_what_the_directory_holds_now(
    config: ServerConfig, own_hotel: Path
) -> None:
    with running(config) as server:
        before = server.predict(TEXTS).json()["version"]
        _rename_a_prototype(own_hotel, "renamed")
        assert server.predict(TEXTS).json()["version"] == before
        reloaded = server.client.post(RELOAD).json()["version"]
        assert reloaded != before
        assert server.predict(TEXTS).json()["version"] == reloaded
        assert "renamed" in server.client.get("/v1/models/hotel/prototypes").text


def test_a_reload_under_load_drops_no_request(config: ServerConfig, own_hotel: Path) -> None:
    with running(config) as server:
        ended, seen = threading.Event(), Counter[int]()
        threads = [
            threading.Thread(target=_ask_until, args=(server, ended, seen)) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for number in range(3):
            _rename_a_prototype(own_hotel, f"name {number}")
            assert server.client.post(RELOAD).status_code == 200
        ended.set()
        for thread in threads:
            thread.join()
    assert set(seen) == {200}
    assert seen[200] >= 8


def test_a_broken_directory_leaves_the_version_being_served(
    config: ServerConfig, own_hotel: Path
) -> None:
    with running(config) as server:
        (own_hotel / "model.safetensors").write_bytes(b"broken")
        response = server.client.post(RELOAD)
        assert (response.status_code, error_code(response)) == (409, "not_reloaded")
        assert server.predict(TEXTS).status_code == 200


def _rename_a_prototype(folder: Path, name: str) -> None:
    classifier = ProtoryNetClassifier.load(folder, device="cpu")
    classifier.edit(rename={int(classifier.prototypes_.ids[0]): name})
    classifier.save(folder)


def _ask_until(server: Running, ended: threading.Event, seen: Counter[int]) -> None:
    with httpx.Client(base_url=server.url, timeout=60) as client:
        while not ended.is_set():
            response = client.post("/v1/models/hotel/predict", json={"texts": TEXTS})
            seen[response.status_code] += 1
            time.sleep(0.002)
