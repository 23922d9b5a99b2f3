"""The draft: edited, undone, trained, compared with what is served, and published as a version."""

from dataclasses import replace
from functools import partial
from pathlib import Path as FilePath
from typing import Annotated, Any

import numpy as np
from fastapi import Path
from fastapi.responses import JSONResponse
from pydantic import Field

from protorynet.errors import EncoderError, InputError, ModelFormatError
from protorynet.explain import LabelledDocuments
from protorynet.figures import measure_figures
from protorynet.inference import Predictor, TorchBackend
from protorynet.model import Model
from protorynet.progress import progress_told
from protorynet.prototypes import EditEntry, Edits
from protorynet.reading import Reading
from protorynet.records import moment
from protorynet.server.api_shapes import Body, Text, refusal
from protorynet.server.background import Progress
from protorynet.server.served_models import ServedModel, folder_version
from protorynet.server.workbench.desk import (
    EDIT,
    MAY_WAIT,
    PREDICT,
    AtDesk,
    Desk,
    Draft,
    Version,
    WorkingView,
    in_pool,
    make_router,
    writing,
)
from protorynet.server.workbench.labelled_table import quiet_copy, shorten
from protorynet.storage import save_model

_MOST_EDITS = 1_000
_MOST_CHANGED_SHOWN = 50
_NOT_SHOWN = ("data_sha256", "seed", "moved")  # of how the reader was trained again
_many = partial(Field, max_length=_MOST_EDITS)
_Id = Annotated[int, Field(ge=0, le=2**53)]
_Key = Annotated[int, Field(ge=0, le=2**53, strict=False)]  # keys of JSON objects are texts
_Sentence = Annotated[Text, Field(max_length=10_000)]

router = make_router()


class AddedSentence(Body):
    """A sentence typed by hand that becomes a member of a prototype."""

    prototype: _Id = Field(examples=[3])
    sentence: _Sentence = Field(examples=["We waited an hour for the key."])


class EditsBody(Body):
    """Edits to be made together."""

    drop: list[_Id] = _many(default=[], examples=[[7]])
    merge: list[Annotated[list[_Id], Field(min_length=2, max_length=2)]] = _many(
        default=[],
        description="Pairs of ids: the first stays and takes the second's members.",
        examples=[[[3, 5]]],
    )
    replace: dict[_Key, _Sentence] = _many(
        default={},
        description="New sentences for prototypes of one member.",
        examples=[{"4": "The room was cold."}],
    )
    rename: dict[_Key, _Sentence] = _many(default={}, examples=[{"3": "slow service"}])
    move: dict[_Key, _Id] = _many(
        default={},
        description="Ids of members, each with the prototype that it shall belong to.",
        examples=[{"471": 12}],
    )
    split: list[Annotated[list[_Id], _many(min_length=1)]] = _many(
        default=[],
        description="Lists of members of one prototype, each to become a new prototype.",
        examples=[[[471, 480]]],
    )
    drop_members: list[_Id] = _many(default=[], examples=[[466]])
    add: list[AddedSentence] = _many(default=[], description="New members, typed by hand.")
    revision: int | None = Field(
        default=None,
        ge=0,
        description="The revision that was seen; another one is refused.",
        examples=[0],
    )

    def edits(self) -> Edits:
        """Return the edits in the package's own form."""
        groups: dict[int, list[int]] = {}
        for kept, removed in self.merge:
            groups.setdefault(kept, [kept]).append(removed)
        return Edits.of(
            drop=self.drop,
            merge=groups.values(),
            replace=self.replace,
            rename=self.rename,
            move=self.move,
            split=self.split,
            drop_members=self.drop_members,
            add=[(each.prototype, each.sentence) for each in self.add],
        )


class PublishBody(Body):
    """What to say of a new version."""

    note: Annotated[Text, Field(max_length=500)] = Field(
        default="", examples=["Names for all prototypes."]
    )


@router.get("/draft", dependencies=PREDICT)
@in_pool
def draft(desk: AtDesk) -> dict[str, Any]:
    """Show the draft: what was edited since the model was last published."""
    return _view_draft(desk)


@router.post("/draft/edits", dependencies=EDIT)
@in_pool
def draft_edits(desk: AtDesk, body: EditsBody) -> dict[str, Any]:
    """Edit prototypes in the draft; the edit is on disk before the answer."""
    from protorynet.training import edit_model

    edits = body.edits()
    if not edits:
        raise InputError("there is nothing to do: name at least one edit.")
    with desk.lock:
        found = _open_draft(desk)
        if body.revision not in (None, found.revision):
            raise refusal("draft_changed", present=found.revision, seen=body.revision)
        return _keep(desk, found, edit_model(found.model, edits, desk.served.predictor.encoder))


