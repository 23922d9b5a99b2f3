"""Editing a draft, training its reader, and publishing it as a version."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protorynet.errors import EncoderError, InputError, ModelFormatError
from protorynet.progress import progress_told
from protorynet.prototypes import EditEntry, Edits
from protorynet.server.failures import ApiError
from protorynet.server.jobs import Job, JobView, Progress
from protorynet.server.store import ServedModel, folder_version
from protorynet.server.workbench.desk import Desk, writing
from protorynet.server.workbench.drafts import Draft, save_beside
from protorynet.server.workbench.prepared import quiet_copy, to_learn_from
from protorynet.server.workbench.versions import Version, moment
from protorynet.training import edit_model, retrain_reader

if TYPE_CHECKING:
    from protorynet.model import Model

__all__ = [
    "discard",
    "draft_view",
    "edit",
    "present_draft",
    "publish",
    "restore",
    "retrain",
    "undo",
    "versions_view",
]

_RETRAINING = (
    "accuracy_before",
    "accuracy_edited",
    "accuracy_after",
    "n_documents",
    "n_held_out",
    "seconds",
)


def present_draft(desk: Desk) -> Draft | None:
    """Return the draft, if there is one."""
    with desk.lock:
        served = desk.served
        try:
            draft = desk.drafts.read(device=str(served.classifier.model_.device))
        except ModelFormatError:
            raise ApiError(
                409,
                "draft_damaged",
                "the draft on disk is damaged. Discard it (DELETE /draft) and begin anew.",
            ) from None
        if draft is None or draft.base_version == served.version:
            return draft
        # Killed after it was published and before it was removed.
        if any(version.draft == draft.id for version in desk.versions.read().versions):
            desk.drafts.delete()
            return None
        return draft


def draft_view(desk: Desk) -> dict[str, Any]:
    """Return what clients see of the draft."""
    draft, served = present_draft(desk), desk.served
    model = served.classifier.model_ if draft is None else draft.model
    job = desk.retraining if desk.retraining and not desk.retraining.ended else None
    return {
        "exists": draft is not None,
        "revision": draft.revision if draft else 0,
        "base_version": draft.base_version if draft else served.version,
        "stale": draft is not None and draft.base_version != served.version,
        "can_undo": draft is not None and draft.can_undo,
        "reader_is_behind": model.edits.reader_is_behind,
        "n_prototypes": len(model.prototypes),
        "edits": [_entry(entry) for entry in draft.entries] if draft else [],
        "job": JobView.model_validate(job, from_attributes=True).model_dump() if job else None,
    }


def edit(desk: Desk, edits: Edits, revision: int | None) -> dict[str, Any]:
    """Make edits in the draft, which is begun if there is none."""
    if not edits:
        raise InputError("there is nothing to do: name at least one edit.")
    with desk.lock:
        draft = _open_draft(desk)
        if revision is not None and revision != draft.revision:
            raise ApiError(
                409,
                "draft_changed",
                f"the draft is at revision {draft.revision}, not {revision}: somebody edited it "
                "meanwhile. Load it again.",
            )
        model = edit_model(draft.model, edits, desk.served.classifier.encoder_)
        _keep(desk, draft.changed(model))
        return draft_view(desk)


def undo(desk: Desk) -> dict[str, Any]:
    """Undo the last edit of the draft."""
    with desk.lock:
        draft = _open_draft(desk)
        if not draft.can_undo:
            raise ApiError(409, "nothing_to_undo", "the draft has no edit that can be undone.")
        _keep(desk, draft.changed(draft.model.undone()))
        return draft_view(desk)


def discard(desk: Desk) -> None:
    """Forget the draft."""
    with desk.lock:
        _refuse_if_busy(desk)
        with writing("the end of the draft"):
            desk.drafts.delete()


def retrain(desk: Desk) -> Job:
    """Start to train the reader of the draft again, on the table's training documents."""
    table = desk.table()
    if not len(table.training):
        raise ApiError(
            409,
            "no_training_rows",
            "no row of --data has split 'train', so there is nothing to train the reader on.",
        )
    with desk.lock:
        draft = _open_draft(desk)
        jobs = desk.workbench.app.state.jobs
        desk.retraining = jobs.start(
            "retrain", lambda progress: _retrained(desk, draft, progress), scope="edit"
        )
        return desk.retraining


