"""Many, slow, half-open and rude clients, and a model directory that goes away meanwhile."""

import contextlib
import resource
import shutil
import socket
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from protorynet.server import KeyFile, Limits, ServerConfig
from server_scene import HOTEL, TEXTS, Running, error_code, running, serving, spawned, wait_until

N_CONNECTIONS = 500


@pytest.fixture
def many_files():
    """Room for both ends of all connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4 * N_CONNECTIONS), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def connect(server: Running) -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=30)


def test_idle_and_half_open_connections_are_closed_and_others_live(hotel, monkeypatch, many_files):
    monkeypatch.setattr("protorynet.server.app._IDLE_SECONDS", 5)
    with serving(hotel) as server, contextlib.ExitStack() as stack:
        opened = [stack.enter_context(connect(server)) for _ in range(N_CONNECTIONS)]
        heads = b"", b"POST /v1/models/hotel/pre", b"GET /healthz HTTP/1.1\r\nX: "
        for number, each in enumerate(opened):
            each.sendall(heads[number % 3])
        assert server.predict(TEXTS).status_code == 200
        assert all(map(_is_closed, opened))
        assert server.predict(TEXTS).status_code == 200


def _is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_who_does_not_fetch_the_answer_is_not_waited_for(hotel, monkeypatch):
    monkeypatch.setattr("protorynet.server.app._IDLE_SECONDS", 1)
    request = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with serving(hotel) as server, connect(server) as rude:
        rude.sendall(request * 2_000)  # the answers are more than all buffers hold
        deadline = time.monotonic() + 60
        with contextlib.suppress(ConnectionError):
            while time.monotonic() < deadline:
                rude.send(b" ")
                time.sleep(0.05)
        assert time.monotonic() < deadline
        assert server.client.get("/healthz").status_code == 200


@pytest.mark.parametrize(("more", "status"), [(0, 200), (1, 413)])
def test_a_body_at_the_limit_is_read_and_one_above_is_not(server, more, status):
    body = b'{"texts": ["The room was lovely."]}'
    content = body.ljust(Limits().max_body_bytes + more)
    headers = {"Content-Type": "application/json"}
    try:
        sent = server.client.post(f"{HOTEL}/predict", content=content, headers=headers).status_code
    except httpx.TransportError:  # closed while the rest of the body was on its way
        sent = 413
    assert sent == status


def test_a_model_directory_may_go_away_and_come_back(own_hotel):
    kept = Path(shutil.copytree(own_hotel, own_hotel.with_name("kept")))
    with serving(own_hotel) as server:
        shutil.rmtree(own_hotel)
        assert server.predict(TEXTS).status_code == 200
        assert error_code(server.post("/reload")) == "not_reloaded"
        kept.rename(own_hotel)
        assert server.post("/reload").status_code == 200


def test_a_key_may_send_so_many_requests_in_a_minute_and_another_its_own(hotel, tmp_path):
    path = tmp_path / "keys.json"
    first, second = (
        {"Authorization": f"Bearer {KeyFile(path).create('predict')[0]}"} for _ in range(2)
    )
    with serving(hotel, keys=path, limits=Limits(max_requests_per_minute=5)) as server:
        answers = [server.client.get("/v1/models", headers=first) for _ in range(6)]
        assert [each.status_code for each in answers] == [200] * 5 + [429]
        assert error_code(answers[-1]) == "too_many_requests"
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 12
        assert server.client.get("/v1/models", headers=second).status_code == 200


def test_what_is_insecure_answers_to_any_name_but_not_to_pages_of_other_sites(hotel):
    config = ServerConfig(models={"hotel": hotel}, host="0.0.0.0", insecure=True, device="cpu")
    with running(config) as server:
        by_name = {"Host": "example.org"}
        assert server.client.get("/v1/models", headers=by_name).status_code == 200
        foreign = server.predict(TEXTS, headers={**by_name, "Origin": "https://evil.example"})
        assert error_code(foreign) == "foreign_origin"


@pytest.mark.slow
def test_2000_requests_of_40_clients_leave_the_memory_where_it_was(hotel):
    with spawned(hotel) as (process, server):

        def resident() -> int:
            status = Path(f"/proc/{process.pid}/status").read_text()
            return int(status.partition("VmRSS:")[2].split()[0])

        def ask(count: int) -> Counter[int]:
            with httpx.Client(base_url=server.url, timeout=120) as client:
                sent = (
                    client.post(f"{HOTEL}/explain", json={"texts": TEXTS}) for _ in range(count)
                )
                return Counter(each.status_code for each in sent)

        with ThreadPoolExecutor(50) as threads:
            threads.submit(lambda: process.stderr.read())  # else the log would fill its pipe
            list(threads.map(ask, [10] * 40))
            before = resident()
            answers = sum(threads.map(ask, [50] * 40), Counter[int]())
            grown = resident() - before
            process.terminate()
        print(f"\n2,000 requests: {dict(answers)}, memory {before:,} kB, then {grown:+,} kB")
        assert answers == {200: 2000}
        assert grown < 20_000


@pytest.mark.slow
def test_requests_under_way_are_answered_or_told_to_come_back_when_the_server_ends(hotel):
    with spawned(hotel) as (process, server), ThreadPoolExecutor(41) as threads:
        threads.submit(lambda: process.stderr.read())

        def ask(_: int) -> int:
            with httpx.Client(base_url=server.url, timeout=120) as client:
                answer = client.post(f"{HOTEL}/explain", json={"texts": TEXTS * 20})
            assert answer.status_code == 200 or "retry-after" in answer.headers
            return answer.status_code

        sent = [threads.submit(ask, number) for number in range(40)]
        wait_until(lambda: sum(each.done() for each in sent) >= 5, process)
        process.terminate()
        answers = Counter(each.result() for each in sent)
        print(f"\nSIGTERM with requests under way: {dict(answers)}")
        assert answers.keys() <= {200, 503}
        process.wait(60)
