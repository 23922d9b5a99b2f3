"""Prototypes as evidence: what is told of each, and the classes it is found in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.audit.corpus import AuditCorpus
from protorynet.audit.findings import quoted

__all__ = ["ENOUGH_SENTENCES", "class_rates", "listed_ids", "prototype_evidence"]

ENOUGH_SENTENCES = 20
"""Fewer sentences than these say too little of a prototype."""


def class_rates(corpus: AuditCorpus) -> dict[int, NDArray[np.float64]]:
    """Return the class rates of the documents of each prototype with enough sentences."""
    found = {}
    for column in range(len(corpus.model.prototypes)):
        places = np.flatnonzero(corpus.reading.columns == column)
        if len(places) >= ENOUGH_SENTENCES:
            found[column] = corpus.truth[corpus.documents[places]].mean(axis=0, dtype=np.float64)
    return found


def prototype_evidence(corpus: AuditCorpus, column: int) -> dict[str, Any]:
    """Return a prototype with how it is used and scored."""
    item = corpus.model.prototypes[column]
    taken = corpus.reading.columns == column
    return {
        "prototype": item.id,
        "text": quoted(item.sentence),
        "usage": float(taken.mean()),
        "scores": dict(item.scores),
        "class_rate": dict(item.class_rate),
    }


def listed_ids(corpus: AuditCorpus, columns: list[int]) -> str:
    """Return the ids of some prototypes for reading."""
    ids = sorted(corpus.model.prototypes[column].id for column in columns)
    listed = ", ".join(str(number) for number in ids[:10])
    return listed + (", …" if len(ids) > 10 else "")