@router.post("/draft/undo", dependencies=EDIT)
@in_pool
def draft_undo(desk: AtDesk) -> dict[str, Any]:
    """Undo the last edit of the draft, exactly."""
    with desk.lock:
        found = _open_draft(desk)
        if not found.can_undo:
            raise refusal("nothing_to_undo")
        return _keep(desk, found, found.model.undone())


@router.post("/draft/retrain", dependencies=EDIT, status_code=202, response_model=WorkingView)
@in_pool
def draft_retrain(desk: AtDesk) -> JSONResponse:
    """Train the reader of the draft again, on the training documents of the table."""
    if not len(desk.table().training):
        raise refusal("no_training_rows")
    with desk.lock:
        found = _open_draft(desk)
        desk.retraining = desk.app.state.jobs.start(
            "retrain", lambda progress: _retrain(desk, found, progress), scope="edit"
        )
        return JSONResponse({"job": desk.retraining.model_dump()}, 202)


@router.get("/draft/comparison", dependencies=PREDICT, responses=MAY_WAIT)
@in_pool
def draft_comparison(desk: AtDesk) -> JSONResponse:
    """Compare the draft with the published model on documents held out."""
    desk.table()
    found, served = present_draft(desk), desk.served
    if found is None:
        raise refusal("no_draft")

    def work(progress: Progress) -> dict[str, Any]:
        split, documents = desk.prepared(served, progress).of_split("validation", "test")
        return {"split": split, **_compare(served.model, found.model, documents)}

    state = (served.version, found.id, found.revision)
    return JSONResponse(desk.ask("comparison", state, work))


@router.post("/draft/publish", dependencies=EDIT)
@in_pool
def draft_publish(desk: AtDesk, body: PublishBody | None = None) -> dict[str, Any]:
    """Make the draft the version that is served; older ones are kept."""
    note = body.note.strip() if body else ""
    with desk.lock:
        found = _open_draft(desk)
        if all(entry.undone is not None for entry in found.entries):
            raise refusal("nothing_to_publish")
        served, ledger = desk.served, desk.versions.read()
        if served.version not in (ledger.base, *(each.version for each in ledger.versions)):
            raise refusal("model_changed")
        number = desk.versions.next_number()
        path = desk.versions.path(number)
        with writing("the new version"):
            save_model(found.model, path, tuned=_encoder_folder(served))
            version = folder_version(path)
            fresh = Version(number, version, moment(), note, len(found.model.prototypes), found.id)
            # From here on it is the version that a restart serves.
            desk.versions.write(replace(ledger, current=number, versions=(*ledger.versions, fresh)))
        for name in desk.names:
            encoder = desk.store.get(name).predictor.encoder
            fresh_one = Predictor(TorchBackend(found.model), encoder, cache=False)
            desk.store.replace(name, path, predictor=fresh_one)
            desk.app.state.metrics.reloads.labels(name).inc()
        desk.drafts.delete()
        return {
            "number": number,
            "version": version,
            "folder": f"{desk.home.name}/versions/{number}",
            "draft": _view_draft(desk),
        }


@router.delete("/draft", dependencies=EDIT, status_code=204)
@in_pool
def draft_discard(desk: AtDesk) -> None:
    """Forget the draft."""
    with desk.lock:
        _refuse_if_busy(desk)
        with writing("the end of the draft"):
            desk.drafts.delete()


@router.get("/versions", dependencies=PREDICT)
@in_pool
def versions(desk: AtDesk) -> dict[str, Any]:
    """List the versions of the model; the first one is the directory as given."""
    return _view_versions(desk)


@router.post("/versions/{number}/restore", dependencies=EDIT)
@in_pool
def version_restore(desk: AtDesk, number: Annotated[int, Path(ge=1, le=10**9)]) -> dict[str, Any]:
    """Serve an older version again."""
    with desk.lock:
        _refuse_if_busy(desk)
        ledger = desk.versions.read()
        known = [1, *(each.number for each in ledger.versions)]
        if number not in known:
            raise refusal("unknown_version", numbers=", ".join(map(str, known)))
        try:
            for name in desk.names:
                desk.store.replace(name, desk.versions.path(number))
        except (EncoderError, InputError, ModelFormatError) as error:
            message = str(error).replace(f"{desk.home.parent}/", "")
            raise refusal("version_damaged", message=message) from None
        with writing("the choice of the version"):
            desk.versions.write(replace(ledger, current=number))
        return _view_versions(desk)


def present_draft(desk: Desk) -> Draft | None:
    """Return the draft, if there is one."""
    with desk.lock:
        served = desk.served
        try:
            found = desk.drafts.read(device=str(served.model.device))
        except ModelFormatError:
            raise refusal("draft_damaged") from None
        if found is None or found.base_version == served.version:
            return found
        # Killed after it was published and before it was removed.
        if any(version.draft == found.id for version in desk.versions.read().versions):
            desk.drafts.delete()
            return None
        return found


