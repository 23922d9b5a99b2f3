"""How far to trust a version: faithfulness measures with their meanings, and the audit."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from protorynet.audit import audit_model
from protorynet.explain import LabelledDocuments
from protorynet.files import write_atomically
from protorynet.server.failures import ApiError
from protorynet.server.jobs import Job, Progress
from protorynet.server.store import ServedModel
from protorynet.server.workbench.desk import Desk
from protorynet.server.workbench.prepared import HELD_OUT, Prepared, quiet_copy

__all__ = ["trust_view"]

_LARGEST = 64 * 2**20


def trust_view(desk: Desk) -> dict[str, Any] | Job:
    """Return what is known of the present version, or the job that finds it out."""
    table, served = desk.table(), desk.served
    key = ("trust", desk.home, served.version, table.digest)
    path = desk.home / "trust" / f"{served.version}-{table.digest}.json"

    def work(progress: Progress) -> dict[str, Any]:
        if (known := _read(path)) is not None:
            return known
        view = _measured(desk, served, progress)
        # Where nothing can be written, it is computed again after a restart.
        with contextlib.suppress(OSError):
            write_atomically(path, json.dumps(view, ensure_ascii=False))
        return view

    return desk.computed.ask(key, "trust", work)


def _measured(desk: Desk, served: ServedModel, progress: Progress) -> dict[str, Any]:
    def reading(share: float, message: str) -> None:
        progress(0.4 * share, message)

    prepared = desk.prepared(served, reading)
    split, documents = prepared.of_split("test", "validation")
    if not len(documents.texts):
        raise ApiError(409, "no_held_out_rows", "--data has no validation or test documents.")
    progress(0.4, "Measuring how faithful the explanations are")
    names = served.classifier.model_.labels
    own = quiet_copy(served.classifier)
    evaluation = own.evaluate(list(documents.texts), _labels(documents, names))
    progress(0.7, "Looking for what would mislead")
    audit, missing = _audit(served, prepared, split, documents)
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


def _labels(documents: LabelledDocuments, labels: Any) -> Any:
    if labels.task == "multilabel":
        return documents.targets.astype(int)
    return [labels.classes[place] for place in documents.targets.argmax(axis=1).tolist()]


def _audit(
    served: ServedModel, prepared: Prepared, split: str, documents: LabelledDocuments
) -> tuple[dict[str, Any] | None, str | None]:
    if split == HELD_OUT or not len(prepared.train.texts):
        return None, (
            "An audit compares training texts with others, but the table given with --data does "
            "not name both: add a column 'split' of 'train' and 'test'."
        )
    return audit_model(served.classifier.model_, prepared.train, documents).to_dict(), None


def _read(path: Path) -> dict[str, Any] | None:
    try:
        if path.stat().st_size > _LARGEST:
            return None
        known = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return known if isinstance(known, dict) and "measures" in known else None
