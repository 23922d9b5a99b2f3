"""The models being served, and the questions of several clients answered together."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from fastapi import FastAPI
from numpy.typing import NDArray

from protorynet.data import Sentences
from protorynet.encoders import Embeddings
from protorynet.errors import InputError, ModelFormatError, list_names
from protorynet.inference import Predictor, TorchBackend, open_model, torch_model
from protorynet.model import PRECOMPUTED, Model
from protorynet.reading import Reading
from protorynet.server.api_shapes import ApiError, refusal
from protorynet.server.config import Limits
from protorynet.server.guard import Metrics, origin

if TYPE_CHECKING:
    from protorynet.classifier import ProtoryNetClassifier

Kind = Literal["predict", "explain"]
_LOG = logging.getLogger("protorynet.server")


@dataclass(frozen=True, eq=False)
class ServedModel:
    """One version of a model, complete in memory, under the name it is served by.

    It never changes: whoever took it from the store may keep using it while the store already
    gives out the next version. So the predictor and the classifier, which threads share, are
    read and never fitted or edited. All versions of a name share the lock, which is held to
    prepare the next one.
    """

    name: str
    folder: Path
    version: str
    predictor: Predictor
    lock: threading.RLock = field(repr=False)

    @property
    def model(self) -> Model:
        """The model itself."""
        return torch_model(self.predictor)

    @cached_property
    def classifier(self) -> ProtoryNetClassifier:
        """The same as an estimator, for what trains; no answer waits for scikit-learn's import."""
        from protorynet.classifier import ProtoryNetClassifier

        device, encoder = str(self.model.device), self.predictor.encoder
        return ProtoryNetClassifier.of_model(self.model, encoder, device=device, cache=False)


class ModelStore:
    """The models by name; one is swapped for another without a gap.

    `find_folder` says where a model lies that is read again: by default where it did at first.
    """

    def __init__(self, folders: Mapping[str, Path], *, device: str = "auto") -> None:
        self.find_folder: Callable[[str], Path] = folders.__getitem__
        self._device = device
        self._served = {
            name: ServedModel(
                name, folder, folder_version(folder), self._load(folder), threading.RLock()
            )
            for name, folder in folders.items()
        }

    def names(self) -> list[str]:
        """Return the names, sorted."""
        return sorted(self._served)

    def get(self, name: str) -> ServedModel:
        """Return the present version of a model, or refuse with 404."""
        served = self._served.get(name)
        if served is None:
            # What was asked for is not repeated: it may be anything.
            raise refusal("unknown_model", names=", ".join(self.names()))
        return served

    def replace(
        self, name: str, folder: Path | None = None, *, predictor: Predictor | None = None
    ) -> ServedModel:
        """Put another version in a model's place; requests under way end with the old one.

        Without a folder it is the one of `find_folder`, which may have changed. Without a predictor
        the folder is loaded here, which takes a while, so not on the event loop.
        """
        with self.get(name).lock:
            served = self.get(name)
            folder = self.find_folder(name) if folder is None else folder
            version = folder_version(folder)
            predictor = self._load(folder) if predictor is None else predictor
            fresh = replace(served, folder=folder, version=version, predictor=predictor)
            self._served[name] = fresh
        return fresh

    def _load(self, folder: Path) -> Predictor:
        model, encoder = open_model(folder, device=self._device)
        if model.encoder.name == PRECOMPUTED:
            raise InputError(
                f"{folder} was trained on vectors, but clients send texts, so it cannot be served."
            )
        # Nothing of what clients send is kept on disk, not even as hashes.
        predictor = Predictor(TorchBackend(model), encoder, cache=False)
        # The first text is slower than all others; no client should wait for that.
        predictor.predict(["Ready."])
        return predictor


def folder_version(folder: Path) -> str:
    """Return a digest of a model directory's configuration, which holds all its checksums."""
    try:
        return hashlib.sha256((folder / "config.json").read_bytes()).hexdigest()[:12]
    except OSError as error:
        raise ModelFormatError(
            f"{folder} is no model directory: config.json cannot be read ({error.strerror}). "
            "Give a directory made by `protorynet fit`."
        ) from None


@dataclass(frozen=True)
class Answer:
    """What a version of a model says to one question: an object per text, ready for JSON."""

    version: str
    results: list[dict[str, Any]]


@dataclass(frozen=True)
class Question:
    """What one request asks of a model, labels or reasons too for some texts, and its answer."""

    kind: Kind
    texts: Sequence[str]
    answer: asyncio.Future[Answer]

    @property
    def size(self) -> int:
        """Characters of the texts."""
        return sum(map(len, self.texts))


def answer_together(
    served: ServedModel, questions: Sequence[Question], *, max_sentences: int
) -> list[Answer | ApiError]:
    """Answer questions with one call of the encoder; one that cannot be answered harms no other."""
    predictor = served.predictor
    texts = [text for question in questions for text in question.texts]
    sizes = [len(question.texts) for question in questions]
    sentences = predictor.split(texts)
    per_question = np.split(sentences.lengths, np.cumsum(sizes)[:-1])
    refusals = [refuse_lengths(lengths, max_sentences) for lengths in per_question]
    accepted = np.repeat([refused is None for refused in refusals], sizes)
    kinds = np.repeat([question.kind for question in questions], sizes)[accepted]
    results = iter(
        _answer_texts(predictor, list(compress(texts, accepted)), sentences.part(accepted), kinds)
    )
    return [
        Answer(served.version, list(islice(results, size))) if refused is None else refused
        for refused, size in zip(refusals, sizes, strict=True)
    ]


