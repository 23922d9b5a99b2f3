"""What clients send and get, described for OpenAPI and checked strictly."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, FailFast, Field, model_validator

__all__ = [
    "Body",
    "ExplainBody",
    "ExplainView",
    "HealthView",
    "ModelView",
    "ModelsView",
    "PredictBody",
    "PredictView",
    "PredictionView",
    "PrototypesView",
    "Text",
]

_TEXTS = ["The room was lovely. We will come again!", "Dirty, and nobody cared."]
_SENTENCE = {
    "text": "The room was lovely.",
    "start": 0,
    "end": 20,
    "prototype": 12,
    "prototype_sentence": "Our room was beautiful and clean.",
    "similarity": 0.81,
    "runner_up": 3,
    "runner_up_similarity": 0.44,
    "runner_up_sentence": "The pool is great.",
    "scores": {"negative": 0.04, "positive": 0.96},
    "running": {"negative": 0.05, "positive": 0.95},
    "effect": 0.31,
}
_EXPLANATION = {
    "label": "positive",
    "probabilities": {"negative": 0.02, "positive": 0.98},
    "sentences": [_SENTENCE],
    "automaton": None,
    "pattern": None,
}
_PROTOTYPE = {
    "id": 12,
    "sentence": "Our room was beautiful and clean.",
    "row": 840,
    "usage": 0.07,
    "scores": {"negative": 0.04, "positive": 0.96},
    "class_rate": {"negative": 0.11, "positive": 0.89},
    "name": None,
}


def _checked(text: str) -> str:
    # No writing system uses NUL, and databases and terminals choke on it.
    if "\0" in text:
        raise ValueError("the text holds a NUL character; remove it.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"the text holds half a Unicode character at position {error.start}; repair it."
        ) from None
    return text


Text = Annotated[str, AfterValidator(_checked)]
"""A text: any Unicode but NUL and halves of surrogate pairs, which JSON may smuggle in."""

_Texts = Annotated[list[Text], FailFast()]
_MOST_FIELDS, _MOST_ENTRIES = 50, 1_000


class Body(BaseModel):
    """What a client sends: only the fields that are known, and each of the very kind it should be.

    Every value that is wrong becomes an error of some kilobytes, and all of them are gathered
    while nobody else is answered; so what has far too many is refused before.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _check_size(cls, given: object) -> object:
        if isinstance(given, dict):
            if len(given) > _MOST_FIELDS:
                raise ValueError(f"there are {len(given):,} fields; see /docs for those known.")
            for name, value in given.items():
                if isinstance(value, dict) and len(value) > _MOST_ENTRIES:
                    raise ValueError(
                        f"{name!a:.60} has {len(value):,} entries; at most {_MOST_ENTRIES:,} are "
                        "allowed."
                    )
        return given


class PredictBody(Body):
    """Texts to classify."""

    texts: _Texts = Field(min_length=1, examples=[_TEXTS])


class ExplainBody(Body):
    """Texts to classify with reasons."""

    texts: _Texts = Field(min_length=1, examples=[_TEXTS])
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
    probabilities: dict[str, float] = Field(examples=[{"negative": 0.02, "positive": 0.98}])
    trajectory: list[int] = Field(
        description="Ids of the prototypes that the sentences are matched to, in reading order.",
        examples=[[12, 3]],
    )


class PredictView(BaseModel):
    """Predictions, in the order of the texts."""

    model: str = Field(examples=["hotel"])
    version: str = Field(examples=["3f0c9a52b71e"])
    predictions: list[PredictionView]


class ExplainView(BaseModel):
    """Explanations, in the order of the texts, each as `protorynet explain --json` prints it."""

    model: str = Field(examples=["hotel"])
    version: str = Field(examples=["3f0c9a52b71e"])
    explanations: list[dict[str, Any]] = Field(examples=[[_EXPLANATION]])


class PrototypesView(BaseModel):
    """The prototypes, as `protorynet prototypes --json` prints them."""

    prototypes: list[dict[str, Any]] = Field(examples=[[_PROTOTYPE]])


class ModelView(BaseModel):
    """What is served under one name."""

    name: str = Field(examples=["hotel"])
    version: str = Field(description="Changes whenever the model does.", examples=["3f0c9a52b71e"])
    classes: list[str] = Field(examples=[["negative", "positive"]])
    task: str = Field(description="'multiclass' or 'multilabel'.", examples=["multiclass"])
    encoder: str = Field(examples=["minilm"])
    n_prototypes: int = Field(examples=[20])
    n_documents: int = Field(description="Documents it was trained on.", examples=[16000])
    validation_accuracy: float = Field(examples=[0.94])
    has_automata: bool = Field(examples=[True])
    has_data: bool = Field(
        description="Whether the server was given a labelled table.", examples=[True]
    )


class ModelsView(BaseModel):
    """All models, by name."""

    models: list[ModelView]


class HealthView(BaseModel):
    """Whether the server lives, or is ready."""

    status: str = Field(examples=["ok"])
