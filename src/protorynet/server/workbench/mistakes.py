"""Wrong predictions on documents held out, each with the sentence to blame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import Depends, Query

from protorynet.explain import (
    DecidingPattern,
    Mistake,
    confident_mistakes,
    documents_at,
    explain_mistakes,
)
from protorynet.model import Model
from protorynet.server.jobs import Job, Progress
from protorynet.server.workbench.desk import Desk
from protorynet.server.workbench.marks import Mark, text_key
from protorynet.server.workbench.prepared import Prepared

__all__ = ["CSV_HEADER", "Filter", "Filters", "Found", "csv_rows", "find_mistakes", "found_view"]

CSV_HEADER = (
    "row",
    "split",
    "text",
    "truth",
    "predicted",
    "confidence",
    "n_sentences",
    "blamed_sentence",
    "blamed_prototype",
    "prototype_sentence",
    "pattern",
    "wrong_label",
    "note",
)
_STEP = 32  # documents explained at once
_MOST_LISTED = 200  # patterns and prototypes to choose from

Sort = Literal["confidence", "-confidence", "row", "-row", "sentences", "-sentences"]
_Share = Annotated[float | None, Query(ge=0, le=1, allow_inf_nan=False)]
_Count = Annotated[int | None, Query(ge=0, le=1_000_000)]
_Words = Annotated[str | None, Query(max_length=1_000)]


@dataclass(frozen=True)
class Filter:
    """Which of the mistakes are asked for, and in what order."""

    pattern: _Words = None
    prototype: _Count = None
    blamed: _Count = None
    truth: _Words = None
    predicted: _Words = None
    split: _Words = None
    marked: bool | None = None
    min_sentences: _Count = None
    max_sentences: _Count = None
    min_confidence: _Share = None
    max_confidence: _Share = None
    sort: Sort = "-confidence"

    def chosen(self, items: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the mistakes that pass, in order."""
        found = [item for item in items if self._passes(item)]
        name = {"confidence": "confidence", "row": "row", "sentences": "n_sentences"}[
            self.sort.removeprefix("-")
        ]
        sign = -1 if self.sort.startswith("-") else 1
        return sorted(found, key=lambda item: (sign * item[name], item["row"]))

    def _passes(self, item: dict[str, Any]) -> bool:
        pattern = item["pattern"]["key"] if item["pattern"] else "none"
        wanted = (
            (self.pattern, pattern),
            (self.blamed, item["blamed"]["prototype"]),
            (self.truth, item["truth"]),
            (self.predicted, item["predicted"]),
            (self.split, item["split"]),
            (self.marked, item["mark"] is not None),
        )
        return (
            all(asked is None or asked == there for asked, there in wanted)
            and (self.prototype is None or self.prototype in item["trajectory"])
            and _between(item["n_sentences"], self.min_sentences, self.max_sentences)
            and _between(item["confidence"], self.min_confidence, self.max_confidence)
        )


Filters = Annotated[Filter, Depends()]


@dataclass(frozen=True)
class Found:
    """All mistakes of one version.

    Parameters
    ----------
    version
        The version.
    n_documents
        How many documents were read.
    items
        The mistakes, without marks.
    filters
        What there is to filter by.
    """

    version: str
    n_documents: int
    items: tuple[dict[str, Any], ...]
    filters: dict[str, Any]

    def marked(self, marks: dict[str, Mark]) -> list[dict[str, Any]]:
        """Return the mistakes with their marks."""
        found = []
        for item in self.items:
            mark = marks.get(text_key(item["text"]))
            found.append({**item, "mark": mark.to_dict() if mark else None})
        return found


def find_mistakes(desk: Desk) -> Found | Job:
    """Return all mistakes of the present version, or the job that looks for them."""
    desk.table()
    served = desk.served
    version, model = served.version, served.classifier.model_

    def look(progress: Progress) -> Found:
        def reading(share: float, message: str) -> None:
            progress(0.6 * share, message)

        prepared = desk.prepared(served, reading)
        return _found(version, model, prepared, progress)

    return desk.computed.ask(("mistakes", desk.home, version), "mistakes", look)


