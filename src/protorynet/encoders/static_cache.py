"""Static encoders kept on disk, so that each is distilled once."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from protorynet.encoders.cache import EmbeddingCache
from protorynet.encoders.static import StaticEncoder, static_fingerprint
from protorynet.errors import EncoderError, InputError

if TYPE_CHECKING:
    from protorynet.encoders.transformer import TransformerEncoder

__all__ = ["cached_static", "static_encoder"]


def cached_static(
    teacher_fingerprint: str, *, name: str, cache_folder: Path | None = None
) -> StaticEncoder | None:
    """Return the encoder that was distilled from a teacher before, or None.

    Parameters
    ----------
    teacher_fingerprint
        The teacher's fingerprint; `folder_fingerprint` tells it without loading the teacher.
    name
        What people call the encoder.
    cache_folder
        The folder of the cache; by default that of the embeddings.

    Examples
    --------
    >>> cached_static("never distilled", name="static") is None
    True
    """
    fingerprint = static_fingerprint(teacher_fingerprint)
    folder = _cached_folder(fingerprint, cache_folder)
    if not folder.is_dir():
        return None
    try:
        encoder = StaticEncoder.load(folder, name=name)
    except EncoderError:
        # Distilling again costs a minute and mends it.
        return None
    return encoder if encoder.fingerprint == fingerprint else None


def static_encoder(
    teacher: TransformerEncoder,
    *,
    name: str,
    cache_folder: Path | None = None,
    progress: bool = False,
) -> StaticEncoder:
    """Return the static encoder of a teacher, distilled unless the cache has it.

    Parameters
    ----------
    teacher
        The transformer to distil.
    name
        What people call the encoder.
    cache_folder
        The folder of the cache; by default that of the embeddings.
    progress
        Whether to show the progress of distilling on standard error.
    """
    cached = cached_static(teacher.fingerprint, name=name, cache_folder=cache_folder)
    if cached is not None:
        return cached
    encoder = StaticEncoder.distil(teacher, name=name, progress=progress)
    try:
        encoder.save(_cached_folder(encoder.fingerprint, cache_folder))
    except (EncoderError, InputError) as error:
        # Another process may have been first, which is as good.
        if cached_static(teacher.fingerprint, name=name, cache_folder=cache_folder) is None:
            warnings.warn(
                f"{error}; it will be distilled anew next time. Set the environment variable "
                "PROTORYNET_CACHE to a folder with room.",
                RuntimeWarning,
                stacklevel=2,
            )
    return encoder


def _cached_folder(fingerprint: str, cache_folder: Path | None) -> Path:
    root = EmbeddingCache().folder if cache_folder is None else Path(cache_folder)
    return root / "static" / fingerprint[:32]
