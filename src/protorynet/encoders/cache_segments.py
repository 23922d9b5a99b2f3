"""The files of the embedding cache: pairs of keys and vectors that are written once.

A segment is ``<id>.vectors.npy`` and ``<id>.keys.npy``. The keys are moved into place last, so a
segment with keys is complete; vectors without keys are what a crash left behind.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FOLDER = re.compile(r"[0-9a-f]{32}")
_FILE = re.compile(r"([0-9a-f]{32})\.(keys\.npy|vectors\.npy|keys\.tmp)")
SECONDS_TO_ORPHAN = 3600.0


@dataclass(frozen=True)
class Segment:
    """One pair of files."""

    folder: Path
    id: str

    @property
    def keys_path(self) -> Path:
        """The file of the sentences' hashes, shape (n, 2)."""
        return self.folder / f"{self.id}.keys.npy"

    @property
    def vectors_path(self) -> Path:
        """The file of the embeddings, shape (n, d)."""
        return self.folder / f"{self.id}.vectors.npy"

    def keys(self) -> NDArray[np.uint64] | None:
        """Return the hashes, or None where the segment is gone or damaged."""
        keys = self._load(self.keys_path, np.uint64)
        return None if keys is None or keys.shape[1] != 2 else np.array(keys)

    def vectors(self, rows: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """Return the embeddings at the given rows, or None where the segment cannot be used."""
        vectors = self._load(self.vectors_path, np.float32)
        if vectors is None:
            return None
        chosen = vectors[rows] if rows.max() < len(vectors) else None
        if chosen is None or not np.isfinite(chosen).all():
            self.remove()
            return None
        # The time of last use decides which segment goes first when the cache is full.
        with contextlib.suppress(OSError):
            os.utime(self.keys_path)
        return chosen

    def remove(self) -> None:
        """Remove both files, the keys first, so that no reader takes it for complete."""
        remove_file(self.keys_path)
        remove_file(self.vectors_path)

    def _load(self, path: Path, kind: type[np.generic]) -> NDArray[Any] | None:
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
            if isinstance(array, np.memmap) and array.dtype == kind and array.ndim == 2:
                return array
        except OSError as error:
            # Another process may be clearing the cache; vectors alone will not come back.
            if path == self.keys_path or not isinstance(error, FileNotFoundError):
                return None
        except Exception:  # noqa: S110
            pass  # NumPy raises many types for a damaged header; the file is of no use
        self.remove()
        return None


def list_segments(folder: Path) -> list[Segment]:
    """Return the complete segments of an encoder's folder, in the order of their ids."""
    matches = (_FILE.fullmatch(name) for name in sorted(entry.name for entry in _scan(folder)))
    return [Segment(folder, m[1]) for m in matches if m is not None and m[2] == "keys.npy"]


def write_segment(folder: Path, keys: NDArray[np.uint64], vectors: NDArray[np.float32]) -> None:
    """Write a segment; after an error nothing of it is left."""
    try:
        _write_segment(folder, keys, vectors)
    except FileNotFoundError:
        # Another process cleared the cache, this folder included, while we wrote.
        _write_segment(folder, keys, vectors)


def _write_segment(folder: Path, keys: NDArray[np.uint64], vectors: NDArray[np.float32]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    segment = Segment(folder, uuid.uuid4().hex)
    unfinished = segment.keys_path.with_suffix(".tmp")
    try:
        for path, array in ((segment.vectors_path, vectors), (unfinished, keys)):
            with path.open("xb") as file:
                np.save(file, array, allow_pickle=False)
                file.flush()
                # Without this a power cut could leave keys that promise vectors of zeros.
                os.fsync(file.fileno())
        unfinished.replace(segment.keys_path)
    except BaseException:
        remove_file(unfinished)
        segment.remove()
        raise


def segment_files(root: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield the files that the cache wrote below its folder, and no others."""
    for folder in _scan(root):
        if _FOLDER.fullmatch(folder.name) and folder.is_dir(follow_symlinks=False):
            for entry in _scan(Path(folder.path)):
                if _FILE.fullmatch(entry.name):
                    with contextlib.suppress(OSError):
                        yield Path(entry.path), entry.stat(follow_symlinks=False)


def remove_orphans(root: Path) -> None:
    """Remove what crashed writers left, once it is too old to be a write under way."""
    limit = time.time() - SECONDS_TO_ORPHAN
    for path, status in list(segment_files(root)):
        keys = path.with_name(path.name.replace(".vectors.", ".keys."))
        if (path.suffix == ".tmp" or not keys.exists()) and status.st_mtime < limit:
            remove_file(path)


def remove_file(path: Path) -> bool:
    """Remove a file; say whether this call did, for another process may have been first."""
    try:
        path.unlink()
    except OSError:
        return False
    return True


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
