"""Wrong predictions on documents held out, each with the sentence to blame, and marks on them."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import Depends, Path, Query
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import Field

from protorynet.errors import sheet_row
from protorynet.explain import (
    Mistake,
    confident_mistakes,
    documents_at,
    explain_mistakes,
    find_slices,
    has_word,
)
from protorynet.figures import measure_figures
from protorynet.inference import TorchBackend
from protorynet.model import Model
from protorynet.prototypes import Prototype
from protorynet.reading import Reading
from protorynet.server.api_shapes import Body, Text, csv_download, refusal
from protorynet.server.background import Progress
from protorynet.server.model_routes import Name
from protorynet.server.workbench.desk import (
    EDIT,
    MAY_WAIT,
    PREDICT,
    AtDesk,
    Desk,
    Paged,
    explain_text,
    in_pool,
    make_router,
    writing,
)
from protorynet.server.workbench.labelled_table import Prepared, holds_words

_EXPLAINED_AT_ONCE = 32
_MOST_CHOICES = 200  # patterns and prototypes to filter by
_OF_THE_BLAMED = "text start end prototype prototype_sentence member headline unfamiliar similarity"

_Row = Annotated[int, Path(ge=0, le=2**53, description="Row of the table, counted from 0.")]
_Sort = Literal["confidence", "-confidence", "row", "-row", "sentences", "-sentences"]
_Share = Annotated[float | None, Query(ge=0, le=1, allow_inf_nan=False)]
_Count = Annotated[int | None, Query(ge=0, le=1_000_000)]
_Words = Annotated[str | None, Query(max_length=1_000)]

router = make_router()


class MarkBody(Body):
    """What somebody says of a document's label."""

    wrong_label: bool = Field(
        description="Whether the label, not the model, is wrong.", examples=[True]
    )
    note: Annotated[Text, Field(max_length=2_000)] = Field(
        default="", examples=["It praises the hotel."]
    )