def found_view(found: Found) -> dict[str, Any]:
    """Return what is told beside a page of mistakes."""
    return {
        "version": found.version,
        "n_documents": found.n_documents,
        "n_mistakes": len(found.items),
        "filters": found.filters,
    }


def csv_rows(items: Iterable[dict[str, Any]]) -> Iterable[Sequence[Any]]:
    """Return mistakes as rows of a table with the columns `CSV_HEADER`."""
    for item in items:
        blamed, pattern, mark = item["blamed"], item["pattern"], item["mark"]
        yield (
            item["row"],
            item["split"],
            item["text"],
            item["truth"],
            item["predicted"],
            round(item["confidence"], 6),
            item["n_sentences"],
            blamed["text"],
            blamed["prototype"],
            blamed["prototype_sentence"],
            " ".join(map(str, pattern["prototypes"])) if pattern else "",
            bool(mark and mark["wrong_label"]),
            mark["note"] if mark else "",
        )


def _found(version: str, model: Model, prepared: Prepared, progress: Progress) -> Found:
    documents = prepared.held_out
    split_of = dict(zip(documents.rows.tolist(), prepared.splits, strict=True))
    mistakes: list[Mistake] = []
    if len(documents.texts):
        trajectory = model.match(documents.embeddings, documents.sentences.lengths)
        prediction, truth = model.read(trajectory), documents.targets > 0.5
        places = confident_mistakes(model, prediction, truth, len(truth))
        for start in range(0, len(places), _STEP):
            told = f"Explaining mistakes: {start:,} of {len(places):,}"
            progress(0.6 + 0.4 * start / len(places), told)
            some = np.asarray(places[start : start + _STEP])
            mistakes += explain_mistakes(model, documents_at(documents, some))
    items = tuple(_item(mistake, split_of[mistake.row]) for mistake in mistakes)
    return Found(version, len(documents.texts), items, _filters(items))


def _item(mistake: Mistake, split: str) -> dict[str, Any]:
    explanation, sentence = mistake.explanation, mistake.sentence
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
        "pattern": _pattern(explanation.pattern),
        "blamed": {
            "position": mistake.blamed,
            "text": sentence.text,
            "start": sentence.start,
            "end": sentence.end,
            "prototype": sentence.prototype,
            "prototype_sentence": sentence.prototype_sentence,
            "similarity": sentence.similarity,
            "effect": mistake.blamed_effect,
        },
    }


def _pattern(pattern: DecidingPattern | None) -> dict[str, Any] | None:
    if pattern is None:
        return None
    ids = "-".join(map(str, pattern.prototypes))
    return {"key": f"{pattern.label}:{ids}", **pattern.to_dict()}


def _filters(items: Sequence[dict[str, Any]]) -> dict[str, Any]:
    patterns = {item["pattern"]["key"]: item["pattern"] for item in items if item["pattern"]}
    per_pattern = Counter(item["pattern"]["key"] for item in items if item["pattern"])
    sentences = {
        item["blamed"]["prototype"]: item["blamed"]["prototype_sentence"] for item in items
    }
    blamed = Counter(item["blamed"]["prototype"] for item in items)
    return {
        "patterns": [
            {
                "key": key,
                "label": patterns[key]["label"],
                "prototypes": patterns[key]["prototypes"],
                "n": n,
            }
            for key, n in per_pattern.most_common(_MOST_LISTED)
        ],
        "prototypes": [
            {"id": number, "sentence": sentences[number], "n": n}
            for number, n in blamed.most_common(_MOST_LISTED)
        ],
        "truths": sorted({item["truth"] for item in items}),
        "predicted": sorted({item["predicted"] for item in items}),
        "splits": sorted({item["split"] for item in items}),
        "longest": max((item["n_sentences"] for item in items), default=0),
    }


def _between(value: float, low: float | None, high: float | None) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)
