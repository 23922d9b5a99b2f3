"""The documents of the table, split and encoded once for a model."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from protorynet.explain import LabelledDocuments, documents_at
from protorynet.server.jobs import Progress
from protorynet.server.workbench.table import DataTable
from protorynet.training import Labelled, validation_documents

if TYPE_CHECKING:
    from protorynet.classifier import ProtoryNetClassifier

__all__ = ["Prepared", "prepare", "quiet_copy", "to_learn_from"]

HELD_OUT = "held out"
_STEP = 32  # documents between two reports of progress


@dataclass(frozen=True)
class Prepared:
    """The table's documents as a model's encoder sees them; none is without a sentence.

    Parameters
    ----------
    train
        Documents to learn from and to find sentences in.
    held_out
        Documents to measure on.
    splits
        The split of each of the latter: ``"validation"`` or ``"test"``; ``"held out"`` where the
        table names none and training's own choice was made again.
    """

    train: LabelledDocuments
    held_out: LabelledDocuments
    splits: tuple[str, ...]

    def of_split(self, *preferred: str) -> tuple[str, LabelledDocuments]:
        """Return the held-out documents of the first of some splits that there is."""
        name = next((name for name in (*preferred, HELD_OUT) if name in self.splits), HELD_OUT)
        places = np.array([n for n, split in enumerate(self.splits) if split == name], np.int64)
        return name, documents_at(self.held_out, places)


def quiet_copy(classifier: ProtoryNetClassifier) -> ProtoryNetClassifier:
    """Return a copy that may be edited, and keeps embeddings on disk; for the table's texts."""
    own: ProtoryNetClassifier = copy.copy(classifier).set_params(
        cache=True, on_empty="skip", verbose=False
    )
    return own


def prepare(classifier: ProtoryNetClassifier, table: DataTable, progress: Progress) -> Prepared:
    """Split and encode the documents; a label that is no class of the model is refused."""
    labels = classifier.model_.labels
    targets = labels.encode(table.labels)
    training, held_out = table.training, table.held_out
    splits = tuple(str(table.splits[place]) for place in held_out.tolist())
    if not len(held_out) and len(training):
        model = classifier.model_
        fraction, seed = model.settings.validation_fraction, model.training.seed
        chosen = validation_documents(targets[training], labels, fraction, seed)
        held_out, splits = training[chosen], (HELD_OUT,) * len(chosen)
    own = quiet_copy(classifier)
    total = len(training) + len(held_out)

    def tell(done: int) -> None:
        progress(done / max(total, 1), f"Reading the table: {done:,} of {total:,} documents")

    train = _documents(own, table, training, targets, tell)
    others = _documents(own, table, held_out, targets, lambda done: tell(len(training) + done))
    filled = others.sentences.filled
    return Prepared(
        documents_at(train, np.flatnonzero(train.sentences.filled)),
        documents_at(others, np.flatnonzero(filled)),
        tuple(split for split, keep in zip(splits, filled.tolist(), strict=True) if keep),
    )


def to_learn_from(documents: LabelledDocuments) -> Labelled:
    """Return documents in the form that the reader is trained on."""
    return Labelled(documents.sentences, documents.embeddings, documents.targets)


def _documents(
    classifier: ProtoryNetClassifier,
    table: DataTable,
    places: NDArray[np.int64],
    targets: NDArray[np.float32],
    tell: Callable[[int], None],
) -> LabelledDocuments:
    texts = [table.texts[place] for place in places.tolist()]
    # In steps, so that progress shows and the server can stop; the cache keeps what is done.
    for start in range(0, len(texts), _STEP):
        tell(start)
        classifier.prepare(texts[start : start + _STEP], on_empty="skip")
    sentences, embeddings = classifier.prepare(texts, on_empty="skip")
    return LabelledDocuments(texts, table.rows[places], sentences, embeddings, targets[places])