def _open_draft(desk: Desk) -> Draft:
    """Return the draft for changing it, begun if there is none."""
    _refuse_if_busy(desk)
    found, served = present_draft(desk), desk.served
    if found is None:
        return Draft.begin(served.version, served.model)
    if found.base_version != served.version:
        raise refusal("draft_stale")
    return found


def _refuse_if_busy(desk: Desk) -> None:
    if desk.retraining is not None and not desk.retraining.ended:
        raise refusal("draft_busy")


def _keep(desk: Desk, found: Draft, model: Model) -> dict[str, Any]:
    """Keep the draft's next revision, and return what clients see of it."""
    with writing("the draft"):
        desk.drafts.write(found.change(model), encoder=_encoder_folder(desk.served))
    return _view_draft(desk)


def _encoder_folder(served: ServedModel) -> FilePath | None:
    return served.folder / "encoder" if served.model.encoder.tuned else None


def _retrain(desk: Desk, found: Draft, progress: Progress) -> dict[str, Any]:
    from protorynet.training import Labelled, edit_model, retrain_reader

    served = desk.served
    documents = desk.prepared(served, progress, share=0.5).train
    labelled = Labelled(documents.sentences, documents.embeddings, documents.targets)
    progress(0.5, "Training the reader")
    with progress_told(lambda _, share: progress(0.5 + 0.3 * share, "Training the reader")):
        trained = retrain_reader(found.model, edit_model(found.model, Edits(), None), labelled)
    progress(0.8, "Summarising what the model does")
    model = quiet_copy(served.classifier)._summarised(trained)
    progress(0.95, "Saving the draft")
    with desk.lock:
        return {**_keep(desk, found, model), "job": None}


def _compare(before: Model, after: Model, documents: LabelledDocuments) -> dict[str, Any]:
    """Say how right two models are, and which documents they judge differently."""
    truth, names = documents.targets > 0.5, before.labels.name_of
    readings = [
        TorchBackend(model).read(documents.embeddings, documents.sentences.lengths)
        for model in (before, after)
    ]
    was, now = (before.labels.decide(reading.probabilities) for reading in readings)
    was_right, is_right = (was == truth).all(axis=1), (now == truth).all(axis=1)
    changed = np.flatnonzero((was != now).any(axis=1))
    # First what the draft broke, then what stays wrong, then what it mended.
    broken_first = changed[np.lexsort((is_right[changed], ~was_right[changed]))]
    return {
        "n_documents": len(truth),
        "before": _measure(before, documents, readings[0]),
        "after": _measure(after, documents, readings[1]),
        "n_changed": len(changed),
        "n_fixed": int((is_right & ~was_right).sum()),
        "n_broken": int((was_right & ~is_right).sum()),
        "changed": [
            {
                "row": int(documents.rows[position]),
                "text": shorten(documents.texts[position]),
                "truth": names(documents.targets[position]),
                "before": names(readings[0].probabilities[position]),
                "after": names(readings[1].probabilities[position]),
            }
            for position in broken_first[:_MOST_CHANGED_SHOWN].tolist()
        ],
    }


def _measure(model: Model, documents: LabelledDocuments, reading: Reading) -> dict[str, Any]:
    figures = measure_figures(model.labels, documents.targets, reading.probabilities)
    return {
        "accuracy": figures.accuracy,
        "macro_f1": figures.macro_f1,
        "n_prototypes": len(model.prototypes),
        "n_members": len(model.prototypes.members),
        "classes": [each.to_dict() for each in figures.classes],
    }


def _view_draft(desk: Desk) -> dict[str, Any]:
    found, served = present_draft(desk), desk.served
    shown = found or Draft.begin(served.version, served.model)
    model = shown.model
    job = desk.retraining if desk.retraining and not desk.retraining.ended else None
    return {
        "exists": found is not None,
        "revision": shown.revision,
        "base_version": shown.base_version,
        "stale": shown.base_version != served.version,
        "can_undo": shown.can_undo,
        "reader_is_behind": model.edits.reader_is_behind,
        "n_prototypes": len(model.prototypes),
        "n_members": len(model.prototypes.members),
        "edits": [_view_entry(entry) for entry in shown.entries],
        "job": job.model_dump() if job else None,
    }


def _view_entry(entry: EditEntry) -> dict[str, Any]:
    record = entry.retraining and vars(entry.retraining).items()
    return {
        **vars(entry),
        "changes": [{**vars(change), "text": str(change)} for change in entry.changes],
        "retraining": record and {name: value for name, value in record if name not in _NOT_SHOWN},
        "undone": entry.undone is not None,
    }


def _view_versions(desk: Desk) -> dict[str, Any]:
    ledger = desk.versions.read()
    first = {"number": 1, "version": ledger.base, "when": None, "note": "", "n_prototypes": None}
    others = [
        {name: value for name, value in vars(each).items() if name != "draft"}
        for each in ledger.versions
    ]
    items = [{**item, "current": item["number"] == ledger.current} for item in [first, *others]]
    return {"current": ledger.current, "items": items}
