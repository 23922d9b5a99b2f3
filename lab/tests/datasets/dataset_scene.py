"""Tiny data sets, packed as their publishers pack them."""

from __future__ import annotations

import csv
import io
import json
import tarfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

Files = Mapping[str, bytes]


def csv_bytes(rows: Iterable[Sequence[object]], quoting: int = csv.QUOTE_MINIMAL) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, quoting=quoting).writerows(rows)  # type: ignore[arg-type]
    return text.getvalue().encode()


def json_lines(records: Iterable[object]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def numbered_csv(rows: Iterable[Sequence[str]]) -> bytes:
    """Return a file of Zhang et al.: every value in quotes, no header."""
    return csv_bytes(rows, quoting=csv.QUOTE_ALL)


def folder(path: Path, files: Files) -> Path:
    for name, content in files.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return path


def tar(path: Path, files: Files) -> Path:
    with tarfile.open(path, "w:gz" if path.name.endswith("gz") else "w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def zipped(path: Path, files: Files) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def imdb_files(per_class: int = 3) -> dict[str, bytes]:
    """Return the files of aclImdb, with the leftovers that are no labelled reviews."""
    files = {
        f"aclImdb/{split}/{kind}/{number}_{stars}.txt": (
            f"A {kind} film, number {number} of {split}.<br /><br />Café."
        ).encode()
        for split in ("train", "test")
        for kind, stars in (("pos", 9), ("neg", 2))
        for number in range(per_class)
    }
    files["aclImdb/README"] = b"Large Movie Review Dataset"
    files["aclImdb/train/unsup/0_0.txt"] = b"Nobody knows."
    files["aclImdb/train/urls_pos.txt"] = b"http://www.imdb.com/title/tt0453418/usercomments"
    return files


def hotel_csv(positive: int, negative: int, middling: int = 2, start: int = 0) -> bytes:
    stars = ["5", "4.0"] * positive + ["1", "2"] * negative + ["3", "0", "", "4,5"] * middling
    chosen = [*stars[:positive], *stars[2 * positive : 2 * positive + negative]]
    chosen += stars[2 * (positive + negative) :]
    rows = [
        (f"Hotel {place}", rating, f"Stay {place}, rated “{rating}”.\nWe slept.", "a title")
        for place, rating in enumerate(chosen, start=start)
    ]
    return csv_bytes([("name", "reviews.rating", "reviews.text", "reviews.title"), *rows])
