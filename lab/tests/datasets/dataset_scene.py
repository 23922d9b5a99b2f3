"""Tiny data sets, packed as their publishers pack them."""

import csv
import io
import json
import tarfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path


def csv_bytes(rows: Iterable[Sequence[object]], quoting: int = csv.QUOTE_MINIMAL) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, quoting=quoting).writerows(rows)  # type: ignore[arg-type]
    return text.getvalue().encode()


def numbered_csv(rows: Iterable[Sequence[str]]) -> bytes:
    """Return a file of Zhang et al.: every value in quotes, no header."""
    return csv_bytes(rows, quoting=csv.QUOTE_ALL)


def json_lines(records: Iterable[object]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def pack(path: Path, files: Mapping[str, bytes]) -> Path:
    """Write files into a tar or zip archive, or into a folder, as the name says."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
    elif path.name.endswith((".tar", ".tar.gz", ".tgz")):
        with tarfile.open(path, "w:gz" if path.name.endswith("gz") else "w") as tar:
            for name, content in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    else:
        for name, content in files.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(content)
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
    good, bad, other = (["5", "4.0"], ["1", "2"], ["3", "0", "", "4,5"] * middling)
    stars = [*(good * positive)[:positive], *(bad * negative)[:negative], *other]
    rows = [
        (f"Hotel {number}", rating, f"Stay {number}, rated “{rating}”.\nWe slept.", "a title")
        for number, rating in enumerate(stars, start=start)
    ]
    return csv_bytes([("name", "reviews.rating", "reviews.text", "reviews.title"), *rows])
