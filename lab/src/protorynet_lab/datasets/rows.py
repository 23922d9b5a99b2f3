"""Texts and labels out of files of every kind in which the data sets are published."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, NamedTuple

from protorynet.data import one_line
from protorynet.errors import TableError
from protorynet_lab.datasets.members import Member

__all__ = ["Class", "Layout", "Numbered", "Row", "read_rows"]

Class = int | str
Split = Literal["train", "test"]

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_JSON_LINES = (".json", ".jsonl", ".ndjson")
_LONGEST_TEXT = 2**20  # of a file that is one document, in bytes
_BATCH = 1_000
_SPLITS: dict[str, Split] = {
    "train": "train",
    "val": "train",
    "valid": "train",
    "validation": "train",
    "dev": "train",
    "test": "test",
}
_IN_FOLDERS = re.compile(r"(?:.*/)?(train|test)/(pos|neg)/[^/]+\.txt")


class Row(NamedTuple):
    """A document.

    Parameters
    ----------
    text, label
        What it says and its class.
    split
        Where its publisher put it; None where that is not told or not kept.
    """

    text: str
    label: Class
    split: Split | None


@dataclass(frozen=True)
class Layout:
    """Named columns in which a table holds texts and labels.

    Parameters
    ----------
    text, label
        Names of the columns.
    classes
        The class for a value of the label's column; None where the document is not wanted.
    has_split
        Whether the name of the file tells the split; one that does not is then passed over.
    """

    text: str
    label: str
    classes: Callable[[str], Class | None]
    has_split: bool = False


@dataclass(frozen=True)
class Numbered:
    """A CSV file without a header: the number of the class first, the text last.

    Parameters
    ----------
    classes
        The classes of numbers; None where the document is not wanted.
    has_split
        As for `Layout`.
    """

    classes: Mapping[str, Class | None]
    has_split: bool = True


def read_rows(
    member: Member,
    layouts: Sequence[Layout],
    numbered: Numbered | None = None,
    *,
    in_folders: bool = False,
) -> Iterator[Row]:
    """Go through the documents of one file; a file of another kind or layout has none.

    Parameters
    ----------
    member
        The file.
    layouts
        The layouts that a table may have; the first whose columns are there is taken.
    numbered
        How to read a CSV file without a header, if it may have none.
    in_folders
        Whether documents are files of their own, in folders named by split and class.
    """
    if member.ending in _DELIMITERS:
        return _csv_rows(member, layouts, numbered)
    if member.ending in _JSON_LINES:
        return _json_rows(member, layouts)
    if member.ending == ".parquet" and member.path is not None:
        return _parquet_rows(member, layouts)
    if in_folders and (found := _IN_FOLDERS.fullmatch(member.name)):
        return _folder_row(member, found)
    return iter(())


def _folder_row(member: Member, found: re.Match[str]) -> Iterator[Row]:
    yield Row(member.whole(_LONGEST_TEXT), int(found[2] == "pos"), _SPLITS[found[1]])


def _csv_rows(
    member: Member, layouts: Sequence[Layout], numbered: Numbered | None
) -> Iterator[Row]:
    lines = csv.reader(member.lines(), delimiter=_DELIMITERS[member.ending])
    try:
        first = next(lines, [])
        if numbered is not None and first and first[0] in numbered.classes:
            yield from _numbered_rows(member, numbered, first, lines)
            return
        layout = _fitting(layouts, first)
        if layout is None or (layout.has_split and _split_of(member.name) is None):
            return
        text, label = first.index(layout.text), first.index(layout.label)
        least = max(text, label) + 1
        for cells in lines:
            if len(cells) >= least:
                yield from _row(layout, cells[text], cells[label], member)
    except csv.Error as error:
        raise TableError(
            f"{member.name} is not valid CSV near line {lines.line_num} ({one_line(error)})."
        ) from None


def _numbered_rows(
    member: Member, numbered: Numbered, first: list[str], others: Iterator[list[str]]
) -> Iterator[Row]:
    split = _split_of(member.name) if numbered.has_split else None
    if numbered.has_split and split is None:
        return
    for cells in chain([first], others):
        label = numbered.classes.get(cells[0]) if len(cells) > 1 else None
        if label is not None and cells[-1].strip():
            # In these files a line break is written as a backslash and an n.
            yield Row(cells[-1].replace("\\n", "\n").replace('\\"', '"'), label, split)


def _json_rows(member: Member, layouts: Sequence[Layout]) -> Iterator[Row]:
    layout = None
    for number, line in enumerate(member.lines(), start=1):
        if line.isspace():
            continue
        record = _record(line, member, number)
        if layout is None:
            layout = _fitting(layouts, list(record))
            if layout is None or (layout.has_split and _split_of(member.name) is None):
                return
        yield from _row(layout, record.get(layout.text), record.get(layout.label), member)


def _record(line: str, member: Member, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise TableError(
            f"line {number} of {member.name} is not valid JSON ({one_line(error)}); expected one "
            "object per line, as published."
        ) from None
    if not isinstance(record, dict):
        raise TableError(
            f"line {number} of {member.name} holds a {type(record).__name__}; expected one object "
            "per line, as published."
        )
    return record


def _parquet_rows(member: Member, layouts: Sequence[Layout]) -> Iterator[Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(member.path) as file:
            layout = _fitting(layouts, file.schema_arrow.names)
            if layout is None or (layout.has_split and _split_of(member.name) is None):
                return
            columns = [layout.text, layout.label]
            for batch in file.iter_batches(_BATCH, columns=columns):
                texts, labels = (batch.column(name).to_pylist() for name in columns)
                for text, label in zip(texts, labels, strict=True):
                    yield from _row(layout, text, label, member)
    except pa.ArrowException as error:
        raise TableError(
            f"{member.name} cannot be read as Parquet ({one_line(error)}); fetch it again."
        ) from None


def _row(layout: Layout, text: Any, label: Any, member: Member) -> Iterator[Row]:
    """Give the document of a row, if it is one."""
    if not isinstance(text, str) or label is None:
        return
    found = layout.classes(str(label).strip())
    if found is None or not text or text.isspace():
        return
    if not text.isascii():
        # JSON can write half a character, which no file of text can hold.
        text = text.encode("utf-8", "replace").decode()
    yield Row(text, found, _split_of(member.name) if layout.has_split else None)


def _fitting(layouts: Sequence[Layout], names: Sequence[str]) -> Layout | None:
    return next((each for each in layouts if {each.text, each.label} <= set(names)), None)


def _split_of(name: str) -> Split | None:
    """Return the split that a file's name tells, or else the name of a folder it is in.

    Examples
    --------
    >>> _split_of("plain_text/train-00000-of-00001.parquet"), _split_of("DBPEDIA_val.csv")
    ('train', 'train')
    >>> _split_of("default/test/0000.parquet"), _split_of("unsupervised-0.parquet")
    ('test', None)
    """
    for part in reversed(name.lower().split("/")):
        for word in re.split(r"[^a-z]+", part):
            if word in _SPLITS:
                return _SPLITS[word]
    return None
