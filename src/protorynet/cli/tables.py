"""Tables of predictions: the input's columns with those that a model adds."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from protorynet.cli.output import note
from protorynet.errors import InputError
from protorynet.files import write_atomically
from protorynet.text import read_columns

if TYPE_CHECKING:
    from protorynet.classifier import ProtoryNetClassifier
    from protorynet.labels import LabelCode
    from protorynet.network import Trajectory
    from protorynet.prototypes import Prototypes

__all__ = [
    "ENDINGS",
    "as_bytes",
    "beside",
    "columns_of",
    "prediction_names",
    "predictions",
    "write",
]

ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet")
_DECIMALS = 6


def columns_of(source: Path) -> pa.Table:
    """Return all columns of a file, as they are."""
    table, mixed = read_columns(source)
    for name in mixed:
        note(f"column {name!r} mixes values of several kinds and is left out")
    return table


def prediction_names(classes: Sequence[str]) -> list[str]:
    """Return the names of the columns that predictions have.

    Examples
    --------
    >>> prediction_names(["no", "yes"])
    ['prediction', 'probability', 'p_no', 'p_yes', 'trajectory']
    """
    return ["prediction", "probability", *(f"p_{name}" for name in classes), "trajectory"]


def predictions(
    classifier: ProtoryNetClassifier, texts: Sequence[str]
) -> tuple[pa.Table, NDArray[np.bool_]]:
    """Return the columns of predictions, and which documents hold a sentence and so have one."""
    model = classifier.model_
    trajectory, filled = classifier.trace(texts)
    if not filled.any():
        raise InputError("there are no documents with a sentence to predict.")
    probabilities = model.read(trajectory).probabilities
    rounded = np.round(probabilities.astype(np.float64), _DECIMALS)
    columns = [
        pa.array(_labels(model.labels, probabilities)),
        pa.array(rounded.max(axis=1)),
        *(pa.array(column) for column in rounded.T),
        pa.array(_prototype_ids(trajectory, model.prototypes)),
    ]
    return pa.table(columns, names=prediction_names(model.labels.names)), filled


def beside(left: pa.Table, right: pa.Table) -> pa.Table:
    """Return the columns of two tables side by side."""
    for name, column in zip(right.column_names, right.columns, strict=True):
        left = left.append_column(name, column)
    return left


def write(table: pa.Table, path: Path) -> None:
    """Write a table in the format that the ending of its name says, whole or not at all."""
    write_atomically(path, as_bytes(table, path.suffix.lower()))


def as_bytes(table: pa.Table, ending: str) -> bytes:
    """Return the content of a file with such an ending."""
    if ending == ".jsonl":
        lines = (json.dumps(row, ensure_ascii=False, default=str) for row in table.to_pylist())
        return "".join(f"{line}\n" for line in lines).encode()
    content = io.BytesIO()
    if ending == ".parquet":
        pyarrow.parquet.write_table(table, content)
    else:
        delimiter = "\t" if ending == ".tsv" else ","
        options = pyarrow.csv.WriteOptions(delimiter=delimiter)
        pyarrow.csv.write_csv(_flat(table), content, options)
    return content.getvalue()


def _flat(table: pa.Table) -> pa.Table:
    """Write nested values as JSON, because a cell of a CSV file holds one text."""
    for place, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            cells = [
                None if value is None else json.dumps(value, ensure_ascii=False, default=str)
                for value in table.column(place).to_pylist()
            ]
            table = table.set_column(place, field.name, pa.array(cells, pa.string()))
    return table


def _labels(labels: LabelCode, probabilities: NDArray[np.float32]) -> list[Any]:
    if labels.task == "multiclass":
        return [labels.classes[column] for column in probabilities.argmax(axis=1)]
    return [
        ", ".join(name for name, p in zip(labels.names, row, strict=True) if p >= 0.5)
        for row in probabilities
    ]


def _prototype_ids(trajectory: Trajectory, prototypes: Prototypes) -> list[str]:
    ids = np.array([str(item.id) for item in prototypes])[trajectory.columns]
    ends = np.cumsum(trajectory.lengths)
    return [
        " ".join(ids[end - length : end])
        for end, length in zip(ends, trajectory.lengths, strict=True)
    ]
