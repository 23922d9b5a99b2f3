"""Versions of a model: the directory as given, and those published from the workbench.

::

    MODEL                          version 1: the directory as given, which nothing here changes
    MODEL.workbench/versions.json  which versions there are, and which of them is served
    MODEL.workbench/versions/2     a model directory, as are the following ones
    MODEL.workbench/draft/         the draft
    MODEL.workbench/marks.db       marks of doubtful labels
    MODEL.workbench/uploads/       tables sent to be looked at first
    MODEL.workbench/batches/       tables sent for prediction, and the results
    MODEL.workbench/trust/         measures and findings by version

A version is served once versions.json, which is written atomically, says so. If the directory as
given is trained anew, it is served again and the versions made from the old one are passed over.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from protorynet.errors import ModelFormatError
from protorynet.files import write_atomically
from protorynet.records import read_record
from protorynet.server.failures import ApiError
from protorynet.server.store import folder_version
from protorynet.storage import is_model_directory

__all__ = ["Ledger", "Version", "VersionFolder", "moment", "workbench_folder"]

_LARGEST = 16 * 2**20


@dataclass(frozen=True)
class Version:
    """A published version.

    Parameters
    ----------
    number, version
        Its number, and the digest that the store tells it by.
    when, note
        When it was published, and what was said about it.
    n_prototypes
        How many prototypes it has.
    draft
        Id of the draft it was made from.
    """

    number: int
    version: str
    when: str
    note: str
    n_prototypes: int
    draft: str


@dataclass(frozen=True)
class Ledger:
    """All versions of a model.

    Parameters
    ----------
    base
        Digest of the directory as given.
    current
        Number of the version that is served.
    versions
        The published versions, oldest first.
    """

    base: str
    current: int = 1
    versions: tuple[Version, ...] = ()

    def find(self, number: int) -> Version | None:
        """Return a published version by its number."""
        return next((each for each in self.versions if each.number == number), None)


class VersionFolder:
    """The versions of one model on disk.

    Parameters
    ----------
    model
        The model directory as given.
    folder
        The workbench's folder beside it.
    """

    def __init__(self, model: Path, folder: Path) -> None:
        self._model = model
        self._file = folder / "versions.json"
        self._versions = folder / "versions"

    def read(self) -> Ledger:
        """Return what versions there are, or refuse with 409 where the model is gone.

        Those made from another base are passed over.
        """
        try:
            base = folder_version(self._model)
        except ModelFormatError:
            raise ApiError(
                409,
                "model_gone",
                "the model directory cannot be read any more, so its versions are not known. "
                "Whoever runs the server should put it back.",
            ) from None
        try:
            if self._file.stat().st_size > _LARGEST:
                raise ValueError("versions.json is too large")
            ledger = read_record(Ledger, json.loads(self._file.read_bytes()))
        except (OSError, ValueError, TypeError, RecursionError):
            return Ledger(base)
        known = tuple(
            each for each in ledger.versions if is_model_directory(self.path(each.number))
        )
        ledger = replace(ledger, versions=known)
        if ledger.base != base:
            return Ledger(base)
        return ledger if ledger.find(ledger.current) else replace(ledger, current=1)

    def write(self, ledger: Ledger) -> None:
        """Make a version the one that is served."""
        write_atomically(self._file, json.dumps(asdict(ledger), ensure_ascii=False, indent=2))

    def sweep(self) -> None:
        """Remove what a kill left half written; call it before anything is published."""
        for path in self._versions.glob(".*"):
            shutil.rmtree(path, ignore_errors=True)

    def path(self, number: int) -> Path:
        """Return the model directory of a version."""
        return self._model if number == 1 else self._versions / str(number)

    def next_number(self) -> int:
        """Return a number that no version has, not even one that was never made known."""
        there = self._versions.iterdir() if self._versions.is_dir() else ()
        return max([1, *(int(path.name) for path in there if path.name.isdecimal())]) + 1


def workbench_folder(model: Path) -> Path:
    """Return the folder beside a model directory in which the workbench keeps its things.

    Examples
    --------
    >>> workbench_folder(Path("/models/hotel")).as_posix()
    '/models/hotel.workbench'
    """
    model = model.resolve()
    return model.with_name(f"{model.name}.workbench")


def moment() -> str:
    """Return the present moment in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")
