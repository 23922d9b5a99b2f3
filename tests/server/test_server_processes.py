"""The server as a process of its own: how it starts, what it prints, how it ends."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import typer

from protorynet.cli.output import end_badly
from protorynet.cli.serve_command import keys, serve
from protorynet.server import KeyFile
from server_scene import TEXTS

# The two commands alone, as a program.
_PROGRAM = """
import sys, typer
from protorynet.cli.serve_command import keys, serve
app = typer.Typer()
app.command()(serve)
app.add_typer(keys, name="keys")
app(sys.argv[1:])
"""


def test_a_server_reloads_on_a_hangup_and_answers_what_is_under_way_before_it_ends(
    hotel: Path,
) -> None:
    with _serving(hotel) as (process, url), ThreadPoolExecutor(1) as threads:

        def counts() -> str:
            return httpx.get(f"{url}/metrics").text

        process.send_signal(signal.SIGHUP)
        _wait_until(lambda: 'protorynet_reloads_total{model="hotel"} 1.0' in counts(), process)
        body = {"texts": TEXTS * 30}
        asked = threads.submit(httpx.post, f"{url}/v1/models/hotel/explain", json=body, timeout=60)
        _wait_until(lambda: 'waiting_requests{model="hotel"}' in counts(), process)
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
        (["{hotel}", "--keys", "{hotel}/none.json", "--host", "0.0.0.0"], "holds no keys"),
    ],
)
def test_a_server_that_cannot_start_says_why_in_one_line(
    hotel: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        given = (word.format(hotel=hotel, taken=taken) for word in arguments)
        code, out, err = _run(capsys, "serve", *given)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert message in err


def test_a_missing_extra_is_named_with_its_remedy(
    hotel: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    code, _, err = _run(capsys, "serve", str(hotel))
    assert code == 2
    assert "pip install 'protorynet[server]'" in err


def test_keys_are_made_listed_and_revoked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "keys.json"
    _, out, _ = _run(capsys, "keys", "create", "--scope", "edit", "--name", "alice", str(file))
    secret = out.strip()
    found = KeyFile(file).find(secret)
    assert found is not None
    assert (found.scope, found.name) == ("edit", "alice")
    _, listed, _ = _run(capsys, "keys", "list", str(file))
    assert found.id in listed
    assert secret not in listed + file.read_text()
    assert _run(capsys, "keys", "revoke", str(file), found.id)[0] == 0
    assert KeyFile(file).find(secret) is None


def test_an_unknown_scope_makes_no_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "keys.json"
    code, _, err = _run(capsys, "keys", "create", "--scope", "root", str(file))
    assert code == 2
    assert "scope 'root' is not one of predict, edit, admin" in err
    assert not file.exists()


@contextmanager
def _serving(model: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-c", _PROGRAM, "serve", str(model), "--port", "0"]
    process = subprocess.Popen([*command, "--device", "cpu"], stderr=subprocess.PIPE, text=True)
    try:
        announced = process.stderr.readline()
        url = re.search(r"http://127\.0\.0\.1:\d+", announced).group()
        _wait_until(lambda: httpx.get(f"{url}/readyz").is_success, process)
        yield process, url
    finally:
        process.kill()
        process.communicate()


def _wait_until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 90
    while True:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        with contextlib.suppress(httpx.TransportError):
            if condition():
                return
        time.sleep(0.05)


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run a command in this process."""
    program = typer.Typer()
    program.command()(serve)
    program.add_typer(keys, name="keys")
    capsys.readouterr()
    try:
        code = program(list(arguments), standalone_mode=False) or 0
    except Exception as error:
        code = end_badly(error)
    return code, *capsys.readouterr()
