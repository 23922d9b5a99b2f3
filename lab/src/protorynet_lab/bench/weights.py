"""Digests of what a model starts from, so that another of the same name is told from it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from protorynet.encoders import Encoder
from protorynet_lab.bench.jobs import Job

__all__ = ["weights_of"]

_READ = 1 << 20  # bytes of the beginning of a file


def weights_of(job: Job, encoder: Encoder | None, vectors: Path | None) -> str:
    """Return a digest of the encoder or the word vectors a job starts from; empty for none."""
    if encoder is not None and job.kind.uses_encoder:
        return _short(encoder.fingerprint)
    return _vectors(vectors) if vectors is not None and "vectors" in job.options else ""


def _vectors(path: Path) -> str:
    """Digest the sizes and the beginnings of word vectors, which may be gigabytes."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    parts = []
    for file in filter(Path.is_file, files):
        with file.open("rb") as opened:
            beginning = hashlib.sha256(opened.read(_READ)).hexdigest()
        parts.append(f"{file.stat().st_size} {beginning}")
    return _short("\n".join(parts))


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
