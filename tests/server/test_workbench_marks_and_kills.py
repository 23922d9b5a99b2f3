"""What was confirmed is there after a kill: edits and marks."""

from __future__ import annotations

import csv
import io
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from protorynet.server import ServerConfig
from server_scene import SCRIPT, Bench, Running, error_code, running

_SERVE = """
import sys, threading, torch, uvicorn
from pathlib import Path
from protorynet.server import ServerConfig, create_app

torch.set_num_threads(1)
app = create_app(ServerConfig(models={"hotel": Path(sys.argv[1])}, data=Path(sys.argv[2]),
                              device="cpu"))
server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_config=None))

def tell():
    while not server.started:
        threading.Event().wait(0.01)
    print(server.servers[0].sockets[0].getsockname()[1], flush=True)

threading.Thread(target=tell, daemon=True).start()
server.run()
"""


def test_a_mark_is_shown_exported_and_taken_away(bench: Bench) -> None:
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
def test_a_mark_that_makes_no_sense_is_refused(reading: Bench, body: object) -> None:
    assert reading.post("/mistakes/100/mark", body).status_code == 422


def test_a_row_that_is_not_there_cannot_be_marked(reading: Bench) -> None:
    answer = reading.post("/mistakes/9999/mark", {"wrong_label": True})
    assert error_code(answer) == "unknown_row"


def test_a_damaged_file_of_marks_is_told(bench: Bench, own_hotel: Path) -> None:
    home = own_hotel.with_name("hotel.workbench")
    home.mkdir()
    (home / "marks.db").write_bytes(b"this is no database" * 100)
    answer = bench.post("/mistakes/100/mark", {"wrong_label": True})
    assert (answer.status_code, error_code(answer)) == (507, "marks_unusable")


def test_confirmed_edits_and_marks_outlive_a_kill(own_hotel: Path, table: Path) -> None:
    confirmed = 0
    with _killed_server(own_hotel, table) as bench:
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
    with _server(own_hotel, table) as after:
        draft = after.get("/draft").json()
        assert draft["revision"] in (confirmed, confirmed + 1)
        items = after.get("/prototypes/page", draft=True).json()["items"]
        named = next(item for item in items if item["id"] == int(number))
        assert named["name"] == f"name {draft['revision']}"
        with sqlite3.connect(own_hotel.with_name("hotel.workbench") / "marks.db") as marks:
            notes = {note for (note,) in marks.execute("SELECT note FROM marks")}
        marks.close()
        assert notes >= {"sure", str(confirmed)}


@pytest.mark.parametrize("leftover", ["draft.json", "versions.json"])
def test_a_half_written_file_beside_the_real_one_is_passed_over(
    bench: Bench, own_hotel: Path, leftover: str
) -> None:
    bench.edit(rename={str(bench.ids()[0]): "one"})
    home = own_hotel.with_name("hotel.workbench")
    (home / "draft" / f".{leftover}.half").write_text('{"id"')
    (home / f".{leftover}.half").write_text('{"id"')
    with running(ServerConfig(models={"hotel": own_hotel}, device="cpu")) as server:
        assert Bench(server).get("/draft").json()["revision"] == 1


def test_a_kill_between_publishing_and_forgetting_the_draft_leaves_no_draft(
    bench: Bench, own_hotel: Path
) -> None:
    bench.edit(rename={str(bench.ids()[0]): "one"})
    desk = bench.server.app.state.workbench.desk("hotel")
    desk.drafts.delete, delete = lambda: None, desk.drafts.delete
    bench.post("/draft/publish")
    desk.drafts.delete = delete
    with running(ServerConfig(models={"hotel": own_hotel}, device="cpu")) as server:
        assert not Bench(server).get("/draft").json()["exists"]
        assert Bench(server).get("/versions").json()["current"] == 2


@contextmanager
def _server(model: Path, table: Path) -> Iterator[Bench]:
    with running(ServerConfig(models={"hotel": model}, data=table, device="cpu")) as server:
        yield Bench(server)


@contextmanager
def _killed_server(model: Path, table: Path) -> Iterator[Bench]:
    """Serve in a process of its own, and kill it at the end of the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVE, str(model), str(table)],
        stdout=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        assert process.stdout is not None
        url = f"http://127.0.0.1:{int(process.stdout.readline())}"
        with httpx.Client(base_url=url, timeout=60) as client:
            yield Bench(Running(None, url, client))  # type: ignore[arg-type]
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
