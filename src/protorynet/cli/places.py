"""Checking, before any work is done, that its results can be written."""

from __future__ import annotations

import tempfile
from pathlib import Path

from protorynet.errors import InputError

__all__ = ["check_writable"]


def check_writable(path: Path, *inputs: Path) -> None:
    """Refuse a path in whose folder nothing can be written, and one that is read from itself."""
    for source in inputs:
        if path.exists() and source.exists() and path.samefile(source):
            raise InputError(f"{path} is the input; choose another name for the output.")
    folder = path.absolute().parent
    try:
        while not folder.exists():
            folder = folder.parent
        with tempfile.TemporaryDirectory(dir=folder, prefix=".protorynet."):
            pass
    except OSError as error:
        raise InputError(
            f"{path} cannot be written, because {folder} cannot: {error.strerror}. "
            "Choose a place you may write to."
        ) from None