@dataclass(frozen=True)
class Filter:
    """Which of the mistakes are asked for, and in what order."""

    pattern: _Words = None
    prototype: _Count = None
    blamed: _Count = None
    truth: _Words = None
    predicted: _Words = None
    split: _Words = None
    search: _Words = None
    word: _Words = None
    marked: bool | None = None
    min_sentences: _Count = None
    max_sentences: _Count = None
    min_confidence: _Share = None
    max_confidence: _Share = None
    sort: _Sort = "-confidence"

    def choose(self, items: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the mistakes that pass, in order."""
        name = self.sort.removeprefix("-").replace("sentences", "n_sentences")
        sign = -1 if self.sort.startswith("-") else 1
        found = [item for item in items if self._passes(item)]
        return sorted(found, key=lambda item: (sign * item[name], item["row"]))

    def _passes(self, item: dict[str, Any]) -> bool:
        wanted = (
            (self.pattern, item["pattern"]["key"] if item["pattern"] else "none"),
            (self.blamed, item["blamed"] and item["blamed"]["prototype"]),
            (self.truth, item["truth"]),
            (self.predicted, item["predicted"]),
            (self.split, item["split"]),
            (self.marked, item["mark"] is not None),
        )
        return (
            all(asked is None or asked == there for asked, there in wanted)
            and (self.prototype is None or self.prototype in item["trajectory"])
            and (self.search is None or holds_words(item["text"], self.search))
            and (self.word is None or has_word(item["text"], self.word))
            and _lies_between(item["n_sentences"], self.min_sentences, self.max_sentences)
            and _lies_between(item["confidence"], self.min_confidence, self.max_confidence)
        )


def _lies_between(value: float, low: float | None, high: float | None) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)


Filters = Annotated[Filter, Depends()]


@router.get("/mistakes", dependencies=PREDICT, responses=MAY_WAIT)
@in_pool
def mistakes(desk: AtDesk, filters: Filters, paged: Paged) -> JSONResponse:
    """List the documents held out that the model labels wrongly."""
    about, items = _find_mistakes(desk)
    page = paged.of(filters.choose(desk.marks.add_to(items)))
    return JSONResponse({**page, **about})


@router.get("/mistakes.csv", dependencies=PREDICT, responses=MAY_WAIT)
@in_pool
def mistakes_csv(desk: AtDesk, filters: Filters) -> StreamingResponse:
    """Give the mistakes as a table for a spreadsheet, with its numbers of the rows."""
    _, found = _find_mistakes(desk)
    items = filters.choose(desk.marks.add_to(found))
    rows = ([cell(item) for cell in _CSV_CELLS.values()] for item in items)
    return csv_download("mistakes.csv", list(_CSV_CELLS), rows)


@router.get("/mistakes/{row}", dependencies=PREDICT, responses=MAY_WAIT)
async def mistake(name: Name, desk: AtDesk, row: _Row) -> JSONResponse:
    """Show one mistake with all its reasons."""

    def look() -> dict[str, Any]:
        for item in desk.marks.add_to(_find_mistakes(desk)[1]):
            if item["row"] == row:
                return item
        raise refusal("no_mistake")

    found = await desk.pool.run(look)
    reasons = await explain_text(desk, name, found["text"])
    return JSONResponse({**found, "explanation": reasons})


@router.post("/mistakes/{row}/mark", dependencies=EDIT)
@in_pool
def mark(desk: AtDesk, row: _Row, body: MarkBody) -> dict[str, Any]:
    """Say that a document's label is wrong, or leave a note; it is kept before the answer."""
    table = desk.workbench.table()
    text = table.texts[table.find(row)]
    with writing("the mark"):
        put = desk.marks.put(text, row, wrong_label=body.wrong_label, note=body.note.strip())
    return {"row": row, "mark": put}


def _find_mistakes(desk: Desk) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return what there is to say of all mistakes of a version, and these; a job looks for them."""
    desk.table()
    served = desk.served

    def look(progress: Progress) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        prepared, model = desk.prepared(served, progress, share=0.6), served.model
        documents, n = prepared.held_out, len(prepared.splits)
        about = {"version": served.version, "n_documents": n, "note": prepared.note}
        about |= {"slices": [], "confusion": None}
        items: list[dict[str, Any]] = []
        if n:
            reading = TorchBackend(model).read(documents.embeddings, documents.sentences.lengths)
            figures = measure_figures(model.labels, documents.targets, reading.probabilities)
            about["slices"] = [vars(each) for each in find_slices(model, documents, reading)]
            about["confusion"] = figures.confusion  # documents by true and by predicted class
            items = _explain_all(model, prepared, reading, progress)
        choices = _list_choices(items, model.prototypes)
        return {**about, "n_mistakes": len(items), "filters": choices}, items

    return desk.ask("mistakes", served.version, look)


def _explain_all(
    model: Model, prepared: Prepared, reading: Reading, progress: Progress
) -> list[dict[str, Any]]:
    documents = prepared.held_out
    wrong = confident_mistakes(model, reading, documents.targets > 0.5, len(documents.texts))
    split_of = dict(zip(documents.rows.tolist(), prepared.splits, strict=True))
    items: list[dict[str, Any]] = []
    for start in range(0, len(wrong), _EXPLAINED_AT_ONCE):
        message = f"Explaining mistakes: {start:,} of {len(wrong):,}"
        progress(0.6 + 0.4 * start / len(wrong), message)
        some = documents_at(documents, np.asarray(wrong[start : start + _EXPLAINED_AT_ONCE]))
        items += [_view_mistake(each, split_of[each.row]) for each in explain_mistakes(model, some)]
    return items


def _view_mistake(mistake: Mistake, split: str) -> dict[str, Any]:
    explanation, sentence, pattern = mistake.explanation, mistake.sentence, None
    if explanation.pattern is not None:
        ids = "-".join(map(str, explanation.pattern.prototypes))
        key = f"{explanation.pattern.label}:{ids}"
        pattern = {"key": key, **explanation.pattern.to_dict()}
    return {
        "row": mistake.row,
        "split": split,
        "text": explanation.document,
        "truth": mistake.truth,
        "predicted": explanation.label,
        "confidence": mistake.certainty,
        "probabilities": dict(explanation.probabilities),
        "n_sentences": len(explanation.sentences),
        "trajectory": [each.prototype for each in explanation.sentences],
        "pattern": pattern,
        "blamed": {
            "position": mistake.blamed,
            **{name: getattr(sentence, name) for name in _OF_THE_BLAMED.split()},
            "effect": mistake.blamed_effect,
        }
        if mistake.one_misled
        else None,
    }


def _list_choices(
    items: Sequence[dict[str, Any]], prototypes: Iterable[Prototype]
) -> dict[str, Any]:
    """Return what there is to filter by: the most frequent first."""
    patterns = {item["pattern"]["key"]: item["pattern"] for item in items if item["pattern"]}
    per_pattern = Counter(item["pattern"]["key"] for item in items if item["pattern"])
    blamed = Counter(item["blamed"]["prototype"] for item in items if item["blamed"])
    known = {item.id: item for item in prototypes}
    return {
        "patterns": [
            {name: patterns[key][name] for name in ("key", "label", "prototypes")} | {"n": n}
            for key, n in per_pattern.most_common(_MOST_CHOICES)
        ],
        "prototypes": [
            {"id": number, "sentence": known[number].sentence, "name": known[number].name, "n": n}
            for number, n in blamed.most_common(_MOST_CHOICES)
        ],
        "truths": sorted({item["truth"] for item in items}),
        "predicted": sorted({item["predicted"] for item in items}),
        "splits": sorted({item["split"] for item in items}),
        "longest": max((item["n_sentences"] for item in items), default=0),
    }


_CSV_CELLS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "row": lambda item: sheet_row(item["row"]),
    **{name: itemgetter(name) for name in ("split", "text", "truth", "predicted")},
    "confidence": lambda item: round(item["confidence"], 6),
    "n_sentences": lambda item: item["n_sentences"],
    "blamed_sentence": lambda item: item["blamed"] and item["blamed"]["text"],
    "blamed_prototype": lambda item: item["blamed"] and item["blamed"]["prototype"],
    "prototype_sentence": lambda item: item["blamed"] and item["blamed"]["prototype_sentence"],
    "pattern": lambda item: " ".join(map(str, (item["pattern"] or {}).get("prototypes", ()))),
    "wrong_label": lambda item: bool(item["mark"] and item["mark"]["wrong_label"]),
    "note": lambda item: item["mark"]["note"] if item["mark"] else "",
}
