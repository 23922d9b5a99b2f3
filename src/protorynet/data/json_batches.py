"""JSON-lines files a batch of lines at a time, with one type for each column."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from protorynet.data.columns import is_scalar
from protorynet.data.files import check_is_text, opened
from protorynet.data.jsonlines import note_columns, parse_record
from protorynet.data.quoting import listed, one_line
from protorynet.data.sources import column_of, is_missing
from protorynet.errors import TableError

__all__ = ["JsonLinesTable"]

_LINES = 2_048
_BYTES = 8 * 2**20
# Bytes of one line, so that a file without line breaks fills no memory: the objects of a line may
# take 35 times its room.
_LONGEST = 32 * 2**20

# The type of each column; None where no one type holds its values.
_Kinds = dict[str, pa.DataType | None]


class _Lines(NamedTuple):
    """Some objects of a file, and the number of the first one's line."""

    first: int
    records: list[dict[str, Any]]


class JsonLinesTable:
    """Objects of a file or a stream, one per line.

    The type of a column is what holds all its values: of a file, those of all lines, for which it
    is read through beforehand; of a stream, those of its first lines, and a later line that does
    not keep to them is an error.
    """

    def __init__(
        self,
        name: str,
        opening: Callable[[], Iterator[_Lines]],
        kinds: _Kinds,
        *,
        is_settled: bool,
    ) -> None:
        self.name = name
        self._opening = opening
        self._kinds = kinds
        self._is_settled = is_settled
        self.schema = pa.schema([(n, kind) for n, kind in kinds.items() if kind is not None])
        self.mixed = tuple(n for n, kind in kinds.items() if kind is None)

    @classmethod
    def of_file(cls, path: Path) -> JsonLinesTable:
        """Return the table in a file, every line of which is read for its types."""
        check_is_text(path)
        kinds: _Kinds = {}
        found: dict[str, set[pa.DataType | None]] = {}
        for lines in _of_file(path):
            of_lines = _kinds_of(lines.records)
            kinds = _merged(kinds, of_lines)
            for column, kind in of_lines.items():
                found.setdefault(column, set()).add(kind)
        doubtful = {column for column in kinds if not found[column] <= {kinds[column], pa.null()}}
        _settle(kinds, found, doubtful, path)
        return cls(str(path), lambda: _of_file(path), kinds, is_settled=True)

    @classmethod
    def of_stream(cls, file: BinaryIO, name: str) -> JsonLinesTable:
        """Return the table in a stream, the first lines of which are read for its types."""
        stream = _lines(file, name)
        head = list(islice(stream, 1))
        kinds = _kinds_of(head[0].records) if head else {}
        whole = chain(head, stream)
        return cls(name, lambda: whole, kinds, is_settled=False)

    def batches(
        self, columns: Sequence[str] | None = None, *, skip: int = 0
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows after the first `skip`, all columns or some of them."""
        names = [name for name in self.schema.names if columns is None or name in columns]
        for lines in self._opening():
            records = lines.records[skip:]
            skip = max(0, skip - len(lines.records))
            if not self._is_settled:
                self._check(lines)
            if records:
                yield self._batch(lines.first, records, names)

    def _batch(self, first: int, records: list[dict[str, Any]], names: list[str]) -> pa.RecordBatch:
        arrays = []
        for name in names:
            kind = self._kinds[name]
            values = [record.get(name) for record in records]
            if pa.types.is_string(kind):
                values = [None if is_missing(value) else str(value) for value in values]
            try:
                arrays.append(pa.array(values, kind, from_pandas=True))
            except (pa.ArrowException, OverflowError, UnicodeEncodeError) as error:
                raise TableError(
                    f"column {name!r} of {self.name} holds a value in the lines from {first} on "
                    f"that is not {kind} ({one_line(error)}); make all its values of one kind."
                ) from None
        return pa.RecordBatch.from_arrays(arrays, names=names)

    def _check(self, lines: _Lines) -> None:
        known = self._kinds
        merged = _merged(known, _kinds_of(lines.records))
        wrong = [name for name, kind in merged.items() if name not in known or kind != known[name]]
        if wrong:
            last = lines.first + len(lines.records) - 1
            raise TableError(
                f"the lines {lines.first} to {last} of {self.name} bring values in "
                f"{listed(wrong)} that the first lines gave no room for. Save them as a file "
                "first: a file is read through beforehand."
            )


def _of_file(path: Path) -> Iterator[_Lines]:
    with opened(path) as file:
        yield from _lines(file, path)


def _lines(file: BinaryIO, name: Path | str) -> Iterator[_Lines]:
    records: list[dict[str, Any]] = []
    columns: set[str] = set()
    path = Path(name)
    size = first = number = 0
    try:
        # Lines of bytes end at "\n" only: U+2028 and its like may stand inside a JSON string.
        for number, line in enumerate(iter(lambda: file.readline(_LONGEST), b""), start=1):
            if len(line) == _LONGEST:
                raise TableError(
                    f"line {number} of {name} is longer than {_LONGEST // 2**20} MB; expected one "
                    "object per line."
                )
            if not line.strip():
                continue
            first = first or number
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            records.append(record := parse_record(text, path, number))
            note_columns(columns, record, path, number)
            size += len(line)
            if len(records) == _LINES or size >= _BYTES:
                yield _Lines(first, records)
                records, size, first = [], 0, 0
    except UnicodeDecodeError:
        raise TableError(
            f"line {number} of {name} is not UTF-8 text. Convert it first, for example with: "
            "iconv -f WINDOWS-1252 -t UTF-8 FILE > UTF8_FILE"
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(f"{name} cannot be read: {one_line(error)}.") from None
    if records:
        yield _Lines(first, records)


def _kinds_of(records: list[dict[str, Any]]) -> _Kinds:
    names = dict.fromkeys(key for record in records for key in record)
    arrays = {name: column_of(name, [record.get(name) for record in records]) for name in names}
    return {name: None if array is None else array.type for name, array in arrays.items()}


def _merged(kinds: _Kinds, others: _Kinds) -> _Kinds:
    merged = dict(kinds)
    for name, kind in others.items():
        merged[name] = _merge(merged[name], kind) if name in merged else kind
    return merged


def _merge(one: pa.DataType | None, other: pa.DataType | None) -> pa.DataType | None:
    if one is None or other is None:
        return None
    if one == other:
        return one
    schemas = [pa.schema([("it", kind)]) for kind in (one, other)]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        # Numbers among words are read as words, as they would be in a CSV file.
        return pa.string() if is_scalar(one) and is_scalar(other) else None


def _settle(
    kinds: _Kinds, found: dict[str, set[pa.DataType | None]], doubtful: set[str], path: Path
) -> None:
    """Try doubtful types on all lines; those that fail become what they would be in one batch.

    Types found in different lines have a common one that may still not hold every value: that of
    1.5 and of 2**53 + 1 is the type of 1.5. This must not depend on where a batch ends.
    """
    doubtful = {column for column in doubtful if kinds[column] not in (None, pa.string())}
    if not doubtful:
        return
    for lines in _of_file(path):
        for column in list(doubtful):
            values = [record.get(column) for record in lines.records]
            try:
                pa.array(values, kinds[column], from_pandas=True)
            except (pa.ArrowException, OverflowError):
                doubtful.discard(column)
                is_plain = all(k is not None and is_scalar(k) for k in found[column] - {pa.null()})
                kinds[column] = pa.string() if is_plain else None
