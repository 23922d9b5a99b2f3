"""A draft beside the version it was begun from, on documents held out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.explain import ClassFigures, LabelledDocuments, class_figures
from protorynet.model import Model
from protorynet.server.failures import ApiError
from protorynet.server.jobs import Job, Progress
from protorynet.server.workbench.desk import Desk
from protorynet.server.workbench.editing import present_draft
from protorynet.server.workbench.paging import beginning

__all__ = ["compare", "comparison_view"]

_SHOWN = 50


def comparison_view(desk: Desk) -> dict[str, Any] | Job:
    """Return the comparison, or the job that makes it."""
    desk.table()
    draft, served = present_draft(desk), desk.served
    if draft is None:
        raise ApiError(404, "no_draft", "there is no draft to compare. Make an edit first.")
    key = ("comparison", desk.home, served.version, draft.id, draft.revision)

    def work(progress: Progress) -> dict[str, Any]:
        split, documents = desk.prepared(served, progress).of_split("validation", "test")
        return {"split": split, **compare(served.classifier.model_, draft.model, documents)}

    return desk.computed.ask(key, "comparison", work)


def compare(before: Model, after: Model, documents: LabelledDocuments) -> dict[str, Any]:
    """Say how right two models are, and which documents they judge differently."""
    if not len(documents.texts):
        raise ApiError(409, "no_held_out_rows", "--data has no validation or test documents.")
    truth = documents.targets > 0.5
    was, now = _decided(before, documents), _decided(after, documents)
    was_right, is_right = (was == truth).all(axis=1), (now == truth).all(axis=1)
    changed = np.flatnonzero((was != now).any(axis=1))
    broken_first = changed[np.argsort(is_right[changed], kind="stable")]
    broken_first = broken_first[np.argsort(~was_right[broken_first], kind="stable")]
    names = before.labels.name_of
    return {
        "n_documents": len(truth),
        "before": _figures(before, truth, was),
        "after": _figures(after, truth, now),
        "n_changed": len(changed),
        "n_fixed": int((is_right & ~was_right).sum()),
        "n_broken": int((was_right & ~is_right).sum()),
        "changed": [
            {
                "row": int(documents.rows[place]),
                "text": beginning(documents.texts[place]),
                "truth": names(documents.targets[place]),
                "before": names(was[place].astype(np.float32)),
                "after": names(now[place].astype(np.float32)),
            }
            for place in broken_first[:_SHOWN].tolist()
        ],
    }


def _decided(model: Model, documents: LabelledDocuments) -> NDArray[np.bool_]:
    trajectory = model.match(documents.embeddings, documents.sentences.lengths)
    return model.labels.decide(model.read(trajectory).probabilities)


def _figures(model: Model, truth: NDArray[np.bool_], given: NDArray[np.bool_]) -> dict[str, Any]:
    classes = class_figures(model.labels.names, truth, given)
    scores = [_f1(each) for each in classes]
    return {
        "accuracy": float((truth == given).all(axis=1).mean()),
        "macro_f1": float(np.mean([score or 0.0 for score in scores])),
        "n_prototypes": len(model.prototypes),
        "classes": [
            {
                "name": each.name,
                "n_true": each.n_true,
                "n_predicted": each.n_predicted,
                "precision": each.precision,
                "recall": each.recall,
                "f1": score,
            }
            for each, score in zip(classes, scores, strict=True)
        ],
    }


def _f1(figures: ClassFigures) -> float | None:
    total = figures.n_true + figures.n_predicted
    return 2 * figures.n_both / total if total else None
