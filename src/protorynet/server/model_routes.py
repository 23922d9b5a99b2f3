"""The routes of models: what they say of texts, and what they are."""

import json
import math
from pathlib import Path as FilePath
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import BaseModel, FailFast, Field

from protorynet.errors import EncoderError, InputError, ModelFormatError
from protorynet.prototypes import Prototype
from protorynet.report import model_card
from protorynet.server.api_keys import require
from protorynet.server.api_shapes import Body, Text, refusal
from protorynet.server.config import Limits
from protorynet.server.served_models import ServedModel, ask, refuse_lengths

Name = Annotated[str, Path(description="The model's name.", max_length=64, examples=["hotel"])]
_Texts = Annotated[list[Text], FailFast()]
_MODEL, _VERSION = Field(examples=["hotel"]), Field(examples=["3f0c9a52b71e"])
_EXAMPLES = json.loads((FilePath(__file__).parent / "templates" / "examples.json").read_bytes())
MEMBERS_SHOWN = 4

router = APIRouter(prefix="/v1/models", tags=["models"])
_predict, _admin = [Depends(require("predict"))], [Depends(require("admin"))]


class PredictBody(Body):
    """Texts to classify."""

    texts: _Texts = Field(min_length=1, examples=[_EXAMPLES["texts"]])


class ExplainBody(PredictBody):
    """Texts to classify with reasons."""

    words: bool = Field(
        default=False,
        description="Also say which words make each sentence like its prototype; far slower, so "
        "only few sentences are allowed.",
        examples=[False],
    )


class PredictionView(BaseModel):
    """What a model says of one text."""

    label: str = Field(
        description="The predicted class; several, joined by ', ', if the model gives several.",
        examples=["positive"],
    )
    probabilities: dict[str, float] = Field(examples=[_EXAMPLES["explanation"]["probabilities"]])
    trajectory: list[int] = Field(
        description="Ids of the prototypes that the sentences are matched to, in reading order.",
        examples=[[12, 3]],
    )


class PredictView(BaseModel):
    """Predictions, in the order of the texts."""

    model: str = _MODEL
    version: str = _VERSION
    predictions: list[PredictionView]


class ExplainView(BaseModel):
    """Explanations, in the order of the texts, each as `protorynet explain --json` prints it."""

    model: str = _MODEL
    version: str = _VERSION
    explanations: list[dict[str, Any]] = Field(examples=[[_EXAMPLES["explanation"]]])


class PrototypesView(BaseModel):
    """The prototypes, each with the most typical of its members: the sentences it is made of.

    `sentence` is its most typical member, `n_members` counts them all, `class_rate` of a member
    stands in the order of the model's classes, and `spread` tells how far these rates lie apart.
    """

    prototypes: list[dict[str, Any]] = Field(examples=[[_EXAMPLES["prototype"]]])


class ModelView(BaseModel):
    """What is served under one name."""

    name: str = _MODEL
    version: str = Field(description="Changes whenever the model does.", examples=["3f0c9a52b71e"])
    classes: list[str] = Field(examples=[["negative", "positive"]])
    task: str = Field(description="'multiclass' or 'multilabel'.", examples=["multiclass"])
    encoder: str = Field(examples=["minilm"])
    n_prototypes: int = Field(examples=[20])
    n_members: int = Field(
        description="Sentences that the prototypes are made of; one each in the paper's kind.",
        examples=[886],
    )
    n_documents: int = Field(description="Documents it was trained on.", examples=[16000])
    validation_accuracy: float = Field(examples=[0.94])
    has_automata: bool = Field(examples=[True])
    likeness: list[float] = Field(
        description="Similarities that a quarter and three quarters of the matches of held-out "
        "sentences stay below; empty where they are not known.",
        examples=[[0.48, 0.66]],
    )
    has_data: bool = Field(
        description="Whether the server was given a labelled table.", examples=[True]
    )


class ModelsView(BaseModel):
    """All models, by name."""

    models: list[ModelView]


@router.get("", dependencies=_predict)
async def list_models(request: Request) -> ModelsView:
    """List the models."""
    names = request.app.state.store.names()
    return ModelsView(models=[_view_model(name, request) for name in names])


@router.get("/{name}", dependencies=_predict)
async def describe_model(name: Name, request: Request) -> ModelView:
    """Describe a model."""
    return _view_model(name, request)


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
        served = request.app.state.store.get(name)
        work = request.app.state.pool.run(_explain_words, served, body.texts, limits)
        version, results = served.version, await work
    else:
        answer = await ask(request.app, name, "explain", body.texts)
        version, results = answer.version, answer.results
    return JSONResponse({"model": name, "version": version, "explanations": results})


