"""The step that every engine runs: a record batch of texts in, the same rows with predictions out.

It knows nothing of files, workers or clusters, so that one machine, Ray and Spark share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from protorynet.errors import EmptyDocumentError, InputError, TableError
from protorynet.inference.scores import Scorer, Scores
from protorynet.labels import LabelCode

__all__ = ["BatchScorer", "prediction_names"]

_DECIMALS = 6


def prediction_names(classes: Sequence[str]) -> list[str]:
    """Return the names of the columns that predictions have.

    Examples
    --------
    >>> prediction_names(["no", "yes"])
    ['prediction', 'probability', 'p_no', 'p_yes', 'trajectory']
    """
    return ["prediction", "probability", *(f"p_{name}" for name in classes), "trajectory"]


class BatchScorer:
    """The engine-neutral step: an Arrow record batch in, the same rows with predictions out.

    Parameters
    ----------
    scorer
        What scores texts.
    text
        The column of texts.
    skip_empty
        Leave out rows whose text is missing or holds no sentence, instead of refusing them.

    Examples
    --------
    >>> from protorynet import ProtoryNetClassifier
    >>> from protorynet.inference import ClassifierScorer
    >>> texts = ["I loved it. Great film!", "Awful. I hated every minute."] * 10
    >>> classifier = ProtoryNetClassifier().fit(texts, ["good", "bad"] * 10)
    >>> step = BatchScorer(ClassifierScorer(classifier), text="review", skip_empty=True)
    >>> batch = pa.record_batch({"stars": [5, 0], "review": ["A great film.", None]})
    >>> labelled = step(batch)
    >>> labelled.column("stars").to_pylist(), labelled.column("prediction").to_pylist()
    ([5], ['good'])
    >>> labelled.schema == step.schema(batch.schema)
    True
    """

    def __init__(self, scorer: Scorer, *, text: str, skip_empty: bool = False) -> None:
        self.scorer = scorer
        self.text = text
        self.skip_empty = skip_empty

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows with their predictions; for errors see `predictions`."""
        schema = self.schema(batch.schema)
        predictions, filled = self.predictions(batch)
        kept = batch if filled.all() else batch.filter(pa.array(filled))
        return pa.RecordBatch.from_arrays([*kept.columns, *predictions.columns], schema=schema)

    def predictions(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, NDArray[np.bool_]]:
        """Return the columns of predictions alone, and which rows have one.

        Raises
        ------
        EmptyDocumentError
            With the positions in the batch, where a text holds no sentence and may not be skipped.
        """
        scores = self.scorer.score(_texts(batch.column(self.text), self.text))
        if not self.skip_empty and not scores.filled.all():
            raise EmptyDocumentError(np.flatnonzero(~scores.filled).tolist())
        arrays = _columns(scores, self.scorer.labels, self.scorer.prototype_ids)
        schema = _prediction_schema(self.scorer.labels)
        return pa.RecordBatch.from_arrays(arrays, schema=schema), scores.filled

    def schema(self, given: pa.Schema) -> pa.Schema:
        """Return the schema of the rows with predictions, known before any row is scored."""
        if self.text not in given.names:
            raise TableError(
                f"there is no column {self.text!r}; the columns are "
                f"{', '.join(map(repr, given.names))}."
            )
        added = _prediction_schema(self.scorer.labels)
        if taken := [name for name in added.names if name in given.names]:
            raise InputError(
                f"the table has the column(s) {', '.join(map(repr, taken))} already, which "
                "predict would write. Rename or remove them."
            )
        return pa.schema([*given, *added], metadata=given.metadata)


def _prediction_schema(labels: LabelCode) -> pa.Schema:
    first, *numbers, last = prediction_names(labels.names)
    fields = [(first, _label_type(labels)), *((name, pa.float64()) for name in numbers)]
    return pa.schema([*fields, (last, pa.string())])


def _columns(scores: Scores, labels: LabelCode, prototype_ids: Sequence[str]) -> list[pa.Array]:
    rounded = np.round(scores.probabilities.astype(np.float64), _DECIMALS)
    most = rounded.max(axis=1, initial=0.0)
    return [
        pa.array(_predicted(labels, scores.probabilities), _label_type(labels)),
        pa.array(most),
        *(pa.array(column) for column in rounded.T),
        pa.array(_trajectories(scores, prototype_ids), pa.string()),
    ]


def _texts(column: pa.Array, name: str) -> list[str]:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if not (is_text or pa.types.is_string_view(kind) or pa.types.is_null(kind)):
        raise TableError(f"column {name!r} holds {kind}, not text; choose the column of texts.")
    return [text or "" for text in column.to_pylist()]


def _label_type(labels: LabelCode) -> pa.DataType:
    return pa.string() if labels.task == "multilabel" else pa.array(labels.classes).type


def _predicted(labels: LabelCode, probabilities: NDArray[np.float32]) -> list[Any]:
    if labels.task == "multiclass":
        return [labels.classes[column] for column in probabilities.argmax(axis=1)]
    return [
        ", ".join(name for name, p in zip(labels.names, row, strict=True) if p >= 0.5)
        for row in probabilities
    ]


def _trajectories(scores: Scores, prototype_ids: Sequence[str]) -> list[str]:
    ids = np.array(prototype_ids)[scores.columns].tolist()
    ends = np.cumsum(scores.lengths).tolist()
    return [
        " ".join(ids[end - length : end])
        for end, length in zip(ends, scores.lengths.tolist(), strict=True)
    ]
