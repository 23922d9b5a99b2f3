"""Embeddings kept on disk, so that no sentence is encoded twice.

They lie in segments that are written once: ``<id>.vectors.npy`` and ``<id>.keys.npy``. The keys are
moved into place last, so a segment with keys is complete; vectors without keys are what a crash
left behind. Beside every key stands the checksum of its vector, which is checked when it is read.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
import uuid
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.encoders.embeddings import Encoder
from protorynet.errors import InputError
from protorynet.files import write_atomically

DEFAULT_LIMIT_BYTES = 4 * 1024**3
# Version of how texts become vectors. It rises when a release changes their last bits, for else a
# seed would give one model with an old cache and another one without.
VECTORS_VERSION = 2
# Where files of the cache lie, and what they are called: the folder may hold things of the user's.
# Names that start with a dot, and keys.tmp, are what a killed writer left.
_SEGMENTS, _FASTER_FORMS = ("[0-9a-f]" * 32 + "/*",), ("int8/*", "static/*/*")
_OWN_FILE = re.compile(
    r"[0-9a-f]{32}/[0-9a-f]{32}\.(keys\.npy|vectors\.npy|keys\.tmp)"
    r"|int8/([0-9a-f]+\.onnx(\.sha256)?|\.[0-9a-f]+\.onnx\.[^/]+)"
    r"|static/([0-9a-f]{32}|\.[0-9a-f]{32}\.[^/]+)"
    r"/(static\.json|tokenizer\.json|\.?vectors\.safetensors[^/]*)"
)
# Encoding fewer sentences again is quicker than keeping a file for them.
FEWEST_SENTENCES_KEPT = 64
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([kmgt]?)(i?)b?", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True)
class Segment:
    """One pair of files."""

    folder: Path
    id: str

    @property
    def keys_path(self) -> Path:
        """The file of the sentences' hashes and the vectors' checksums, shape (n, 3)."""
        return self.folder / f"{self.id}.keys.npy"

    @property
    def vectors_path(self) -> Path:
        """The file of the embeddings, shape (n, d)."""
        return self.folder / f"{self.id}.vectors.npy"

    @property
    def unfinished_path(self) -> Path:
        """The file of the keys while it is written."""
        return self.folder / f"{self.id}.keys.tmp"

    def keys(self) -> NDArray[np.uint64] | None:
        """Return the hashes, or None where the segment is gone or damaged."""
        keys = self._load(self.keys_path, np.uint64)
        return None if keys is None else np.array(keys[:, :2])

    def vectors(self, positions: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """Return the embeddings at some positions, or None where the segment cannot be used."""
        keys = self._load(self.keys_path, np.uint64)
        vectors = self._load(self.vectors_path, np.float32)
        if keys is None or vectors is None:
            return None
        if keys.shape == (len(vectors), 3) and positions.max() < len(keys):
            kept, chosen = keys[positions], np.asarray(vectors[positions])
            if (kept[:, 2] == _checksums(kept, chosen)).all() and np.isfinite(chosen).all():
                # The time of last use decides which segment goes first when the cache is full.
                with contextlib.suppress(OSError):
                    os.utime(self.keys_path)
                return chosen
        self._discard()
        return None

    def remove(self) -> None:
        """Remove its files, the keys first, so that no reader takes it for complete."""
        for path in (self.keys_path, self.unfinished_path, self.vectors_path):
            remove_file(path)

    def _load(self, path: Path, kind: type[np.generic]) -> NDArray[Any] | None:
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
            if isinstance(array, np.memmap) and array.dtype == kind and array.ndim == 2:
                return array
        except OSError as error:
            # Another process may be clearing the cache; vectors alone will not come back.
            if path != self.keys_path and isinstance(error, FileNotFoundError):
                self.remove()
            return None
        except Exception:  # noqa: S110
            pass  # NumPy raises many types for a damaged file: it goes, to be encoded again
        self._discard()
        return None

    def _discard(self) -> None:
        """Remove a damaged segment, and say so: a disk that damages one file may damage others."""
        self.remove()
        warnings.warn(
            f"embeddings cached in {self.folder.parent} were damaged; they are computed again.",
            RuntimeWarning,
            stacklevel=2,
        )


class EmbeddingCache:
    """A bounded cache of hashes and vectors, never text, on disk, for any number of processes.

    The folder and its limit come, by default, from the environment variables PROTORYNET_CACHE and
    PROTORYNET_CACHE_LIMIT (such as ``"500MB"``), else the user's cache directory and 4 GiB.
    """

    def __init__(self, folder: Path | None = None, *, limit_bytes: int | None = None) -> None:
        self.folder = _default_folder() if folder is None else Path(folder)
        self.limit_bytes = _default_limit() if limit_bytes is None else limit_bytes
        self._indexes: dict[str, _Index] = {}
        self._writable = True

    def get(
        self, encoder: Encoder, sentences: Sequence[str]
    ) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        """Return which sentences are known, and the vectors of those, in order."""
        index = self._index(encoder)
        entries = index.find(_hash_sentences(sentences))
        found = np.zeros(len(sentences), dtype=np.bool_)
        vectors = np.empty((0, 0), dtype=np.float32)
        wanted = np.flatnonzero(entries >= 0)
        owners, positions = index.owners[entries[wanted]], index.positions[entries[wanted]]
        # Within a segment in the order of the file, so that each is read once and forward.
        order = np.lexsort((positions, owners))
        for part in np.split(order, np.flatnonzero(np.diff(owners[order])) + 1):
            if not len(part):
                continue
            chosen = index.segments[owners[part[0]]].vectors(positions[part])
            if chosen is None:
                self._indexes.clear()
                continue
            if not vectors.size:
                vectors = np.empty((len(sentences), chosen.shape[1]), dtype=np.float32)
            if chosen.shape[1] == vectors.shape[1]:
                vectors[wanted[part]] = chosen
                found[wanted[part]] = True
        return found, vectors[found] if vectors.size else vectors

    def put(self, encoder: Encoder, sentences: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Keep the vectors of some sentences, then make room if the cache is over its limit."""
        if len(sentences) < FEWEST_SENTENCES_KEPT or not self._writable:
            return
        try:
            floats = np.ascontiguousarray(vectors, dtype=np.float32)
            write_segment(self._encoder_folder(encoder), _hash_sentences(sentences), floats)
        except OSError as error:
            self._writable = False
            warnings.warn(
                f"embeddings cannot be cached in {self.folder} ({error}); going on without. "
                "Set the environment variable PROTORYNET_CACHE to a folder with room.",
                RuntimeWarning,
                stacklevel=2,
            )
            return
        self._shrink()

    def size(self) -> int:
        """Return the bytes on disk, those of encoders made faster and kept beside included."""
        files = self._find_files(*_SEGMENTS, *_FASTER_FORMS)
        return sum(status.st_size for status in files.values())

    def clear(self) -> int:
        """Remove everything the cache wrote and return the bytes freed."""
        self._indexes.clear()
        files = self._find_files(*_SEGMENTS, *_FASTER_FORMS)
        freed = sum(status.st_size for path, status in files.items() if remove_file(path))
        for folder in sorted({path.parent for path in files}, reverse=True):
            # Another process may just have written there.
            with contextlib.suppress(OSError):
                folder.rmdir()
        return freed

    def _encoder_folder(self, encoder: Encoder) -> Path:
        # Hashed, because a user's fingerprint may be any text.
        name = f"{VECTORS_VERSION} {encoder.fingerprint}"
        return self.folder / hashlib.sha256(name.encode()).hexdigest()[:32]

    def _index(self, encoder: Encoder) -> _Index:
        folder = self._encoder_folder(encoder)
        keys = sorted(path.name for path in folder.glob("*.keys.npy"))
        segments = tuple(Segment(folder, name.partition(".")[0]) for name in keys)
        known = self._indexes.get(folder.name)
        if known is None or known.listed != segments:
            known = self._indexes[folder.name] = _build_index(segments)
        return known

    def _shrink(self) -> None:
        """Remove the segments used least recently, if need be, half-written ones among them."""
        files = self._find_files(*_SEGMENTS)
        excess = sum(status.st_size for status in files.values()) - self.limit_bytes
        sizes: Counter[Segment] = Counter()
        used: dict[Segment, int] = {}
        for path, status in files.items():
            segment = Segment(path.parent, path.name.partition(".")[0])
            sizes[segment] += status.st_size
            if path == segment.keys_path:
                used[segment] = status.st_mtime_ns
            else:
                used.setdefault(segment, status.st_mtime_ns)
        for segment in sorted(sizes, key=lambda segment: used[segment]):
            if excess <= 0:
                return
            segment.remove()
            excess -= sizes[segment]

    def _find_files(self, *patterns: str) -> dict[Path, os.stat_result]:
        """Return the files that the cache wrote below its folder, and no others."""
        found = {}
        for path in chain.from_iterable(map(self.folder.glob, patterns)):
            if _OWN_FILE.fullmatch(path.relative_to(self.folder).as_posix()):
                # Another process may clear the cache meanwhile.
                with contextlib.suppress(OSError):
                    found[path] = path.lstat()
        return found


