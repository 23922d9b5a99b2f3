"""What clients of the workbench send, checked strictly, and what every route may answer."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends
from pydantic import BaseModel, Field

from protorynet.prototypes import Edits
from protorynet.server.bodies import Body, Text
from protorynet.server.failures import ErrorView
from protorynet.server.jobs import JobView
from protorynet.server.keys import require

__all__ = [
    "EDIT",
    "MAY_WAIT",
    "PREDICT",
    "REFUSALS",
    "EditsBody",
    "MarkBody",
    "PublishBody",
    "WorkingView",
]

PREDICT = [Depends(require("predict"))]
EDIT = [Depends(require("edit"))]

_MOST = 1_000
_Id = Annotated[int, Field(ge=0, le=2**53)]
_Key = Annotated[int, Field(ge=0, le=2**53, strict=False)]  # keys of JSON objects are texts
_Sentence = Annotated[Text, Field(max_length=10_000)]


class EditsBody(Body):
    """Edits to be made together."""

    drop: list[_Id] = Field(default=[], max_length=_MOST, examples=[[7]])
    merge: list[Annotated[list[_Id], Field(min_length=2, max_length=2)]] = Field(
        default=[],
        max_length=_MOST,
        description="Pairs of ids: the first is removed, the second speaks for both.",
        examples=[[[5, 3]]],
    )
    replace: dict[_Key, _Sentence] = Field(
        default={}, max_length=_MOST, examples=[{"4": "The room was cold."}]
    )
    rename: dict[_Key, _Sentence] = Field(
        default={}, max_length=_MOST, examples=[{"3": "slow service"}]
    )
    revision: int | None = Field(
        default=None,
        ge=0,
        description="The revision that was seen; another one is refused.",
        examples=[0],
    )

    def edits(self) -> Edits:
        """Return the edits in the package's own form."""
        groups: dict[int, list[int]] = {}
        for gone, kept in self.merge:
            groups.setdefault(kept, [kept]).append(gone)
        return Edits.of(self.drop, groups.values(), self.replace, self.rename)


class PublishBody(Body):
    """What to say of a new version."""

    note: Annotated[Text, Field(max_length=500)] = Field(
        default="", examples=["Names for all prototypes."]
    )


class MarkBody(Body):
    """What somebody says of a document's label."""

    wrong_label: bool = Field(
        description="Whether the label, not the model, is wrong.", examples=[True]
    )
    note: Annotated[Text, Field(max_length=2_000)] = Field(
        default="", examples=["It praises the hotel."]
    )


class WorkingView(BaseModel):
    """The job that computes what was asked for; ask again when it is done."""

    job: JobView


REFUSALS: dict[int | str, dict[str, Any]] = {
    409: {
        "model": ErrorView,
        "description": "Not now: the server has no table, the draft is busy, or the like.",
    },
    507: {"model": ErrorView, "description": "The server cannot write to its disk."},
}
MAY_WAIT: dict[int | str, dict[str, Any]] = {
    202: {
        "model": WorkingView,
        "description": "It is being computed. Ask again when the job is done.",
    },
}
