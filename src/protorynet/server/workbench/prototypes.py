"""The prototypes as the workbench lists them, and the real sentences around each."""

from __future__ import annotations

from typing import Any

from protorynet.explain import Neighbour, nearest_sentences
from protorynet.model import Model
from protorynet.prototypes import Prototype
from protorynet.server.failures import ApiError
from protorynet.server.jobs import Job, Progress
from protorynet.server.workbench.desk import Desk
from protorynet.server.workbench.drafts import Draft
from protorynet.server.workbench.editing import present_draft
from protorynet.server.workbench.paging import beginning
from protorynet.server.workbench.table import label_text

__all__ = ["MOST_NEAREST", "listed_prototypes", "nearest_view", "ordered"]

MOST_NEAREST = 50
_SHOWN_ROWS, _SHOWN_DOCUMENTS = 100, 3


def listed_prototypes(desk: Desk, *, draft: bool, search: str, sort: str) -> dict[str, Any]:
    """Return the prototypes that hold some words, ordered, and what to know of all of them."""
    edited = present_draft(desk) if draft else None
    base = desk.served.classifier.model_
    model = base if edited is None else edited.model
    words = search.casefold().split()
    found = [item for item in model.prototypes if _holds(item, words)]
    changes = _changes(base, edited)
    items = [
        {**item.to_dict(), "changed": changes.get(item.id)}
        for item in ordered(found, sort, model.labels.names)
    ]
    return {
        "items": items,
        "classes": list(model.labels.names),
        "draft": edited is not None,
        "stale_figures": model.edits.reader_is_behind,
    }


def ordered(items: list[Prototype], sort: str, classes: tuple[str, ...]) -> list[Prototype]:
    """Return prototypes in an order: shares fall and texts rise, unless ``-`` turns it round.

    Examples
    --------
    >>> few = Prototype(1, "Few.", 0, 0.1, {}, {})
    >>> many = Prototype(2, "Many.", 0, 0.9, {}, {})
    >>> [item.id for item in ordered([few, many], "usage", ())]
    [2, 1]
    >>> [item.id for item in ordered([few, many], "-sentence", ())]
    [2, 1]
    """
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


def nearest_view(desk: Desk, number: int, n: int, *, draft: bool) -> dict[str, Any] | Job:
    """Return the training sentences most like a prototype, or the job that looks for them."""
    table = desk.table()
    served, edited = desk.served, present_draft(desk) if draft else None
    model = served.classifier.model_ if edited is None else edited.model
    state = served.version if edited is None else (edited.id, edited.revision)
    columns = {item.id: column for column, item in enumerate(model.prototypes)}
    if number not in columns:
        raise ApiError(404, "unknown_prototype", "there is no prototype of this id.")

    def look(progress: Progress) -> tuple[tuple[Neighbour, ...], ...]:
        documents = desk.prepared(served, progress).train
        trajectory = model.match(documents.embeddings, documents.sentences.lengths)
        texts, rows = documents.sentences.texts, documents.rows
        return nearest_sentences(trajectory, texts, rows, len(model.prototypes), most=MOST_NEAREST)

    found = desk.computed.ask(("nearest", desk.home, state), "nearest", look)
    if isinstance(found, Job):
        return found
    column = columns[number]
    items = []
    for neighbour in found[column][:n]:
        places = [table.place_of[row] for row in neighbour.rows[:_SHOWN_DOCUMENTS]]
        items.append(
            {
                "text": neighbour.text,
                "similarity": neighbour.similarity,
                "rows": list(neighbour.rows[:_SHOWN_ROWS]),
                "n_documents": len(neighbour.rows),
                "documents": [
                    {
                        "row": int(table.rows[place]),
                        "label": label_text(table.labels[place]),
                        "text": beginning(table.texts[place]),
                    }
                    for place in places
                ],
            }
        )
    return {"id": number, "sentence": model.prototypes[column].sentence, "items": items}


def _holds(item: Prototype, words: list[str]) -> bool:
    text = f"{item.id} {item.caption}".casefold()
    return all(word in text for word in words)


def _changes(base: Model, draft: Draft | None) -> dict[int, str]:
    """Return what the draft did to the prototypes that are left."""
    if draft is None:
        return {}
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
        if item.id not in before:
            continue
        old = before[item.id]
        named = {"replaced": item.sentence != old.sentence, "renamed": item.name != old.name}
        words = [word for word, holds in named.items() if holds]
        words += ["merged into"] if item.id in into else []
        if words:
            found[item.id] = " and ".join(words)
    return found
