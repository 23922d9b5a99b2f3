"""The routes of models: what they say of texts, and what they are."""

from __future__ import annotations

import math
from pathlib import Path as FilePath
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import JSONResponse, PlainTextResponse

from protorynet.card import model_card
from protorynet.data import split_documents
from protorynet.errors import EncoderError, InputError, ModelFormatError
from protorynet.server.answering import refusal
from protorynet.server.batching import ask
from protorynet.server.bodies import (
    ExplainBody,
    ExplainView,
    ModelsView,
    ModelView,
    PredictBody,
    PredictView,
    PrototypesView,
)
from protorynet.server.config import Limits
from protorynet.server.failures import ApiError
from protorynet.server.keys import require
from protorynet.server.store import ServedModel
from protorynet.server.work import run_in_pool

__all__ = ["Name", "router"]

Name = Annotated[str, Path(description="The model's name.", max_length=64, examples=["hotel"])]

router = APIRouter(prefix="/v1/models", tags=["models"])
_predict, _admin = [Depends(require("predict"))], [Depends(require("admin"))]


@router.get("", dependencies=_predict)
async def list_models(request: Request) -> ModelsView:
    """List the models."""
    store = request.app.state.store
    return ModelsView(models=[_view(store.get(name), request) for name in store.names()])


@router.get("/{name}", dependencies=_predict)
async def describe_model(name: Name, request: Request) -> ModelView:
    """Describe a model."""
    return _view(request.app.state.store.get(name), request)


@router.post("/{name}/predict", dependencies=_predict, response_model=PredictView)
async def predict(name: Name, body: PredictBody, request: Request) -> JSONResponse:
    """Classify texts."""
    _check_texts(body.texts, request.app.state.config.limits)
    answer = await ask(request.app, name, "predict", body.texts)
    # What is sent was made here just now, so it need not be validated again.
    return JSONResponse({"model": name, "version": answer.version, "predictions": answer.results})


@router.post("/{name}/explain", dependencies=_predict, response_model=ExplainView)
async def explain(name: Name, body: ExplainBody, request: Request) -> JSONResponse:
    """Classify texts and show the reasons: each sentence with its prototype."""
    limits: Limits = request.app.state.config.limits
    _check_texts(body.texts, limits)
    if body.words:
        _check_for_words(body.texts, limits)
        served = request.app.state.store.get(name)
        work = run_in_pool(request.app, _with_words, served, body.texts, limits)
        version, results = served.version, await work
    else:
        answer = await ask(request.app, name, "explain", body.texts)
        version, results = answer.version, answer.results
    return JSONResponse({"model": name, "version": version, "explanations": results})


@router.get("/{name}/prototypes", dependencies=_predict, response_model=PrototypesView)
async def prototypes(name: Name, request: Request) -> JSONResponse:
    """List the training sentences that the model compares everything with."""
    served: ServedModel = request.app.state.store.get(name)
    return JSONResponse(served.classifier.prototypes_.to_dict())


@router.get("/{name}/automaton", dependencies=_predict)
async def automaton(
    name: Name,
    request: Request,
    label: Annotated[str, Query(description="The class.", max_length=1_000, examples=["positive"])],
) -> dict[str, Any]:
    """Summarise what the model does for one class, as `protorynet automaton --json` prints it."""
    served: ServedModel = request.app.state.store.get(name)
    model = served.classifier.model_
    if label not in model.labels.names:
        known = ", ".join(map(repr, model.labels.names))
        raise ApiError(
            404, "unknown_class", f"the model has no such class; its classes are {known}."
        )
    if not model.automata:
        raise ApiError(
            404,
            "no_automaton",
            "the model holds no automata: it was edited without training the reader again, or "
            "made before automata were kept. Train the reader again.",
        )
    return model.automata[model.labels.names.index(label)].to_dict()


@router.get("/{name}/card", dependencies=_predict, response_class=PlainTextResponse)
async def card(name: Name, request: Request) -> PlainTextResponse:
    """Tell in words, as Markdown, what the model is."""
    served: ServedModel = request.app.state.store.get(name)
    return PlainTextResponse(model_card(served.classifier.model_), media_type="text/markdown")


@router.post("/{name}/reload", dependencies=_admin)
async def reload(name: Name, request: Request) -> ModelView:
    """Read the model's directory again; requests under way end with the version they began with."""
    state = request.app.state
    before: ServedModel = state.store.get(name)
    try:
        served = await run_in_pool(request.app, state.store.replace, name)
    except (EncoderError, InputError, ModelFormatError) as error:
        reason = str(error).replace(str(before.folder), before.folder.name)
        raise ApiError(
            409, "not_reloaded", f"the version being served stays, because {reason}"
        ) from None
    state.metrics.reload(name)
    return _view(served, request)


def _check_texts(texts: list[str], limits: Limits) -> None:
    if len(texts) > limits.max_texts:
        raise ApiError(
            413,
            "too_many_texts",
            f"{len(texts):,} texts were given; at most {limits.max_texts:,} are allowed in one "
            "request. Send fewer at a time.",
        )
    for number, text in enumerate(texts):
        if len(text) > limits.max_characters:
            raise ApiError(
                413,
                "text_too_long",
                f"text {number} (counted from 0) has {len(text):,} characters; at most "
                f"{limits.max_characters:,} are allowed. Cut it.",
            )


def _check_for_words(texts: list[str], limits: Limits) -> None:
    if (given := sum(map(len, texts))) > limits.max_characters_with_words:
        raise ApiError(
            413,
            "too_long_for_words",
            f"the texts have {given:,} characters together; with `words`, at most "
            f"{limits.max_characters_with_words:,} are allowed. Send one sentence at a time.",
        )


def _with_words(served: ServedModel, texts: list[str], limits: Limits) -> list[dict[str, Any]]:
    lengths = split_documents(texts, splitter=served.classifier.splitter, on_empty="skip").lengths
    if (refused := refusal(lengths, limits.max_sentences_with_words)) is not None:
        raise refused
    return [found.to_dict() for found in served.classifier.explain(texts, words=True)]


def _encoder_name(name: str) -> str:
    """Return an encoder's name; of a folder's path only the end, for clients need no more."""
    return FilePath(name).name if FilePath(name).is_absolute() else name


def _view(served: ServedModel, request: Request) -> ModelView:
    model = served.classifier.model_
    accuracy = model.training.validation_accuracy
    return ModelView(
        name=served.name,
        version=served.version,
        classes=list(model.labels.names),
        task=model.labels.task,
        encoder=_encoder_name(model.encoder.name),
        n_prototypes=len(model.prototypes),
        n_documents=model.training.n_documents,
        validation_accuracy=accuracy if math.isfinite(accuracy) else 0.0,
        has_automata=bool(model.automata),
        has_data=request.app.state.config.data is not None,
    )
