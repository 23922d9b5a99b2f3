"""Routes that only look: documents, prototypes with the sentences around each, and trust."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Path, Query
from fastapi.responses import JSONResponse

from protorynet.audit import audit_model
from protorynet.explain import Neighbour, nearest_sentences
from protorynet.files import read_limited, write_atomically
from protorynet.inference import TorchBackend
from protorynet.model import Model
from protorynet.prototypes import Prototype
from protorynet.server.api_shapes import ApiError
from protorynet.server.background import Progress, run_in_pool
from protorynet.server.model_routes import Name
from protorynet.server.served_models import ServedModel
from protorynet.server.workbench.desk import (
    MAY_WAIT,
    PREDICT,
    AtDesk,
    Desk,
    Paged,
    explain_text,
    in_pool,
    make_router,
)
from protorynet.server.workbench.desk_folders import Draft
from protorynet.server.workbench.draft_routes import present_draft
from protorynet.server.workbench.labelled_table import HELD_OUT, holds_words, quiet_copy

_MOST_NEAREST, _MOST_ROWS, _MOST_DOCUMENTS = 50, 100, 3
_LARGEST_TRUST = 64 * 2**20

_Row = Annotated[int, Path(ge=0, le=2**53, description="Row of the table, counted from 0.")]
_Id = Annotated[int, Path(ge=0, le=2**53, description="Id of the prototype.")]
_Words = Annotated[str, Query(max_length=200)]

router = make_router()


@router.get("/documents", dependencies=PREDICT)
@in_pool
def documents(
    desk: AtDesk,
    paged: Paged,
    search: _Words = "",
    split: Annotated[str | None, Query(max_length=20)] = None,
) -> dict[str, Any]:
    """List the documents of the table that the server was started with."""
    table = desk.workbench.table()
    positions: Sequence[int] = range(len(table))
    if split is not None:
        positions = [n for n in positions if table.splits[n] == split]
    if search.strip():
        positions = [n for n in positions if holds_words(table.texts[n], search)]
    page = paged.of(positions)
    page["items"] = [
        {**table.view(n), "n_characters": len(table.texts[n]), "split": table.splits[n]}
        for n in page["items"]
    ]
    return {**page, "splits": table.split_counts}


@router.get("/documents/{row}", dependencies=PREDICT)
async def document(name: Name, desk: AtDesk, row: _Row) -> dict[str, Any]:
    """Show one document of the table, with the model's reasons."""
    table = await run_in_pool(desk.app, desk.workbench.table)
    position = table.find(row)
    text = table.texts[position]
    reasons = await explain_text(desk, name, text)
    whole = {"text": text, "split": table.splits[position], "explanation": reasons}
    return {**table.view(position), **whole}


@router.get("/prototypes/page", dependencies=PREDICT)
@in_pool
def prototypes_page(
    desk: AtDesk,
    paged: Paged,
    search: _Words = "",
    sort: Annotated[str, Query(max_length=1_000)] = "usage",
    draft: bool = False,
) -> dict[str, Any]:
    """List the prototypes, searched and ordered; those of the draft, if asked for."""
    edited = present_draft(desk) if draft else None
    base = desk.served.classifier.model_
    model = base if edited is None else edited.model
    classes = model.labels.names
    found = [item for item in model.prototypes if holds_words(f"{item.id} {item.caption}", search)]
    changes = {} if edited is None else _list_changes(base, edited)
    items = [
        {**item.to_dict(), "changed": changes.get(item.id)}
        for item in _sort_prototypes(found, sort, classes)
    ]
    return {
        **paged.of(items),
        "classes": list(classes),
        "draft": edited is not None,
        "stale_figures": model.edits.reader_is_behind,
    }


@router.get("/prototypes/{prototype}/nearest", dependencies=PREDICT, responses=MAY_WAIT)
@in_pool
def nearest(
    desk: AtDesk,
    prototype: _Id,
    n: Annotated[int, Query(ge=1, le=_MOST_NEAREST)] = 10,
    draft: bool = False,
) -> JSONResponse:
    """Show the training sentences most like a prototype, and where they stand."""
    table = desk.table()
    served, edited = desk.served, present_draft(desk) if draft else None
    model = served.classifier.model_ if edited is None else edited.model
    state = served.version if edited is None else (edited.id, edited.revision)
    positions = {item.id: position for position, item in enumerate(model.prototypes)}
    if prototype not in positions:
        raise ApiError(404, "unknown_prototype", "there is no prototype of this id.")

    def look(progress: Progress) -> tuple[tuple[Neighbour, ...], ...]:
        train = desk.prepared(served, progress).train
        reading = TorchBackend(model).read(train.embeddings, train.sentences.lengths)
        texts, k = train.sentences.texts, len(model.prototypes)
        return nearest_sentences(reading, texts, train.rows, k, most=_MOST_NEAREST)

    found = desk.ask("nearest", state, look)[positions[prototype]]
    items = [
        {
            "text": neighbour.text,
            "similarity": neighbour.similarity,
            "rows": list(neighbour.rows[:_MOST_ROWS]),
            "n_documents": len(neighbour.rows),
            "documents": [table.view(table.find(row)) for row in neighbour.rows[:_MOST_DOCUMENTS]],
        }
        for neighbour in found[:n]
    ]
    sentence = model.prototypes[positions[prototype]].sentence
    return JSONResponse({"id": prototype, "sentence": sentence, "items": items})