def publish(desk: Desk, note: str) -> dict[str, Any]:
    """Make the draft a version, and serve it."""
    with desk.lock:
        draft = _open_draft(desk)
        if not draft.has_edits:
            raise ApiError(
                409, "nothing_to_publish", "the draft has no edits. Edit or retrain it first."
            )
        served, versions = desk.served, desk.versions
        number, ledger = versions.next_number(), versions.read()
        if served.version not in (ledger.base, *(each.version for each in ledger.versions)):
            raise ApiError(
                409,
                "model_changed",
                "the model directory has changed on disk since the server read it. Restore "
                "version 1 to serve what it holds now, or start the server again.",
            )
        path = versions.path(number)
        with writing("the new version"):
            save_beside(draft.model, path, encoder=_encoder_folder(served))
            version = folder_version(path)
            fresh = Version(number, version, moment(), note, len(draft.model.prototypes), draft.id)
            # From here on it is the version that a restart serves.
            versions.write(replace(ledger, current=number, versions=(*ledger.versions, fresh)))
        _serve(desk, path, draft.model)
        desk.drafts.delete()
        return {
            "number": number,
            "version": version,
            "folder": f"{desk.home.name}/versions/{number}",
            "draft": draft_view(desk),
        }


def restore(desk: Desk, number: int) -> dict[str, Any]:
    """Serve an older version again."""
    with desk.lock:
        _refuse_if_busy(desk)
        ledger = desk.versions.read()
        if number != 1 and ledger.find(number) is None:
            known = ", ".join(["1", *(str(each.number) for each in ledger.versions)])
            raise ApiError(404, "unknown_version", f"there is no such version; there are {known}.")
        try:
            for name in desk.names:
                desk.store.replace(name, desk.versions.path(number))
        except (EncoderError, InputError, ModelFormatError) as error:
            message = str(error).replace(f"{desk.home.parent}/", "")
            raise ApiError(409, "version_damaged", f"it cannot be served: {message}") from None
        with writing("the choice of the version"):
            desk.versions.write(replace(ledger, current=number))
        return versions_view(desk)


def versions_view(desk: Desk) -> dict[str, Any]:
    """Return what clients see of the versions."""
    ledger = desk.versions.read()
    first = {"number": 1, "version": ledger.base, "when": None, "note": "", "n_prototypes": None}
    others = [
        {name: value for name, value in vars(each).items() if name != "draft"}
        for each in ledger.versions
    ]
    items = [{**item, "current": item["number"] == ledger.current} for item in [first, *others]]
    return {"current": ledger.current, "items": items}


def _open_draft(desk: Desk) -> Draft:
    """Return the draft for changing it, begun if there is none."""
    _refuse_if_busy(desk)
    draft, served = present_draft(desk), desk.served
    if draft is None:
        return Draft.begun(served.version, served.classifier.model_)
    if draft.base_version != served.version:
        raise ApiError(
            409,
            "draft_stale",
            "another version of the model is served since the draft was begun. Discard the draft "
            "(DELETE /draft), or restore the version it was begun from.",
        )
    return draft


def _refuse_if_busy(desk: Desk) -> None:
    if desk.retraining is not None and not desk.retraining.ended:
        raise ApiError(
            409,
            "draft_busy",
            "the reader of the draft is being trained. Wait until that has ended.",
            headers={"Retry-After": "5"},
        )


def _retrained(desk: Desk, draft: Draft, progress: Progress) -> dict[str, Any]:
    def reading(share: float, message: str) -> None:
        progress(0.5 * share, message)

    documents = to_learn_from(desk.prepared(desk.served, reading).train)
    progress(0.5, "Training the reader")
    own = quiet_copy(desk.served.classifier)
    with progress_told(lambda _, share: progress(0.5 + 0.3 * share, "Training the reader")):
        trained = retrain_reader(draft.model, edit_model(draft.model, Edits(), None), documents)
    progress(0.8, "Summarising what the model does")
    model = own._summarised(trained)
    progress(0.95, "Saving the draft")
    with desk.lock:
        _keep(desk, draft.changed(model))
    return {**draft_view(desk), "job": None}


def _keep(desk: Desk, draft: Draft) -> None:
    with writing("the draft"):
        desk.drafts.write(draft, encoder=_encoder_folder(desk.served))


def _serve(desk: Desk, path: Path, model: Model) -> None:
    app = desk.workbench.app
    for name in desk.names:
        classifier = copy.copy(desk.store.get(name).classifier)
        classifier.model_ = model
        desk.store.replace(name, path, classifier=classifier)
        app.state.metrics.reload(name)


def _encoder_folder(served: ServedModel) -> Path | None:
    tuned = served.classifier.model_.encoder.tuned
    return served.folder / "encoder" if tuned else None


def _entry(entry: EditEntry) -> dict[str, Any]:
    retraining = None
    if entry.retraining is not None:
        retraining = {name: getattr(entry.retraining, name) for name in _RETRAINING}
    return {
        "number": entry.number,
        "when": entry.when,
        "changes": [{**vars(change), "text": str(change)} for change in entry.changes],
        "retraining": retraining,
        "undone": entry.undone is not None,
    }
