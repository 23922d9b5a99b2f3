"""Opening text files, and telling early what is not one."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import BinaryIO, cast

from protorynet.data.quoting import one_line
from protorynet.errors import TableError

__all__ = ["MOST_COLUMNS", "check_is_text", "not_utf8", "opened"]

MOST_COLUMNS = 2_000  # of a text file; more come of a mistake, and every one costs every row

_SIGNATURES = {
    b"PAR1": "a Parquet file; give it the ending .parquet",
    b"PK\x03\x04": "a zip or Excel file; unpack it, or save it as CSV",
    b"\xd0\xcf\x11\xe0": "an Excel file; save it as CSV",
    b"\x1f\x8b": "gzip-compressed; give it the ending .gz",
    b"\xff\xfe": "UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "UTF-16 text; save it as UTF-8",
}


def opened(path: Path) -> BinaryIO:
    """Open a file for reading bytes, unpacked if its ending is .gz."""
    if path.name.lower().endswith(".gz"):
        return cast(BinaryIO, gzip.open(path, "rb"))
    return path.open("rb")


def check_is_text(path: Path) -> None:
    """Raise an error if a file's first bytes show that it is of another kind, or if it is empty."""
    try:
        with opened(path) as file:
            head = file.read(8_192)
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(f"{path} cannot be read: {one_line(error)}.") from None
    if not head.strip():
        raise TableError(f"{path} is empty; expected one row per document.")
    for signature, kind in _SIGNATURES.items():
        if head.startswith(signature):
            raise TableError(f"{path} is {kind}.")
    if b"\0" in head:
        raise TableError(f"{path} is binary, not text; check its kind and mend its ending.")


def not_utf8(path: Path) -> TableError:
    """Return the error for a file in another encoding."""
    return TableError(
        f"{path} is not UTF-8 text. Convert it first, for example with: "
        f"iconv -f WINDOWS-1252 -t UTF-8 {path.name} > utf8-{path.name}"
    )
