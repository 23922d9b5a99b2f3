"""Routes that only look: documents, prototypes with the sentences around each, and trust."""

import contextlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated, Any

from fastapi import Path, Query
from fastapi.responses import JSONResponse

from protorynet.audit import audit_model
from protorynet.explain import Neighbour, nearest_sentences
from protorynet.files import read_limited, write_atomically
from protorynet.inference import TorchBackend
from protorynet.model import Model
from protorynet.prototypes import Member, Prototype
from protorynet.server.api_shapes import ApiError
from protorynet.server.background import Progress, run_in_pool
from protorynet.server.model_routes import MEMBERS_SHOWN, Name, view_prototype
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
_MOST_NEAREST_MEMBER = 10
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
    """List the prototypes, searched and ordered; those of the draft, if asked for.

    Of each a few members are given: the most typical, or the first that hold the words searched.
    """
    edited, model = _look_at(desk, draft)
    classes = model.labels.names
    found = []
    for item in model.prototypes:
        holding = [each for each in item.members if holds_words(each.sentence, search)]
        told = f"{item.id} {item.caption} {' '.join(item.words)}"
        if holding or holds_words(told, search):
            found.append((item, holding))
    changes = _list_changes(desk.served.classifier.model_, edited) if edited else {}
    shown = {item.id: (holding or list(item.members))[:MEMBERS_SHOWN] for item, holding in found}
    page = paged.of(_sort_prototypes([item for item, _ in found], sort, classes))
    page["items"] = [
        {
            **view_prototype(item),
            "members": [vars(member) for member in shown[item.id]],
            "changed": changes.get(item.id),
        }
        for item in page["items"]
    ]
    return {
        **page,
        "classes": list(classes),
        "draft": edited is not None,
        "stale_figures": model.edits.reader_is_behind,
    }


@router.get("/prototypes/{prototype}/members", dependencies=PREDICT)
@in_pool
def members(
    desk: AtDesk, paged: Paged, prototype: _Id, search: _Words = "", draft: bool = False
) -> dict[str, Any]:
    """List the sentences that a prototype is made of, the most typical first."""
    _, model = _look_at(desk, draft)
    found = model.prototypes[_find(model.prototypes, prototype)]
    chosen = [each for each in found.members if holds_words(f"{each.id} {each.sentence}", search)]
    page = paged.of(chosen)
    return {"id": prototype, **page, "items": [vars(each) for each in page["items"]]}


@router.get("/prototypes/{prototype}/nearest", dependencies=PREDICT, responses=MAY_WAIT)
@in_pool
def nearest(
    desk: AtDesk,
    prototype: _Id,
    n: Annotated[int, Query(ge=1, le=_MOST_NEAREST)] = 10,
    member: Annotated[
        int | None, Query(ge=0, le=2**53, description="Only those matched to this member.")
    ] = None,
    draft: bool = False,
) -> JSONResponse:
    """Show the training sentences most like a prototype, or a member, and where they stand."""
    table, served = desk.table(), desk.served
    edited, model = _look_at(desk, draft)
    state = served.version if edited is None else (edited.id, edited.revision)
    position = _find(model.prototypes, prototype)
    shown: Prototype | Member = model.prototypes[position]
    if member is not None:
        own = model.prototypes[position].members
        shown = own[_find(own, member, "member of this prototype")]
        position = _find(model.prototypes.members, member)

    def look(progress: Progress) -> tuple[tuple[Neighbour, ...], ...]:
        train = desk.prepared(served, progress).train
        reading = TorchBackend(model).read(train.embeddings, train.sentences.lengths)
        k, most = len(model.prototypes), _MOST_NEAREST
        if member is not None:
            reading = replace(reading, prototypes=reading.members)
            k, most = len(model.prototypes.members), _MOST_NEAREST_MEMBER
        return nearest_sentences(reading, train.sentences.texts, train.rows, k, most=most)

    kind = "nearest" if member is None else "nearest to members"
    found = desk.ask(kind, state, look)[position]
    items = [
        {
            "text": neighbour.text,
            "similarity": neighbour.similarity,
            "rows": list(neighbour.rows[:_MOST_ROWS]),
            "n_documents": len(neighbour.rows),
            "documents": [table.view(table.find(row)) for row in neighbour.rows[:_MOST_DOCUMENTS]],
            "member": (like := model.prototypes.members[neighbour.member]).id,
            "member_sentence": like.sentence,
        }
        for neighbour in found[:n]
    ]
    return JSONResponse({"id": prototype, "sentence": shown.sentence, "items": items})