@router.get("/{name}/prototypes", dependencies=_predict, response_model=PrototypesView)
async def prototypes(
    name: Name,
    request: Request,
    members: Annotated[
        int, Query(ge=0, le=100, description="The most members of each to give.")
    ] = MEMBERS_SHOWN,
) -> JSONResponse:
    """List the prototypes that the model reads every text as a sequence of."""
    served: ServedModel = request.app.state.store.get(name)
    items = served.model.prototypes
    return JSONResponse({"prototypes": [view_prototype(item, members) for item in items]})


@router.get("/{name}/automaton", dependencies=_predict)
async def automaton(
    name: Name,
    request: Request,
    label: Annotated[str, Query(description="The class.", max_length=1_000, examples=["positive"])],
) -> dict[str, Any]:
    """Summarise what the model does for one class, as `protorynet automaton --json` prints it."""
    served: ServedModel = request.app.state.store.get(name)
    model = served.model
    if label not in model.labels.names:
        known = ", ".join(map(repr, model.labels.names))
        raise refusal("unknown_class", known=known)
    if not model.automata:
        raise refusal("no_automaton")
    return model.automata[model.labels.names.index(label)].to_dict()


@router.get("/{name}/card", dependencies=_predict, response_class=PlainTextResponse)
async def card(name: Name, request: Request) -> PlainTextResponse:
    """Tell in words, as Markdown, what the model is."""
    served: ServedModel = request.app.state.store.get(name)
    return PlainTextResponse(model_card(served.model), media_type="text/markdown")


@router.post("/{name}/reload", dependencies=_admin)
async def reload(name: Name, request: Request) -> ModelView:
    """Read the model's directory again; requests under way end with the version they began with."""
    state = request.app.state
    try:
        await state.pool.run(state.store.replace, name)
    except (EncoderError, InputError, ModelFormatError) as error:
        folder = state.store.find_folder(name)
        reason = str(error).replace(str(folder), folder.name)
        raise refusal("not_reloaded", reason=reason) from None
    state.metrics.reloads.labels(name).inc()
    return _view_model(name, request)


def view_prototype(item: Prototype, members: int = MEMBERS_SHOWN) -> dict[str, Any]:
    """Return a prototype with some of its members: a model may have thousands of them."""
    some = [vars(member) for member in item.members[:members]]
    counted = {"members": some, "n_members": len(item.members), "spread": item.spread}
    return {**vars(item), **counted}


def _check_texts(texts: list[str], limits: Limits) -> None:
    if len(texts) > limits.max_texts:
        raise refusal("too_many_texts", given=len(texts), most=limits.max_texts)
    for number, text in enumerate(texts):
        if len(text) > limits.max_characters:
            which = "the text" if len(texts) == 1 else f"text {number} (counted from 0)"
            raise refusal(
                "text_too_long", which=which, length=len(text), most=limits.max_characters
            )


def _explain_words(served: ServedModel, texts: list[str], limits: Limits) -> list[dict[str, Any]]:
    if (given := sum(map(len, texts))) > limits.max_characters_with_words:
        raise refusal("too_long_for_words", given=given, most=limits.max_characters_with_words)
    lengths = served.predictor.split(texts).lengths
    refused = refuse_lengths(lengths, limits.max_sentences_with_words)
    if refused is not None:
        raise refused
    return [found.to_dict() for found in served.predictor.explain(texts, words=True)]


def _view_model(name: str, request: Request) -> ModelView:
    served: ServedModel = request.app.state.store.get(name)
    model = served.model
    accuracy, encoder = model.training.validation_accuracy, model.encoder.name
    return ModelView(
        name=name,
        version=served.version,
        classes=list(model.labels.names),
        task=model.labels.task,
        # Of a folder's path only the end: clients need no more.
        encoder=FilePath(encoder).name if FilePath(encoder).is_absolute() else encoder,
        n_prototypes=len(model.prototypes),
        n_members=len(model.prototypes.members),
        n_documents=model.training.n_documents,
        validation_accuracy=accuracy if math.isfinite(accuracy) else 0.0,
        has_automata=bool(model.automata),
        likeness=list(model.training.likeness),
        has_data=request.app.state.config.data is not None,
    )