@dataclass(frozen=True)
class _Index:
    """The keys of all segments of one encoder, sorted by their first half."""

    listed: tuple[Segment, ...]
    segments: tuple[Segment, ...]
    keys: NDArray[np.uint64]
    owners: NDArray[np.int64]
    positions: NDArray[np.int64]

    def find(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the position of each hash among the keys, -1 where there is none."""
        if not len(self.keys) or not len(hashes):
            return np.full(len(hashes), -1, dtype=np.int64)
        # Looking up in rising order walks through memory in order, several times faster.
        order = np.argsort(hashes[:, 0])
        entries = np.empty(len(hashes), dtype=np.int64)
        entries[order] = np.searchsorted(self.keys[:, 0], hashes[order, 0])
        entries[entries == len(self.keys)] = 0
        entries[(self.keys[entries] != hashes).any(axis=1)] = -1
        return entries


def _build_index(listed: tuple[Segment, ...]) -> _Index:
    loaded = [(segment, segment.keys()) for segment in listed]
    usable = [(segment, keys) for segment, keys in loaded if keys is not None]
    lengths = [len(keys) for _, keys in usable]
    keys = np.concatenate([np.empty((0, 2), dtype=np.uint64), *(keys for _, keys in usable)])
    owners = np.repeat(np.arange(len(usable)), lengths)
    positions = np.arange(len(keys)) - np.repeat(np.cumsum([0, *lengths])[:-1], lengths)
    order = np.argsort(keys[:, 0], kind="stable")
    segments = tuple(segment for segment, _ in usable)
    # Halves side by side, so that searching the first half does not stride over the second.
    return _Index(listed, segments, np.asfortranarray(keys[order]), owners[order], positions[order])


def write_segment(folder: Path, keys: NDArray[np.uint64], vectors: NDArray[np.float32]) -> None:
    """Write a segment; after an error nothing of it is left, nor where another process removes it.

    One that clears the cache, or makes room in it, may take a segment that is only half written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    segment = Segment(folder, uuid.uuid4().hex)
    try:
        listed = np.column_stack([keys, _checksums(keys, vectors)])
        for path, array in ((segment.vectors_path, vectors), (segment.unfinished_path, listed)):
            with path.open("xb") as file:
                np.save(file, array, allow_pickle=False)
                file.flush()
                # Without this a power cut could leave keys that promise vectors of zeros.
                os.fsync(file.fileno())
        segment.unfinished_path.replace(segment.keys_path)
    except FileNotFoundError:
        segment.remove()
    except BaseException:
        segment.remove()
        raise


def remove_file(path: Path) -> bool:
    """Remove a file; say whether this call did, for another process may have been first."""
    try:
        path.unlink()
    except OSError:
        return False
    return True


def read_kept(path: Path) -> bytes | None:
    """Return what `make_once` kept; None where it is absent, or damaged, which may not show."""
    try:
        content, digest = path.read_bytes(), _digest_path(path).read_bytes()
    except OSError:
        return None
    return content if hashlib.sha256(content).hexdigest().encode() == digest.strip() else None


def make_once(path: Path, make: Callable[[], bytes]) -> bytes:
    """Return what was made of an encoder before, and is kept in the cache's folder; or make it."""
    if (kept := read_kept(path)) is not None:
        return kept
    content = make()
    try:
        write_atomically(path, content)
        write_atomically(_digest_path(path), f"{hashlib.sha256(content).hexdigest()}\n")
    except OSError as error:
        warnings.warn(
            f"the encoder cannot be kept at {path}: {error}; it will be made again next time. Set "
            "the environment variable PROTORYNET_CACHE to a folder with room.",
            RuntimeWarning,
            stacklevel=2,
        )
    return content


def _digest_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _hash_sentences(sentences: Sequence[str]) -> NDArray[np.uint64]:
    blake2b = hashlib.blake2b
    digests = [
        blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        for text in sentences
    ]
    return np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, 2).astype(np.uint64)


