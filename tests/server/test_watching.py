"""Logs, metrics, jobs and the description of the routes."""

import io
import json
import logging
import re
import time

import pytest

from protorynet.errors import InputError
from protorynet.inference import Predictor
from protorynet.server import KeyFile
from protorynet.server.background import Job, Jobs
from protorynet.server.guard import log_to
from server_scene import TEXTS, error_code, serving, wait_until


@pytest.fixture
def log():
    """What the server logs, as it would on standard error."""
    names = ("protorynet.server", "uvicorn")
    before = {name: dict(vars(logging.getLogger(name))) for name in names}
    stream = io.StringIO()
    log_to(stream)
    yield stream
    for name in names:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = before[name]["handlers"], before[name]["propagate"]
        logger.setLevel(before[name]["level"])


def test_a_request_is_logged_as_a_line_of_json(server, log):
    response = server.predict(TEXTS)
    line = _lines(log)[-1]
    assert line["request_id"] == response.headers["x-request-id"]
    assert (line["route"], line["status"]) == ("/v1/models/{name}/predict", 200)
    assert line["bytes_in"] > 0
    assert line["bytes_out"] == len(response.content)
    assert line["ms"] > 0


def test_errors_are_logged_with_their_place_but_no_text_or_key(hotel, tmp_path, log, monkeypatch):
    path = tmp_path / "keys.json"
    secret, _ = KeyFile(path).create("predict")
    with serving(hotel, keys=path) as server:
        headers = {"Authorization": f"Bearer {secret}"}
        server.predict(["Unspeakable thing."], headers=headers)
        server.predict(["Unspeakable\0 thing."], headers=headers)
        server.client.get("/v1/models/Unspeakable", params={"Unspeakable": "1"}, headers=headers)
        monkeypatch.setattr(Predictor, "split", _fail_with_the_text)
        broken = server.predict(["Unspeakable thing."], headers=headers)
    assert (broken.status_code, error_code(broken)) == (500, "unexpected")
    assert "Unspeakable" not in broken.text
    failed = [line for line in _lines(log) if line["event"] == "request failed"]
    assert failed[0]["error"] == "RuntimeError"
    assert "_fail_with_the_text" in failed[0]["where"]
    assert failed[0]["request_id"] in broken.text
    assert len(_lines(log)) >= 4
    assert "Unspeakable" not in log.getvalue()
    assert secret not in log.getvalue()


def test_no_line_of_the_log_is_as_long_as_a_client_likes(server, log):
    server.client.request("X" * 20_000, "/" + "y" * 20_000, headers={"X-Request-ID": "z" * 20_000})
    assert len(log.getvalue()) < 1_000
    assert _lines(log)[-1]["method"] == "other"


def test_metrics_count_requests_by_route_and_texts_by_model(server):
    server.predict(TEXTS)
    text = server.client.get("/metrics").text
    route = (
        'protorynet_requests_total{method="POST",route="/v1/models/{name}/predict",status="200"}'
    )
    assert route in text
    assert re.search(r'protorynet_texts_total\{model="hotel"\} [1-9]', text)
    assert "protorynet_request_seconds_bucket" in text
    assert "protorynet_batch_requests_bucket" in text
    assert "protorynet_waiting_requests" in text


def test_no_label_of_a_metric_comes_from_a_client(server):
    server.client.get("/v1/models/wanderer/card")
    server.client.get("/wanderer/a/b")
    server.client.request("WANDERER", "/healthz")
    assert "wanderer" not in server.client.get("/metrics").text.lower()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (InputError("the table is empty."), "the table is empty."),
        (RuntimeError("/secret/path"), "something unexpected went wrong on the server."),
    ],
)
def test_a_failed_job_says_no_more_than_clients_may_know(error, message):
    def fail(progress: object) -> None:
        raise error

    jobs = Jobs()
    job = jobs.start("fail", fail)
    jobs.close()
    assert (job.state, job.message) == ("failed", message)


def test_only_so_many_jobs_may_wait_and_all_end_when_the_server_stops():
    def endless(progress: object) -> None:
        while True:
            progress(0.1, "on and on")
            time.sleep(0.005)

    jobs = Jobs(max_jobs=2)
    running, _ = jobs.start("endless", endless), jobs.start("endless", endless)
    with pytest.raises(Exception, match="2 jobs are waiting or running"):
        jobs.start("endless", endless)
    wait_until(lambda: running.state == "running")
    jobs.close()
    assert running.state == "failed"


def test_a_job_is_seen_only_with_its_scope(hotel, tmp_path):
    path = tmp_path / "keys.json"
    secret, _ = KeyFile(path).create("predict")
    with serving(hotel, keys=path) as server:
        job: Job = server.app.state.jobs.start("retrain", lambda progress: None, scope="edit")
        headers = {"Authorization": f"Bearer {secret}"}
        assert server.client.get(f"/v1/jobs/{job.id}", headers=headers).status_code == 403


def test_the_docs_page_loads_nothing_from_elsewhere(server):
    page = server.client.get("/docs").text
    assert "/v1/models/{name}/predict" in page
    assert re.findall(r'(?:src|href)="(?!/|#)[^"]*"', page) == []
    assert "<script" not in page
    assert "style=" not in page
    assert server.client.get("/docs/style.css").headers["content-type"].startswith("text/css")


def _fail_with_the_text(predictor: Predictor, texts: list[str], **options: object) -> None:
    raise RuntimeError(f"cannot split {texts}")


def _lines(log: io.StringIO) -> list[dict[str, object]]:
    # The line is written when the answer has been sent, a moment after the client has it.
    time.sleep(0.05)
    return [json.loads(line) for line in log.getvalue().splitlines()]
