"""Tables of documents, from files and from the objects of data libraries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Label", "Table", "read_columns", "read_table"]

Label = str | int | float | bool | tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """Documents with their labels.

    Parameters
    ----------
    texts
        The documents; none is blank.
    labels
        One label per document; a tuple holds the labels of a multi-label document. None where
        the table was read without labels.
    rows
        Position of each document in the source, counted from 0.
    text_column, label_column
        The columns they come from.
    notes
        Plain sentences for the user: columns guessed, split used, rows skipped.
    """

    texts: tuple[str, ...]
    labels: tuple[Label, ...] | None
    rows: NDArray[np.int64]
    text_column: str
    label_column: str | None
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)


def read_table(
    source: object,
    *,
    text: str | None = None,
    label: str | None = None,
    split: str | None = None,
    prefer_split: str | None = None,
    labelled: bool = True,
    skip_empty: bool = False,
) -> Table:
    """Read documents and labels.

    Parameters
    ----------
    source
        The path of a CSV, TSV, JSON-lines (all three also gzip-compressed) or Parquet file; or a
        pandas DataFrame, a pyarrow Table, or a Hugging Face Dataset or DatasetDict.
    text, label
        Names of the columns. Guessed if not given, and the guess is told in `Table.notes`.
    split
        Keep only the rows whose column ``split`` says so; of a DatasetDict, the dataset to take.
    prefer_split
        As `split`, but only if `split` is not given and the table has such rows.
    labelled
        Whether to read labels.
    skip_empty
        Leave out rows without text instead of refusing the table.

    Returns
    -------
    Table
        The documents, in the order of the source.

    Raises
    ------
    TableError
        If the source cannot be read, a column is missing, or a text or label is.

    Examples
    --------
    >>> import pandas as pd
    >>> table = read_table(pd.DataFrame({"review": ["Good.", "Bad."], "stars": [5, 1]}))
    >>> table.texts, table.labels
    (('Good.', 'Bad.'), (5, 1))
    >>> table.notes
    ("text column: 'review' (guessed; choose with --text)",
     "label column: 'stars' (guessed; choose with --label)")
    """
    from protorynet.data.columns import choose_columns, keep_split, kept_texts
    from protorynet.data.labels import read_labels
    from protorynet.data.sources import load

    notes: list[str] = []
    loaded = load(source, split)
    text_column, label_column = choose_columns(loaded, text, label, labelled, notes)
    rows = keep_split(loaded, None if loaded.is_split else split, prefer_split, notes)
    texts, rows = kept_texts(loaded, text_column, rows, skip_empty, notes)
    labels = read_labels(loaded, label_column, rows) if label_column is not None else None
    return Table(texts, labels, rows, text_column, label_column, tuple(notes))


def read_columns(source: object) -> tuple[Any, tuple[str, ...]]:
    """Return all columns of a table as a pyarrow Table, and the names of those left out.

    A column whose values no one type can hold is left out.
    """
    from protorynet.data.sources import load

    loaded = load(source, None)
    return loaded.table, loaded.mixed
