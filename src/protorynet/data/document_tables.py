"""Tables of documents with their labels, from files and from the objects of data libraries."""

import math
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from protorynet.data.json_lines import infer_table, is_scalar, is_text
from protorynet.data.table_batches import open_table
from protorynet.data.table_files import check_names
from protorynet.errors import HEADINGS, TableError, list_names, list_nearest, name_rows

Label = str | int | float | bool | tuple[str, ...]

# fmt: off
_TEXT_NAMES = (
    "text", "review", "document", "content", "body", "comment", "sentence", "message",
    "description", "narrative", "review_text", "reviewtext", "review_body", "full_text", "post",
    "tweet", "abstract", "article", "utterance",
)
_LABEL_NAMES = (
    "label", "labels", "class", "target", "category", "sentiment", "stars", "rating", "product",
    "y", "class_label", "class_name", "categories", "polarity", "score", "topic", "intent",
)
# fmt: on
_MOST_CLASSES = 50
# "007" and numbers too long for 64 bits are names rather than quantities.
_WHOLE = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(
    r"[+-]?(?:(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,2})?"
)


@dataclass(frozen=True)
class Table:
    """Documents, none of them blank, with their positions in the source, and their labels.

    A tuple holds the labels of a multi-label document; there are none where the table was read
    without. `notes` tells the user in plain sentences what was guessed, used and skipped.
    """

    texts: tuple[str, ...]
    labels: tuple[Label, ...] | None
    rows: NDArray[np.int64]
    text_column: str
    label_column: str | None
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class LoadedTable:
    """All or the first rows of a table; `is_split` if they are already the split asked for."""

    name: str
    columns: pa.Table
    mixed: tuple[str, ...] = ()
    is_untyped: bool = False
    is_split: bool = False

    def plain(self, name: str) -> pa.ChunkedArray:
        """Return a column, with categories written out as the values they stand for."""
        return _write_out(self.columns.column(name))


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
        The path of a CSV, TSV, JSON-lines (all three also gzip-compressed), Parquet or Excel
        file; or a pandas DataFrame, a pyarrow Table, or a Hugging Face Dataset or DatasetDict.
    text, label
        Names of the columns. Guessed if not given, and the guess is noted in `Table.notes`.
    split, prefer_split
        Keep only the rows whose column ``split`` says so; of a DatasetDict, the dataset to take.
        What is preferred counts only if `split` is not given and the table has such rows.
    labelled, skip_empty
        Whether to read labels; leave out rows without text instead of refusing the table.

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
    """
    notes: list[str] = []
    loaded = _load(source, split)
    if labelled and label is not None:
        _check_column(loaded, label, "--label")
    text_column = choose_text_column(loaded, text, label, notes)
    label_column = _choose_label_column(loaded, label, text_column, notes) if labelled else None
    rows = _choose_rows(loaded, None if loaded.is_split else split, prefer_split, notes)
    values = loaded.plain(text_column).take(pa.array(rows))
    blank = find_blank(values)
    if blank.any():
        if not skip_empty:
            raise blank_texts(loaded.name, text_column, len(rows), rows[blank].tolist())
        if blank.all():
            raise TableError(f"no row of {loaded.name} has text in column {text_column!r}.")
        notes.append(f"skipped {blank.sum():,} of {len(rows):,} rows without text")
        values, rows = values.filter(pa.array(~blank)), rows[~blank]
    labels = _read_labels(loaded, label_column, rows) if label_column is not None else None
    texts = tuple(values.to_pylist())
    return Table(texts, labels, rows, text_column, label_column, tuple(notes))


def read_columns(source: object) -> pa.Table:
    """Return all columns but those whose values no one type holds."""
    return _load(source, None).columns


def _load(source: object, split: str | None) -> LoadedTable:
    if isinstance(source, str | Path):
        reader = open_table(Path(source))
        columns = pa.Table.from_batches(reader.batches(0), reader.schema)
        loaded = LoadedTable(reader.name, columns, reader.mixed, reader.is_untyped)
    elif isinstance(source, pa.Table):
        loaded = LoadedTable("the pyarrow Table", source)
    elif _comes_from(source, "pandas") and hasattr(source, "columns"):
        frame: Any = source
        names = [str(name) for name in frame.columns]
        check_names(names, "the DataFrame")
        columns = {name: frame.iloc[:, n] for n, name in enumerate(names)}
        loaded = LoadedTable("the DataFrame", *infer_table(columns))
    elif _comes_from(source, "datasets"):
        loaded = _load_dataset(source, split)
    else:
        raise TableError(
            f"cannot read a table from a {type(source).__name__}; expected the path of a file, "
            "a pandas DataFrame, a pyarrow Table or a Hugging Face Dataset."
        )
    if not loaded.mixed:
        check_names(loaded.columns.column_names, loaded.name)
    if loaded.columns.num_rows == 0:
        raise no_rows(loaded.name)
    return loaded


def _comes_from(source: object, library: str) -> bool:
    return any(kind.__module__.partition(".")[0] == library for kind in type(source).__mro__)


def _load_dataset(source: Any, split: str | None) -> LoadedTable:
    kind = type(source).__name__
    if kind.startswith("Iterable"):
        raise TableError(f"cannot read a streamed {kind}; load it with streaming=False.")
    if isinstance(source, dict):
        splits = [str(name) for name in source]
        if split is None:
            likely = "train" if "train" in splits or not splits else splits[0]
            raise TableError(
                f"expected a Dataset but got a {kind} of {list_names(splits)}; "
                f"did you mean dataset[{likely!r}]? (Or choose with split=.)"
            )
        if split not in splits:
            raise TableError(f"the {kind} has no split {split!r}; it has {list_names(splits)}.")
        loaded = _load_dataset(source[split], None)
        return replace(loaded, name=f"split {split!r} of the {kind}", is_split=True)
    # With this format, rows chosen by select(), filter() or shuffle() are respected.
    return LoadedTable("the Dataset", source.with_format("arrow")[:])


def choose_text_column(
    loaded: LoadedTable, text: str | None, label: str | None, notes: list[str]
) -> str:
    """Return the column of texts: that of a name, or a guess, which is noted."""
    if text is not None:
        _check_column(loaded, text, "--text")
    else:
        text = _guess_text_column(loaded, label)
        notes.append(f"text column: {text!r} (guessed; choose with --text)")
    kind = loaded.plain(text).type
    if not (is_text(kind) or pa.types.is_null(kind)):
        raise TableError(
            f"column {text!r} of {loaded.name} holds {kind}, not text; "
            "choose the column of texts with --text COLUMN (text=…)."
        )
    return text


def _guess_text_column(loaded: LoadedTable, label: str | None) -> str:
    names = loaded.columns.column_names
    left_out = (label, _split_column(loaded))
    columns = {name: loaded.plain(name) for name in names if name not in left_out}
    lengths = {
        name: pc.mean(pc.utf8_length(pc.cast(column, pa.large_string()))).as_py() or 0.0
        for name, column in columns.items()
        if is_text(column.type)
    }
    if not lengths:
        raise TableError(
            f"{loaded.name} has no column of texts; its columns are {list_names(names)}."
        )
    return _well_known(list(lengths), _TEXT_NAMES) or max(lengths, key=lambda name: lengths[name])


def _choose_label_column(
    loaded: LoadedTable, label: str | None, text_column: str, notes: list[str]
) -> str:
    if label == text_column:
        raise TableError(f"column {label!r} cannot be both the text and the label; name two.")
    if label is not None:
        return label
    names = loaded.columns.column_names
    others = [name for name in names if name not in (text_column, _split_column(loaded))]
    guess = _well_known(others, _LABEL_NAMES)
    if guess is None:
        columns = {name: loaded.plain(name) for name in others}
        likely = [
            name
            for name, column in columns.items()
            if is_scalar(column.type) and 2 <= pc.count_distinct(column).as_py() <= _MOST_CLASSES
        ]
        if len(likely) != 1:
            raise TableError(
                f"cannot tell which column of {loaded.name} holds the labels; its columns are "
                f"{list_names(names)}. Use --label COLUMN (label=…)."
            )
        guess = likely[0]
    notes.append(f"label column: {guess!r} (guessed; choose with --label)")
    return guess


def _check_column(loaded: LoadedTable, name: str, option: str) -> None:
    names = loaded.columns.column_names
    if name in names:
        return
    if name in loaded.mixed:
        raise TableError(
            f"column {name!r} of {loaded.name} mixes values of several kinds; make them all text."
        )
    near = list_nearest(name, names)
    raise TableError(f"{loaded.name} has no column {name!r}; it has {near}. Choose with {option}.")


def _well_known(names: list[str], well_known: tuple[str, ...]) -> str | None:
    by_lower = {name.strip().lower(): name for name in reversed(names)}
    return next((by_lower[name] for name in well_known if name in by_lower), None)


def _split_column(loaded: LoadedTable) -> str | None:
    for name in loaded.columns.column_names:
        if name.lower() == "split" and is_scalar(loaded.plain(name).type):
            return str(name)
    return None


def require_split_column(loaded: LoadedTable, split: str) -> str:
    """Return the column that says which split a row belongs to; there must be one."""
    column = _split_column(loaded)
    if column is None:
        raise TableError(
            f"{loaded.name} has no column 'split' that names splits, so {split!r} cannot be "
            f"chosen; its columns are {list_names(loaded.columns.column_names)}."
        )
    return column


def find_split_rows(
    column: pa.Array | pa.ChunkedArray, split: str, *, ignore_case: bool = False
) -> tuple[NDArray[np.bool_], list[str]]:
    """Say which rows are of a split, and which splits there are."""
    values = pc.cast(_write_out(column), pa.large_string())
    values = pc.utf8_lower(values) if ignore_case else values
    is_it = pc.fill_null(pc.equal(values, split), False).to_numpy(zero_copy_only=False)
    return is_it, pc.unique(values).drop_null().to_pylist()


def _choose_rows(
    loaded: LoadedTable, split: str | None, preferred: str | None, notes: list[str]
) -> NDArray[np.int64]:
    n_rows = loaded.columns.num_rows
    column = require_split_column(loaded, split) if split is not None else _split_column(loaded)
    wanted = split if split is not None else preferred
    if wanted is None or column is None:
        return np.arange(n_rows, dtype=np.int64)
    # What is preferred is so by custom, not by name: "Train" is one as well.
    is_it, there = find_split_rows(loaded.columns.column(column), wanted, ignore_case=split is None)
    if is_it.any():
        choose = "" if split is not None else "; choose with --split"
        notes.append(f"using the {is_it.sum():,} rows with split {wanted!r} of {n_rows:,}{choose}")
        return np.flatnonzero(is_it).astype(np.int64)
    if split is not None:
        raise TableError(f"{loaded.name} has no split {split!r}; it has {list_names(there)}.")
    if there:
        notes.append(
            f"column {column!r} has no {wanted!r} but {list_names(there)}, so all {n_rows:,} rows "
            "are used; choose with --split"
        )
    return np.arange(n_rows, dtype=np.int64)


def find_blank(column: pa.Array | pa.ChunkedArray) -> NDArray[np.bool_]:
    """Say which texts are missing, empty or nothing but space."""
    texts = _write_out(column).to_pylist()
    return np.array([not text or text.isspace() for text in texts], np.bool_)


def blank_texts(
    name: str, column: str, n_rows: int, rows: list[int], n_blank: int = 0
) -> TableError:
    """Return the error for rows without text, of which the first few may do."""
    return TableError(
        f"{n_blank or len(rows):,} of {n_rows:,} rows of {name} have no text in column "
        f"{column!r}: {name_rows(rows)} {HEADINGS}. Remove them, or skip them with "
        "skip_empty=True (--skip-empty)."
    )


def no_rows(name: str) -> TableError:
    """Return the error for a table without rows."""
    return TableError(f"{name} holds no rows; expected one row per document.")


def _write_out(column: pa.Array | pa.ChunkedArray) -> Any:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    # Many functions of Arrow do not know the newer views of text.
    return column.cast(pa.large_string() if pa.types.is_string_view(kind) else kind)


def _read_labels(loaded: LoadedTable, name: str, rows: NDArray[np.int64]) -> tuple[Label, ...]:
    column = loaded.plain(name)
    if loaded.is_untyped:
        # Types are told from the whole column, so that every split of a file gets the same.
        encoded = column.combine_chunks().dictionary_encode()
        column = pa.array(_parse_words(encoded.dictionary.to_pylist())).take(encoded.indices)
    column = _make_readable(column, name, loaded.name)
    labels = column.take(pa.array(rows)).to_pylist()
    missing = [row for row, label in zip(rows.tolist(), labels, strict=True) if _is_missing(label)]
    if missing:
        raise TableError(
            f"{len(missing):,} of {len(rows):,} rows of {loaded.name} have no label in column "
            f"{name!r}: {name_rows(missing)} {HEADINGS}. Remove or label them."
        )
    if pa.types.is_floating(column.type) and all(label.is_integer() for label in labels):
        return tuple(int(label) for label in labels)
    return tuple(tuple(label) if isinstance(label, list) else label for label in labels)


def _parse_words(values: list[str | None]) -> list[Any]:
    words = [None if not value or value.isspace() else value for value in values]
    present = [word.strip() for word in words if word is not None]
    if all(word.lower() in ("true", "false") for word in present):
        return [None if word is None else word.strip().lower() == "true" for word in words]
    if all(_WHOLE.fullmatch(word) for word in present):
        return [None if word is None else int(word.strip()) for word in words]
    if all(map(_NUMBER.fullmatch, present)):
        return [None if word is None else float(word.strip()) for word in words]
    return list(words)


def _make_readable(column: Any, name: str, where: str) -> Any:
    kind = column.type
    if pa.types.is_decimal(kind):
        return pc.cast(column, pa.float64())
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        inner = kind.value_type
        if pa.types.is_dictionary(inner) or pa.types.is_integer(inner) or is_text(inner):
            return pc.cast(column, pa.large_list(pa.large_string()))
        # A column of empty lists only says nothing of its type.
        if pa.types.is_null(inner):
            return column
    elif is_scalar(kind) or pa.types.is_null(kind):
        return column
    raise TableError(
        f"column {name!r} of {where} holds {kind}; expected labels that are text, numbers, "
        "true/false, or lists of text. Convert it, or choose another with --label COLUMN (label=…)."
    )


def _is_missing(label: object) -> bool:
    if isinstance(label, str):
        return not label or label.isspace()
    if isinstance(label, list):
        return None in label
    return label is None or (isinstance(label, float) and math.isnan(label))
