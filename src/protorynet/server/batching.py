"""Requests of concurrent clients gathered for a moment, so that the encoder works once for all."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from fastapi import FastAPI

from protorynet.server.answering import Answer, Kind, Question, answer_together
from protorynet.server.config import Limits
from protorynet.server.logs import origin
from protorynet.server.metrics import Metrics
from protorynet.server.store import ModelStore
from protorynet.server.work import too_busy, too_slow

__all__ = ["Batcher", "ask"]

_LOG = logging.getLogger("protorynet.server")


async def ask(app: FastAPI, name: str, kind: Kind, texts: Sequence[str]) -> Answer:
    """Ask a model, by its name, together with whoever else asks at the moment."""
    app.state.store.get(name)
    batcher: Batcher = app.state.batchers[name]
    return await batcher.ask(Question(kind, tuple(texts)))


@dataclass(frozen=True)
class _Asked:
    question: Question
    answer: asyncio.Future[Answer]

    @property
    def size(self) -> int:
        return sum(map(len, self.question.texts))


class Batcher:
    """Gathers the questions to one model, and has them answered on a thread.

    While some are being answered the next ones gather by themselves; only a question that finds
    nobody working waits a few milliseconds for company.

    Parameters
    ----------
    store, name
        Where the model is; each batch takes the version that is present when it begins.
    limits
        How long to gather, how much to answer together, how many may wait and how long.
    threads
        Where answers are computed.
    metrics
        Where batches are counted.
    """

    def __init__(
        self,
        store: ModelStore,
        name: str,
        *,
        limits: Limits,
        threads: Executor,
        metrics: Metrics,
    ) -> None:
        self._store = store
        self._name = name
        self._limits = limits
        self._threads = threads
        self._metrics = metrics
        self._waiting: asyncio.Queue[_Asked] = asyncio.Queue()
        self._left_over: _Asked | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to answer; the event loop must be running."""
        self._task = asyncio.create_task(self._work(), name=f"batches of {self._name}")

    @property
    def works(self) -> bool:
        """Whether questions will be answered."""
        return self._task is not None and not self._task.done()

    async def stop(self) -> None:
        """Stop answering; call it when no request is under way any more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def ask(self, question: Question) -> Answer:
        """Wait for the answer, but no longer than allowed."""
        if self._waiting.qsize() >= self._limits.max_waiting:
            raise too_busy(self._waiting.qsize())
        asked = _Asked(question, asyncio.get_running_loop().create_future())
        self._waiting.put_nowait(asked)
        self._metrics.waiting(self._name, self._waiting.qsize())
        try:
            return await asyncio.wait_for(asked.answer, self._limits.seconds)
        except TimeoutError:
            raise too_slow(self._limits.seconds) from None

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            batch = await self._gather()
            self._metrics.waiting(self._name, self._waiting.qsize())
            if not batch:
                continue
            questions = [asked.question for asked in batch]
            answers = await loop.run_in_executor(self._threads, self._answers, questions)
            for asked, answer in zip(batch, answers, strict=True):
                _give(asked.answer, answer)

    async def _gather(self) -> list[_Asked]:
        """Return what is to be answered together; whoever went away is left out."""
        first, self._left_over = self._left_over, None
        if first is None:
            first = await self._waiting.get()
            if self._waiting.empty():
                await asyncio.sleep(self._limits.window_seconds)
        batch, size = [first], first.size
        while not self._waiting.empty():
            following = self._waiting.get_nowait()
            size += following.size
            if size > self._limits.max_batch_characters:
                self._left_over = following
                break
            batch.append(following)
        return [asked for asked in batch if not asked.answer.done()]

    def _answers(self, questions: Sequence[Question]) -> list[Answer | Exception]:
        """Answer on a thread; if a batch fails, each of its questions is tried alone."""
        served = self._store.get(self._name)
        self._metrics.batch(self._name, len(questions), sum(len(q.texts) for q in questions))
        try:
            return [*answer_together(served, questions, max_sentences=self._limits.max_sentences)]
        except Exception as error:
            where = origin(error)
            _LOG.error("batch failed", extra={"model": self._name, "size": len(questions)} | where)
            if len(questions) == 1:
                return [error]
            return [answer for question in questions for answer in self._answers([question])]


def _give(future: asyncio.Future[Answer], answer: Answer | Exception) -> None:
    if future.done():  # the client went away, or its time was over
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)
