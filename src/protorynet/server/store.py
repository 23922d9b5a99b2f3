"""The models being served, each by its name; one is swapped for another without a gap."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from protorynet.errors import InputError, ModelFormatError
from protorynet.model import PRECOMPUTED
from protorynet.server.failures import ApiError

if TYPE_CHECKING:
    from protorynet.classifier import ProtoryNetClassifier

__all__ = ["ModelStore", "ServedModel", "folder_version"]


@dataclass(frozen=True, eq=False)
class ServedModel:
    """One version of a model, complete in memory.

    It never changes: whoever took it from the store may go on with it while the store already
    gives out the next version.

    Parameters
    ----------
    name
        The name it is served under.
    folder
        Its model directory.
    version
        Digest of the directory's configuration, which holds the checksums of all its files.
    classifier
        The classifier; it is shared between threads, so it is read and never fitted or edited.
    lock
        Held by whoever prepares the next version; the same for all versions of a name.
    """

    name: str
    folder: Path
    version: str
    classifier: ProtoryNetClassifier
    lock: threading.RLock = field(repr=False)


class ModelStore:
    """The models by name.

    Parameters
    ----------
    folders
        Model directories by name.
    device
        ``"auto"``, ``"cpu"`` or ``"cuda"``.
    """

    def __init__(self, folders: Mapping[str, Path], *, device: str = "auto") -> None:
        self._device = device
        self._served = {
            name: ServedModel(
                name, folder, folder_version(folder), self._load(folder), threading.RLock()
            )
            for name, folder in folders.items()
        }

    def names(self) -> list[str]:
        """Return the names, sorted."""
        return sorted(self._served)

    def get(self, name: str) -> ServedModel:
        """Return the present version of a model, or refuse with 404."""
        served = self._served.get(name)
        if served is None:
            # What was asked for is not told back: it may be anything.
            raise ApiError(
                404,
                "unknown_model",
                f"there is no model of this name; served are {', '.join(self.names())}.",
            )
        return served

    def replace(
        self,
        name: str,
        folder: Path | None = None,
        *,
        classifier: ProtoryNetClassifier | None = None,
    ) -> ServedModel:
        """Put another version in a model's place; requests under way end with the old one.

        Parameters
        ----------
        name
            The name.
        folder
            The new version's directory; by default the present one, which may have changed.
        classifier
            What the directory holds, where it is in memory already; otherwise it is loaded here,
            which takes a while, so not on the event loop.
        """
        with self.get(name).lock:
            served = self.get(name)
            folder = served.folder if folder is None else folder
            version = folder_version(folder)
            classifier = self._load(folder) if classifier is None else classifier
            fresh = replace(served, folder=folder, version=version, classifier=classifier)
            self._served[name] = fresh
        return fresh

    def _load(self, folder: Path) -> ProtoryNetClassifier:
        from protorynet.classifier import ProtoryNetClassifier

        # Nothing of what clients send is kept on disk, not even as hashes.
        classifier = ProtoryNetClassifier.load(folder, device=self._device, cache=False)
        if classifier.model_.encoder.name == PRECOMPUTED:
            raise InputError(
                f"{folder} was trained on vectors, but clients send texts, so it cannot be served."
            )
        # The first text is slower than all others; no client should wait for that.
        classifier.predict(["Ready."])
        return classifier


def folder_version(folder: Path) -> str:
    """Return a short digest that tells versions of a model directory apart."""
    try:
        return hashlib.sha256((folder / "config.json").read_bytes()).hexdigest()[:12]
    except OSError as error:
        raise ModelFormatError(
            f"{folder} is no model directory: config.json cannot be read ({error.strerror}). "
            "Give a directory made by `protorynet fit`."
        ) from None
