"""Reading a batch: predictions and trajectories of every row, and the overview."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from protorynet.data import Table, read_table
from protorynet.errors import InputError, TableError
from protorynet.files import write_atomically
from protorynet.server.failures import ApiError
from protorynet.server.jobs import Progress
from protorynet.server.spreadsheet import csv_lines
from protorynet.server.store import ServedModel
from protorynet.server.workbench.batches import Batch, BatchFolder
from protorynet.server.workbench.desk import writing
from protorynet.server.workbench.prepared import quiet_copy
from protorynet.server.workbench.tallies import Tally, all_keys, group_keys, time_keys
from protorynet.server.workbench.uploads import plain_values, read_upload

if TYPE_CHECKING:
    from protorynet.classifier import ProtoryNetClassifier

__all__ = ["check_columns", "result_csv", "score_batch"]

_STEP = 16  # rows between two reports of progress
_DECIMALS = 6
_ROWS_AT_ONCE = 256


def check_columns(table: pa.Table, *columns: str | None) -> None:
    """Refuse columns that a table does not have."""
    for column in columns:
        if column is not None and column not in table.column_names:
            names = ", ".join(map(repr, table.column_names[:10]))
            raise InputError(f"the file has no column {column[:100]!r}; it has {names}.")


def score_batch(
    folder: BatchFolder,
    batch: Batch,
    served: ServedModel,
    progress: Progress,
    *,
    max_characters: int,
) -> dict[str, Any]:
    """Predict every row of a batch, and keep the results; inside of a job."""
    try:
        with writing("the results"):
            done = _scored(folder, batch, served, progress, max_characters)
            folder.write(done)
    except (InputError, ApiError) as error:
        folder.fail(batch, str(error))
        raise
    return {"batch": batch.id, "n_documents": done.n_documents}


def result_csv(path: Path) -> Iterator[str]:
    """Yield the lines of a result as CSV."""
    with pq.ParquetFile(path) as file:
        rows = (
            row
            for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE)
            for row in zip(*map(plain_values, batch.columns), strict=True)
        )
        yield from csv_lines(file.schema_arrow.names, rows)


def _scored(
    folder: BatchFolder, batch: Batch, served: ServedModel, progress: Progress, most: int
) -> Batch:
    progress(0.0, "Reading the file")
    columns = read_upload(folder.table(batch.id))
    try:
        table = read_table(columns, text=batch.text, labelled=False, skip_empty=True)
    except TableError as error:
        raise TableError(str(error).replace("the pyarrow Table", "the file")) from None
    _check_lengths(table, most)
    # What clients send is not kept in the cache of embeddings.
    classifier = quiet_copy(served.classifier).set_params(cache=False)
    tally = _tally(batch, columns, table, served)
    n_documents = 0
    result = folder.file(batch.id, "result.parquet")
    with _Writer(
        result.with_suffix(".part"), columns, served.classifier.model_.labels.names
    ) as out:
        for start in range(0, len(table), _STEP):
            progress(start / len(table), f"Predicting: {start:,} of {len(table):,} rows")
            places = np.arange(start, min(start + _STEP, len(table)))
            n_documents += _score(classifier, table, places, tally, out)
    if not n_documents:
        raise InputError("no row of the file holds a sentence.")
    for name in tally.keys:
        content = json.dumps(tally.view(name), ensure_ascii=False)
        write_atomically(folder.file(batch.id, f"overview-{name}.json"), content)
    result.with_suffix(".part").rename(result)
    skipped = columns.num_rows - n_documents
    return replace(batch, n_documents=n_documents, n_skipped=skipped)


def _score(
    classifier: ProtoryNetClassifier,
    table: Table,
    places: NDArray[np.int64],
    tally: Tally,
    out: _Writer,
) -> int:
    """Read some rows; return how many of them hold a sentence."""
    model, texts = classifier.model_, [table.texts[place] for place in places.tolist()]
    sentences, embeddings = classifier.prepare(texts, on_empty="skip")
    filled = sentences.filled
    if not filled.any():
        return 0
    trajectory = model.match(embeddings, sentences.lengths[filled])
    probabilities = model.read(trajectory).probabilities
    labels = [model.labels.name_of(row) for row in probabilities]
    chosen = places[filled]
    rows = table.rows[chosen]
    ids = model.prototypes.ids[trajectory.columns]
    paths = [" ".join(map(str, path)) for path in np.split(ids, trajectory.offsets[1:-1])]
    out.write(rows, labels, probabilities, paths)
    kept = [table.texts[place] for place in chosen.tolist()]
    tally.add(chosen, rows, kept, sentences.texts, labels, trajectory)
    return len(chosen)


def _tally(batch: Batch, columns: pa.Table, table: Table, served: ServedModel) -> Tally:
    keys = {"all": all_keys(len(table))}
    for name, column, make in (
        ("group", batch.group, group_keys),
        ("time", batch.time, time_keys),
    ):
        if column is not None:
            values = plain_values(columns.column(column).take(pa.array(table.rows)))
            keys[name] = make(values, column)
    return Tally(served.classifier.model_, keys)


def _check_lengths(table: Table, most: int) -> None:
    for row, text in zip(table.rows.tolist(), table.texts, strict=True):
        if len(text) > most:
            raise InputError(
                f"row {row} (counted from 0) has a text of {len(text):,} characters; at most "
                f"{most:,} are allowed. Cut it, and send the file again."
            )


class _Writer:
    """Writes the rows of a table beside their predictions, piece by piece."""

    def __init__(self, path: Path, columns: pa.Table, classes: Sequence[str]) -> None:
        self._columns = columns
        kinds: dict[str, pa.DataType] = {"prediction": pa.string(), "probability": pa.float64()}
        kinds |= {f"p_{name}": pa.float64() for name in classes}
        kinds["trajectory"] = pa.string()
        fields = [pa.field(_unused(name, columns), kind) for name, kind in kinds.items()]
        self._schema = pa.schema([*columns.schema, *fields]).remove_metadata()
        with _columns_that_can_be_written():
            self._file = pq.ParquetWriter(path, self._schema)

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(
        self,
        rows: NDArray[np.int64],
        labels: Sequence[str],
        probabilities: NDArray[np.float32],
        paths: Sequence[str],
    ) -> None:
        """Write some rows."""
        rounded = np.round(probabilities.astype(np.float64), _DECIMALS)
        added = [labels, rounded.max(axis=1), *rounded.T, paths]
        kinds = [field.type for field in self._schema][self._columns.num_columns :]
        arrays = [pa.array(values, kind) for values, kind in zip(added, kinds, strict=True)]
        given = self._columns.take(pa.array(rows)).columns
        with _columns_that_can_be_written():
            self._file.write_table(pa.table([*given, *arrays], schema=self._schema))


@contextmanager
def _columns_that_can_be_written() -> Iterator[None]:
    try:
        yield
    except pa.ArrowException:
        raise InputError(
            "the file has a column of a kind that cannot be written. Leave it out."
        ) from None


def _unused(name: str, columns: pa.Table) -> str:
    while name in columns.column_names:
        name = f"{name}_new"
    return name