@router.get("/trust", dependencies=PREDICT, responses=MAY_WAIT)
@in_pool
def trust(desk: AtDesk) -> JSONResponse:
    """Tell how far to trust the model: measures with their meanings, and what to mend."""
    table, served = desk.table(), desk.served
    path = desk.home / "trust" / f"{served.version}-{table.digest}.json"

    def work(progress: Progress) -> dict[str, Any]:
        with contextlib.suppress(OSError, ValueError, RecursionError):
            known = json.loads(read_limited(path, _LARGEST_TRUST))
            if isinstance(known, dict) and "measures" in known:
                return known
        view = _measure_trust(desk, served, progress)
        # Where nothing can be written, it is computed again after a restart.
        with contextlib.suppress(OSError):
            write_atomically(path, json.dumps(view, ensure_ascii=False))
        return view

    return JSONResponse(desk.ask("trust", (served.version, table.digest), work))


def _measure_trust(desk: Desk, served: ServedModel, progress: Progress) -> dict[str, Any]:
    prepared = desk.prepared(served, progress, share=0.4)
    split, held_out = prepared.of_split("test", "validation")
    progress(0.4, "Measuring how faithful the explanations are")
    model = served.classifier.model_
    truth = model.labels.decode(held_out.targets)
    evaluation = quiet_copy(served.classifier).evaluate(list(held_out.texts), truth)
    progress(0.7, "Looking for what would mislead")
    audit, missing = None, None
    if split == HELD_OUT or not len(prepared.train.texts):
        missing = (
            "An audit compares training texts with others, but the table given with --data does "
            "not name both: add a column 'split' of 'train' and 'test'."
        )
    else:
        audit = audit_model(model, prepared.train, held_out).to_dict()
    return {
        "version": served.version,
        "split": split,
        "accuracy": evaluation.accuracy,
        "macro_f1": evaluation.macro_f1,
        "n_documents": evaluation.n_documents,
        "n_prototypes": evaluation.n_prototypes,
        "measures": [vars(measure) for measure in evaluation.measures],
        "audit": audit,
        "audit_missing": missing,
    }


def _sort_prototypes(
    items: list[Prototype], sort: str, classes: tuple[str, ...]
) -> list[Prototype]:
    """Return prototypes in an order: shares fall and texts rise, unless ``-`` turns it round."""
    kind, _, label = sort.removeprefix("-").partition(":")
    reverse = sort.startswith("-")
    if kind in ("score", "rate") and label in classes:
        attribute = "scores" if kind == "score" else "class_rate"
        return sorted(items, key=lambda p: (-getattr(p, attribute)[label], p.id), reverse=reverse)
    keys: dict[str, Any] = {
        "usage": lambda item: (-item.usage, item.id),
        "id": lambda item: item.id,
        "name": lambda item: (item.name is None, (item.name or "").casefold(), item.id),
        "sentence": lambda item: (item.sentence.casefold(), item.id),
    }
    if label or kind not in keys:
        raise ApiError(
            422,
            "bad_sort",
            "sort should be usage, id, name, sentence, score:CLASS or rate:CLASS, with - before "
            "it to turn it round.",
        )
    return sorted(items, key=keys[kind], reverse=reverse)


def _list_changes(base: Model, draft: Draft) -> dict[int, str]:
    """Return what the draft did to the prototypes that are left."""
    before = {item.id: item for item in base.prototypes}
    into = {
        change.into
        for entry in draft.entries
        if entry.undone is None
        for change in entry.changes
        if change.kind == "merge"
    }
    found = {}
    for item in draft.model.prototypes:
        old = before.get(item.id)
        if old is None:
            continue
        changes = {
            "replaced": item.sentence != old.sentence,
            "renamed": item.name != old.name,
            "merged into": item.id in into,
        }
        found[item.id] = " and ".join(word for word, holds in changes.items() if holds)
    return {number: words for number, words in found.items() if words}
