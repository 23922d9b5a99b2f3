"""Routes that only look: documents, prototypes with the sentences around each, and trust."""

import contextlib
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Annotated, Any

import numpy as np
from fastapi import Path, Query
from fastapi.responses import JSONResponse

from protorynet.explain import Evaluation, Neighbour, nearest_sentences
from protorynet.files import read_limited, write_atomically
from protorynet.inference import TorchBackend
from protorynet.model import Model
from protorynet.prototypes import Member, Prototype
from protorynet.server.api_shapes import refusal
from protorynet.server.background import Progress
from protorynet.server.config import own_table, workbench_folder
from protorynet.server.model_routes import MEMBERS_SHOWN, Name, view_prototype
from protorynet.server.served_models import folder_version
from protorynet.server.workbench.desk import (
    MAY_WAIT,
    PREDICT,
    AtDesk,
    Desk,
    Draft,
    Paged,
    explain_text,
    in_pool,
    make_router,
)
from protorynet.server.workbench.draft_routes import present_draft
from protorynet.server.workbench.labelled_table import (
    DataTable,
    Prepared,
    holds_words,
    prepare,
    quiet_copy,
    read_data,
)

_MOST_NEAREST, _MOST_ROWS, _MOST_DOCUMENTS = 50, 100, 3
_MOST_NEAREST_MEMBER = 10
_FAR_OFF = 2
_LARGEST_TRUST = 64 * 2**20
_NO_AUDIT = (
    "An audit compares the texts that a model was trained on with others, but the table given with "
    "--data does not name both: add a column 'split' of 'train' and 'test'."
)

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
    whole: Annotated[bool, Query(description="Give whole texts, not their beginnings.")] = False,
) -> dict[str, Any]:
    """List the documents of the table that the server was started with."""
    table = desk.workbench.table()
    positions = [
        n
        for n, text in enumerate(table.texts)
        if split in (None, table.splits[n]) and holds_words(text, search)
    ]
    page, labels = paged.of(positions), desk.served.model.labels
    page["items"] = [
        {**table.view(n, labels), "n_characters": len(table.texts[n]), "split": table.splits[n]}
        | ({"text": table.texts[n]} if whole else {})
        for n in page["items"]
    ]
    return {**page, "splits": table.split_counts}


@router.get("/documents/{row}", dependencies=PREDICT)
async def document(name: Name, desk: AtDesk, row: _Row) -> dict[str, Any]:
    """Show one document of the table, with the model's reasons."""
    table = await desk.pool.run(desk.workbench.table)
    position = table.find(row)
    text = table.texts[position]
    reasons = await explain_text(desk, name, text)
    whole = {"text": text, "split": table.splits[position], "explanation": reasons}
    return {**table.view(position, desk.served.model.labels), **whole}


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

    Of each a few members are given: the most typical, or the first that hold the words searched;
    and the least typical. `meaning` ranks them so that neighbours say like things.
    """
    edited, model = _look_at(desk, draft)
    classes = model.labels.names
    found = []
    for item in model.prototypes:
        holding = [each for each in item.members if holds_words(each.sentence, search)]
        named = f"{item.id} {item.caption} {' '.join(item.words)}"
        if holding or holds_words(named, search):
            found.append((item, holding))
    changes = _list_changes(desk.served.model, edited) if edited else {}
    shown = {item.id: (holding or list(item.members))[:MEMBERS_SHOWN] for item, holding in found}
    page = paged.of(_sort_prototypes([item for item, _ in found], sort, classes))
    meaning = dict(zip(model.prototypes.ids.tolist(), _rank_by_meaning(model), strict=True))
    page["items"] = [
        {
            **view_prototype(item),
            "members": [vars(member) for member in shown[item.id]],
            "far_off": [each.sentence for each in item.members[MEMBERS_SHOWN:][-_FAR_OFF:]],
            "meaning": meaning[item.id],
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
        shown = own[_find(own, member, "member")]
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
            "documents": [
                table.view(table.find(row), model.labels)
                for row in neighbour.rows[:_MOST_DOCUMENTS]
            ],
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

    def work(progress: Progress) -> dict[str, Any]:
        with contextlib.suppress(OSError, ValueError, RecursionError):
            path = _trust_path(desk.home, served.version, table)
            known = json.loads(read_limited(path, _LARGEST_TRUST))
            if isinstance(known, dict) and {"note", "verdicts"} <= known.keys():
                return known
        prepared = desk.prepared(served, progress, share=0.4)
        progress(0.4, "Measuring how faithful the explanations are")
        own = quiet_copy(served.classifier)
        documents = prepared.to_measure()[1]
        truth = own.model_.labels.decode(documents.targets)
        train = prepared.to_audit()
        given = None
        if train is not None:
            given = (list(train.texts), own.model_.labels.decode(train.targets))
        evaluation = own.evaluate(list(documents.texts), truth, train=given)
        progress(0.7, "Looking for what would mislead")
        return _keep_trust(desk.home, served.version, table, own.model_, prepared, evaluation)

    return JSONResponse(desk.ask("trust", (served.version, table.digest), work))


def store_trust(model: FilePath, evaluation: Evaluation) -> None:
    """Keep an evaluation, on the test rows of a model's own table, for the page Trust."""
    from protorynet.classifier import ProtoryNetClassifier

    classifier, table = ProtoryNetClassifier.load(model), read_data(own_table(model))
    prepared = prepare(classifier, table, lambda *_: None)
    version, home = folder_version(model), workbench_folder(model)
    _keep_trust(home, version, table, classifier.model_, prepared, evaluation)


