"""The table of labelled texts that a server was started with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from protorynet.data import Label, read_columns, read_table
from protorynet.errors import TableError

__all__ = ["DataTable", "label_text", "read_data"]

_LARGEST_FILE = 2 * 2**30
_MOST_TRAINING, _MOST_HELD_OUT = 20_000, 5_000
_SPLITS = {
    "train": "train",
    "training": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "test": "test",
}


@dataclass(frozen=True)
class DataTable:
    """Labelled documents, and which of them models were trained on.

    Parameters
    ----------
    texts, labels
        The documents and their labels.
    rows
        Position of each in its file, counted from 0.
    splits
        ``"train"``, ``"validation"`` or ``"test"`` for each, None where it is none of these.
    digest
        Tells one state of the file from another.
    """

    texts: tuple[str, ...]
    labels: tuple[Label, ...]
    rows: NDArray[np.int64]
    splits: tuple[str | None, ...]
    digest: str

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def place_of(self) -> dict[int, int]:
        """Where the document of each row stands among those read."""
        return {row: place for place, row in enumerate(self.rows.tolist())}

    @cached_property
    def split_counts(self) -> dict[str, int]:
        """How many documents each split has."""
        return dict(Counter(split for split in self.splits if split is not None))

    @cached_property
    def training(self) -> NDArray[np.int64]:
        """Places of the documents to learn from: all of them where there are no splits."""
        return _spread(self._of("train") if self.split_counts else np.arange(len(self)), "train")

    @cached_property
    def held_out(self) -> NDArray[np.int64]:
        """Places of the validation and test documents; none where the table names none."""
        both = np.sort(np.concatenate([self._of("validation"), self._of("test")]))
        return _spread(both, "held out")

    def _of(self, split: str) -> NDArray[np.int64]:
        return np.array([n for n, name in enumerate(self.splits) if name == split], np.int64)


def read_data(path: Path) -> DataTable:
    """Read a table of texts and labels, with the splits that its column ``split`` names.

    Errors name the file without its folder, for clients may see them.
    """
    try:
        size, changed = path.stat().st_size, path.stat().st_mtime_ns
        if size > _LARGEST_FILE:
            raise TableError(
                f"{path} has {size:,} bytes; the workbench reads at most {_LARGEST_FILE:,}. Give "
                "a sample of it with --data."
            )
        table = read_table(path, skip_empty=True)
        splits = _splits(path, table.rows)
    except OSError as error:
        raise TableError(f"{path.name} cannot be read ({error.strerror}).") from None
    except TableError as error:
        raise TableError(str(error).replace(str(path), path.name)) from None
    assert table.labels is not None
    return DataTable(table.texts, table.labels, table.rows, splits, f"{size:x}-{changed:x}")


def label_text(label: Label) -> str:
    """Return a label as people read it.

    Examples
    --------
    >>> label_text(5), label_text(("news", "sport")), label_text(())
    ('5', 'news, sport', '(none)')
    """
    return ", ".join(label) or "(none)" if isinstance(label, tuple) else str(label)


def _splits(path: Path, rows: NDArray[np.int64]) -> tuple[str | None, ...]:
    columns, _ = read_columns(path)
    name = next((name for name in columns.column_names if name.lower() == "split"), None)
    if name is None:
        return (None,) * len(rows)
    values: Sequence[object] = columns.column(name).take(rows).to_pylist()
    return tuple(_SPLITS.get(str(value).strip().lower()) for value in values)


def _spread(places: NDArray[np.int64], kind: str) -> NDArray[np.int64]:
    """Return so many of the places that reading them stays quick, spread over all."""
    most = _MOST_TRAINING if kind == "train" else _MOST_HELD_OUT
    if len(places) <= most:
        return places
    return places[np.linspace(0, len(places) - 1, most).round().astype(np.int64)]
