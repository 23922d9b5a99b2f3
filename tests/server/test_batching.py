"""Requests that are computed together are answered as if each were alone."""

import re
import time
from typing import Any

import httpx
import pytest

from protorynet.server import Limits, served_models
from server_scene import TEXTS, Running, error_code, serving

answer_together = served_models.answer_together


@pytest.fixture
def patient(hotel):
    """A server of the test's own that waits long for company, and answers short requests only."""
    limits = Limits(window_seconds=0.2, max_sentences=20, max_batch_characters=500)
    with serving(hotel, limits=limits) as server:
        yield server


def test_questions_of_both_kinds_share_a_batch_and_a_refused_one_harms_no_other(patient):
    asked = [
        ("predict", TEXTS[:1]),
        ("explain", TEXTS[1:]),
        ("predict", ["Fine.", " \n "]),
        ("predict", ["Bad. Good! " * 11]),
        ("explain", TEXTS[:1]),
    ]
    answers = patient.ask_all(asked)
    n_batches, n_requests = _batches(patient)
    assert n_batches < n_requests == 5
    refused = [(a.status_code, error_code(a)) for a in answers if a.status_code != 200]
    assert refused == [(422, "empty_text"), (413, "too_many_sentences")]
    for (kind, texts), answer in zip(asked, answers, strict=True):
        if answer.status_code == 200:
            name = "predictions" if kind == "predict" else "explanations"
            alone = patient.ask_all([(kind, texts)])[0].json()[name]
            together = answer.json()[name]
            assert [each.keys() for each in together] == [each.keys() for each in alone]
            for given, expected in zip(together, alone, strict=True):
                assert given["probabilities"] == pytest.approx(expected["probabilities"], abs=1e-6)


def test_a_question_that_breaks_the_work_harms_no_other(patient, monkeypatch):
    def break_on_poison(served: Any, questions: Any, **limits: int) -> list[Any]:
        if any("poison" in question.texts[0] for question in questions):
            raise RuntimeError("a message with the text: poison")
        return answer_together(served, questions, **limits)

    monkeypatch.setattr(served_models, "answer_together", break_on_poison)
    answers = patient.ask_all([("predict", [text]) for text in (TEXTS[0], "poison", TEXTS[1])])
    assert [answer.status_code for answer in answers] == [200, 500, 200]


def test_a_client_that_went_away_harms_no_other(patient):
    with pytest.raises(httpx.ReadTimeout):
        patient.predict(TEXTS[:1], timeout=0.05)
    assert patient.predict(TEXTS[1:]).status_code == 200


def test_too_many_requests_are_asked_to_come_again_and_slow_ones_given_up(hotel, monkeypatch):
    def dawdle(served: Any, questions: Any, **limits: int) -> list[Any]:
        time.sleep(0.6)
        return answer_together(served, questions, **limits)

    monkeypatch.setattr(served_models, "answer_together", dawdle)
    limits = Limits(max_waiting=2, seconds=0.5)
    with serving(hotel, limits=limits) as server:
        answers = server.ask_all([("predict", TEXTS[:1])] * 8)
    codes = {(answer.status_code, error_code(answer)) for answer in answers}
    assert codes == {(429, "too_busy"), (503, "timeout")}
    assert all(int(answer.headers["retry-after"]) > 0 for answer in answers)


def _batches(server: Running) -> tuple[int, int]:
    """Return how many batches were computed, and of how many requests."""
    found = re.findall(
        r"protorynet_batch_requests_(?:count|sum).* (\d+)", server.client.get("/metrics").text
    )
    return int(found[0]), int(found[1])
