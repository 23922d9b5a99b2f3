"""What a user names as input: files, folders, patterns and standard input."""

from __future__ import annotations

import glob
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from protorynet.data.quoting import listed
from protorynet.data.record_batches import open_file
from protorynet.data.standard_input import open_standard_input
from protorynet.data.streaming import TableStream
from protorynet.errors import TableError

__all__ = ["FROM_STANDARD_INPUT", "find_files", "open_stream"]

FROM_STANDARD_INPUT = "-"

_PATTERN_SIGNS = frozenset("*?[")


def find_files(inputs: Sequence[str]) -> list[Path]:
    """Return the files that names, folders of Parquet files and patterns stand for, in order.

    Examples
    --------
    >>> find_files(["no-such-*.csv"])
    Traceback (most recent call last):
    ...
    protorynet.errors.TableError: no file matches 'no-such-*.csv'; check the pattern.
    """
    files = [file for name in inputs for file in _files(name)]
    # Under whatever name: its rows would be there twice.
    times = Counter(file.resolve() for file in files)
    if repeated := [str(file) for file in dict.fromkeys(files) if times[file.resolve()] > 1]:
        raise TableError(f"{listed(repeated)} is given more than once; name every file once.")
    return files


def open_stream(
    inputs: Sequence[str],
    *,
    text: str | None = None,
    split: str | None = None,
    skip_empty: bool = False,
    kind: str | None = None,
    standard_input: BinaryIO | None = None,
) -> TableStream:
    """Open what a user names as one stream of documents.

    Parameters
    ----------
    inputs
        Files, folders of Parquet files and patterns such as ``"data/*.csv"``; or ``"-"`` alone.
    text, split, skip_empty
        As for `TableStream`.
    kind
        What comes from standard input: ``"csv"``, ``"tsv"`` or ``"jsonl"``.
    standard_input
        What ``"-"`` stands for.
    """
    how: dict[str, Any] = {"text": text, "split": split, "skip_empty": skip_empty}
    if FROM_STANDARD_INPUT not in inputs:
        return TableStream([open_file(path) for path in find_files(inputs)], **how)
    if len(inputs) > 1:
        raise TableError("'-' (standard input) cannot be read together with other inputs.")
    if standard_input is None:
        raise TableError("'-' means standard input, but it is closed; name a file instead.")
    return TableStream([open_standard_input(standard_input, kind)], is_read_once=True, **how)


def _files(name: str) -> Iterator[Path]:
    path = Path(name)
    if path.is_dir():
        found = sorted(p for p in path.glob("*.parquet") if not p.name.startswith((".", "_")))
        if not found:
            raise TableError(f"the folder {path} holds no .parquet files; name files instead.")
        yield from found
    elif not path.exists() and _PATTERN_SIGNS.intersection(name):
        # As in a shell, and other than with Path.glob, hidden files are not meant.
        names = map(Path, glob.glob(name, recursive=True))  # noqa: PTH207
        matching = sorted(found for found in names if found.is_file())
        if not matching:
            raise TableError(f"no file matches {name!r}; check the pattern.")
        yield from matching
    else:
        yield path