@router.get("/trust", dependencies=PREDICT, responses=MAY_WAIT)
@in_pool
def trust(desk: AtDesk) -> JSONResponse:
    """Tell how far to trust the model: measures with their meanings, and what to mend."""
    table, served = desk.table(), desk.served
    path = desk.home / "trust" / f"{served.version}-{table.digest}.json"

    def work(progress: Progress) -> dict[str, Any]:
        with contextlib.suppress(OSError, ValueError, RecursionError):
            known = json.loads(read_limited(path, _LARGEST_TRUST))
            if isinstance(known, dict) and "verdicts" in known:
                return known
        view = _measure_trust(desk, served, progress)
        # Where nothing can be written, it is computed again after a restart.
        with contextlib.suppress(OSError):
            write_atomically(path, json.dumps(view, ensure_ascii=False))
        return view

    return JSONResponse(desk.ask("trust", (served.version, table.digest), work))


def _look_at(desk: Desk, draft: bool) -> tuple[Draft | None, Model]:
    """Return the draft, if it is asked for and there is one, and the model to look at."""
    edited = present_draft(desk) if draft else None
    return edited, desk.served.classifier.model_ if edited is None else edited.model


def _measure_trust(desk: Desk, served: ServedModel, progress: Progress) -> dict[str, Any]:
    prepared = desk.prepared(served, progress, share=0.4)
    split, held_out = prepared.of_split("test", "validation")
    progress(0.4, "Measuring how faithful the explanations are")
    model = served.classifier.model_
    truth = model.labels.decode(held_out.targets)
    train = None
    if split != HELD_OUT and len(prepared.train.texts):
        train = (list(prepared.train.texts), model.labels.decode(prepared.train.targets))
    evaluation = quiet_copy(served.classifier).evaluate(list(held_out.texts), truth, train=train)
    progress(0.7, "Looking for what would mislead")
    audit, missing = None, None
    if train is None:
        missing = (
            "An audit compares training texts with others, but the table given with --data does "
            "not name both: add a column 'split' of 'train' and 'test'."
        )
    else:
        floor = evaluation.bag_of_words_accuracy
        audit = audit_model(model, prepared.train, held_out, floor=floor).to_dict()
    return {
        "version": served.version,
        "split": split,
        **evaluation.to_dict(),
        "measures": [vars(measure) for measure in evaluation.measures],
        "audit": audit,
        "audit_missing": missing,
    }


def _find(items: Iterable[Prototype | Member], number: int, what: str = "prototype") -> int:
    for position, item in enumerate(items):
        if item.id == number:
            return position
    code = f"unknown_{what.split()[0]}"
    raise ApiError(404, code, f"there is no {what} of this id.")


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
    """Return what the draft did to the prototypes it has."""
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
            found[item.id] = "new"
            continue
        is_single = len(item.members) == len(old.members) == 1
        regrouped = {each.id for each in item.members} != {each.id for each in old.members}
        changes = {
            "replaced": is_single and item.sentence != old.sentence,
            "renamed": item.name != old.name,
            "merged into": item.id in into,
            "regrouped": regrouped and item.id not in into and not is_single,
        }
        found[item.id] = " and ".join(word for word, holds in changes.items() if holds)
    return {number: words for number, words in found.items() if words}