def _answer_texts(
    predictor: Predictor, texts: list[str], sentences: Sentences, kinds: NDArray[np.str_]
) -> list[dict[str, Any]]:
    """Return the result of each text, those of one kind computed together."""
    embeddings = predictor.encode(sentences)
    results: list[dict[str, Any]] = [{} for _ in texts]
    for kind in np.unique(kinds).tolist():
        chosen = kinds == kind
        index = embeddings.index[chosen[sentences.documents]]
        prepared = sentences.part(chosen), Embeddings(embeddings.vectors, index)
        if kind == "explain":
            some = predictor.explain_prepared(list(compress(texts, chosen)), *prepared)
            found = [explanation.to_dict() for explanation in some]
        else:
            found = _view_predictions(predictor, predictor.read_prepared(*prepared))
        for position, result in zip(np.flatnonzero(chosen).tolist(), found, strict=True):
            results[position] = result
    return results


def _view_predictions(predictor: Predictor, reading: Reading) -> list[dict[str, Any]]:
    labels = predictor.labels
    ids = [prototype.id for prototype in predictor.facts.prototypes]
    return [
        {
            "label": labels.name_of(each),
            "probabilities": dict(zip(labels.names, each.tolist(), strict=True)),
            "trajectory": path.tolist(),
        }
        for each, path in zip(reading.probabilities, reading.paths(ids), strict=True)
    ]


def refuse_lengths(lengths: NDArray[np.int64], max_sentences: int) -> ApiError | None:
    """Return why texts of so many sentences are not read; None if they are."""
    if (empty := np.flatnonzero(lengths == 0)).size:
        return refusal("empty_text", n=len(empty), numbers=list_names(empty.tolist(), 5))
    if (count := int(lengths.sum())) > max_sentences:
        given, remedy = ("text holds", "Shorten it.")
        if len(lengths) > 1:
            given, remedy = ("texts hold", "Send fewer texts at a time.")
        return refusal(
            "too_many_sentences", given=given, count=count, most=max_sentences, remedy=remedy
        )
    return None


async def ask(app: FastAPI, name: str, kind: Kind, texts: Sequence[str]) -> Answer:
    """Ask a model, by its name, together with whoever else asks at the moment."""
    app.state.store.get(name)
    batcher: Batcher = app.state.batchers[name]
    return await batcher.ask(kind, texts)


@dataclass(eq=False, kw_only=True)
class Batcher:
    """Gathers the questions to one model, and has them answered on a thread.

    While some are being answered the next ones gather by themselves; only a question that finds
    nobody working waits a few milliseconds for company. Each batch takes the version of the model
    that is present when it begins.
    """

    store: ModelStore
    name: str
    limits: Limits
    threads: Executor
    metrics: Metrics
    _waiting: asyncio.Queue[Question] = field(default_factory=asyncio.Queue, init=False)
    _left_over: Question | None = field(default=None, init=False)
    _task: asyncio.Task[None] | None = field(default=None, init=False)

    def start(self) -> None:
        """Begin to answer; the event loop must be running."""
        self.metrics.waiting.labels(self.name).set_function(self._waiting.qsize)
        self._task = asyncio.create_task(self._work(), name=f"batches of {self.name}")

    @property
    def works(self) -> bool:
        """Whether questions will be answered."""
        return self._task is not None and not self._task.done()

    async def stop(self) -> None:
        """Stop answering; call it when no request is under way any more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def ask(self, kind: Kind, texts: Sequence[str]) -> Answer:
        """Wait for the answer, but no longer than allowed."""
        if self._waiting.qsize() >= self.limits.max_waiting:
            raise refusal("too_busy", waiting=self._waiting.qsize())
        question = Question(kind, texts, asyncio.get_running_loop().create_future())
        self._waiting.put_nowait(question)
        try:
            return await asyncio.wait_for(question.answer, self.limits.seconds)
        except TimeoutError:
            raise refusal("timeout", seconds=self.limits.seconds) from None

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            batch = await self._gather()
            if not batch:
                continue
            answers = await loop.run_in_executor(self.threads, self._answer, batch)
            for question, answer in zip(batch, answers, strict=True):
                if question.answer.done():  # the client went away, or its time was over
                    continue
                if isinstance(answer, Exception):
                    question.answer.set_exception(answer)
                else:
                    question.answer.set_result(answer)

    async def _gather(self) -> list[Question]:
        """Return what is to be answered together; whoever went away is left out."""
        first, self._left_over = self._left_over, None
        if first is None:
            first = await self._waiting.get()
            if self._waiting.empty():
                await asyncio.sleep(self.limits.window_seconds)
        batch, size = [first], first.size
        while not self._waiting.empty():
            following = self._waiting.get_nowait()
            size += following.size
            if size > self.limits.max_batch_characters:
                self._left_over = following
                break
            batch.append(following)
        return [question for question in batch if not question.answer.done()]

    def _answer(self, questions: Sequence[Question]) -> list[Answer | Exception]:
        """Answer on a thread; if a batch fails, each of its questions is tried alone."""
        served = self.store.get(self.name)
        self.metrics.batches.labels(self.name).observe(len(questions))
        self.metrics.texts.labels(self.name).inc(sum(len(q.texts) for q in questions))
        try:
            return [*answer_together(served, questions, max_sentences=self.limits.max_sentences)]
        except Exception as error:
            where = origin(error)
            _LOG.error("batch failed", extra={"model": self.name, "size": len(questions)} | where)
            if len(questions) == 1:
                return [error]
            return [answer for question in questions for answer in self._answer([question])]
