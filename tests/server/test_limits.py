"""What is too much is refused before any work, with an error that says what is allowed."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from protorynet.server import Limits
from server_scene import HOTEL, Running, error_code, serving

PREDICT = f"{HOTEL}/predict"


@pytest.fixture(scope="module")
def small(hotel):
    """A server that allows little."""
    limits = Limits(
        max_body_bytes=2_000, max_texts=3, max_characters=100, max_sentences=6, seconds=0.5
    )
    with serving(hotel, limits=limits) as server:
        yield server


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"texts": ["x."] * 4}, 413, "too_many_texts"),
        ({"texts": ["x" * 101]}, 413, "text_too_long"),
        ({"texts": ["Bad. Good! " * 4]}, 413, "too_many_sentences"),
        ({"texts": ["a" * 3_000]}, 413, "body_too_large"),
        ({"texts": []}, 422, "invalid_request"),
        ({"texts": "one text"}, 422, "invalid_request"),
        ({"texts": [7]}, 422, "invalid_request"),
        ({"texts": ["A."], "other": 1}, 422, "invalid_request"),
        ({}, 422, "invalid_request"),
        ([], 422, "invalid_request"),
        ({"texts": ["A.", " "]}, 422, "empty_text"),
        ({"texts": ["A\0b."]}, 422, "invalid_request"),
        ({"texts": ["A \ud800."]}, 422, "invalid_request"),
        ({"texts": ["A."], "\ud800": 1}, 422, "invalid_request"),
    ],
)
def test_a_body_that_is_not_allowed_is_refused(small, body, status, code):
    response = _post(small, json.dumps(body).encode())
    assert (response.status_code, error_code(response)) == (status, code)


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 1_900, b"\xff\xfe", b"1" * 1_900, b"null"])
def test_what_is_no_json_object_is_refused(small, content):
    response = _post(small, content)
    assert response.status_code in (400, 422)
    assert error_code(response)


def test_what_was_sent_is_not_repeated(small):
    assert "secret" not in small.predict(["secret\0"]).text


def test_a_body_of_unknown_size_is_cut_off_at_the_limit(small):
    def chunks() -> Iterator[bytes]:
        yield b'{"texts": ["'
        for _ in range(100):
            yield b"x" * 100

    response = small.client.post(
        PREDICT, content=chunks(), headers={"Content-Type": "application/json"}
    )
    assert (response.status_code, error_code(response)) == (413, "body_too_large")


@pytest.mark.parametrize(("length", "status"), [(999_999_999, b" 413 "), (100, b" 408 ")])
def test_a_body_that_is_too_large_or_does_not_arrive_is_not_waited_for(small, length, status):
    head = (
        f"POST {PREDICT} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {length}\r\n\r\n{{"
    )
    host, port = small.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(head.encode())
        assert status in connection.recv(200)


@pytest.mark.parametrize(
    "body",
    [
        {"texts": [1] * 300_000},
        {str(number): 1 for number in range(100_000)},
        {"texts": dict.fromkeys(map(str, range(100_000)))},
    ],
    ids=["values", "fields", "entries"],
)
def test_errors_without_number_do_not_hold_up_others(server, body):
    content = json.dumps(body).encode()
    response = _post(server, content)
    assert (response.status_code, error_code(response)) == (422, "invalid_request")
    assert "more)" not in response.text


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [("GET", "/v2/nothing/here", 404, "not_found"), ("DELETE", PREDICT, 405, "method_not_allowed")],
)
def test_what_is_not_there_has_the_same_kind_of_error(small, method, path, status, code):
    response = small.client.request(method, path)
    assert (response.status_code, error_code(response)) == (status, code)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Bad. Good! " * 30, "too_many_sentences"),
        (" ".join(f"w{number}" for number in range(1_200)), "too_long_for_words"),
    ],
)
def test_few_sentences_and_characters_are_allowed_with_words(server, text, code):
    response = server.post("/explain", {"texts": [text], "words": True})
    assert (response.status_code, error_code(response)) == (413, code)


def _post(server: Running, content: bytes) -> Any:
    headers = {"Content-Type": "application/json"}
    return server.client.post(PREDICT, content=content, headers=headers)
