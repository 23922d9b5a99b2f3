"""How a server starts, what it prints, how it takes a new version, and how it ends."""

import json
import signal
import socket
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from protorynet import ProtoryNetClassifier
from protorynet.cli import main
from protorynet.server import KeyFile
from server_scene import HOTEL, TEXTS, Running, serving, spawned, wait_until


def test_a_server_reloads_on_a_hangup_and_answers_what_is_under_way_before_it_ends(hotel):
    with spawned(hotel) as (process, server), ThreadPoolExecutor(1) as threads:

        def counts() -> str:
            return httpx.get(f"{server.url}/metrics").text

        process.send_signal(signal.SIGHUP)
        wait_until(lambda: 'protorynet_reloads_total{model="hotel"} 1.0' in counts(), process)
        asked = threads.submit(server.explain, TEXTS * 30)
        wait_until(lambda: 'batch_requests_count{model="hotel"} 1.0' in counts(), process)
        process.send_signal(signal.SIGTERM)
        assert asked.result().status_code == 200
        _, err = process.communicate(timeout=60)
    events = [json.loads(line) for line in err.splitlines()]
    assert any(event.get("route") == "/v1/models/{name}/explain" for event in events)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there is no model to serve"),
        (["{hotel}", "--host", "0.0.0.0"], "API keys are needed"),
        (["{hotel}", "{hotel}"], "would both be served as 'hotel'"),
        (["--name", "hotel"], "should be a name and a path"),
        (["--name", "../x={hotel}"], "cannot be a model's name"),
        (["{hotel}/none", "--port", "0"], "is no model directory"),
        (["{hotel}", "--data", "{hotel}/none.csv"], "is no file"),
        (["{hotel}", "--port", "{taken}"], "cannot be listened on"),
        (["{hotel}", "--keys", "{hotel}/none.json", "--host", "0.0.0.0"], "No such file"),
    ],
)
def test_a_server_that_cannot_start_says_why_in_one_line(hotel, arguments, message, capsys):
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        given = (word.format(hotel=hotel, taken=taken) for word in arguments)
        code, out, err = _run(capsys, "serve", *given)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert message in err


def test_a_missing_extra_is_named_with_its_remedy(hotel, monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    code, _, err = _run(capsys, "serve", str(hotel))
    assert code == 2
    assert "pip install 'protorynet[server]'" in err


def test_keys_are_made_listed_and_revoked(tmp_path, capsys):
    file = tmp_path / "keys.json"
    _, out, _ = _run(capsys, "keys", "create", "--scope", "edit", "--name", "alice", str(file))
    secret = out.strip()
    found = KeyFile(file).find(secret)
    assert (found.scope, found.name) == ("edit", "alice")
    _, listed, _ = _run(capsys, "keys", "list", str(file))
    assert found.id in listed
    assert secret not in listed + file.read_text()
    assert _run(capsys, "keys", "revoke", str(file), found.id)[0] == 0
    assert KeyFile(file).find(secret) is None
    code, _, err = _run(capsys, "keys", "create", "--scope", "root", str(file))
    assert (code, "'root' is not one of 'predict', 'edit', 'admin'" in err) == (2, True)


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run a command in this process."""
    capsys.readouterr()
    return main(arguments), *capsys.readouterr()


@pytest.fixture
def server(own_hotel):
    with serving(own_hotel) as found:
        yield found


def test_a_reload_serves_what_the_directory_holds_now(server, own_hotel):
    before = server.predict(TEXTS).json()["version"]
    _rename_a_prototype(own_hotel, "renamed")
    assert server.predict(TEXTS).json()["version"] == before
    reloaded = server.post("/reload").json()["version"]
    assert reloaded != before
    assert server.predict(TEXTS).json()["version"] == reloaded
    assert "renamed" in server.get("/prototypes").text


def test_a_reload_under_load_drops_no_request(server, own_hotel):
    ended, seen = threading.Event(), Counter[int]()
    threads = [threading.Thread(target=_ask_until, args=(server, ended, seen)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(3):
        _rename_a_prototype(own_hotel, f"name {number}")
        assert server.post("/reload").status_code == 200
    ended.set()
    for thread in threads:
        thread.join()
    assert set(seen) == {200}
    assert seen[200] >= 8


def _rename_a_prototype(folder: Path, name: str) -> None:
    classifier = ProtoryNetClassifier.load(folder, device="cpu")
    classifier.edit(rename={int(classifier.prototypes_.ids[0]): name})
    classifier.save(folder)


def _ask_until(server: Running, ended: threading.Event, seen: Counter[int]) -> None:
    with httpx.Client(base_url=server.url, timeout=60) as client:
        while not ended.is_set():
            response = client.post(f"{HOTEL}/predict", json={"texts": TEXTS})
            seen[response.status_code] += 1
            time.sleep(0.002)