def _checksums(keys: NDArray[np.uint64], vectors: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Return a checksum of each vector under its own key, so that swapped ones show as well."""
    begun = (keys[:, 0] & np.uint64(0xFFFFFFFF)).tolist()
    return np.fromiter(map(zlib.crc32, vectors, begun), dtype=np.uint64, count=len(vectors))


def _default_folder() -> Path:
    if given := os.environ.get("PROTORYNET_CACHE"):
        return Path(given).expanduser()
    name, usual = {
        "win32": ("LOCALAPPDATA", "AppData/Local"),
        "darwin": ("", "Library/Caches"),
    }.get(sys.platform, ("XDG_CACHE_HOME", ".cache"))
    # The XDG rules say to ignore a relative path.
    base = Path(os.environ.get(name, ""))
    try:
        base = base if base.is_absolute() else Path.home() / usual
    except RuntimeError:
        raise InputError(
            "there is no home directory to keep embeddings in; set the environment variable "
            "PROTORYNET_CACHE to a folder."
        ) from None
    return base / "protorynet" / "embeddings"


def _default_limit() -> int:
    given = os.environ.get("PROTORYNET_CACHE_LIMIT")
    if not given:
        return DEFAULT_LIMIT_BYTES
    if (match := _SIZE.fullmatch(given.strip())) is None:
        raise InputError(
            f"PROTORYNET_CACHE_LIMIT={given!r} is not a size; write it like '500MB' or '4GB'."
        )
    number, unit, binary = match.groups()
    base = 1024 if binary else 1000
    return int(float(number) * base ** " kmgt".index(unit.lower() or " "))
