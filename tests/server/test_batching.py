"""Requests that are computed together are answered as if each were alone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from server_scene import TEXTS, Running, error_code, running

from protorynet import ProtoryNetClassifier
from protorynet.server import ApiError, Limits, ServerConfig, served_models
from protorynet.server.guard import Metrics
from protorynet.server.served_models import (
    Answer,
    Batcher,
    ModelStore,
    Question,
    answer_together,
)


@pytest.fixture(scope="module")
def store(hotel: Path) -> ModelStore:
    return ModelStore({"hotel": hotel}, device="cpu")


def test_concurrent_clients_get_the_same_answers_as_alone(
    server: Running, classifier: ProtoryNetClassifier, unseen_reviews: object
) -> None:
    requests = [[text] for text in unseen_reviews.texts]
    responses = asyncio.run(server.predict_all(requests))
    given = [list(r.json()["predictions"][0]["probabilities"].values()) for r in responses]
    alone = np.concatenate([classifier.predict_proba(texts) for texts in requests])
    np.testing.assert_allclose(given, alone, atol=1e-6)


def test_concurrent_requests_share_a_batch(
    store: ModelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = _watched(monkeypatch)
    _ask_all(store, [Question("predict", (text,)) for text in TEXTS])
    assert sizes == [3]


def test_questions_of_both_kinds_share_a_batch(store: ModelStore) -> None:
    served = store.get("hotel")
    questions = [
        Question("explain", (TEXTS[0], TEXTS[1])),
        Question("predict", (TEXTS[2],)),
        Question("explain", (TEXTS[2],)),
    ]
    together = answer_together(served, questions, max_sentences=100)
    alone = [answer_together(served, [q], max_sentences=100)[0] for q in questions]
    for one, other in zip(together, alone, strict=True):
        assert isinstance(one, Answer)
        assert isinstance(other, Answer)
        for given, expected in zip(one.results, other.results, strict=True):
            assert given["label"] == expected["label"]
            assert given["probabilities"] == pytest.approx(expected["probabilities"], abs=1e-6)
            assert given.keys() == expected.keys()


def test_a_refused_question_harms_no_other(store: ModelStore) -> None:
    questions = [
        Question("predict", ("Fine.", " \n ")),
        Question("predict", (TEXTS[0],)),
        Question("predict", (TEXTS[1] * 10,)),
    ]
    empty, fine, long = answer_together(store.get("hotel"), questions, max_sentences=5)
    assert isinstance(empty, ApiError)
    assert (empty.status, empty.code) == (422, "empty_text")
    assert isinstance(fine, Answer)
    assert isinstance(long, ApiError)
    assert (long.status, long.code) == (413, "too_many_sentences")


def test_a_question_that_breaks_the_work_harms_no_other(
    store: ModelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaking(served: object, questions: list[Question], **limits: int) -> list[object]:
        if any("poison" in question.texts[0] for question in questions):
            raise RuntimeError("a message with the text: poison")
        return list(answer_together(served, questions, **limits))

    monkeypatch.setattr(served_models, "answer_together", breaking)
    questions = [Question("predict", (text,)) for text in (TEXTS[0], "poison", TEXTS[1])]
    first, broken, last = _ask_all(store, questions)
    assert isinstance(broken, RuntimeError)
    assert isinstance(first, Answer)
    assert isinstance(last, Answer)


def test_a_client_that_went_away_harms_no_other(store: ModelStore) -> None:
    async def scene() -> Answer:
        async with _started(store, Limits(window_seconds=0.05)) as batcher:
            leaving = asyncio.create_task(batcher.ask(Question("predict", (TEXTS[0],))))
            staying = asyncio.create_task(batcher.ask(Question("predict", (TEXTS[1],))))
            await asyncio.sleep(0.01)
            leaving.cancel()
            return await staying

    assert asyncio.run(scene()).results


def test_a_large_request_is_computed_alone(
    store: ModelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = _watched(monkeypatch)
    questions = [Question("predict", (text,)) for text in (TEXTS[0], TEXTS[1] * 20, TEXTS[2])]
    answers = _ask_all(store, questions, Limits(max_batch_characters=200))
    assert sizes == [1, 1, 1]
    assert all(isinstance(answer, Answer) for answer in answers)


def test_more_requests_than_may_wait_are_told_to_come_again(hotel: Path) -> None:
    limits = Limits(max_waiting=2)
    with running(_config(hotel, limits)) as server, _held(server):
        responses = asyncio.run(server.predict_all([[TEXTS[0]]] * 8))
        refused = [response for response in responses if response.status_code != 200]
    assert {(r.status_code, error_code(r)) for r in refused} == {(429, "too_busy")}
    assert all(int(response.headers["retry-after"]) > 0 for response in refused)


def test_a_request_whose_time_is_over_is_told_so(hotel: Path) -> None:
    with running(_config(hotel, Limits(seconds=0.2))) as server, _held(server, seconds=0.6):
        response = server.predict([TEXTS[0]])
    assert (response.status_code, error_code(response)) == (503, "timeout")


def test_a_server_whose_batches_ended_says_that_it_is_not_ready(hotel: Path) -> None:
    with running(_config(hotel, Limits())) as server:
        batcher = server.app.state.batchers["hotel"]
        batcher._task.get_loop().call_soon_threadsafe(batcher._task.cancel)
        response = server.client.get("/readyz")
    assert (response.status_code, error_code(response)) == (503, "not_ready")


def _config(hotel: Path, limits: Limits) -> ServerConfig:
    return ServerConfig(models={"hotel": hotel}, device="cpu", limits=limits)


def _watched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that fills with the number of questions in each batch."""
    sizes: list[int] = []

    def watching(served: object, questions: list[Question], **limits: int) -> list[object]:
        sizes.append(len(questions))
        return list(answer_together(served, questions, **limits))

    monkeypatch.setattr(served_models, "answer_together", watching)
    return sizes


@contextmanager
def _held(server: Running, seconds: float = 0.5) -> Iterator[None]:
    """Keep the thread that computes batches busy for a while."""
    threads = server.app.state.batchers["hotel"]._threads
    began = threading.Event()

    def hold() -> None:
        began.set()
        threading.Event().wait(seconds)

    threads.submit(hold)
    began.wait()
    yield


class _started:
    """A batcher of its own, in the running event loop."""

    def __init__(self, store: ModelStore, limits: Limits) -> None:
        self._threads = ThreadPoolExecutor(1)
        self._batcher = Batcher(
            store, "hotel", limits=limits, threads=self._threads, metrics=Metrics()
        )

    async def __aenter__(self) -> Batcher:
        self._batcher.start()
        return self._batcher

    async def __aexit__(self, *_: object) -> None:
        await self._batcher.stop()
        self._threads.shutdown()


def _ask_all(
    store: ModelStore, questions: list[Question], limits: Limits | None = None
) -> list[Answer | BaseException]:
    async def scene() -> list[Answer | BaseException]:
        async with _started(store, limits or Limits(window_seconds=0.05)) as batcher:
            asked = (batcher.ask(question) for question in questions)
            return await asyncio.gather(*asked, return_exceptions=True)

    return asyncio.run(scene())