def _trust_path(home: FilePath, version: str, table: DataTable) -> FilePath:
    return home / "trust" / f"{version}-{table.digest}.json"


def _look_at(desk: Desk, draft: bool) -> tuple[Draft | None, Model]:
    """Return the draft, if it is asked for and there is one, and the model to look at."""
    edited = present_draft(desk) if draft else None
    return edited, desk.served.model if edited is None else edited.model


def _keep_trust(
    home: FilePath,
    version: str,
    table: DataTable,
    model: Model,
    prepared: Prepared,
    evaluation: Evaluation,
) -> dict[str, Any]:
    split, documents = prepared.to_measure()
    train = prepared.to_audit()
    audit = None
    if train is not None:
        floor = evaluation.bag_of_words_accuracy
        from protorynet.audit import audit_model

        audited = audit_model(model, train, documents, floor=floor)
        audit = audited.to_dict()
        for found, finding in zip(audit["findings"], audited.findings, strict=True):
            found["title"] = finding.title
    view = {
        **evaluation.to_dict(),
        "version": version,
        "split": split,
        "note": prepared.note,
        "bag_of_words_in_training": model.training.bag_of_words_accuracy,
        "measures": [vars(measure) for measure in evaluation.measures],
        "audit": audit,
        "audit_missing": None if audit else _NO_AUDIT,
    }
    # Where nothing can be written, it is computed again after a restart.
    with contextlib.suppress(OSError):
        write_atomically(_trust_path(home, version, table), json.dumps(view, ensure_ascii=False))
    return view


def _find(items: Iterable[Prototype | Member], number: int, kind: str = "prototype") -> int:
    for position, item in enumerate(items):
        if item.id == number:
            return position
    raise refusal(f"unknown_{kind}")


def _rank_by_meaning(model: Model) -> list[int]:
    """Rank the prototypes along the line that parts their meanings best, their scores aside."""
    vectors, sizes = model.network.members.cpu().numpy(), np.asarray(model.prototypes.sizes)
    means = np.add.reduceat(vectors, np.cumsum(sizes) - sizes) / sizes[:, None]
    scores = np.array([[1.0, *list(item.scores.values())[1:]] for item in model.prototypes])
    rest = means - scores @ np.linalg.lstsq(scores, means)[0]
    line = np.linalg.svd(rest, full_matrices=False)[0][:, 0]
    ranks: list[int] = np.argsort(np.argsort(line, kind="stable"), kind="stable").tolist()
    return ranks


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
        raise refusal("bad_sort")
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
